/** Calls of campaigns that are not to go on, and that no engine has taken yet. */

import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import { finishUnanswered } from '../../telephony/calls/finish.ts'
import type { QueuedCall } from './types.ts'

/**
 * One that an engine has taken meanwhile is live, and ends as calls end. Of a campaign that only pauses nothing has left us:
 * the attempt does not count.
 */
export async function cancelQueued(deps: CallDeps, queued: readonly QueuedCall[]): Promise<void> {
  for (const { id, status } of queued) {
    const reason = status === 'paused' ? 'queue_expired' : 'canceled_by_api'
    if (await deps.bus.withdraw(id)) await finishUnanswered(deps, id, 'canceled', reason)
  }
}
