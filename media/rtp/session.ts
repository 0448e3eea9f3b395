/**
 * One call's RTP over UDP (RFC 3550, RFC 3551, symmetric by RFC 4961): two sockets, source latching, RTCP reports. The
 * receiver and the sender process the audio. A SIP leg owns one session; whoever opens a session must close it.
 */

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:dgram'
import { CODECS } from '../audio/codec.ts'
import { COMFORT_NOISE } from '../audio/comfort-noise.ts'
import type { MediaStats } from '../contract/messages.ts'
import type { AudioFrame, LegSink } from '../ports/leg.ts'
import type { Clock } from '../shared/clock.ts'
import type { EgressGuard } from '../shared/egress.ts'
import type { Log } from '../shared/log.ts'
import { type Address, canonicalAddress, forFamily } from './address.ts'
import { AudioReceiver } from './audio-receiver.ts'
import { AudioSender, type OutgoingPacket } from './audio-sender.ts'
import type { DtlsIdentity } from './dtls-crypto.ts'
import { DtmfReceiver } from './dtmf-receiver.ts'
import { Latch } from './latch.ts'
import type { Pacer } from './pacer.ts'
import { looksLikeRtcp, parseRtp, RTP_HEADER_BYTES, type RtpPacket, writeRtpHeader } from './packet.ts'
import { kindOf, type RtpParams } from './params.ts'
import { buildRtcp, parseRtcp } from './rtcp.ts'
import { Reports } from './rtcp-reports.ts'
import { bindPair, familyOf } from './sockets.ts'
import { type Channel, NO_SECURITY, SrtpSession } from './srtp-session.ts'

export type { RtpParams } from './params.ts'

/** Sample rate of narrowband telephone audio in Hz. */
export const RTP_RATE = 8000
const RTCP_EVERY_MS = 5000
const CNAME_BYTES = 8
const LAST_PORT = 65_535
/** Limit in bytes: a replayed or forged burst must not become minutes of audio. */
const MAX_PAYLOAD_BYTES = 2400

export interface RtpSession {
  local: Address
  /** Resolves to the reason when media that must be encrypted cannot be. */
  insecure: Promise<string>
  /** Adds a host that takes part in the signalling: behind NAT, its media may come from there. */
  trust(address: string): void
  /** Applies negotiated parameters, the first or new ones. */
  configure(params: RtpParams): void
  /** Starts audio in both directions. `sampleRate` in Hz of the frames stays fixed; the codec's by default. */
  attach(sink: LegSink, sampleRate?: number): void
  /** Receives audio and sends silence until `attach`: a device in between may wait for a packet of ours. */
  listen(onFrame: (frame: AudioFrame) => void, sampleRate: number): void
  /** Sends keys instead of audio; settles when the last was sent or the session was closed. */
  sendDtmf(keys: string): Promise<void>
  /** Clock time of the last accepted packet, or null. */
  lastReceivedMs(): number | null
  stats(): MediaStats
  close(): void
}

export interface RtpOptions {
  /** Local address to bind. */
  host: string
  /** Inclusive range of which even ports are used; 0–0 lets the system choose. */
  ports: { min: number; max: number }
  clock: Clock
  pacer: Pacer
  log: Log
  /** Certificate for DTLS-SRTP; without it DTLS is unavailable. */
  identity?: DtlsIdentity
  /** Decides about each packet's destination, which a description or a latched source named; all when left out. */
  egress?: Pick<EgressGuard, 'admits'>
}

export async function openRtp(options: RtpOptions): Promise<RtpSession> {
  const { rtp, rtcp } = await bindPair(options.host, options.ports)
  return new Session(rtp, rtcp, options)
}

/** Audio state, which exists from `attach` or `listen` on. */
interface Sound {
  sink: LegSink
  receiver: AudioReceiver
  sender: AudioSender
}

class Session implements RtpSession {
  readonly local: Address
  readonly insecure: Promise<string>
  readonly #rtp: Socket
  readonly #rtcp: Socket
  readonly #options: RtpOptions
  readonly #dtmf = new DtmfReceiver()
  readonly #reports = new Reports()
  readonly #srtp: SrtpSession
  readonly #ssrc = randomBytes(4).readUInt32BE(0)
  /** RTP timestamp of the first sample. */
  #timestamp = randomBytes(4).readUInt32BE(0)
  readonly #cname = randomBytes(CNAME_BYTES).toString('hex')
  readonly #trusted: string[] = []
  #params: RtpParams | null = null
  #latch: Latch | null = null
  /** The sink; waiting for the first parameters, or running. */
  #attached: { sink: LegSink; sampleRate: number | undefined } | null = null
  /** The sink was set by `listen`, so `attach` may replace it. */
  #listens = false
  #sound: Sound | null = null
  #stopTicks: (() => void) | null = null
  /** In the lower half, so that a loss at the start cannot hide the first rollover (RFC 3711 §3.3.1). */
  #sequence = randomBytes(2).readUInt16BE(0) & 0x7fff
  #sent = 0
  #octets = 0
  #rejected = 0
  #lastReceivedMs: number | null = null
  #rtcpDueMs = 0
  /** Source of the far end's reports, once one came from the host of its audio. */
  #rtcpSource: Address | null = null
  #closed = false

  constructor(rtp: Socket, rtcp: Socket, options: RtpOptions) {
    this.#rtp = rtp
    this.#rtcp = rtcp
    this.#options = options
    this.local = { address: rtp.address().address, port: rtp.address().port }
    const { promise, resolve: onFailed } = Promise.withResolvers<string>()
    this.insecure = promise
    const send = (channel: Channel, data: Buffer, to: Address) => this.#transmit(channel, data, to)
    this.#srtp = new SrtpSession({ identity: options.identity ?? null, clock: options.clock, send, onFailed })
    rtp.on('message', (data, from) => this.#receive(data, from, 'rtp'))
    rtcp.on('message', (data, from) => this.#receive(data, from, 'rtcp'))
    for (const socket of [rtp, rtcp]) {
      // ICMP "port unreachable" of a lost peer arrives here; the call's own timers decide what it means.
      socket.on('error', error => options.log.debug({ err: error }, 'media socket error'))
    }
  }

  trust(address: string): void {
    this.#trusted.push(address)
    this.#latch?.trust(address)
  }

  configure(params: RtpParams): void {
    if (this.#closed) return
    this.#params = params
    if (this.#latch) this.#latch.resignal(params.remote)
    else {
      this.#latch = new Latch(params.remote)
      for (const address of this.#trusted) this.#latch.trust(address)
    }
    const remote = { rtp: params.remote, rtcp: params.rtcp ?? above(params.remote) }
    this.#srtp.configure(params.security ?? NO_SECURITY, remote, params.rtcpMux ?? false)
    this.#sound?.receiver.configure(params)
    this.#sound?.sender.configure(params)
    this.#begin()
  }

  attach(sink: LegSink, sampleRate?: number): void {
    if (this.#take(sink, sampleRate)) this.#listens = false
  }

  listen(onFrame: (frame: AudioFrame) => void, sampleRate: number): void {
    if (this.#take({ pull: () => null, push: onFrame, dtmf() {} }, sampleRate)) this.#listens = true
  }

  /** Returns false when a sink is already attached or the session is closed. */
  #take(sink: LegSink, sampleRate: number | undefined): boolean {
    if (this.#closed || (this.#attached && !this.#listens)) return false
    this.#stop()
    this.#attached = { sink, sampleRate }
    this.#rtcpDueMs = this.#options.clock.now() + RTCP_EVERY_MS / 2
    this.#begin()
    return true
  }

  /** Starts audio once there are a sink and parameters. */
  #begin(): void {
    if (this.#sound || !this.#attached || !this.#params) return
    const { sink, sampleRate } = this.#attached
    const rate = sampleRate ?? CODECS[this.#params.codec].sampleRate
    this.#sound = {
      sink,
      receiver: new AudioReceiver(this.#params, rate),
      sender: new AudioSender(this.#params, rate, this.#timestamp),
    }
    this.#stopTicks = this.#options.pacer.add(dueMs => this.#tick(dueMs))
  }

  #stop(): void {
    this.#stopTicks?.()
    this.#sound?.sender.close()
    this.#sound?.receiver.close()
    this.#timestamp = this.#sound?.sender.timestamp ?? this.#timestamp
    this.#sound = null
  }

  sendDtmf(keys: string): Promise<void> {
    return this.#closed || !this.#sound ? Promise.resolve() : this.#sound.sender.press(keys)
  }

  lastReceivedMs(): number | null {
    return this.#lastReceivedMs
  }

  stats(): MediaStats {
    const { received, lost, late, jitterMs } = this.#sound?.receiver.stats ?? NOTHING
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
    this.#srtp.close()
    this.#sendRtcp(true, () => {
      this.#rtp.close()
      this.#rtcp.close()
    })
    this.#sound?.sender.close()
    this.#sound?.receiver.close()
  }

  #receive(data: Buffer, from: Address, channel: Channel): void {
    if (this.#closed) return
    const isRtcp = channel === 'rtcp' || looksLikeRtcp(data)
    const { clear, rejected } = this.#srtp.open(data, from, channel, isRtcp)
    if (rejected) this.#rejected++
    if (clear === null) return
    if (isRtcp) this.#receiveRtcp(clear, from)
    else this.#receiveRtp(clear, from)
  }

  #receiveRtp(data: Buffer, from: Address): void {
    const nowMs = this.#options.clock.now()
    const packet = parseRtp(data)
    if (!packet || !this.#admits(packet, from, nowMs)) {
      this.#rejected++
      return
    }
    this.#lastReceivedMs = nowMs
    const sound = this.#sound
    // Before the answer, nobody receives the audio.
    if (!sound) return
    if (kindOf(this.#params!, packet.payloadType) === 'dtmf') {
      const key = this.#dtmf.receive(packet)
      if (key) sound.sink.dtmf(key)
    }
    if (!this.#closed) this.#deliver(sound.receiver.receive(packet, nowMs))
  }

  #admits(packet: RtpPacket, from: Address, nowMs: number): boolean {
    const params = this.#params
    if (!params || !this.#latch || packet.payload.length > MAX_PAYLOAD_BYTES) return false
    const kind = kindOf(params, packet.payloadType)
    // Comfort noise has a static payload type, and gateways send it without negotiation.
    if (kind === null && packet.payloadType !== COMFORT_NOISE) return false
    return this.#latch.accepts(from, packet, nowMs)
  }

  #deliver(frames: AudioFrame[]): void {
    for (const frame of frames) if (!this.#closed) this.#sound?.sink.push(frame)
  }

  #receiveRtcp(data: Buffer, from: Address): void {
    const report = parseRtcp(data)
    if (!report) {
      this.#rejected++
      return
    }
    // Ignore reports from other hosts.
    const address = canonicalAddress(from.address)
    if (!this.#latch || address !== this.#latch.target.address) return
    this.#rtcpSource = { address, port: from.port }
    this.#reports.noteReport(report, this.#ssrc, this.#options.clock.now())
    if (this.#reports.peerLoss !== null) this.#sound?.sender.expectLoss(this.#reports.peerLoss)
  }

  #tick(dueMs: number): void {
    const { sink, receiver, sender } = this.#sound!
    const nowMs = this.#options.clock.now()
    this.#deliver(receiver.tick(nowMs))
    if (this.#closed) return
    // Pulled audio counts as played: pull nothing until it can be encrypted.
    if (!this.#srtp.ready) return
    const packets = sender.tick(() => {
      const pcm = sink.pull(dueMs)
      return pcm && { pcm, ulaw: sink.ulaw?.() ?? null }
    })
    // `pull` may have ended the call.
    if (this.#closed) return
    for (const packet of packets) this.#sendRtp(packet)
    if (nowMs < this.#rtcpDueMs) return
    this.#rtcpDueMs = nowMs + RTCP_EVERY_MS
    this.#sendRtcp(false)
  }

  #sendRtp({ payloadType, marker, timestamp, payload }: OutgoingPacket): void {
    this.#sequence = (this.#sequence + 1) & 0xffff
    const packet = Buffer.allocUnsafe(RTP_HEADER_BYTES + payload.length)
    writeRtpHeader(packet, { payloadType, marker, sequence: this.#sequence, timestamp, ssrc: this.#ssrc })
    packet.set(payload, RTP_HEADER_BYTES)
    this.#sent++
    this.#octets += payload.length
    const sealed = this.#srtp.sealRtp(packet)
    if (sealed) this.#transmit('rtp', sealed, this.#latch!.target)
  }

  #sendRtcp(bye: boolean, sent: () => void = () => {}): void {
    const target = this.#rtcpTarget()
    if (!target || !this.#sound || this.#sent === 0) {
      sent()
      return
    }
    const { clock } = this.#options
    const { receiver, sender } = this.#sound
    const { ssrc, clockRate, stats } = receiver
    const report = buildRtcp({
      ssrc: this.#ssrc,
      cname: this.#cname,
      wallMs: clock.wall(),
      timestamp: sender.timestamp,
      packets: this.#sent,
      octets: this.#octets,
      blocks: ssrc === null ? [] : [this.#reports.block({ ssrc, clockRate, stats }, clock.now())],
      bye,
    })
    const sealed = this.#srtp.sealRtcp(report)
    if (sealed) this.#transmit(this.#srtp.rtcpChannel, sealed, target, sent)
    else sent()
  }

  /** The source of the far end's reports (RFC 4961 §4), else the signalled address, else the port above the audio's. */
  #rtcpTarget(): Address | null {
    if (!this.#latch || !this.#params) return null
    const { address, port } = this.#latch.target
    if (this.#srtp.rtcpChannel === 'rtp') return this.#latch.target
    if (this.#rtcpSource?.address === address) return this.#rtcpSource
    const { remote, rtcp } = this.#params
    if (rtcp && canonicalAddress(remote.address) === address && remote.port === port) return rtcp
    return above({ address, port })
  }

  /** The only function that sends. It never sends to a host name: the address is known once its audio arrives. */
  #transmit(channel: Channel, data: Buffer, to: Address, sent: () => void = () => {}): void {
    const socket = channel === 'rtp' ? this.#rtp : this.#rtcp
    const address = canonicalAddress(to.address)
    const family = familyOf(this.#options.host)
    // The highest port has no next one, and `send` throws for an invalid port.
    const reachable =
      address !== null &&
      to.port > 0 &&
      to.port <= LAST_PORT &&
      (this.#options.egress?.admits(channel, address, to.port) ?? true)
    if (reachable && (family === 'udp6' || !address.includes(':')))
      socket.send(data, to.port, forFamily(address, family), sent)
    else sent()
  }
}

/** Default address for reports (RFC 3550 §11). */
const above = ({ address, port }: Address): Address => ({ address, port: port + 1 })

const NOTHING = { received: 0, lost: 0, late: 0, jitterMs: 0 }
