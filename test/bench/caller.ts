/**
 * The callers of the conversation benchmark, in a separate process: they send RTP every 20 ms, speak recordings, and
 * record when audio left and when the agent's arrived. They also report how late their own packets were.
 */
import { createSocket, type Socket } from 'node:dgram'
import { decodeG711 } from '../../media/audio/g711.ts'
import { parseRtp, RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/packet.ts'
import { FRAME, loadClips, makeRoom } from './clips.ts'
import { monotonicMs, percentile, serve } from './rpc.ts'

const FRAME_MS = 20
/** Sample level above which audio counts as speech, not silence or comfort noise. */
const VOICE = 300
/** Milliseconds of silence that end an utterance of the agent. */
const GAP_MS = 120
/** Milliseconds of silence after which the agent has finished. */
const QUIET_MS = 300
const PATIENCE_MS = 15_000

interface Said {
  firstSentMs: number
  lastSentMs: number
  /**
   * When the agent's first audio after the caller's last packet arrived, and the last audio of its interrupted
   * utterance.
   */
  answeredMs: number | null
  stoppedMs: number | null
}

interface Order {
  frames: Uint8Array[]
  /** Milliseconds after the agent began at which the caller interrupts; null waits for silence. */
  overMs: number | null
  said: Said
  sent: number
  done(said: Said): void
  fail(error: Error): void
  untilMs: number
}

class Caller {
  readonly #socket: Socket
  readonly #ssrc = Math.floor(Math.random() * 2 ** 32)
  readonly #packet = Buffer.alloc(RTP_HEADER_BYTES + FRAME)
  #target = 0
  #sequence = 0
  #roomAt = Math.floor(Math.random() * room.length)
  #order: Order | null = null
  /** The current or latest utterance of the agent. */
  #begunMs = 0
  #lastMs = 0
  dueMs = 0

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', data => this.#hear(data))
  }

  get port(): number {
    return this.#socket.address().port
  }

  start(port: number): void {
    this.#target = port
    this.dueMs = monotonicMs() + Math.random() * FRAME_MS
  }

  say(order: Omit<Order, 'said' | 'sent' | 'untilMs'>): void {
    const said = { firstSentMs: 0, lastSentMs: 0, answeredMs: null, stoppedMs: null }
    this.#order = { ...order, said, sent: 0, untilMs: monotonicMs() + PATIENCE_MS }
  }

  close(): void {
    this.#socket.close()
  }

  tick(): void {
    this.dueMs += FRAME_MS
    const frame = this.#nextFrame() ?? room[this.#roomAt++ % room.length]!
    const timestamp = (this.#sequence * FRAME) >>> 0
    writeRtpHeader(this.#packet, {
      payloadType: 0,
      marker: this.#sequence === 0,
      sequence: this.#sequence++,
      timestamp,
      ssrc: this.#ssrc,
    })
    this.#packet.set(frame, RTP_HEADER_BYTES)
    this.#socket.send(Buffer.from(this.#packet), this.#target, '127.0.0.1')
    this.#settle()
  }

  #nextFrame(): Uint8Array | null {
    const order = this.#order
    if (!order || order.sent >= order.frames.length) return null
    const nowMs = monotonicMs()
    if (order.sent === 0) {
      const speaking = nowMs - this.#lastMs < GAP_MS
      const due =
        order.overMs === null ? nowMs - this.#lastMs >= QUIET_MS : speaking && nowMs - this.#begunMs >= order.overMs
      if (!due) return null
      order.said.firstSentMs = nowMs
    }
    order.said.lastSentMs = nowMs
    return order.frames[order.sent++]!
  }

  #hear(data: Buffer): void {
    const packet = parseRtp(data)
    if (!packet || !decodeG711('PCMU', packet.payload).some(sample => Math.abs(sample) > VOICE)) return
    const nowMs = monotonicMs()
    const begins = nowMs - this.#lastMs >= GAP_MS
    if (begins) this.#begunMs = nowMs
    const order = this.#order
    if (order && order.sent > 0) {
      // An utterance that was in progress when the caller began lasts until its first gap.
      if (!begins && this.#begunMs < order.said.firstSentMs) order.said.stoppedMs = nowMs
      else if (order.sent === order.frames.length) order.said.answeredMs ??= nowMs
    }
    this.#lastMs = nowMs
  }

  #settle(): void {
    const order = this.#order
    if (!order) return
    if (order.said.answeredMs !== null) {
      this.#order = null
      order.done(order.said)
    } else if (monotonicMs() > order.untilMs) {
      this.#order = null
      order.fail(
        new Error(`no answer: ${JSON.stringify({ ...order.said, of: order.frames.length, sent: order.sent })}`),
      )
    }
  }
}

const room = makeRoom()
const clips = loadClips()
const callers = new Map<number, Caller>()
let lateness: number[] = []

/** One timer for all callers; each has its own deadlines. */
function run(): void {
  const nowMs = monotonicMs()
  let nextMs = nowMs + FRAME_MS
  for (const caller of callers.values()) {
    if (caller.dueMs === 0) continue
    if (caller.dueMs <= nowMs) {
      lateness.push(nowMs - caller.dueMs)
      caller.tick()
    }
    nextMs = Math.min(nextMs, caller.dueMs)
  }
  setTimeout(run, Math.max(0, Math.ceil(nextMs - monotonicMs())))
}
run()

const bind = () =>
  new Promise<Socket>(resolve => {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1', () => resolve(socket))
  })

const handlers = {
  async open({ id }: { id: number }): Promise<number> {
    const caller = new Caller(await bind())
    callers.set(id, caller)
    return caller.port
  },
  start({ id, port }: { id: number; port: number }): void {
    callers.get(id)!.start(port)
  },
  say({ id, file, overMs }: { id: number; file: string; overMs: number | null }): Promise<Said> {
    return new Promise((resolve, reject) =>
      callers.get(id)!.say({ frames: clips.get(file)!, overMs, done: resolve, fail: reject }),
    )
  },
  close({ id }: { id: number }): void {
    callers.get(id)?.close()
    callers.delete(id)
  },
  /** Lateness of its own packets since the last query, in ms. */
  lateness(): { p95: number; most: number } {
    const told = { p95: percentile(lateness, 95), most: percentile(lateness, 100) }
    lateness = []
    return told
  },
  /** Round trips of packets of the same size, one every 20 ms. */
  async echo({ port, packets }: { port: number; packets: number }): Promise<number[]> {
    const socket = await bind()
    const trips: number[] = []
    const data = Buffer.alloc(RTP_HEADER_BYTES + FRAME)
    for (let i = 0; i < packets; i++) {
      const sentMs = monotonicMs()
      const back = new Promise<void>(resolve => socket.once('message', () => resolve()))
      socket.send(data, port, '127.0.0.1')
      await back
      trips.push(monotonicMs() - sentMs)
      await new Promise(resolve => setTimeout(resolve, FRAME_MS))
    }
    socket.close()
    return trips
  },
}
export type CallerHandlers = typeof handlers
serve(handlers)
