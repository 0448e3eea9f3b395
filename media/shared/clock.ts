/** The clock that everything takes as an argument. */

export interface Clock {
  /** Monotonic milliseconds, fractional. */
  now(): number
  /** Epoch milliseconds. */
  wall(): number
  /** Calls back once; returns what cancels it. */
  after(ms: number, run: () => void): () => void
}
