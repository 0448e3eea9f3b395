/**
 * One seat in a LiveKit room, by @livekit/rtc-node, which nothing else imports: sound in and out, who is there, keys,
 * text, and how the connection is.
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
import { Allowance } from './allowance.ts'
import { forget, newRoom } from './events.ts'
import { Microphones } from './microphones.ts'

/** Of Opus in a room (RFC 7587). */
export const ROOM_RATE = 48_000
/** What WebRTC takes at a time. */
const PART_MS = 10
/** Signalling, ICE and DTLS; rtc-node alone would try for 16 s at an address that says nothing. */
const JOIN_MS = 10_000
/** A server that is gone does not see us off. */
const LEAVE_MS = 2000

export interface LinkOptions {
  url: string
  token: string
  /** Of the sound both ways, in Hz. */
  sampleRate: number
  /** What our track is called. */
  trackName: string
  /** What our participant says of itself, from the beginning. */
  attributes?: Record<string, string>
  /** Whose microphone is heard. */
  hears(identity: string): boolean
  clock: Clock
  log: Log
  /** Abort gives up joining. */
  signal?: AbortSignal
  events: LinkEvents
}

/**
 * On its own account (or to join anew at once, which looks the same), by somebody's order, or by the network, which may
 * give it back.
 */
export type Leaving = 'left' | 'shown_out' | 'lost'

export interface LinkEvents {
  joined?(identity: string): void
  left(identity: string, how: Leaving): void
  /** 20 ms. */
  sound(identity: string, pcm: Int16Array): void
  dtmf?(identity: string, digit: string): void
  /** A text stream of its topic. */
  text?(identity: string, text: string): void
  /** Our own connection broke (`false`) and was mended (`true`). */
  connected?(whole: boolean): void
  /** We are out of the room for good. `shown`: somebody put us out. */
  closed(shown: boolean): void
}

export interface Caption {
  /** Whose words these are. */
  identity: string
  segment: string
  text: string
  final: boolean
  language: string
}

const SHOWN_OUT: ReadonlySet<DisconnectReason | undefined> = new Set([
  DisconnectReason.PARTICIPANT_REMOVED,
  DisconnectReason.ROOM_DELETED,
  DisconnectReason.ROOM_CLOSED,
])

/** Of one text that somebody sends. */
const MOST_TEXT_BYTES = 16_384
/** Faster than people press and write; more is neither, and costs. */
const KEYS = { atOnce: 32, perSecond: 10 }
const TEXTS = { atOnce: 8, perSecond: 1 }
/** LiveKit's own names, which its components know. */
const CHAT_TOPIC = 'lk.chat'
const TRANSCRIPTION_TOPIC = 'lk.transcription'
const SEGMENT_ATTRIBUTE = 'lk.segment_id'
const TRACK_ATTRIBUTE = 'lk.transcribed_track_id'
const FINAL_ATTRIBUTE = 'lk.transcription_final'

/** Starts what all rooms of a process share, its threads above all. */
export async function warmUp(): Promise<void> {
  await new AudioSource(ROOM_RATE, 1, 0).close()
}

export class RoomLink {
  readonly #options: LinkOptions
  readonly #room = newRoom()
  readonly #source: AudioSource
  readonly #microphones: Microphones
  readonly #keys = new Allowance(KEYS)
  readonly #texts = new Allowance(TEXTS)
  /** One half of a frame; rtc-node copies it before `captureFrame` returns. */
  readonly #part: RtcFrame
  #track: LocalAudioTrack | null = null
  #trackSid = ''
  #attributes: Record<string, string>
  #telling: Promise<void> | null = null
  #untold = false
  #open = true
  #closing: Promise<void> | null = null
  #sent = 0

  private constructor(options: LinkOptions) {
    const { sampleRate, attributes, events } = options
    this.#options = options
    this.#attributes = { ...attributes }
    this.#part = RtcFrame.create(sampleRate, 1, (sampleRate * PART_MS) / 1000)
    const onSound = this.#safely((identity: string, pcm: Int16Array) => events.sound(identity, pcm))
    this.#microphones = new Microphones(sampleRate, onSound)
    // No queue: what is given leaves now, so that a cut is heard at the next frame.
    this.#source = new AudioSource(sampleRate, 1, 0)
  }

  /** Rejects when the room can't be had in time, or is not wanted any more; nobody of ours is in it then, or stays. */
  static async open(options: LinkOptions): Promise<RoomLink> {
    const link = new RoomLink(options)
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

  /** Our own. */
  get identity(): string {
    return this.#room.localParticipant?.identity ?? ''
  }

  /** Frames of 20 ms that were given. */
  get sent(): number {
    return this.#sent
  }

  /** Settles when somebody hears our track. */
  async heard(): Promise<void> {
    await this.#room.localParticipant?.trackPublications.get(this.#trackSid)?.waitForSubscription()
  }

  /** 20 ms of sound; null is silence. */
  speak(pcm: Int16Array | null): void {
    if (!this.#open) return
    const { data } = this.#part
    for (let at = 0; at < (data.length * FRAME_MS) / PART_MS; at += data.length) {
      if (pcm) data.set(pcm.subarray(at, at + data.length))
      else data.fill(0)
      this.#source.captureFrame(this.#part).catch(() => {}) // it is being closed
    }
    this.#sent++
  }

  /** What our participant says of itself, beside what it said before. */
  show(attributes: Record<string, string>): void {
    this.#attributes = { ...this.#attributes, ...attributes }
    this.#untold = true
    this.#telling ??= this.#tell()
  }

  /** By a text stream, and by the older packet that some components still read. */
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
    const left = this.#room.disconnect().catch(error => log.warn({ err: error }, 'room was not left cleanly'))
    await Promise.race([left, late])
    cancel()
    forget(this.#room)
    if (this.#track) await this.#track.close()
    else await this.#source.close()
  }

  // ---- joining ----

  async #inTime(entering: Promise<void>): Promise<void> {
    const { clock, signal } = this.#options
    let [cancel, forgetAbort] = [() => {}, () => {}]
    const given = new Promise<never>((_, reject) => {
      const abort = () => reject(signal!.reason)
      cancel = clock.after(JOIN_MS, () => reject(new Error(`the room did not let us in within ${JOIN_MS} ms`)))
      forgetAbort = () => signal?.removeEventListener('abort', abort)
      if (signal?.aborted) abort()
      else signal?.addEventListener('abort', abort)
    })
    entering.catch(() => {}) // told here, or too late for anybody
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
      // It was given up meanwhile, and there was nothing to leave yet.
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
          // The server may be another, which knows nothing of us; what was asked for meanwhile is lost.
          this.show({})
          this.#wantAll()
          events.connected?.(true)
        }),
      )
      .on(
        RoomEvent.Disconnected,
        safely(reason => {
          void this.close()
          events.closed(SHOWN_OUT.has(reason))
        }),
      )
    if (events.text) this.#listenForText(events.text)
  }

  /** What a handler throws would be nobody's, and end the process with all its calls. */
  readonly #safely =
    <A extends unknown[]>(handle: (...args: A) => unknown) =>
    (...args: A): void => {
      try {
        handle(...args)
      } catch (error) {
        this.#options.log.error({ err: error }, 'news of a room could not be handled')
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
        () => {}, // too long, or who sent it left meanwhile
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

  /** One at a time: two on their way may overtake each other. What was overtaken here is not told. */
  async #tell(): Promise<void> {
    try {
      while (this.#untold && this.#open && this.#room.localParticipant) {
        this.#untold = false
        await this.#room.localParticipant.setAttributes(this.#attributes)
      }
    } catch {
      // the room is being left, or joined anew: then it is told again
    }
    this.#telling = null
  }

  #microphoneOf(identity: string): string {
    const publications = [...(this.#room.remoteParticipants.get(identity)?.trackPublications.values() ?? [])]
    return publications.find(publication => publication.source === TrackSource.SOURCE_MICROPHONE)?.sid ?? ''
  }
}

function leavingOf(reason: DisconnectReason | undefined): Leaving {
  if (reason === DisconnectReason.CLIENT_INITIATED) return 'left'
  return SHOWN_OUT.has(reason) ? 'shown_out' : 'lost'
}
