import { rulesModerator } from '../../agents/moderation/moderation.ts'
import { fillVars } from '../../telephony/call-setup/plan.ts'
import type { CampaignContactRow, CampaignRow } from './types.ts'

/**
 * Contacts whose vars make of the task what an agent must not be told. Task and vars were read each by itself when they
 * came; what they say together is read before the attempt, as with a single call. By our own rules: a model is too slow.
 */
export async function rejectedOf(
  { task }: Pick<CampaignRow, 'task'>,
  contacts: readonly Pick<CampaignContactRow, 'id' | 'name' | 'vars'>[],
): Promise<Set<string>> {
  if (task === null || !task.includes('{{')) return new Set()
  const texts = contacts.map(({ id, name, vars }) => [id, fillVars(task, { ...(name ? { name } : {}), ...vars })])
  const errors = await rulesModerator.check(Object.fromEntries(texts), new AbortController().signal)
  return new Set(errors.map(error => error.pointer))
}
