/** Parsed server-sent events of the API. */
import { useEffect, useRef } from 'react'
import { follow } from './stream.ts'

/**
 * Subscribes to the event stream at `path` (null for none) and calls `onEvent` for the given event types. The stream
 * closes when `onEvent` returns `'end'`, when the path changes, or when the component unmounts. It reconnects after
 * errors and delivers each event once.
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
