/** Port for time; every module receives it as an argument. */

export interface Clock {
  /** Monotonic milliseconds, fractional. */
  now(): number
  /** Epoch milliseconds. */
  wall(): number
  /** Calls `run` once after `ms` milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
}
