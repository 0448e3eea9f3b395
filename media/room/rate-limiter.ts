/** Rate limiter (token bucket): `atOnce` events in a burst, then `perSecond`. Pure. */
export class RateLimiter {
  readonly #most: number
  readonly #perMs: number
  #left: number
  #lastMs = 0

  constructor({ atOnce, perSecond }: { atOnce: number; perSecond: number }) {
    this.#most = atOnce
    this.#perMs = perSecond / 1000
    this.#left = atOnce
  }

  /** Takes a token; false when the limit is reached. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lastMs) * this.#perMs)
    this.#lastMs = nowMs
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
