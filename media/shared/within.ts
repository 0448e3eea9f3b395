/** A wait that has an end. */
import type { Clock } from './clock.ts'

/** Settles as `late` when `work` takes longer; what comes of it then is nobody's business. */
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
