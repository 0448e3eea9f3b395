/**
 * Scores strangers that fail too often: scanners that never authenticate, and password guessers. Points decay with
 * time; memory is bounded under any load. Pure; time is an argument, in ms.
 */
import { Recent } from '../../text/recent.ts'

/**
 * Points per action. A phone sends one request without credentials per nonce, and many phones may share one address.
 */
export const POINTS = { unproven: 1, nonsense: 2, wrong: 5 } as const

/** Points at which a network is banned. */
export const MOST_POINTS = 100
/** Points above which wrong passwords of a user name get no new challenge. */
export const MOST_WRONG = 50
/** Milliseconds in which points halve. */
const HALF_MS = 120_000
const LEAST_KEPT = 10_000

export class Suspects {
  readonly #points = new Recent<{ points: number; atMs: number }>(LEAST_KEPT)

  /** Adds points and returns the new total. */
  add(whom: string, points: number, nowMs: number): number {
    const total = this.of(whom, nowMs) + points
    this.#points.set(whom, { points: total, atMs: nowMs })
    return total
  }

  of(whom: string, nowMs: number): number {
    const known = this.#points.get(whom)
    return known === undefined ? 0 : known.points * 0.5 ** ((nowMs - known.atMs) / HALF_MS)
  }

  clear(whom: string): void {
    this.#points.delete(whom)
  }

  get size(): number {
    return this.#points.size
  }
}
