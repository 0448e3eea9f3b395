/** Dials the second leg of a call when its trunk has a free line; control counts the line until it is released. */
import { type EngineBus, RequestTimeout } from '../bus/engine-bus.ts'
import type { CallEventBody } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { Dialer, DialResult } from '../ports/dialer.ts'
import type { TrunkLine } from '../ports/leg.ts'
import type { Log } from '../shared/log.ts'

/**
 * Longest wait in ms for a rate token of the trunk: the caller is waiting, so the agent rather says that no line is
 * free.
 */
const PATIENCE_MS = 3000
/** Milliseconds to wait for control's answer. */
const ASK_MS = 2000
const NO_LINE: DialResult = { ok: false, failure: { status: 'failed', reason: 'no_capacity', sipCode: null } }

export function createBridgeDialer(options: {
  plan: Pick<CallPlan, 'call_id' | 'owner_id'>
  dialer: Dialer
  /** The trunk line of the caller, used for the second leg as well; undefined when there is none. */
  line: TrunkLine | undefined
  bus: Pick<EngineBus, 'request'>
  log: Log
  emit(body: CallEventBody): void
}): Dialer {
  const { dialer, plan, line, bus, log, emit } = options
  const { call_id, owner_id } = plan
  let attempts = 0

  /**
   * Without an answer, a trunk without a call limit is dialled nevertheless: the caller matters more than the count.
   */
  async function granted(trunk_id: string, attempt: number): Promise<boolean> {
    try {
      return (await bus.request('call.bridge', { call_id, owner_id, trunk_id, attempt }, ASK_MS)).granted
    } catch (error) {
      if (!(error instanceof RequestTimeout)) log.warn({ err: error }, 'call.bridge failed')
      if (!line?.limited) return true
      emit({ type: 'bridge.closed', attempt }) // it may still be granted
      return false
    }
  }

  return {
    async dial(request) {
      const trunkId = request.plan.trunk_id
      if (trunkId === null) return dialer.dial(request)
      attempts += 1
      const attempt = attempts
      if (!(await granted(trunkId, attempt))) return NO_LINE
      const close = () => emit({ type: 'bridge.closed', attempt })
      const result = await dialer.dial({ ...request, maxWaitMs: PATIENCE_MS })
      if (result.ok) void result.leg.ended.then(close)
      else close()
      return result
    },
  }
}
