/** Filters the events of rooms in rtc-node 1.1, which by default receive every event of the process, audio included. */
import { Room } from '@livekit/rtc-node'

interface FfiEvent {
  message: { case?: string }
}
interface Internals {
  onFfiEvent?: (event: FfiEvent) => unknown
}

/** All events that a room acts on. */
const HEEDED = new Set(['roomEvent', 'rpcMethodInvocation'])

/** Creates a room that ignores other rooms' audio frames: with n calls those are n² × 150 events a second. */
export function newRoom(): Room {
  const room = new Room()
  const internals = room as unknown as Internals
  const heed = internals.onFfiEvent
  if (heed) internals.onFfiEvent = event => (HEEDED.has(event.message.case ?? '') ? heed(event) : undefined)
  return room
}

/** Removes the room's listener, which it keeps when it was disconnected from outside. */
export function forget(room: Room): void {
  const { onFfiEvent } = room as unknown as Internals
  const client = globalThis._ffiClientInstance as { off?(event: string, listener: unknown): void } | undefined
  if (onFfiEvent) client?.off?.('ffi_event', onFfiEvent)
}
