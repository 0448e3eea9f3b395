/** A stream of server-sent events that outlives what breaks it off. */

/** A stream that was refused, as by a server on its way down, is asked for again after so long. */
const AGAIN_MS = 5000

type Listener = (type: string, data: string) => 'end' | undefined

/** Answers what ends it. */
export function follow(path: string, types: readonly string[], listen: Listener, againMs = AGAIN_MS): () => void {
  let source: EventSource
  let again: ReturnType<typeof setTimeout> | undefined
  /** How often each event was told. */
  const told = new Map<string, number>()
  const open = () => {
    source = new EventSource(path)
    // A new stream begins at the first event, with what was told before; the browser's own way back goes on where it was.
    const come = new Map<string, number>()
    for (const type of types) {
      source.addEventListener(type, message => {
        const { data } = message as unknown as { data: string }
        const event = `${type} ${data}`
        const times = (come.get(event) ?? 0) + 1
        come.set(event, times)
        if (times <= (told.get(event) ?? 0)) return
        told.set(event, times)
        if (listen(type, data) === 'end') source.close()
      })
    }
    source.addEventListener('error', () => {
      // Otherwise the browser comes back by itself: it gives up where the answer was no stream.
      if (source.readyState === EventSource.CLOSED) again = setTimeout(open, againMs)
    })
  }
  open()
  return () => {
    clearTimeout(again)
    source.close()
  }
}
