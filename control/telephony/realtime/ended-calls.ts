import type { CallEndedHandler } from '../call-setup/ended.ts'
import { reconcileSoon } from './look.ts'
import { closeDialogue } from './sql.ts'

/** The dialogue of a web call ends with it, and somebody looks at its room. */
export const closeEnded: CallEndedHandler = async (deps, tx, call, record) => {
  if (call.direction !== 'web') return {}
  const room = await closeDialogue(tx, call.id, new Date(record.ended_at), record.ended_reason)
  return { committed: () => reconcileSoon(deps, room) }
}
