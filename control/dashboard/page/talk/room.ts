/** One browser call, from a URL and token to its end. Uses LiveKit; independent of the UI. */
import {
  DisconnectReason,
  type LocalAudioTrack,
  type Participant,
  Room,
  RoomEvent,
  type TextStreamReader,
  Track,
} from 'livekit-client'
import { openMicrophone } from '../conversation/microphone.ts'
import type { Said } from '../conversation/story.ts'
import { TalkError } from '../conversation/talk-error.ts'

/** Names of participant attributes and text streams; see docs/realtime.md. */
const STATE = 'lk.agent.state'
const CALL = 'parley.call_id'
const TRANSCRIPTION = 'lk.transcription'
const TYPED = 'lk.chat'
const SEGMENT = 'lk.segment_id'
const FINAL = 'lk.transcription_final'
const PROBLEM = 'parley.problem'
const ENDED = 'parley.ended'

export const agentStates = ['initializing', 'listening', 'thinking', 'speaking', 'reconnecting'] as const
export type AgentState = (typeof agentStates)[number]

/** `reason` is the API's `ended_reason` if the server reported one. `problem` is set for unexpected ends. */
export interface End {
  reason: string | null
  problem: TalkError | null
}

export interface DialogueEvents {
  state(state: AgentState): void
  /** ID of the call. */
  call(id: string): void
  said(said: Said): void
  ended(end: End): void
}

export interface Dialogue {
  room: Room
  microphone: LocalAudioTrack
  type(text: string): Promise<unknown>
  hangUp(): Promise<void>
}

/** Access to the room of one call. */
export interface Seat {
  url: string
  token: string
}

/**
 * Starts a browser call. `invite` creates the session once the microphone is available. Rejects if the call can't
 * start; resolves to null if it ended while starting.
 */
export async function openDialogue(
  invite: () => Promise<Seat>,
  on: DialogueEvents,
  signal: AbortSignal,
): Promise<Dialogue | null> {
  const microphone = await openMicrophone()
  const room = new Room()
  const told = followEnd(room, microphone, on)
  try {
    signal.throwIfAborted()
    const { url, token } = await invite()
    signal.throwIfAborted()
    followAgent(room, on)
    room.registerTextStreamHandler(TRANSCRIPTION, (reader, { identity }) => void readText(room, reader, identity, on))
    await room.connect(url, token).catch(notJoined)
    told.phase = 'connected'
    await room.localParticipant.publishTrack(microphone, { source: Track.Source.Microphone }).catch(notJoined)
    signal.throwIfAborted()
  } catch (error) {
    const { phase, end } = told
    told.phase = 'over'
    microphone.stop()
    await room.disconnect()
    if (phase !== 'connected' || end === null) throw error
    on.ended(end)
    return null
  }
  if (told.end) {
    on.ended(told.end)
    return null
  }
  told.phase = 'joined'
  return {
    room,
    microphone,
    type: text => room.localParticipant.sendText(text, { topic: TYPED }),
    hangUp: () => room.disconnect(),
  }
}

const notJoined = (error: unknown): never => {
  throw new TalkError('join', String(error))
}

function followAgent(room: Room, on: DialogueEvents): void {
  const look = (participant: Participant) => {
    if (participant === room.localParticipant) return
    const { [STATE]: state, [CALL]: call } = participant.attributes
    if (call) on.call(call)
    const known = agentStates.find(name => name === state)
    if (known) on.state(known)
  }
  const lookAround = () => {
    on.state('initializing')
    for (const participant of room.remoteParticipants.values()) look(participant)
  }
  room.on(RoomEvent.ParticipantAttributesChanged, (_, participant) => look(participant))
  room.on(RoomEvent.ParticipantConnected, look)
  room.on(RoomEvent.Connected, lookAround)
  room.on(RoomEvent.Reconnected, lookAround)
  room.on(RoomEvent.Reconnecting, () => on.state('reconnecting'))
  room.on(RoomEvent.SignalReconnecting, () => on.state('reconnecting'))
}

interface Told {
  phase: 'joining' | 'connected' | 'joined' | 'over'
  /** The end of a call that ended before it was joined. */
  end: End | null
}

/** Keeps the attributes of the local participant: they are lost when the server removes it. */
function followEnd(room: Room, microphone: LocalAudioTrack, on: DialogueEvents): Told {
  let attributes: Record<string, string> = {}
  const told: Told = { phase: 'joining', end: null }
  room.on(RoomEvent.ParticipantAttributesChanged, (changed, participant) => {
    if (participant === room.localParticipant) attributes = { ...attributes, ...changed }
  })
  room.on(RoomEvent.Disconnected, reason => {
    microphone.stop()
    const end = endOf(reason, attributes)
    if (told.phase === 'connected') told.end = end
    if (told.phase === 'joined') on.ended(end)
  })
  return told
}

/** End reasons that the user did not cause. */
const SURPRISES = new Set([
  'balance_exhausted',
  'connection_lost',
  'engine_lost',
  'engine_shutdown',
  'internal_error',
  'max_duration',
  'media_timeout',
  'model_error',
  'room_unreachable',
  'silence_timeout',
])
const TIDY = [
  DisconnectReason.CLIENT_INITIATED,
  DisconnectReason.PARTICIPANT_REMOVED,
  DisconnectReason.ROOM_DELETED,
  DisconnectReason.ROOM_CLOSED,
]

function endOf(why: DisconnectReason | undefined, attributes: Record<string, string>): End {
  const reason = attributes[ENDED] ?? (why === DisconnectReason.CLIENT_INITIATED ? 'caller_hangup' : null)
  if (attributes[PROBLEM]) return { reason: null, problem: new TalkError(attributes[PROBLEM]) }
  if (reason !== null) return { reason, problem: SURPRISES.has(reason) ? new TalkError(reason) : null }
  if (why === DisconnectReason.DUPLICATE_IDENTITY) return { reason, problem: new TalkError('elsewhere') }
  const isTidy = why !== undefined && TIDY.includes(why)
  return { reason, problem: isTidy ? null : new TalkError('lost') }
}

async function readText(room: Room, reader: TextStreamReader, identity: string, on: DialogueEvents): Promise<void> {
  const { attributes: info = {}, id: streamId } = reader.info
  const role = identity === room.localParticipant.identity ? 'caller' : 'agent'
  const id = `${role} ${info[SEGMENT] ?? streamId}`
  let text = ''
  try {
    for await (const part of reader) {
      text += part
      on.said({ id, role, text, final: info[FINAL] === 'true' })
    }
  } catch {
    // The connection broke; keep the text received so far.
  }
  on.said({ id, role, text, final: reader.info.attributes?.[FINAL] === 'true' })
}
