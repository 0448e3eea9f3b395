/** Token buckets by name in bounded memory: the least recently used is forgotten first. Pure. */
import { Recent } from '../text/recent.ts'

export interface Rate {
  perSecond: number
  burst: number
}

const LEAST_KEPT = 10_000

export class Buckets {
  readonly #buckets = new Recent<{ tokens: number; atMs: number }>(LEAST_KEPT)

  take(name: string, { perSecond, burst }: Rate, nowMs: number): boolean {
    const known = this.#buckets.get(name)
    const grown = known === undefined ? burst : known.tokens + ((nowMs - known.atMs) / 1000) * perSecond
    const tokens = Math.min(burst, grown)
    const taken = tokens >= 1
    this.#buckets.set(name, { tokens: taken ? tokens - 1 : tokens, atMs: nowMs })
    return taken
  }

  get size(): number {
    return this.#buckets.size
  }
}
