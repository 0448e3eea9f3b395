import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { CallPlan, TrunkPlan } from '../../../media/contract/plan.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { LegSink } from '../../../media/ports/leg.ts'
import type { TrunkDirectory } from '../../../media/ports/trunks.ts'
import { dtlsIdentity } from '../../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { openRtp } from '../../../media/rtp/session.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import type { Resolver } from '../../../sip/server/resolve.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import type { SipServerOptions } from '../../../sip/server/server.ts'
import { type Edge, type EdgeOptions, openEdge, type TrunkStatus } from '../../../sip/trunk/edge.ts'
import { plan } from '../../fakes/plan.ts'
import type { Peer } from '../peer.ts'
import { Rig, SECRET } from '../rig.ts'

export const clock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}

const identity = dtlsIdentity(selfSigned(Date.now()))

/** Remembers every line, so that a test can look for what must not be in it. */
export class MemoryLog implements Log {
  readonly lines: string[] = []
  debug = (fields: object, message: string): void => this.#keep(fields, message)
  info = (fields: object, message: string): void => this.#keep(fields, message)
  warn = (fields: object, message: string): void => this.#keep(fields, message)
  error = (fields: object, message: string): void => this.#keep(fields, message)
  child(): Log {
    return this
  }
  #keep(fields: object, message: string): void {
    const plain = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value])
    this.lines.push(`${message} ${JSON.stringify(plain)}`)
  }
}

export function trunkPlan(peer: { port: number }, over: Partial<TrunkPlan> = {}): TrunkPlan {
  return {
    id: randomUUID(),
    owner_id: randomUUID(),
    name: 'test',
    mode: 'ip',
    host: '127.0.0.1',
    port: peer.port,
    transport: 'udp',
    hosts: [],
    options_interval_seconds: null,
    username: null,
    password: null,
    realm: null,
    outbound_proxy: null,
    allowed_ips: [],
    codecs: ['PCMU', 'PCMA'],
    srtp: 'off',
    max_calls: null,
    max_cps: null,
    from_user: null,
    from_domain: null,
    pai: 'never',
    privacy: 'none',
    number_format: 'plus',
    dialing: null,
    transfer: 'refer',
    fallback_number: null,
    refusal_announcement: null,
    refusal_language: 'en',
    numbers: ['+12025550100'],
    contact_user: null,
    registrars: [],
    claims: [],
    ...over,
  }
}

/** A DNS that knows addresses, and no other records. */
export const hostsOnly = (known: Readonly<Record<string, readonly string[]>>): Resolver => ({
  addresses: async host =>
    known[host] ?? Promise.reject(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })),
  srv: async () => [],
  naptr: async () => [],
})

export const callPlan = (trunkId: string | null, over: Partial<CallPlan> = {}): CallPlan =>
  plan({ to: '+12025550199', trunk_id: trunkId, ring_timeout_ms: 10_000, max_call_ms: 60_000, prompt: '', ...over })

/** A server, an engine's edge on it, and a directory that the test fills. */
export class Bench {
  readonly rig: Rig
  readonly edge: Edge
  readonly log: MemoryLog
  readonly statuses: TrunkStatus[] = []
  readonly #offers: InboundOffer[] = []
  readonly #watchers = new Set<() => void>()
  #trunkList: TrunkPlan[] = []
  readonly #waiting: (() => void)[] = []

  private constructor(rig: Rig, log: MemoryLog, over: Partial<EdgeOptions>, up: () => void) {
    this.rig = rig
    this.log = log
    const pacer = createPacer(clock)
    const directory: TrunkDirectory = {
      all: () => this.#trunkList,
      onChange: run => {
        this.#watchers.add(run)
        return () => this.#watchers.delete(run)
      },
    }
    this.edge = openEdge({
      host: '127.0.0.1',
      port: rig.adminPort,
      secret: SECRET,
      directory,
      reconnectWaitMs: 300,
      trunkWaitMs: 300,
      media: {
        open: () => openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock, pacer, log, identity }),
        advertise: null,
        fingerprint: identity.fingerprint,
      },
      clock,
      log,
      onOffer: offer => {
        this.#offers.push(offer)
        this.#wake()
      },
      onState: now => {
        if (now) up()
        this.#wake()
      },
      onTrunkStatus: status => {
        this.statuses.push(status)
        this.#wake()
      },
      ...over,
    })
  }

  static async start(server: Partial<SipServerOptions> = {}, edge: Partial<EdgeOptions> = {}): Promise<Bench> {
    const rig = await Rig.start(server)
    let bench: Bench | null = null
    await new Promise<void>(resolve => {
      bench = new Bench(rig, new MemoryLog(), edge, resolve)
    })
    return bench as unknown as Bench
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume()
  }

  setTrunks(...trunks: TrunkPlan[]): void {
    this.#trunkList = trunks
    for (const run of this.#watchers) run()
  }

  /** Waits until `ready` holds; woken by offers, states and registrations. */
  async until(ready: () => boolean): Promise<void> {
    while (!ready()) {
      await new Promise<void>(resolve => {
        this.#waiting.push(resolve)
      })
    }
  }

  async offer(): Promise<InboundOffer> {
    for (;;) {
      await this.until(() => this.#offers.length > 0)
      // Another waiter may have been first.
      const offer = this.#offers.shift()
      if (offer !== undefined) return offer
    }
  }

  /** Calls by way of the edge over a trunk to that peer. */
  dial(peer: Peer, over: Partial<TrunkPlan> = {}, plan: Partial<CallPlan> = {}) {
    const trunk = trunkPlan(peer, over)
    this.setTrunks(trunk)
    const abort = new AbortController()
    const rings: number[] = []
    const result = this.edge.dialer.dial({
      plan: callPlan(trunk.id, plan),
      signal: abort.signal,
      onRinging: () => rings.push(clock.now()),
    })
    return { trunk, abort, rings, result }
  }

  async close(): Promise<void> {
    await this.edge.close()
    await this.rig.close()
  }
}

/** A sink that sends a ramp, and records received audio. */
export class Ear implements LegSink {
  readonly keys: string[] = []
  frames = 0
  #wake: () => void = () => {}
  pull(): Int16Array {
    return new Int16Array(160).fill(1000)
  }
  push(): void {
    this.frames += 1
    this.#wake()
  }
  dtmf(digit: string): void {
    this.keys.push(digit)
    this.#wake()
  }
  async until(ready: () => boolean): Promise<void> {
    while (!ready()) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}

/** The sound of a far end: a UDP port that speaks G.711 and counts what it gets. */
export class FarMedia {
  readonly port: number
  packets = 0
  onPacket: () => void = () => {}
  readonly #socket: ReturnType<typeof createSocket>
  #sequence = 0
  /** Source port of the last packet. */
  #source = 0
  #wake: () => void = () => {}

  private constructor(socket: ReturnType<typeof createSocket>) {
    this.#socket = socket
    this.port = socket.address().port
    socket.on('message', (_data, from) => {
      this.packets += 1
      this.onPacket()
      this.#source = from.port
      this.#wake()
    })
  }

  static async open(): Promise<FarMedia> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new FarMedia(socket)
  }

  sdp(extra: readonly string[] = [], formats = '0 8 101'): string {
    return [
      'v=0',
      'o=- 1 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      `m=audio ${this.port} RTP/AVP ${formats}`,
      'a=rtpmap:101 telephone-event/8000',
      ...extra,
      '',
    ].join('\r\n')
  }

  speak(port: number, count: number, payloadType = 0): void {
    for (let i = 0; i < count; i++) {
      this.#sequence += 1
      const packet = Buffer.alloc(172, 0xff)
      packet[0] = 0x80
      packet[1] = payloadType
      packet.writeUInt16BE(this.#sequence, 2)
      packet.writeUInt32BE(this.#sequence * 160, 4)
      packet.writeUInt32BE(77, 8)
      this.#socket.send(packet, port, '127.0.0.1')
    }
  }

  /** To where the last packet came from. */
  answer(data: Buffer): void {
    this.#socket.send(data, this.#source, '127.0.0.1')
  }

  async heard(count: number): Promise<void> {
    while (this.packets < count) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.#socket.close()
  }
}

export function audioPort(sdp: Buffer | string): number {
  return Number(/^m=audio (\d+)/m.exec(String(sdp))?.[1])
}
