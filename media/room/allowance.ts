/** How often something may happen: so many at once, then so many a second. Pure. */
export class Allowance {
  readonly #most: number
  readonly #perMs: number
  #left: number
  #lastMs = 0

  constructor({ atOnce, perSecond }: { atOnce: number; perSecond: number }) {
    this.#most = atOnce
    this.#perMs = perSecond / 1000
    this.#left = atOnce
  }

  /** False: too often. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lastMs) * this.#perMs)
    this.#lastMs = nowMs
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
