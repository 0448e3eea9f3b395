/**
 * The telephone's audio in one call: RTP (RFC 3550) with G.711 and telephone-events, one packet every 20 ms. Frames
 * have 8000 samples per second.
 */
import { randomBytes } from 'node:crypto'
import { COMFORT_NOISE } from '../../media/audio/comfort-noise.ts'
import { frameSamples } from '../../media/audio/frames.ts'
import { decodeG711, type G711 } from '../../media/audio/g711.ts'
import { AudioReceiver } from '../../media/rtp/audio-receiver.ts'
import { AudioSender, type OutgoingPacket } from '../../media/rtp/audio-sender.ts'
import { createPacer, type Pacer } from '../../media/rtp/pacer.ts'
import { parseRtp, RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/packet.ts'
import { kindOf, type RtpParams } from '../../media/rtp/params.ts'
import { RTP_RATE } from '../../media/rtp/session.ts'
import { bindPair, type SocketPair } from '../../media/rtp/sockets.ts'
import type { AgreedAudio } from '../../sip/text/offer.ts'
import { systemClock } from '../adapters/clock.ts'

export const PHONE_RATE = RTP_RATE
export const PHONE_FRAME = frameSamples(PHONE_RATE)

export const pacer: Pacer = createPacer(systemClock)

/** The network between the telephone and the far end, for packets that the telephone sends. */
export interface AudioLine {
  /** The next packet's delay in ms, or null when it is lost. */
  fate(): number | null
  /** Adds background noise. */
  colour(pcm: Int16Array): Int16Array
}

/** The person at the telephone. */
export interface AudioSide {
  /** Returns the next 20 ms to send; null is silence. */
  pull(): Int16Array | null
  /** Receives the far end's audio, 20 ms at a time, in order and with losses concealed. */
  push?(pcm: Int16Array): void
  /** Receives the audio of each packet when it arrives. */
  arrived?(pcm: Int16Array): void
}

const CLEAR_LINE: AudioLine = { fate: () => 0, colour: pcm => pcm }

/** The audio of a call that has been answered. */
interface Stream {
  params: RtpParams
  sender: AudioSender
  receiver: AudioReceiver
  side: AudioSide
  stopTicks: () => void
}

export class TelephoneAudio {
  readonly port: number
  readonly #sockets: SocketPair
  readonly #line: AudioLine
  readonly #ssrc = randomBytes(4).readUInt32BE(0)
  #sequence = 0
  #stream: Stream | null = null
  #closed = false

  /** `line`: without loss, delay and noise by default. */
  static async open(host: string, line: AudioLine = CLEAR_LINE): Promise<TelephoneAudio> {
    return new TelephoneAudio(await bindPair(host, { min: 0, max: 0 }), line)
  }

  private constructor(sockets: SocketPair, line: AudioLine) {
    this.#sockets = sockets
    this.#line = line
    this.port = sockets.rtp.address().port
    sockets.rtp.on('message', data => this.#receive(data))
    // ICMP "port unreachable" arrives here when the far end is gone; the caller notices its silence.
    for (const socket of [sockets.rtp, sockets.rtcp]) socket.on('error', () => {})
  }

  /** Returns false when the audio already flows or is closed. */
  start(agreed: AgreedAudio, side: AudioSide): boolean {
    if (this.#closed || this.#stream) return false
    const { remote, codec, payloadType, direction } = agreed
    const params = { remote, codec, payloadType, dtmfPayloadType: agreed.dtmf?.send ?? null, direction }
    const sender = new AudioSender(params, PHONE_RATE, randomBytes(4).readUInt32BE(0))
    const receiver = new AudioReceiver(params, PHONE_RATE)
    this.#stream = { params, sender, receiver, side, stopTicks: pacer.add(() => this.#tick()) }
    return true
  }

  async press(keys: string): Promise<void> {
    if (!this.#closed) await this.#stream?.sender.press(keys)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stream?.stopTicks()
    this.#stream?.sender.close()
    this.#stream?.receiver.close()
    this.#sockets.rtp.close()
    this.#sockets.rtcp.close()
  }

  #tick(): void {
    const { sender, receiver, side } = this.#stream!
    for (const { pcm } of receiver.tick(systemClock.now())) side.push?.(pcm)
    const pull = () => ({ pcm: this.#line.colour(side.pull() ?? new Int16Array(PHONE_FRAME)), ulaw: null })
    for (const packet of sender.tick(pull)) this.#send(packet)
  }

  #send({ payloadType, marker, timestamp, payload }: OutgoingPacket): void {
    const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length)
    // A lost packet uses up its number.
    const sequence = this.#sequence++
    writeRtpHeader(packet, { payloadType, marker, sequence, timestamp, ssrc: this.#ssrc })
    packet.set(payload, RTP_HEADER_BYTES)
    const delayMs = this.#line.fate()
    if (delayMs === null) return
    if (delayMs < 1) this.#transmit(packet)
    else systemClock.after(delayMs, () => this.#transmit(packet))
  }

  #transmit(packet: Buffer): void {
    if (this.#closed) return
    const { address, port } = this.#stream!.params.remote
    this.#sockets.rtp.send(packet, port, address)
  }

  #receive(data: Buffer): void {
    const packet = parseRtp(data)
    if (!packet || !this.#stream || this.#closed) return
    const { params, receiver, side } = this.#stream
    const kind = kindOf(params, packet.payloadType)
    if (kind === null && packet.payloadType !== COMFORT_NOISE) return
    if (kind === params.codec) side.arrived?.(decodeG711(kind as G711, packet.payload))
    if (!side.push) return
    for (const { pcm } of receiver.receive(packet, systemClock.now())) side.push(pcm)
  }
}
