/** Several streams as one: each gives one in turn, and who has nothing ready is not waited for as long as others have. */

interface Arm<S, T> {
  source: S
  items: AsyncIterator<T>
  /** Settles when there is something to look at; never rejects. */
  coming: Promise<void> | null
  ready: { item: T } | null
}

/** `onFailure` is told what broke a stream off, and must not throw; the others go on. Ends when `signal` is aborted. */
export async function* inTurn<S, T>(
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
      // Behind the others until its turn comes again.
      arms.push(...arms.splice(next, 1))
      yield { source: arm.source, item }
    }
  } finally {
    // Not waited for: one that hangs ends by its signal.
    for (const arm of arms) arm.items.return?.().catch(() => {})
  }
}
