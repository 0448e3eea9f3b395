/** Cancels calls of halted campaigns that no engine has accepted yet. */

import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import { finishUnanswered } from '../../telephony/calls/finish.ts'
import type { QueuedCall } from './types.ts'

/**
 * A call that an engine has accepted meanwhile is live and ends normally. In a paused campaign nothing was sent, so the
 * attempt does not count.
 */
export async function cancelQueued(deps: CallDeps, queued: readonly QueuedCall[]): Promise<void> {
  for (const { id, status } of queued) {
    const reason = status === 'paused' ? 'queue_expired' : 'canceled_by_api'
    if (await deps.bus.withdraw(id)) await finishUnanswered(deps, id, 'canceled', reason)
  }
}
