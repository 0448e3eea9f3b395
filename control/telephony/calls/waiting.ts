/** Calls that wait in this process for their rate token on a trunk. */

import { errorFields } from '../../platform/log.ts'
import type { CallDeps } from '../call-setup/ended.ts'
import { finishUnanswered } from './finish.ts'

export interface Waiting {
  has(callId: string): boolean
  wait(callId: string, ms: number, offer: () => Promise<void>): void
  /** Resolves when current offers are complete; drops calls that still wait. */
  stop(): Promise<void>
}

export function createWaiting(deps: Pick<CallDeps, 'clock' | 'log'>): Waiting {
  const waiting = new Map<string, () => void>()
  const running = new Set<Promise<void>>()
  return {
    has: callId => waiting.has(callId),
    wait(callId, ms, offer) {
      const cancel = deps.clock.after(ms, () => {
        waiting.delete(callId)
        const done = offer()
          .catch(error =>
            deps.log.error({ error: errorFields(error), call_id: callId }, 'waiting call was not offered'),
          )
          .finally(() => running.delete(done))
        running.add(done)
      })
      waiting.set(callId, cancel)
    },
    async stop() {
      for (const cancel of waiting.values()) cancel()
      waiting.clear()
      await Promise.all(running)
    },
  }
}

/** Cancels a queued call of an account that was stopped meanwhile. */
export async function cancelStopped(deps: CallDeps, callId: string): Promise<void> {
  if (await deps.bus.withdraw(callId)) await finishUnanswered(deps, callId, 'canceled', 'canceled_by_api')
}

/** Cancels a call whose callee was added to the do-not-call list after it was queued. */
export async function giveUp(deps: CallDeps, callId: string): Promise<void> {
  if (await deps.bus.withdraw(callId)) await finishUnanswered(deps, callId, 'canceled', 'do_not_call')
}
