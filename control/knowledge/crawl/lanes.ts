/** Sends one request at a time to a host, with a pause after each. */
import type { Clock } from '../../../media/shared/clock.ts'
import { pause } from './pause.ts'

interface Lane {
  tail: Promise<unknown>
  readyMs: number
}

export class HostLanes {
  readonly #clock: Clock
  readonly #lanes = new Map<string, Lane>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `work` after all earlier work for the host and the pause that follows it. */
  async run<T>(host: string, pauseMs: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const known = this.#lanes.get(host)
    const lane = known ?? remember(this.#lanes, host, { tail: Promise.resolve(), readyMs: Number.NEGATIVE_INFINITY })
    const mine = lane.tail.then(async () => {
      signal.throwIfAborted()
      await pause(this.#clock, lane.readyMs - this.#clock.now(), signal)
      try {
        return await work()
      } finally {
        lane.readyMs = this.#clock.now() + pauseMs
      }
    })
    lane.tail = mine.catch(() => {})
    return mine
  }
}

/** Number of hosts and origins that are kept; the oldest are dropped first. */
const REMEMBERED = 1000

export function remember<V>(map: Map<string, V>, key: string, value: V): V {
  map.delete(key)
  map.set(key, value)
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!)
  return value
}
