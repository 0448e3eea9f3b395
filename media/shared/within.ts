/** Waits for a promise with a timeout. */
import type { Clock } from './clock.ts'

/** Resolves to `late` when `work` takes longer than `ms` milliseconds; its later result or error is ignored. */
export async function within<T, L = T>(clock: Clock, ms: number, late: L, work: Promise<T>): Promise<T | L> {
  let cancel = (): void => {}
  const waited = new Promise<L>(resolve => {
    cancel = clock.after(ms, () => resolve(late))
  })
  work.catch(() => {})
  try {
    return await Promise.race([work, waited])
  } finally {
    cancel()
  }
}
