/** Merges several streams: they take turns, and a stream with nothing ready does not delay the others. */

interface Arm<S, T> {
  source: S
  items: AsyncIterator<T>
  /** Resolves when the stream has an item or ends; never rejects. */
  coming: Promise<void> | null
  ready: { item: T } | null
}

/**
 * `onFailure` gets the error that ended a stream, and must not throw; the other streams continue. Ends when `signal` is
 * aborted.
 */
export async function* mergeFairly<S, T>(
  streams: readonly { source: S; items: AsyncIterable<T> }[],
  onFailure: (source: S, error: unknown) => void,
  signal: AbortSignal,
): AsyncGenerator<{ source: S; item: T }> {
  const aborted = new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  let arms: Arm<S, T>[] = streams.map(({ source, items }) => ({
    source,
    items: items[Symbol.asyncIterator](),
    coming: null,
    ready: null,
  }))
  const over = new Set<Arm<S, T>>()
  const ask = async (arm: Arm<S, T>) => {
    try {
      const { done, value } = await arm.items.next()
      if (done) over.add(arm)
      else arm.ready = { item: value }
    } catch (error) {
      over.add(arm)
      if (!signal.aborted) onFailure(arm.source, error)
    }
  }
  try {
    for (;;) {
      arms = arms.filter(arm => !over.has(arm))
      if (signal.aborted || arms.length === 0) return
      for (const arm of arms) if (arm.ready === null) arm.coming ??= ask(arm).finally(() => (arm.coming = null))
      const next = arms.findIndex(arm => arm.ready !== null)
      if (next < 0) {
        await Promise.race([aborted, ...arms.map(arm => arm.coming)])
        continue
      }
      const arm = arms[next]!
      const { item } = arm.ready!
      arm.ready = null
      // Moves behind the others until its next turn.
      arms.push(...arms.splice(next, 1))
      yield { source: arm.source, item }
    }
  } finally {
    // Not awaited: a stream that hangs ends by its signal.
    for (const arm of arms) arm.items.return?.().catch(() => {})
  }
}
