/** The real clock. */
import type { Clock } from '../../media/shared/clock.ts'

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, run) {
    // Node cuts fractions off; a timer must never fire before its time.
    const timer = setTimeout(run, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}
