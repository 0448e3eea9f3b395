/** What a room of rtc-node 1.1 listens to: by itself, all that happens in the process, sound of all calls included. */
import { Room } from '@livekit/rtc-node'

interface FfiEvent {
  message: { case?: string }
}
interface Internals {
  onFfiEvent?: (event: FfiEvent) => unknown
}

/** All that a room acts upon. */
const HEEDED = new Set(['roomEvent', 'rpcMethodInvocation'])

/** A room that is not woken by each frame of sound of every other: with n calls, that is n² times 150 a second. */
export function newRoom(): Room {
  const room = new Room()
  const internals = room as unknown as Internals
  const heed = internals.onFfiEvent
  if (heed) internals.onFfiEvent = event => (HEEDED.has(event.message.case ?? '') ? heed(event) : undefined)
  return room
}

/** It keeps its listener when it ended without our doing. */
export function forget(room: Room): void {
  const { onFfiEvent } = room as unknown as Internals
  const client = globalThis._ffiClientInstance as { off?(event: string, listener: unknown): void } | undefined
  if (onFfiEvent) client?.off?.('ffi_event', onFfiEvent)
}
