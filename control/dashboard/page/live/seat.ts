/** An operator's seat in a live call: taken with a mode, changed in place, left. Knows LiveKit. */
import { type LocalAudioTrack, Room, RoomEvent, Track } from 'livekit-client'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { MonitorMode } from '../talk/events.ts'
import { openMicrophone } from '../talk/microphone.ts'
import { TalkError } from '../talk/talk-error.ts'

const TYPED = 'lk.chat'
/** For the right to speak to reach us after the server has given it. */
const PERMITTED_WITHIN_MS = 5000

const isHeard = (mode: MonitorMode) => mode !== 'listen'

export interface Seat {
  id: string
  room: Room
  /** Null: nobody can hear us. */
  microphone: LocalAudioTrack | null
}

/** `onLost`: the room was left, and not by us. */
export async function takeSeat(callId: string, mode: MonitorMode, onLost: () => void): Promise<Seat> {
  const microphone = isHeard(mode) ? await openMicrophone() : null
  const room = new Room()
  let id: string | null = null
  try {
    const { monitor_id, url, token } = await ask(callId, { mode })
    id = monitor_id
    await room.connect(url, token!).catch(notJoined) // it is missing in replays only, and nothing is replayed here
    if (microphone) await publish(room, microphone)
  } catch (error) {
    microphone?.stop()
    await room.disconnect()
    if (id !== null) await giveBack(callId, id).catch(() => {}) // the first error is the one to tell
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

/** Nobody hears us any more, whatever the server says. */
export async function silence({ room, microphone }: Seat): Promise<void> {
  if (!microphone) return
  microphone.stop()
  await room.localParticipant.unpublishTrack(microphone)
}

/** Resolves when the server knows; here all is silent at once. Of a call that is over there is nothing to tell. */
export async function leaveSeat(callId: string, seat: Seat, isOver: boolean): Promise<void> {
  seat.room.removeAllListeners(RoomEvent.Disconnected)
  seat.microphone?.stop()
  void seat.room.disconnect()
  if (!isOver) await giveBack(callId, seat.id)
}

export const whisper = ({ room }: Seat, text: string) => room.localParticipant.sendText(text, { topic: TYPED })

const ask = (call_id: string, body: { mode: MonitorMode; monitor_id?: string }) =>
  must(api.POST('/v1/public/calls/{call_id}/monitor', { params: { path: { call_id } }, body }))

/** Also while the page is being closed. */
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
