/**
 * A participant that uses rtc-node as a server-side client: with a continuous microphone, and records of received
 * audio, transcription streams and attributes.
 */
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  type DisconnectReason,
  LocalAudioTrack,
  type Participant,
  type RemoteTrack,
  Room,
  RoomEvent,
  type TextStreamReader,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node'
import { PATIENCE } from './world.ts'

export const ROOM_RATE = 48_000
const FRAME_MS = 20
const FRAME = (ROOM_RATE * FRAME_MS) / 1000

export interface HeardFrame {
  from: string
  /** Time of `performance.now()`. */
  atMs: number
  samples: Int16Array
}

/** One text stream of the topic `lk.transcription`, as received so far. */
export interface HeardText {
  from: string
  atMs: number
  segmentId: string
  text: string
  final: boolean
  attributes: Record<string, string>
}

export interface RoomPeer {
  room: Room
  identity: string
  heard: HeardFrame[]
  texts: HeardText[]
  /** All changes, oldest first. */
  attributes: { from: string; atMs: number; changed: Record<string, string> }[]
  /** The reason why the room was left; null before. */
  endedBy(): DisconnectReason | null
  /** Plays 48 kHz mono in real time. Resolves with the time of its last frame. */
  say(samples: Int16Array): Promise<number>
  /** Resolves when the condition holds; checked on every event. */
  wait(look: () => unknown, what: string, ms?: number): Promise<void>
  /** Resolves with the reason why the room was left. */
  ended(ms?: number): Promise<DisconnectReason>
  leave(): Promise<void>
}

export async function joinRoom(
  url: string,
  token: string,
  { microphone = true }: { microphone?: boolean } = {},
): Promise<RoomPeer> {
  const room = new Room()
  const news = createNews()
  const heard: HeardFrame[] = []
  const texts: HeardText[] = []
  const attributes: RoomPeer['attributes'] = []
  let endedBy: DisconnectReason | null = null
  let mic: Microphone | null = null
  room.on(RoomEvent.TrackSubscribed, (track, _, { identity }) => {
    listen(track, identity, heard, news.report).catch(() => {}) // the room was left meanwhile
  })
  room.on(RoomEvent.ParticipantAttributesChanged, (changed, { identity }: Participant) => {
    attributes.push({ from: identity, atMs: performance.now(), changed })
    news.report()
  })
  for (const event of [RoomEvent.ParticipantConnected, RoomEvent.ParticipantDisconnected, RoomEvent.Reconnected]) {
    room.on(event as RoomEvent.Reconnected, news.report)
  }
  room.registerTextStreamHandler('lk.transcription', (reader, { identity }) => {
    readText(reader, identity, texts, news.report).catch(() => {}) // the room was left meanwhile
  })
  room.on(RoomEvent.Disconnected, reason => {
    endedBy = reason
    mic?.stop()
    news.report()
  })
  await room.connect(url, token, { autoSubscribe: true, dynacast: false })
  mic = microphone ? await openMicrophone(room) : null
  return {
    room,
    identity: room.localParticipant!.identity,
    heard,
    texts,
    attributes,
    endedBy: () => endedBy,
    say: samples => {
      if (!mic) throw new Error('this peer has no microphone')
      return mic.say(samples)
    },
    wait: news.wait,
    async ended(ms) {
      await news.wait(() => endedBy !== null, 'the end of the room', ms)
      return endedBy!
    },
    async leave() {
      mic?.stop()
      await room.disconnect()
    },
  }
}

interface Microphone {
  say(samples: Int16Array): Promise<number>
  stop(): void
}

/** Sends silence between utterances, like a real microphone. */
async function openMicrophone(room: Room): Promise<Microphone> {
  const source = new AudioSource(ROOM_RATE, 1)
  const track = LocalAudioTrack.createAudioTrack('microphone', source)
  await room.localParticipant!.publishTrack(track, new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE }))
  const queue: { samples: Int16Array; at: number; done(atMs: number): void }[] = []
  let stopped = false
  const next = (): Int16Array => {
    const frame = new Int16Array(FRAME)
    const first = queue[0]
    if (!first) return frame
    frame.set(first.samples.subarray(first.at, first.at + FRAME))
    first.at += FRAME
    if (first.at >= first.samples.length) queue.shift()!.done(performance.now())
    return frame
  }
  void (async () => {
    for (let due = performance.now(); !stopped; due += FRAME_MS) {
      await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
      if (stopped) break
      await source.captureFrame(new AudioFrame(next(), ROOM_RATE, 1, FRAME)).catch(() => {})
    }
    await track.close()
  })()
  return {
    say: samples => new Promise(done => queue.push({ samples, at: 0, done })),
    stop() {
      stopped = true
    },
  }
}

async function listen(track: RemoteTrack, from: string, heard: HeardFrame[], report: () => void): Promise<void> {
  if (track.kind !== TrackKind.KIND_AUDIO) return
  const stream = new AudioStream(track, { sampleRate: ROOM_RATE, numChannels: 1, frameSizeMs: FRAME_MS })
  for await (const frame of stream) {
    heard.push({ from, atMs: performance.now(), samples: frame.data })
    report()
  }
}

async function readText(reader: TextStreamReader, from: string, texts: HeardText[], report: () => void): Promise<void> {
  const { attributes = {}, streamId } = reader.info
  const text: HeardText = {
    from,
    atMs: performance.now(),
    segmentId: attributes['lk.segment_id'] ?? streamId,
    text: '',
    final: attributes['lk.transcription_final'] === 'true',
    attributes,
  }
  texts.push(text)
  for await (const part of reader) {
    text.text += part
    report()
  }
  text.final = reader.info.attributes?.['lk.transcription_final'] === 'true'
  report()
}

function createNews() {
  const waiting = new Set<() => void>()
  return {
    report: () => {
      for (const look of [...waiting]) look()
    },
    wait: (fits: () => unknown, what: string, ms = 10_000) =>
      new Promise<void>((resolve, reject) => {
        const end = (settle: () => void) => {
          clearTimeout(timer)
          waiting.delete(look)
          settle()
        }
        const look = () => fits() && end(resolve)
        const timer = setTimeout(
          () => end(() => reject(new Error(`waited ${ms * PATIENCE} ms for ${what}`))),
          ms * PATIENCE,
        )
        waiting.add(look)
        look()
      }),
  }
}
