/**
 * The engine as one participant of a LiveKit room, on @livekit/rtc-node, which no other file imports: audio in both
 * directions, participants, keys, text, and the state of the connection.
 */
import {
  AudioSource,
  DisconnectReason,
  LocalAudioTrack,
  type RemoteParticipant,
  type RemoteTrackPublication,
  RoomEvent,
  AudioFrame as RtcFrame,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node'
import { FRAME_MS } from '../audio/frames.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { forget, newRoom } from './events.ts'
import { Microphones } from './microphones.ts'
import { RateLimiter } from './rate-limiter.ts'

/** Sample rate in Hz of Opus in a room (RFC 7587). */
export const ROOM_RATE = 48_000
/** Frame length in ms that WebRTC processes. */
const PART_MS = 10
/** Timeout in ms for signalling, ICE and DTLS; rtc-node alone would try an unresponsive address for 16 s. */
const JOIN_MS = 10_000
/** Timeout in ms for leaving, since a lost server does not answer. */
const LEAVE_MS = 2000

export interface RoomConnectionOptions {
  url: string
  token: string
  /** Sample rate in Hz of the audio in both directions. */
  sampleRate: number
  /** Name of our track. */
  trackName: string
  /** Initial attributes of our participant. */
  attributes?: Record<string, string>
  /** Selects the participants whose microphones are received. */
  hears(identity: string): boolean
  clock: Clock
  log: Log
  /** Abort stops joining. */
  signal?: AbortSignal
  events: LinkEvents
}

/**
 * A participant leaves by its own decision (`left`, also when it rejoins at once), removed (`removed`), or by a
 * network failure (`lost`), after which it may return.
 */
export type Leaving = 'left' | 'removed' | 'lost'

export interface LinkEvents {
  joined?(identity: string): void
  left(identity: string, how: Leaving): void
  /** 20 ms of a participant's audio. */
  sound(identity: string, pcm: Int16Array): void
  dtmf?(identity: string, digit: string): void
  /** Text that a participant sent on the chat topic. */
  text?(identity: string, text: string): void
  /** Our own connection was interrupted (`false`) or restored (`true`). */
  connected?(whole: boolean): void
  /** The engine has left the room. `shown`: it was removed. */
  closed(shown: boolean): void
}

export interface Caption {
  /** Identity of the speaker. */
  identity: string
  segment: string
  text: string
  final: boolean
  language: string
}

const REMOVED: ReadonlySet<DisconnectReason | undefined> = new Set([
  DisconnectReason.PARTICIPANT_REMOVED,
  DisconnectReason.ROOM_DELETED,
  DisconnectReason.ROOM_CLOSED,
])

/** Maximum size of one text message. */
const MOST_TEXT_BYTES = 16_384
/** Limits for keys and texts: faster than people press and type. */
const KEYS = { atOnce: 32, perSecond: 10 }
const TEXTS = { atOnce: 8, perSecond: 1 }
/** LiveKit's names for topics and attributes, which its components use. */
const CHAT_TOPIC = 'lk.chat'
const TRANSCRIPTION_TOPIC = 'lk.transcription'
const SEGMENT_ATTRIBUTE = 'lk.segment_id'
const TRACK_ATTRIBUTE = 'lk.transcribed_track_id'
const FINAL_ATTRIBUTE = 'lk.transcription_final'

/** Starts what all rooms of a process share, above all native threads. */
export async function warmUp(): Promise<void> {
  await new AudioSource(ROOM_RATE, 1, 0).close()
}

export class RoomConnection {
  readonly #options: RoomConnectionOptions
  readonly #room = newRoom()
  readonly #source: AudioSource
  readonly #microphones: Microphones
  readonly #keys = new RateLimiter(KEYS)
  readonly #texts = new RateLimiter(TEXTS)
  /** Half a frame; rtc-node copies it before `captureFrame` returns. */
  readonly #part: RtcFrame
  #track: LocalAudioTrack | null = null
  #trackSid = ''
  #attributes: Record<string, string>
  #sendingAttributes: Promise<void> | null = null
  #attributesChanged = false
  #open = true
  #closing: Promise<void> | null = null
  #sent = 0

  private constructor(options: RoomConnectionOptions) {
    const { sampleRate, attributes, events } = options
    this.#options = options
    this.#attributes = { ...attributes }
    this.#part = RtcFrame.create(sampleRate, 1, (sampleRate * PART_MS) / 1000)
    const onSound = this.#safely((identity: string, pcm: Int16Array) => events.sound(identity, pcm))
    this.#microphones = new Microphones(sampleRate, onSound)
    // No queue: frames are sent at once, so that a cut is audible with the next frame.
    this.#source = new AudioSource(sampleRate, 1, 0)
  }

  /** Rejects when joining fails, times out or is aborted; the engine is then not in the room. */
  static async open(options: RoomConnectionOptions): Promise<RoomConnection> {
    const link = new RoomConnection(options)
    const entering = link.#enter()
    try {
      await link.#inTime(entering)
      return link
    } catch (error) {
      void link.close()
      throw error
    }
  }

  identities(): string[] {
    return [...this.#room.remoteParticipants.keys()]
  }

  /** Our own identity. */
  get identity(): string {
    return this.#room.localParticipant?.identity ?? ''
  }

  /** Number of 20 ms frames sent. */
  get sent(): number {
    return this.#sent
  }

  /** Settles when a participant has subscribed to our track. */
  async heard(): Promise<void> {
    await this.#room.localParticipant?.trackPublications.get(this.#trackSid)?.waitForSubscription()
  }

  /** Sends 20 ms of audio; null is silence. */
  speak(pcm: Int16Array | null): void {
    if (!this.#open) return
    const { data } = this.#part
    for (let at = 0; at < (data.length * FRAME_MS) / PART_MS; at += data.length) {
      if (pcm) data.set(pcm.subarray(at, at + data.length))
      else data.fill(0)
      this.#source.captureFrame(this.#part).catch(() => {}) // the source is being closed
    }
    this.#sent++
  }

  /** Adds attributes to our participant. */
  show(attributes: Record<string, string>): void {
    this.#attributes = { ...this.#attributes, ...attributes }
    this.#attributesChanged = true
    this.#sendingAttributes ??= this.#sendAttributes()
  }

  /** Sends a caption as a text stream, and as the older packet that some components still read. */
  async caption({ identity, segment, text, final, language }: Caption): Promise<void> {
    const local = this.#room.localParticipant
    if (!local || !this.#open) return
    const trackSid = identity === local.identity ? this.#trackSid : this.#microphoneOf(identity)
    const attributes = {
      [SEGMENT_ATTRIBUTE]: segment,
      [FINAL_ATTRIBUTE]: String(final),
      ...(trackSid ? { [TRACK_ATTRIBUTE]: trackSid } : {}),
    }
    const writer = await local.streamText({ topic: TRANSCRIPTION_TOPIC, senderIdentity: identity, attributes })
    await writer.write(text)
    await writer.close()
    const time = BigInt(0)
    await local.publishTranscription({
      participantIdentity: identity,
      trackSid,
      segments: [{ id: segment, text, final, language, startTime: time, endTime: time }],
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  async #leave(): Promise<void> {
    const { clock, log } = this.#options
    this.#open = false
    this.#room.removeAllListeners()
    this.#microphones.close()
    let cancel = () => {}
    const late = new Promise<void>(resolve => (cancel = clock.after(LEAVE_MS, resolve)))
    const left = this.#room.disconnect().catch(error => log.warn({ err: error }, 'could not leave the room cleanly'))
    await Promise.race([left, late])
    cancel()
    forget(this.#room)
    if (this.#track) await this.#track.close()
    else await this.#source.close()
  }

  async #inTime(entering: Promise<void>): Promise<void> {
    const { clock, signal } = this.#options
    let [cancel, forgetAbort] = [() => {}, () => {}]
    const given = new Promise<never>((_, reject) => {
      const abort = () => reject(signal!.reason)
      cancel = clock.after(JOIN_MS, () => reject(new Error(`joining the room timed out after ${JOIN_MS} ms`)))
      forgetAbort = () => signal?.removeEventListener('abort', abort)
      if (signal?.aborted) abort()
      else signal?.addEventListener('abort', abort)
    })
    entering.catch(() => {}) // reported by the race, or too late
    try {
      await Promise.race([given, entering])
    } finally {
      cancel()
      forgetAbort()
    }
  }

  async #enter(): Promise<void> {
    const { url, token, trackName } = this.#options
    this.#listen()
    await this.#room.connect(url, token, {
      autoSubscribe: false,
      dynacast: false,
      dataStream: { maxPayloadByteLength: MOST_TEXT_BYTES },
    })
    if (!this.#open) {
      // It was closed meanwhile, before there was a connection to close.
      await this.#room.disconnect()
      return
    }
    this.show({})
    this.#wantAll()
    this.#track = LocalAudioTrack.createAudioTrack(trackName, this.#source)
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE, dtx: true, red: false })
    const publication = await this.#room.localParticipant!.publishTrack(this.#track, options)
    this.#trackSid = publication.sid ?? ''
  }

  #listen(): void {
    const { events } = this.#options
    const safely = this.#safely
    this.#room
      .on(
        RoomEvent.ParticipantConnected,
        safely(({ identity }) => events.joined?.(identity)),
      )
      .on(
        RoomEvent.ParticipantDisconnected,
        safely(({ identity, disconnectReason }) => {
          this.#microphones.forget(identity)
          events.left(identity, leavingOf(disconnectReason))
        }),
      )
      .on(
        RoomEvent.TrackPublished,
        safely((publication, participant) => this.#want(publication, participant)),
      )
      .on(
        RoomEvent.TrackSubscribed,
        safely((track, _, { identity }) => this.#microphones.add(identity, track)),
      )
      .on(
        RoomEvent.TrackUnsubscribed,
        safely((track, _, { identity }) => this.#microphones.remove(identity, track)),
      )
      .on(
        RoomEvent.DtmfReceived,
        safely((_code, digit, participant) => this.#onKey(digit, participant)),
      )
      .on(RoomEvent.LocalTrackRepublished, publication => {
        this.#trackSid = publication.sid ?? ''
      })
      .on(
        RoomEvent.Reconnecting,
        safely(() => events.connected?.(false)),
      )
      .on(
        RoomEvent.Reconnected,
        safely(() => {
          // The server may be another one without our state, and requests made meanwhile are lost.
          this.show({})
          this.#wantAll()
          events.connected?.(true)
        }),
      )
      .on(
        RoomEvent.Disconnected,
        safely(reason => {
          void this.close()
          events.closed(REMOVED.has(reason))
        }),
      )
    if (events.text) this.#listenForText(events.text)
  }

  /** Catches errors of handlers: an uncaught one would end the process with all its calls. */
  readonly #safely =
    <A extends unknown[]>(handle: (...args: A) => unknown) =>
    (...args: A): void => {
      try {
        handle(...args)
      } catch (error) {
        this.#options.log.error({ err: error }, 'room event handler failed')
      }
    }

  #onKey(digit: string, participant: RemoteParticipant | undefined): void {
    const { hears, events, clock } = this.#options
    if (!participant || !hears(participant.identity) || !this.#keys.take(clock.now())) return
    events.dtmf?.(participant.identity, digit)
  }

  #listenForText(onText: (identity: string, text: string) => void): void {
    this.#room.registerTextStreamHandler(CHAT_TOPIC, (reader, { identity }) => {
      const allowed = this.#options.hears(identity) && this.#texts.take(this.#options.clock.now())
      void reader.readAll().then(
        this.#safely(text => this.#open && allowed && onText(identity, text)),
        () => {}, // too long, or its sender has left
      )
    })
  }

  #wantAll(): void {
    for (const participant of this.#room.remoteParticipants.values()) {
      for (const publication of participant.trackPublications.values()) this.#want(publication, participant)
    }
  }

  #want(publication: RemoteTrackPublication, participant: RemoteParticipant | undefined): void {
    if (!participant || !this.#options.hears(participant.identity)) return
    const { kind, source } = publication
    if (kind !== TrackKind.KIND_AUDIO || source === TrackSource.SOURCE_SCREENSHARE_AUDIO) return
    publication.setSubscribed(true)
  }

  /** Sends attributes one request at a time, since two may overtake each other; skips intermediate values. */
  async #sendAttributes(): Promise<void> {
    try {
      while (this.#attributesChanged && this.#open && this.#room.localParticipant) {
        this.#attributesChanged = false
        await this.#room.localParticipant.setAttributes(this.#attributes)
      }
    } catch {
      // the connection is lost; after a reconnect the attributes are sent again
    }
    this.#sendingAttributes = null
  }

  #microphoneOf(identity: string): string {
    const publications = [...(this.#room.remoteParticipants.get(identity)?.trackPublications.values() ?? [])]
    return publications.find(publication => publication.source === TrackSource.SOURCE_MICROPHONE)?.sid ?? ''
  }
}

function leavingOf(reason: DisconnectReason | undefined): Leaving {
  if (reason === DisconnectReason.CLIENT_INITIATED) return 'left'
  return REMOVED.has(reason) ? 'removed' : 'lost'
}
