/**
 * The clients of the rooms benchmark, in a separate process: each plays bursts into its room, and records when audio
 * left and when other audio returned.
 */
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  Room,
  RoomEvent,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node'
import { createChunker, rms } from '../../media/audio/frames.ts'
import { monotonicMs, serve } from './rpc.ts'

const RATE = 48_000
const PART_MS = 10
const PART = (RATE * PART_MS) / 1000
const LOUD = 800
/** Parts of silence after which audio counts as a new burst. */
const QUIET = 20
const PATIENCE_MS = 4000

class Client {
  readonly #room = new Room()
  readonly #source = new AudioSource(RATE, 1, 0)
  readonly #queue: Int16Array[] = []
  #firstSent: ((atMs: number) => void) | null = null
  #onSound: ((atMs: number) => void) | null = null
  #quiet = 0
  dueMs = 0
  joinedMs = 0

  async join(url: string, token: string): Promise<void> {
    this.#room.on(RoomEvent.TrackSubscribed, async track => {
      for await (const { data } of new AudioStream(track, RATE, 1)) this.#hear(data)
    })
    await this.#room.connect(url, token, { autoSubscribe: true, dynacast: false })
    this.joinedMs = monotonicMs()
    const track = LocalAudioTrack.createAudioTrack('microphone', this.#source)
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE })
    await this.#room.localParticipant!.publishTrack(track, options)
    this.dueMs = monotonicMs() + Math.random() * PART_MS
  }

  /** Resolves with the time of the first audio of another participant. */
  sound(): Promise<number> {
    this.#quiet = QUIET
    return new Promise(resolve => (this.#onSound = resolve))
  }

  /** Milliseconds from the first sample sent to the first loud one that returned; null when none did. */
  async burst(pcm: Int16Array): Promise<number | null> {
    const sent = new Promise<number>(resolve => (this.#firstSent = resolve))
    const back = new Promise<number>(resolve => (this.#onSound = resolve))
    this.say(pcm)
    const late = new Promise<null>(resolve => setTimeout(() => resolve(null), PATIENCE_MS))
    const heardMs = await Promise.race([back, late])
    this.#onSound = null
    return heardMs === null ? null : heardMs - (await sent)
  }

  say(pcm: Int16Array): void {
    this.#queue.push(...createChunker(PART).push(pcm))
  }

  tick(): void {
    this.dueMs += PART_MS
    const part = this.#queue.shift()
    if (part) {
      this.#firstSent?.(monotonicMs())
      this.#firstSent = null
    }
    this.#source.captureFrame(new AudioFrame(part ?? new Int16Array(PART), RATE, 1, PART)).catch(() => {})
  }

  async leave(): Promise<void> {
    await this.#room.disconnect()
    await this.#source.close()
  }

  #hear(pcm: Int16Array): void {
    const loud = rms(pcm) > LOUD
    if (loud && this.#quiet >= QUIET) this.#onSound?.(monotonicMs())
    this.#quiet = loud ? 0 : this.#quiet + 1
  }
}

const clients = new Map<number, Client>()

function run(): void {
  const nowMs = monotonicMs()
  let nextMs = nowMs + PART_MS
  for (const client of clients.values()) {
    if (client.dueMs === 0) continue
    while (client.dueMs <= nowMs) client.tick()
    nextMs = Math.min(nextMs, client.dueMs)
  }
  setTimeout(run, Math.max(0, Math.ceil(nextMs - monotonicMs())))
}
run()

const beep = Int16Array.from({ length: RATE * 0.3 }, (_, i) => 9000 * Math.sin((2 * Math.PI * 440 * i) / RATE))
const handlers = {
  async open({ id, url, token }: { id: number; url: string; token: string }): Promise<void> {
    const client = new Client()
    await client.join(url, token)
    clients.set(id, client)
  },
  async greeting({ id, url, token }: { id: number; url: string; token: string }) {
    const client = new Client()
    const sound = client.sound()
    await client.join(url, token)
    clients.set(id, client)
    return { joinedMs: client.joinedMs, heardMs: await sound }
  },
  burst: ({ id }: { id: number }): Promise<number | null> => clients.get(id)!.burst(beep),
  async close({ id }: { id: number }): Promise<void> {
    await clients.get(id)?.leave()
    clients.delete(id)
  },
}
export type RoomCallerHandlers = typeof handlers
serve(handlers)
