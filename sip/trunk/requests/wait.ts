import type { Clock } from '../../../media/shared/clock.ts'

/**
 * Waits until `begin`'s callback is called, `ms` have passed, or the signal is aborted; then calls the function that
 * `begin` returned.
 */
export function waitFor(
  { clock, ms, signal }: { clock: Clock; ms: number; signal: AbortSignal },
  begin: (go: () => void) => () => void,
): Promise<void> {
  return new Promise(resolve => {
    const go = (): void => {
      stop()
      cancel()
      signal.removeEventListener('abort', go)
      resolve()
    }
    const stop = begin(go)
    const cancel = clock.after(ms, go)
    signal.addEventListener('abort', go, { once: true })
  })
}
