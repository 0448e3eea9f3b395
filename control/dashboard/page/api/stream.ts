/** A server-sent event stream that reconnects after errors. */

/** Delay in ms before a refused stream is opened again, for example while the server restarts. */
const AGAIN_MS = 5000

type Listener = (type: string, data: string) => 'end' | undefined

/** Opens the stream. Returns a function that closes it. */
export function follow(path: string, types: readonly string[], listen: Listener, againMs = AGAIN_MS): () => void {
  let source: EventSource
  let again: ReturnType<typeof setTimeout> | undefined
  /** How many times each event was delivered to the listener. */
  const told = new Map<string, number>()
  const open = () => {
    source = new EventSource(path)
    // A new stream replays all events from the first one. The browser's own reconnect continues where it stopped.
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
      // The browser reconnects by itself unless the response was not an event stream.
      if (source.readyState === EventSource.CLOSED) again = setTimeout(open, againMs)
    })
  }
  open()
  return () => {
    clearTimeout(again)
    source.close()
  }
}
