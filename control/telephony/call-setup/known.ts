/** Data about the person that the agent talks to, and template vars that have no value. */
import type { CallPlan } from '../../../media/contract/plan.ts'
import type { ProjectSettings } from '../../agents/projects/schema.ts'
import type { Db } from '../../platform/db/connect.ts'
import type { CallRow } from './sql.ts'

const EARLIER_CALLS = 3
const SUMMARY_CHARS = 600

/** Returns the contact's name and, if the project remembers them, its last calls. */
export async function knownContact(
  db: Db,
  { owner_id, project_id, contact_id }: Pick<CallRow, 'owner_id' | 'project_id' | 'contact_id'>,
  { remember }: Pick<ProjectSettings, 'remember'>,
): Promise<CallPlan['contact']> {
  if (!contact_id) return null
  const [names, calls] = await Promise.all([
    db<{ name: string | null }[]>`select name from contacts where owner_id = ${owner_id} and id = ${contact_id}`,
    remember
      ? db<{ created_at: Date; direction: CallRow['direction']; summary: string }[]>`
          select created_at, direction, summary from calls
          where owner_id = ${owner_id} and contact_id = ${contact_id} and project_id = ${project_id}
            and status = 'completed' and summary is not null
          order by created_at desc, id desc limit ${EARLIER_CALLS}`
      : [],
  ])
  const history = calls.map(({ created_at, direction, summary }) => ({
    at: created_at.getTime(),
    direction,
    summary: summary.slice(0, SUMMARY_CHARS),
  }))
  return { name: names[0]?.name ?? null, history: history.reverse() }
}

/** Returns the names of `{{var}}` without a value, in order and without duplicates. */
export function missingVars(settings: ProjectSettings, call: Pick<CallRow, 'task' | 'vars'>): string[] {
  const { prompt, greeting, disclosure, recording_notice, goal, voicemail } = settings
  const message = voicemail.action === 'leave_message' ? voicemail.text : null
  const texts = [prompt, call.task, greeting, disclosure, recording_notice, goal, message]
  const names = texts.flatMap(text =>
    [...(text ?? '').matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g)].map(match => match[1]!),
  )
  return [...new Set(names)].filter(name => !Object.hasOwn(call.vars, name))
}
