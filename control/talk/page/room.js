/** One call, from `url` and `token` to its end. Uses LiveKit; independent of the page. */
import { createLocalAudioTrack, DisconnectReason, Room, RoomEvent, Track } from '/talk/livekit-client.js'

/** Names of participant attributes and text streams, the same as LiveKit's own agents use. */
const STATE = 'lk.agent.state'
const TRANSCRIPTION = 'lk.transcription'
const TYPED = 'lk.chat'
const SEGMENT = 'lk.segment_id'
const FINAL = 'lk.transcription_final'
const WHOSE_TRACK = 'lk.transcribed_track_id'
/** Attributes set on the caller before the server removes it: the reason. */
const PROBLEM = 'parley.problem'
const ENDED = 'parley.ended'
/** End reasons that the user did not cause. */
const TOLD = new Set([
  'balance_exhausted',
  'connection_lost',
  'engine_lost',
  'internal_error',
  'max_duration',
  'media_timeout',
  'model_error',
  'room_unreachable',
  'silence_timeout',
])

export class TalkError extends Error {
  constructor(code, detail) {
    super(detail ?? code)
    this.code = code
    this.detail = detail
  }
}

/** Requests the microphone first, so that a refusal costs nothing. */
export async function openMicrophone() {
  if (!navigator.mediaDevices) throw new TalkError('insecure')
  try {
    return await createLocalAudioTrack({ echoCancellation: true, noiseSuppression: true, autoGainControl: true })
  } catch (error) {
    throw new TalkError(error?.name === 'NotFoundError' ? 'missing' : 'refused')
  }
}

/**
 * Joins the call. Callbacks in `on`: `state(name)`; `said({ id, role, text, final })` at each change;
 * `blocked(boolean)` when the browser needs a click before it plays audio; `ended(problem | null)` once. Resolves to
 * null if the call ended while joining.
 */
export async function join({ url, token, microphone, on }) {
  const room = new Room()
  const players = new Set()
  const attributes = () => room.localParticipant.attributes
  let told = {}
  /** Before the phase `joined`, failures are thrown; after it they end the call. */
  let phase = 'joining'

  room.on(RoomEvent.TrackSubscribed, track => {
    if (track.kind !== Track.Kind.Audio) return
    const player = track.attach()
    players.add(player)
    document.body.append(player)
  })
  room.on(RoomEvent.TrackUnsubscribed, track => {
    for (const player of track.detach()) {
      players.delete(player)
      player.remove()
    }
  })
  room.on(RoomEvent.AudioPlaybackStatusChanged, () => on.blocked(!room.canPlaybackAudio))
  room.on(RoomEvent.ParticipantAttributesChanged, (_, participant) => {
    if (participant === room.localParticipant) told = { ...told, ...attributes() }
    else tellState(participant)
  })
  room.on(RoomEvent.ParticipantConnected, tellState)
  room.on(RoomEvent.Reconnecting, () => on.state('reconnecting'))
  room.on(RoomEvent.SignalReconnecting, () => on.state('reconnecting'))
  room.on(RoomEvent.Reconnected, () => tellAll())
  room.on(RoomEvent.Disconnected, reason => {
    if (phase !== 'joined') return
    phase = 'over'
    for (const player of players) player.remove()
    microphone.stop()
    on.ended(problemOf(reason, { ...told, ...attributes() }))
  })
  room.registerTextStreamHandler(TRANSCRIPTION, (reader, { identity }) => void readText(reader, identity))

  function tellState(participant) {
    const state = participant.attributes[STATE]
    if (state) on.state(state)
  }
  function tellAll() {
    on.state('initializing')
    for (const participant of room.remoteParticipants.values()) tellState(participant)
  }
  function isCaller(identity, trackId) {
    if (identity === room.localParticipant.identity) return true
    return [...room.localParticipant.trackPublications.values()].some(({ trackSid }) => trackSid === trackId)
  }

  /** Each stream holds the full text of the segment so far; a later stream of the same segment replaces it. */
  async function readText(reader, identity) {
    const { attributes: info = {}, id: streamId } = reader.info
    const id = info[SEGMENT] ?? streamId
    const role = isCaller(identity, info[WHOSE_TRACK]) ? 'caller' : 'agent'
    let text = ''
    const tell = final => on.said({ id: `${role} ${id}`, role, text, final })
    try {
      for await (const part of reader) {
        text += part
        tell(info[FINAL] === 'true')
      }
    } catch {
      // The connection broke; keep the text received so far.
    }
    tell(reader.info.attributes?.[FINAL] === 'true')
  }

  try {
    await room.connect(url, token)
    phase = 'joined'
    await room.localParticipant.publishTrack(microphone, { source: Track.Source.Microphone })
  } catch (error) {
    if (phase === 'over') return null
    phase = 'joining'
    microphone.stop()
    await room.disconnect()
    throw new TalkError('join', error?.message)
  }
  if (phase === 'over') return null
  tellAll()
  on.blocked(!room.canPlaybackAudio)
  return {
    hangUp: () => room.disconnect(),
    unblock: () => room.startAudio(),
    type: text => room.localParticipant.sendText(text, { topic: TYPED }),
    /** Resolves to the new mute state. */
    async toggleMute() {
      if (microphone.isMuted) await microphone.unmute()
      else await microphone.mute()
      return microphone.isMuted
    },
  }
}

/** Returns null for an expected end. */
function problemOf(reason, attributes) {
  if (attributes[PROBLEM]) return new TalkError(attributes[PROBLEM])
  if (reason === DisconnectReason.CLIENT_INITIATED) return null
  if (attributes[ENDED]) return TOLD.has(attributes[ENDED]) ? new TalkError(attributes[ENDED]) : null
  if (reason === DisconnectReason.DUPLICATE_IDENTITY) return new TalkError('elsewhere')
  const tidy = [DisconnectReason.PARTICIPANT_REMOVED, DisconnectReason.ROOM_DELETED, DisconnectReason.ROOM_CLOSED]
  return tidy.includes(reason) ? null : new TalkError('lost')
}
