/**
 * The callers of all compared systems, in a separate process: the same recordings over RTP, Twilio's websocket or a
 * room, spread over the 20 ms, and one judge of when the agent is heard. They also report how late their own packets
 * were.
 */
import { loadClips, makeRoom } from '../clips.ts'
import { monotonicMs, percentile, serve } from '../rpc.ts'
import { asOpus, type Heard, type Line, openRoomLine, openRtpLine, openTwilioLine, type UdpLine } from './lines.ts'
import { type Said, Turns } from './turn.ts'

const FRAME_MS = 20

interface Sounds {
  clips: Map<string, Uint8Array[]>
  room: Uint8Array[]
}

interface Order {
  frames: Uint8Array[]
  done(said: Said | 'late'): void
}

class Caller {
  readonly #line: Line
  readonly #turns: Turns
  readonly #sounds: Sounds
  #roomAt: number
  #order: Order | null = null
  /** Null before the first packet. */
  dueMs: number | null = null

  constructor(line: Line, turns: Turns, sounds: Sounds) {
    this.#line = line
    this.#turns = turns
    this.#sounds = sounds
    this.#roomAt = Math.floor(Math.random() * sounds.room.length)
  }

  start(): void {
    this.dueMs = monotonicMs() + Math.random() * FRAME_MS
  }

  say(file: string, overMs: number | null): Promise<Said | 'late'> {
    const frames = this.#sounds.clips.get(file)!
    this.#turns.say({ packets: frames.length, overMs }, monotonicMs())
    return new Promise(done => {
      this.#order = { frames, done }
    })
  }

  tick(nowMs: number): void {
    this.dueMs = this.dueMs! + FRAME_MS
    this.#line.tick?.(nowMs)
    const at = this.#turns.next(nowMs)
    const { room } = this.#sounds
    this.#line.send(at === null ? room[this.#roomAt++ % room.length]! : this.#order!.frames[at]!)
    const said = this.#turns.settled(nowMs)
    if (said === null) return
    this.#order?.done(said)
    this.#order = null
  }

  close(): void {
    this.#line.close()
  }
}

const plain: Sounds = { clips: loadClips(), room: makeRoom() }
let encoded: Promise<Sounds> | null = null
const callers = new Map<number, Caller>()
const udp = new Map<number, UdpLine>()
let lateness: number[] = []

async function encode(): Promise<Sounds> {
  const clips = new Map<string, Uint8Array[]>()
  for (const [file, frames] of plain.clips) clips.set(file, await asOpus(frames))
  return { clips, room: await asOpus(plain.room) }
}

/** One timer for all callers; each has its own deadlines. */
function run(): void {
  const nowMs = monotonicMs()
  let nextMs = nowMs + FRAME_MS
  for (const caller of callers.values()) {
    if (caller.dueMs === null) continue
    if (caller.dueMs <= nowMs) {
      lateness.push(nowMs - caller.dueMs)
      caller.tick(nowMs)
    }
    nextMs = Math.min(nextMs, caller.dueMs)
  }
  setTimeout(run, Math.max(0, Math.ceil(nextMs - monotonicMs())))
}
run()

async function open<L extends Line>(id: number, sounds: Sounds, connect: (heard: Heard) => Promise<L>): Promise<L> {
  const turns = new Turns()
  const line = await connect(atMs => turns.heard(atMs))
  callers.set(id, new Caller(line, turns, sounds))
  return line
}

const handlers = {
  /** Resolves with the caller's port. */
  async openRtp({ id }: { id: number }): Promise<number> {
    const line = await open(id, plain, openRtpLine)
    udp.set(id, line)
    return line.port
  },
  async openRoom({ id }: { id: number }): Promise<number> {
    encoded ??= encode()
    const line = await open(id, await encoded, openRoomLine)
    return line.port
  },
  async openTwilio({ id, url }: { id: number; url: string }): Promise<void> {
    await open(id, plain, heard => openTwilioLine(url, heard))
  },
  /** `port` of the agent, when the line does not know it. */
  start({ id, port }: { id: number; port?: number }): void {
    if (port !== undefined) udp.get(id)!.target(port)
    callers.get(id)!.start()
  },
  say: ({ id, file, overMs }: { id: number; file: string; overMs: number | null }): Promise<Said | 'late'> =>
    callers.get(id)!.say(file, overMs),
  close({ id }: { id: number }): void {
    callers.get(id)?.close()
    callers.delete(id)
    udp.delete(id)
  },
  /** Lateness of its own packets since the last query. */
  lateness(): number {
    const told = percentile(lateness, 95)
    lateness = []
    return told
  },
}
export type CallersHandlers = typeof handlers
serve(handlers)
