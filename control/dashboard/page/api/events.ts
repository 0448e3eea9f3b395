/** Server-sent events of the API, parsed. */
import { useEffect, useRef } from 'react'
import { follow } from './stream.ts'

/**
 * `path`: of the stream, or null for none. `types`: the names of events that are listened to. The stream is closed when
 * `onEvent` answers `'end'`, when the path changes, and with the component. One that breaks off is gone on with, and no
 * event is told twice.
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
    return follow(path, names.split(' '), (type, data) => latest.current({ type, ...JSON.parse(data) } as E))
  }, [path, names])
}
