/** Server-sent events of the API, parsed; the browser comes back by itself with Last-Event-ID. */
import { useEffect, useRef } from 'react'

/**
 * `path`: of the stream, or null for none. `types`: the names of events that are listened to. The stream is closed when
 * `onEvent` answers `'end'`, when the path changes, and with the component.
 */
export function useEvents<E extends { type: string }>(
  path: string | null,
  types: readonly E['type'][],
  onEvent: (event: E) => 'end' | undefined,
): void {
  const latest = useRef(onEvent)
  latest.current = onEvent
  const names = types.join(' ')
  useEffect(() => {
    if (path === null) return
    const source = new EventSource(path)
    for (const type of names.split(' ')) {
      source.addEventListener(type, message => {
        const event = { type, ...JSON.parse((message as MessageEvent<string>).data) } as E
        if (latest.current(event) === 'end') source.close()
      })
    }
    return () => source.close()
  }, [path, names])
}
