/**
 * One call's RTP over UDP (RFC 3550, RFC 3551, symmetric by RFC 4961): sockets, order, G.711, telephone-events, RTCP.
 * A SIP leg owns one; who opens it must close it.
 */

import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { frameSamples } from '../audio/frames.ts'
import { decodeG711, encodeG711, type G711, SILENCE } from '../audio/g711.ts'
import type { MediaStats } from '../contract/messages.ts'
import type { Clock, LegSink, Log } from '../ports.ts'
import { DtmfReceiver } from './dtmf.ts'
import { type DtmfFrame, DtmfSender } from './dtmf-sender.ts'
import { JitterBuffer, type JitterOutput } from './jitter.ts'
import { type Address, Latch } from './latch.ts'
import type { Pacer } from './pacer.ts'
import { looksLikeRtcp, parseRtp, RTP_HEADER_BYTES, type RtpPacket, writeRtpHeader } from './packet.ts'
import { buildRtcp, parseRtcp } from './rtcp.ts'

export const RTP_RATE = 8000
const FRAME = frameSamples(RTP_RATE)
const RTCP_EVERY_MS = 5000
const CNAME_BYTES = 8
const LAST_PORT = 65_535
/** A replayed or forged burst must not become minutes of sound. */
const MAX_PAYLOAD_BYTES = 2400

export interface RtpParams {
  /** As signalled (SDP c= and m=). */
  remote: Address
  codec: G711
  payloadType: number
  dtmfPayloadType: number | null
  /** From our side: `recvonly` and `inactive` send nothing. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
}

export interface RtpSession {
  readonly local: Address
  /** Signalling has agreed, first or anew. */
  configure(params: RtpParams): void
  attach(sink: LegSink): void
  /** Presses keys instead of sound; settles when the last was sent, or at the end of the session. */
  sendDtmf(keys: string): Promise<void>
  /** Clock time of the last packet that was taken, or null. */
  lastReceivedMs(): number | null
  stats(): MediaStats
  close(): void
}

export interface RtpOptions {
  /** Address to bind. */
  host: string
  /** Even ports of this range, inclusive; 0–0 lets the system choose. */
  ports: { min: number; max: number }
  clock: Clock
  pacer: Pacer
  log: Log
}

export async function openRtp(options: RtpOptions): Promise<RtpSession> {
  const { rtp, rtcp } = await bindPair(options)
  return new Session(rtp, rtcp, options)
}

class Session implements RtpSession {
  readonly local: Address
  readonly #rtp: Socket
  readonly #rtcp: Socket
  readonly #options: RtpOptions
  readonly #jitter = new JitterBuffer(RTP_RATE)
  readonly #dtmf = new DtmfReceiver()
  readonly #keys = new DtmfSender(RTP_RATE)
  readonly #ssrc = randomBytes(4).readUInt32BE(0)
  readonly #cname = randomBytes(CNAME_BYTES).toString('hex')
  readonly #packet = Buffer.alloc(RTP_HEADER_BYTES + FRAME)
  #params: RtpParams | null = null
  #latch: Latch | null = null
  #sink: LegSink | null = null
  #stopTicks: (() => void) | null = null
  #sequence = randomBytes(2).readUInt16BE(0)
  #timestamp = randomBytes(4).readUInt32BE(0)
  #sent = 0
  #rejected = 0
  #lastReceivedMs: number | null = null
  #remoteSsrc: number | null = null
  #rtcpDueMs = 0
  #lastSr: { middle: number; atMs: number } | null = null
  #lastFrame: Int16Array = new Int16Array(FRAME)
  /** Of packets that are no whole number of frames. */
  #pending: Uint8Array = new Uint8Array(0)
  #concealed = 0
  #closed = false

  constructor(rtp: Socket, rtcp: Socket, options: RtpOptions) {
    this.#rtp = rtp
    this.#rtcp = rtcp
    this.#options = options
    this.local = { address: rtp.address().address, port: rtp.address().port }
    rtp.on('message', (data, from) => this.#receive(data, from))
    rtcp.on('message', data => this.#receiveRtcp(data))
    for (const socket of [rtp, rtcp]) {
      // ICMP "port unreachable" of a peer that is gone surfaces here; the call's own timers decide what it means.
      socket.on('error', error => options.log.debug({ err: error }, 'media socket error'))
    }
  }

  configure(params: RtpParams): void {
    if (params.codec !== this.#params?.codec) this.#pending = new Uint8Array(0)
    this.#params = params
    if (this.#latch) this.#latch.resignal(params.remote)
    else this.#latch = new Latch(params.remote)
  }

  attach(sink: LegSink): void {
    if (this.#sink || this.#closed) return
    this.#sink = sink
    this.#rtcpDueMs = this.#options.clock.now() + RTCP_EVERY_MS / 2
    this.#stopTicks = this.#options.pacer.add(dueMs => this.#tick(dueMs))
  }

  sendDtmf(keys: string): Promise<void> {
    return this.#closed ? Promise.resolve() : this.#keys.press(keys)
  }

  lastReceivedMs(): number | null {
    return this.#lastReceivedMs
  }

  stats(): MediaStats {
    const { received, lost, late, jitterMs } = this.#jitter.stats
    return {
      codec: this.#params?.codec ?? 'none',
      packets_sent: this.#sent,
      packets_received: received,
      packets_lost: lost,
      packets_late: late,
      packets_rejected: this.#rejected,
      jitter_ms: Math.round(jitterMs * 10) / 10,
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopTicks?.()
    this.#keys.close()
    this.#rtp.close()
    this.#sendRtcp(true, () => this.#rtcp.close())
  }

  #receive(data: Buffer, from: Address): void {
    const { clock } = this.#options
    if (looksLikeRtcp(data)) {
      this.#receiveRtcp(data)
      return
    }
    const packet = parseRtp(data)
    if (!packet || !this.#admits(packet, from)) {
      this.#rejected++
      return
    }
    const nowMs = clock.now()
    this.#lastReceivedMs = nowMs
    if (packet.payloadType === this.#params!.dtmfPayloadType) {
      const key = this.#dtmf.receive(packet)
      if (key) this.#sink?.dtmf(key)
      // The event replaces sound: its sequence numbers count, its payload is silence. Some gateways number keys apart.
      if (packet.ssrc === this.#remoteSsrc)
        this.#deliver(this.#jitter.put({ ...packet, payload: new Uint8Array(0) }, nowMs))
      return
    }
    if (packet.ssrc !== this.#remoteSsrc) {
      this.#remoteSsrc = packet.ssrc
      this.#deliver(this.#jitter.startAnew(nowMs))
    }
    this.#deliver(this.#jitter.put(packet, nowMs))
  }

  #admits(packet: RtpPacket, from: Address): boolean {
    const params = this.#params
    if (!params || !this.#latch || packet.payload.length > MAX_PAYLOAD_BYTES) return false
    if (packet.payloadType !== params.payloadType && packet.payloadType !== params.dtmfPayloadType) return false
    return this.#latch.accepts(from, packet)
  }

  #deliver(outputs: JitterOutput[]): void {
    const sink = this.#sink
    for (const output of outputs) {
      if (output.kind === 'lost') {
        // The last frame, each time at half its strength (G.711 Appendix I in its simplest form).
        this.#concealed++
        const gain = this.#concealed > 3 ? 0 : 0.5 ** this.#concealed
        sink?.push({ pcm: this.#lastFrame.map(sample => sample * gain), atMs: output.atMs, concealed: true })
        continue
      }
      this.#concealed = 0
      this.#deliverPayload(output.packet.payload, output.atMs)
    }
  }

  /** As bytes too where they are µ-law: a model that speaks it gets them as they came. */
  #deliverPayload(payload: Uint8Array, atMs: number): void {
    const { codec } = this.#params!
    const bytes = this.#pending.length === 0 ? payload : Buffer.concat([this.#pending, payload])
    let at = 0
    for (; at + FRAME <= bytes.length; at += FRAME) {
      const frame = bytes.subarray(at, at + FRAME)
      const pcm = decodeG711(codec, frame)
      this.#lastFrame = pcm
      this.#sink?.push({ pcm, atMs, concealed: false, ...(codec === 'PCMU' ? { ulaw: frame } : {}) })
    }
    this.#pending = bytes.slice(at)
  }

  #tick(dueMs: number): void {
    const nowMs = this.#options.clock.now()
    this.#deliver(this.#jitter.poll(nowMs))
    this.#timestamp = (this.#timestamp + FRAME) >>> 0
    const params = this.#params
    // What is pulled counts as heard: on hold nothing is sent, so nothing is pulled, and the agent waits.
    if (params && params.direction !== 'recvonly' && params.direction !== 'inactive') {
      const key = this.#keys.next(this.#timestamp, params.dtmfPayloadType !== null)
      if (key) this.#sendKey(params, key)
      else {
        const pcm = this.#sink!.pull(dueMs)
        if (this.#closed) return // the last word was said, and the call hung up
        this.#send(params, pcm, pcm && params.codec === 'PCMU' ? (this.#sink!.ulaw?.() ?? null) : null)
      }
    }
    if (this.#closed) return
    if (nowMs >= this.#rtcpDueMs) {
      this.#rtcpDueMs = nowMs + RTCP_EVERY_MS
      this.#sendRtcp(false)
    }
  }

  #send(params: RtpParams, pcm: Int16Array | null, ulaw: Uint8Array | null = null): void {
    if (ulaw?.length === FRAME) this.#packet.set(ulaw, RTP_HEADER_BYTES)
    else if (pcm) encodeG711(params.codec, pcm, this.#packet, RTP_HEADER_BYTES)
    else this.#packet.fill(SILENCE[params.codec], RTP_HEADER_BYTES)
    // Silence is sent too: it keeps NAT bindings open and tells the far end that we live.
    this.#sendPacket(Buffer.from(this.#packet), params.payloadType, this.#timestamp, this.#sent === 0)
  }

  #sendKey(params: RtpParams, key: DtmfFrame): void {
    if (key.kind !== 'event') {
      this.#send(params, key.kind === 'tone' ? key.pcm : null)
      return
    }
    const packet = Buffer.concat([Buffer.alloc(RTP_HEADER_BYTES), key.payload])
    this.#sendPacket(packet, params.dtmfPayloadType!, key.timestamp, key.marker)
  }

  #sendPacket(packet: Buffer, payloadType: number, timestamp: number, marker: boolean): void {
    const { address, port } = this.#latch!.target
    this.#sequence = (this.#sequence + 1) & 0xffff
    writeRtpHeader(packet, { payloadType, marker, sequence: this.#sequence, timestamp, ssrc: this.#ssrc })
    this.#rtp.send(packet, port, address)
    this.#sent++
  }

  #receiveRtcp(data: Buffer): void {
    const report = parseRtcp(data)
    if (!report) {
      this.#rejected++
      return
    }
    if (report.ntpMiddle !== null) this.#lastSr = { middle: report.ntpMiddle, atMs: this.#options.clock.now() }
  }

  #sendRtcp(bye: boolean, sent: () => void = () => {}): void {
    if (!this.#latch || this.#sent === 0) {
      sent()
      return
    }
    const { clock } = this.#options
    const { lost, jitterMs, highestSequence } = this.#jitter.stats
    const block = {
      ssrc: this.#remoteSsrc ?? 0,
      fractionLost: 0,
      cumulativeLost: lost,
      highestSequence,
      jitter: Math.round((jitterMs * RTP_RATE) / 1000),
      lastSr: this.#lastSr?.middle ?? 0,
      delaySinceLastSr: this.#lastSr ? Math.round(((clock.now() - this.#lastSr.atMs) * 65_536) / 1000) : 0,
    }
    const report = buildRtcp({
      ssrc: this.#ssrc,
      cname: this.#cname,
      wallMs: clock.wall(),
      timestamp: this.#timestamp,
      packets: this.#sent,
      octets: this.#sent * FRAME,
      blocks: this.#remoteSsrc === null ? [] : [block],
      bye,
    })
    const { address, port } = this.#latch.target
    // The last port has no next one, and `send` throws for what is no port.
    if (port < LAST_PORT) this.#rtcp.send(report, port + 1, address, sent)
    else sent()
  }
}

/** RTP on an even port and RTCP on the next (RFC 3550 §11). */
async function bindPair({ host, ports }: RtpOptions): Promise<{ rtp: Socket; rtcp: Socket }> {
  const first = ports.min + (ports.min & 1)
  const pairs = ports.max === 0 ? 0 : Math.floor((ports.max - first + 1) / 2)
  const attempts = pairs > 0 ? pairs : 50
  const offset = Math.floor(Math.random() * attempts)
  for (let i = 0; i < attempts; i++) {
    const wanted = pairs > 0 ? first + 2 * ((offset + i) % pairs) : 0
    const rtp = await bind(host, wanted)
    if (!rtp) continue
    const port = rtp.address().port
    const rtcp = port % 2 === 0 ? await bind(host, port + 1) : null
    if (rtcp) return { rtp, rtcp }
    rtp.close()
  }
  throw new Error('no free pair of RTP ports')
}

function bind(host: string, port: number): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null)
      else reject(error)
    })
    socket.bind({ port, address: host, exclusive: true }, () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}
