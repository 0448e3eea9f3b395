/**
 * Who among strangers tries too often: scanners that never prove anything, and guessers of passwords. Counted in points
 * that wane with time, in memory that is bounded whatever comes. Pure; time is an argument, in ms.
 */
import { Recent } from '../../text/recent.ts'

/** What a stranger did. A telephone asks without a proof once for each nonce, and many may sit behind one address. */
export const POINTS = { unproven: 1, nonsense: 2, wrong: 5 } as const

/** A network with so many points is shut out. */
export const MOST_POINTS = 100
/** A user name with so many is not tried any more by who is not known by it. */
export const MOST_WRONG = 50
/** Points halve in this time. */
const HALF_MS = 120_000
const LEAST_KEPT = 10_000

export class Suspects {
  private readonly points = new Recent<{ points: number; atMs: number }>(LEAST_KEPT)

  /** How many points it has then. */
  add(whom: string, points: number, nowMs: number): number {
    const total = this.of(whom, nowMs) + points
    this.points.set(whom, { points: total, atMs: nowMs })
    return total
  }

  of(whom: string, nowMs: number): number {
    const known = this.points.get(whom)
    return known === undefined ? 0 : known.points * 0.5 ** ((nowMs - known.atMs) / HALF_MS)
  }

  clear(whom: string): void {
    this.points.delete(whom)
  }

  get size(): number {
    return this.points.size
  }
}
