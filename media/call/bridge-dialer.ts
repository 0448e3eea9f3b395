/** Dials the second line of a call, where its trunk has one left; control counts it until it is given back. */
import { AskUnanswered, type EngineBus } from '../bus/engine-bus.ts'
import type { CallEventBody } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { Dialer, DialResult } from '../ports/dialer.ts'
import type { Line } from '../ports/leg.ts'
import type { Log } from '../shared/log.ts'

/** The caller waits: longer than this for the trunk's next turn, and the agent rather says that no line is free. */
const PATIENCE_MS = 3000
/** Silence of control for so long is no answer. */
const ASK_MS = 2000
const NO_LINE: DialResult = { ok: false, failure: { status: 'failed', reason: 'no_capacity', sipCode: null } }

export function createBridgeDialer(options: {
  plan: Pick<CallPlan, 'call_id' | 'owner_id'>
  dialer: Dialer
  /** The trunk that the caller is on, and so that of the second line. Left out: there is none. */
  line: Line | undefined
  bus: Pick<EngineBus, 'ask'>
  log: Log
  emit(body: CallEventBody): void
}): Dialer {
  const { dialer, plan, line, bus, log, emit } = options
  const { call_id, owner_id } = plan
  let attempts = 0

  /** Without an answer a trunk that has no limit is dialled all the same: people are helped before they are counted. */
  async function granted(trunk_id: string, attempt: number): Promise<boolean> {
    try {
      return (await bus.ask('call.bridge', { call_id, owner_id, trunk_id, attempt }, ASK_MS)).granted
    } catch (error) {
      if (!(error instanceof AskUnanswered)) log.warn({ err: error }, 'call.bridge failed')
      if (!line?.limited) return true
      emit({ type: 'bridge.closed', attempt }) // it may be granted yet
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
      const result = await dialer.dial({ ...request, patienceMs: PATIENCE_MS })
      if (result.ok) void result.leg.ended.then(close)
      else close()
      return result
    },
  }
}
