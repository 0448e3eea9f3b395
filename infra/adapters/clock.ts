/** The system clock. */
import type { Clock } from '../../media/shared/clock.ts'

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, run) {
    // Node truncates fractions, and a timer must never fire early.
    const timer = setTimeout(run, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}
