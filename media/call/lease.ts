import type { EngineBus } from '../bus/engine-bus.ts'
import { LEASE_RENEW_MS } from '../bus/keys.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { Timers } from './timers.ts'

/** Milliseconds without Redis after which the call ends, before control may reap it (lease 60 s, reaped at 75 s). */
const LEASE_LOST_MS = 50_000

export interface LeaseOptions {
  callId: string
  bus: EngineBus
  clock: Clock
  log: Log
  timers: Timers
  onLost(): void
}

/** Renews this engine's ownership of the call. */
export class Lease {
  readonly #options: LeaseOptions
  #okMs: number

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#okMs = options.clock.now()
    options.timers.every(LEASE_RENEW_MS, () => {
      void this.#renew()
      this.check()
    })
  }

  async #renew(): Promise<void> {
    const { bus, clock, callId, log } = this.#options
    try {
      await bus.renewLease(callId)
      this.#okMs = clock.now()
    } catch (error) {
      log.warn({ err: error }, 'could not renew call lease')
    }
  }

  check(): void {
    const { clock, onLost } = this.#options
    if (clock.now() - this.#okMs > LEASE_LOST_MS) onLost()
  }
}
