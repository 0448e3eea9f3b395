import type { Clock } from '../../../media/shared/clock.ts'

/** Settles when `begin`'s argument is called, the time is over, or the signal is aborted; then what `begin` gave ends it. */
export function waitFor(
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
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
