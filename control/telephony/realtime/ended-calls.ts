import type { CallEndedHandler } from '../call-setup/ended.ts'
import { reconcileSoon } from './reconcile.ts'
import { closeDialogue } from './sql.ts'

/** Ends the dialogue of a web call with the call, and reconciles its room. */
export const closeEnded: CallEndedHandler = async (deps, tx, call, record) => {
  if (call.direction !== 'web') return {}
  const room = await closeDialogue(tx, call.id, new Date(record.ended_at), record.ended_reason)
  return { committed: () => reconcileSoon(deps, room) }
}
