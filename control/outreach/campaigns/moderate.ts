import { rulesModerator } from '../../agents/moderation/moderation.ts'
import { fillVars } from '../../telephony/call-setup/plan.ts'
import type { CampaignContactRow, CampaignRow } from './types.ts'

/**
 * Finds contacts whose vars turn the task into something that an agent must not be told. Task and vars were moderated
 * separately on input; their combination is checked before the attempt, as for a single call. Uses the built-in rules
 * only, because a model is too slow.
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
