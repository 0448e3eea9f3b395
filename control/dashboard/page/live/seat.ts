/** An operator's participation in a live call: join with a mode, change the mode, leave. Uses LiveKit. */
import { type LocalAudioTrack, Room, RoomEvent, Track } from 'livekit-client'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { MonitorMode } from '../conversation/events.ts'
import { openMicrophone } from '../conversation/microphone.ts'
import { TalkError } from '../conversation/talk-error.ts'

const TYPED = 'lk.chat'
/** Time in ms for the publish permission to arrive after the server has granted it. */
const PERMITTED_WITHIN_MS = 5000

const isHeard = (mode: MonitorMode) => mode !== 'listen'

export interface Seat {
  id: string
  room: Room
  /** Null if the operator is not sending audio. */
  microphone: LocalAudioTrack | null
}

/** `onLost` is called if the room was left for any reason other than `leave`. */
export async function takeSeat(callId: string, mode: MonitorMode, onLost: () => void): Promise<Seat> {
  const microphone = isHeard(mode) ? await openMicrophone() : null
  const room = new Room()
  let id: string | null = null
  try {
    const { monitor_id, url, token } = await ask(callId, { mode })
    id = monitor_id
    await room.connect(url, token!).catch(notJoined) // only idempotent replays lack a token
    if (microphone) await publish(room, microphone)
  } catch (error) {
    microphone?.stop()
    await room.disconnect()
    if (id !== null) await giveBack(callId, id).catch(() => {}) // report the first error
    throw error
  }
  room.on(RoomEvent.Disconnected, onLost)
  return { id, room, microphone }
}

export async function changeSeat(callId: string, seat: Seat, mode: MonitorMode): Promise<Seat> {
  const fresh = isHeard(mode) && !seat.microphone ? await openMicrophone() : null
  try {
    await ask(callId, { mode, monitor_id: seat.id })
    if (fresh) await publish(seat.room, fresh)
  } catch (error) {
    fresh?.stop()
    throw error
  }
  return { ...seat, microphone: fresh ?? seat.microphone }
}

/** Stops sending audio at once, whatever the server answers. */
export async function silence({ room, microphone }: Seat): Promise<void> {
  if (!microphone) return
  microphone.stop()
  await room.localParticipant.unpublishTrack(microphone)
}

/** Silences everything at once; resolves when the server has confirmed. Errors of a call that has ended are ignored. */
export async function leaveSeat(callId: string, seat: Seat, isOver: boolean): Promise<void> {
  seat.room.removeAllListeners(RoomEvent.Disconnected)
  seat.microphone?.stop()
  void seat.room.disconnect()
  if (!isOver) await giveBack(callId, seat.id)
}

export const whisper = ({ room }: Seat, text: string) => room.localParticipant.sendText(text, { topic: TYPED })

const ask = (call_id: string, body: { mode: MonitorMode; monitor_id?: string }) =>
  must(api.POST('/v1/public/calls/{call_id}/monitor', { params: { path: { call_id } }, body }))

/** `keepalive` sends the request even while the page closes. */
const giveBack = (call_id: string, monitor_id: string) =>
  must(
    api.DELETE('/v1/public/calls/{call_id}/monitor/{monitor_id}', {
      params: { path: { call_id, monitor_id } },
      keepalive: true,
    }),
  )

const notJoined = (error: unknown): never => {
  throw new TalkError('join', String(error))
}

async function publish(room: Room, microphone: LocalAudioTrack): Promise<void> {
  await permitted(room)
  await room.localParticipant.publishTrack(microphone, { source: Track.Source.Microphone }).catch(notJoined)
}

function permitted({ localParticipant }: Room): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer)
      localParticipant.off('participantPermissionsChanged', look)
      settle()
    }
    const look = () => localParticipant.permissions?.canPublish && end(resolve)
    const timer = setTimeout(() => end(() => reject(new TalkError('join'))), PERMITTED_WITHIN_MS)
    localParticipant.on('participantPermissionsChanged', look)
    look()
  })
}
