import type { Clock } from '../../../media/shared/clock.ts'

/** Waits `ms` milliseconds. Rejects with the reason of `signal` if it is aborted first. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return
  await new Promise<void>((resolve, reject) => {
    signal.throwIfAborted()
    const abort = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
