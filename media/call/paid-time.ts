import { type EngineBus, RequestTimeout } from '../bus/engine-bus.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { Log } from '../shared/log.ts'
import type { Timers } from './timers.ts'

/** Milliseconds before the paid time ends: half a minute without Redis or Postgres must not cut off a call. */
const EXTEND_BEFORE_MS = 45_000
const EXTEND_PAUSE_MS = 1000
const EXTEND_TIMEOUT_MS = 5000

export interface PaidTimeOptions {
  plan: Pick<CallPlan, 'call_id' | 'owner_id' | 'paid_ms'>
  bus: EngineBus
  log: Log
  timers: Timers
  /** Milliseconds before the end of the paid time at which the call ends, so that the last words are paid for. */
  reserveMs: number
  talkedMs(): number
  talking(): boolean
  onExhausted(): void
}

/** Limits a call to the talking time that the owner's hold covers, and extends the hold in time. */
export class PaidTime {
  readonly #options: PaidTimeOptions
  #paidMs: number

  constructor(options: PaidTimeOptions) {
    this.#options = options
    this.#paidMs = options.plan.paid_ms
  }

  get #leftMs(): number {
    return this.#paidMs - this.#options.talkedMs()
  }

  watch(): void {
    this.#options.timers.after(Math.max(0, this.#leftMs - EXTEND_BEFORE_MS), () => void this.#extend())
  }

  async #extend(): Promise<void> {
    const { plan, bus, log, timers, reserveMs, talkedMs, talking, onExhausted } = this.#options
    if (!talking()) return
    const talked_ms = talkedMs()
    try {
      const { call_id, owner_id } = plan
      const { paid_ms } = await bus.request('call.extend', { call_id, owner_id, talked_ms }, EXTEND_TIMEOUT_MS)
      if (paid_ms > this.#paidMs) {
        this.#paidMs = paid_ms
        this.watch()
        return
      }
    } catch (error) {
      // No answer is not a refusal: talking continues within the hold, and the request is repeated.
      if (!(error instanceof RequestTimeout)) log.warn({ err: error }, 'call.extend failed')
      if (this.#leftMs > EXTEND_TIMEOUT_MS) {
        timers.after(EXTEND_PAUSE_MS, () => void this.#extend())
        return
      }
    }
    timers.after(Math.max(0, this.#leftMs - reserveMs), onExhausted)
  }
}
