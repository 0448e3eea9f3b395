/**
 * A calling phone: one SIP call over UDP (RFC 3261) with its own RTP, which records when audio was sent and when the
 * agent's audio arrived. It shares no state with the engine, so it measures what a caller hears.
 */
import { randomBytes } from 'node:crypto'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { frameSamples } from '../../media/audio/frames.ts'
import { decodeG711, encodeG711, type G711 } from '../../media/audio/g711.ts'
import { DtmfSender } from '../../media/rtp/dtmf-sender.ts'
import { createPacer, type Pacer } from '../../media/rtp/pacer.ts'
import { parseRtp, RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/packet.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { type Header, headerOf, listOf, type SipMessage, type SipRequest, serialise } from '../../sip/text/message.ts'
import { type AgreedAudio, type LocalAudio, makeOffer, readAnswer } from '../../sip/text/offer.ts'
import { parseMessage } from '../../sip/text/parse.ts'
import { parseNameAddr } from '../../sip/text/uri.ts'
import { parseCSeq } from '../../sip/text/validate.ts'
import { systemClock } from '../adapters/clock.ts'
import type { SimulatedNetwork } from './network.ts'

export const PHONE_RATE = 8000
export const PHONE_FRAME = frameSamples(PHONE_RATE)
const FRAME = PHONE_FRAME
/** T1 (RFC 3261 §17.1.1.1). */
const T1_MS = 500
const ANSWER_TIMEOUT_MS = 15_000
const BYE_TIMEOUT_MS = 2000
/** Sample level above which a packet counts as the agent's speech, not silence or comfort noise. */
const LOUD = 300
const PCM: Record<number, G711> = { 0: 'PCMU', 8: 'PCMA' }

export interface PhoneOptions {
  /** SIP address of the installation. */
  sip: { host: string; port: number }
  /** Our own address as the installation sees it. */
  host: string
  from: string
  to: string
  codec: G711
  line: SimulatedNetwork
}

export class CallRefused extends Error {
  readonly status: number
  constructor(status: number, reason: string) {
    super(`The call was refused: ${status} ${reason}`)
    this.status = status
  }
}

export interface Spoken {
  fromMs: number
  toMs: number
}

const pacer: Pacer = createPacer(systemClock)

/** Places a call; resolves when it is answered. Throws CallRefused. */
export async function call(options: PhoneOptions): Promise<Phone> {
  const [sip, rtp] = await Promise.all([bind(options.host), bind(options.host)])
  const phone = new Phone(options, sip, rtp)
  try {
    await phone.ring()
    return phone
  } catch (error) {
    phone.close()
    throw error
  }
}

export class Phone {
  readonly clock: Clock = systemClock
  /** When each loud packet of the agent arrived. */
  readonly heard: number[] = []
  readonly answered: { atMs: number } = { atMs: 0 }
  readonly #options: PhoneOptions
  readonly #sip: Socket
  readonly #rtp: Socket
  readonly #local: LocalAudio
  readonly #callId = randomBytes(12).toString('hex')
  readonly #tag = randomBytes(6).toString('hex')
  readonly #keys = new DtmfSender(PHONE_RATE)
  readonly #ssrc = randomBytes(4).readUInt32BE(0)
  readonly #ticks = new Set<() => void>()
  #agreed: AgreedAudio | null = null
  #remote = { uri: '', to: '', routes: [] as string[] }
  #sequence = 0
  #timestamp = 0
  #cseq = 1
  #speaking: { pcm: Int16Array; at: number; spoken: Spoken; done(spoken: Spoken): void } | null = null
  #stopTicks = () => {}
  #over = false
  #ended = () => {}
  /** Settles when either side has hung up. */
  readonly ended = new Promise<void>(resolve => (this.#ended = resolve))

  constructor(options: PhoneOptions, sip: Socket, rtp: Socket) {
    this.#options = options
    this.#sip = sip
    this.#rtp = rtp
    this.#local = {
      address: options.host,
      port: rtp.address().port,
      codecs: [options.codec],
      sessionId: String(Date.now()),
      version: 1,
    }
    sip.on('message', (bytes, from) => this.#receive(bytes, from))
    rtp.on('message', data => this.#hear(data))
    // the socket may be closed already; timeouts report it
    for (const socket of [sip, rtp]) socket.on('error', () => {})
  }

  get over(): boolean {
    return this.#over
  }

  /** Speaks from the next packet on; settles when the last packet has left, or the call has ended. */
  say(pcm: Int16Array): Promise<Spoken> {
    const spoken = { fromMs: this.clock.now(), toMs: this.clock.now() }
    if (this.#over) return Promise.resolve(spoken)
    this.#options.line.begin()
    return new Promise(done => (this.#speaking = { pcm, at: 0, spoken, done }))
  }

  press(keys: string): Promise<void> {
    return this.#over ? Promise.resolve() : this.#keys.press(keys)
  }

  /** Checks every 20 ms; resolves to false when the time is up or the call has ended. */
  until(condition: () => boolean, mostMs: number): Promise<boolean> {
    const untilMs = this.clock.now() + mostMs
    return new Promise(resolve => {
      const check = () => {
        const holds = condition()
        if (!holds && !this.#over && this.clock.now() < untilMs) return
        this.#ticks.delete(check)
        resolve(holds)
      }
      this.#ticks.add(check)
      check()
    })
  }

  async hangUp(): Promise<void> {
    if (this.#over) return
    const answered = this.#answerTo('BYE')
    const bye = this.#inDialog('BYE', ++this.#cseq)
    this.#send(bye)
    const cancel = this.clock.after(T1_MS, () => void this.#send(bye))
    this.#end()
    await Promise.race([answered, new Promise<void>(resolve => this.clock.after(BYE_TIMEOUT_MS, resolve))])
    cancel()
    this.close()
  }

  close(): void {
    this.#end()
    for (const socket of [this.#sip, this.#rtp]) {
      try {
        socket.close()
      } catch {
        // closed before
      }
    }
  }

  // SIP.

  async ring(): Promise<void> {
    const { to, sip } = this.#options
    const body = Buffer.from(makeOffer(this.#local), 'latin1')
    const uri = `sip:${to}@${sip.host}:${sip.port}`
    this.#remote = { uri, to: `<${uri}>`, routes: [] }
    const invite = this.#request('INVITE', uri, 1, [['Content-Type', 'application/sdp']], body)
    const branch = headerOf(invite, 'Via')
    let again = T1_MS
    let cancel = () => {}
    const send = () => {
      this.#send(invite)
      cancel = this.clock.after(again, send)
      again *= 2
    }
    const final = this.#answerTo('INVITE', () => cancel())
    send()
    const timeout = new Promise<null>(resolve => this.clock.after(ANSWER_TIMEOUT_MS, () => resolve(null)))
    const answer = await Promise.race([final, timeout])
    cancel()
    if (!answer) throw new CallRefused(408, 'no answer')
    this.#remote.to = headerOf(answer, 'To') ?? this.#remote.to
    if (answer.status >= 300) {
      const via: Header = ['Via', branch!]
      const ack = this.#request('ACK', uri, 1, [])
      await this.#send({ ...ack, headers: [via, ...ack.headers.filter(([name]) => name !== 'Via')] })
      throw new CallRefused(answer.status, answer.reason)
    }
    this.#remote.uri = parseNameAddr(headerOf(answer, 'Contact') ?? '')?.uri ?? uri
    this.#remote.routes = listOf(answer, 'Record-Route').reverse()
    this.#send(this.#inDialog('ACK', 1))
    const agreed = readAnswer(answer.body.toString('latin1'), this.#local)
    if (!agreed.ok) throw new CallRefused(488, agreed.code)
    this.#agreed = agreed.audio
    this.answered.atMs = this.clock.now()
    this.#stopTicks = pacer.add(() => this.#tick())
  }

  #onAnswer: ((message: Extract<SipMessage, { kind: 'response' }>) => void) | null = null

  #answerTo(method: string, onAny: () => void = () => {}): Promise<Extract<SipMessage, { kind: 'response' }>> {
    return new Promise(resolve => {
      this.#onAnswer = message => {
        if (parseCSeq(headerOf(message, 'CSeq') ?? '')?.method !== method) return
        onAny()
        if (message.status >= 200) resolve(message)
      }
    })
  }

  #receive(bytes: Buffer, from: RemoteInfo): void {
    const parsed = parseMessage(bytes)
    if (!parsed.ok || headerOf(parsed.message, 'Call-ID') !== this.#callId) return
    const { message } = parsed
    if (message.kind === 'response') {
      // Our ACK was lost.
      if (this.#agreed && message.status === 200 && parseCSeq(headerOf(message, 'CSeq') ?? '')?.method === 'INVITE')
        this.#send(this.#inDialog('ACK', 1))
      else this.#onAnswer?.(message)
      return
    }
    if (message.method === 'ACK') return
    this.#sip.send(serialise(okTo(message)), from.port, from.address)
    if (message.method === 'BYE') this.#end()
  }

  #inDialog = (method: string, seq: number) =>
    this.#request(
      method,
      this.#remote.uri,
      seq,
      this.#remote.routes.map(route => ['Route', route]),
    )

  #request(method: string, uri: string, seq: number, extra: Header[], body: Buffer = Buffer.alloc(0)): SipRequest {
    const { host, from } = this.#options
    const at = `${host}:${this.#sip.address().port}`
    const headers: Header[] = [
      ['Via', `SIP/2.0/UDP ${at};branch=z9hG4bK${randomBytes(8).toString('hex')};rport`],
      ['Max-Forwards', '70'],
      ['From', `<sip:${from}@${at}>;tag=${this.#tag}`],
      ['To', this.#remote.to],
      ['Call-ID', this.#callId],
      ['CSeq', `${seq} ${method}`],
      ['Contact', `<sip:${from}@${at}>`],
      ...extra,
    ]
    return { kind: 'request', method, uri, headers, body }
  }

  #send(message: SipMessage): Promise<void> {
    const { host, port } = this.#options.sip
    return new Promise(resolve => this.#sip.send(serialise(message), port, host, () => resolve()))
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#stopTicks()
    this.#keys.close()
    this.#speaking?.done(this.#speaking.spoken)
    for (const check of [...this.#ticks]) check()
    this.#ended()
  }

  // Audio.

  #tick(): void {
    this.#timestamp = (this.#timestamp + FRAME) >>> 0
    const key = this.#keys.next(this.#timestamp, this.#agreed!.dtmf !== null)
    if (key?.kind === 'event') this.#packet(this.#agreed!.dtmf!.send, key.payload, key.timestamp, key.marker)
    else this.#sendSound(key?.kind === 'tone' ? key.pcm : this.#nextFrame())
    for (const check of [...this.#ticks]) check()
  }

  #nextFrame(): Int16Array {
    const frame = new Int16Array(FRAME)
    const speaking = this.#speaking
    if (!speaking) return frame
    if (speaking.at === 0) speaking.spoken.fromMs = this.clock.now()
    frame.set(speaking.pcm.subarray(speaking.at, speaking.at + FRAME))
    speaking.at += FRAME
    speaking.spoken.toMs = this.clock.now()
    if (speaking.at >= speaking.pcm.length) {
      this.#speaking = null
      speaking.done(speaking.spoken)
    }
    return frame
  }

  #sendSound(pcm: Int16Array): void {
    const { payloadType } = this.#agreed!
    const bytes = new Uint8Array(FRAME)
    encodeG711(this.#options.codec, this.#options.line.colour(pcm), bytes)
    this.#packet(payloadType, bytes, this.#timestamp, this.#sequence === 0)
  }

  #packet(payloadType: number, payload: Uint8Array, timestamp: number, marker: boolean): void {
    const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length)
    const sequence = this.#sequence++
    writeRtpHeader(packet, { payloadType, marker, sequence, timestamp, ssrc: this.#ssrc })
    packet.set(payload, RTP_HEADER_BYTES)
    const late = this.#options.line.fate()
    if (late === null) return
    const { address, port } = this.#agreed!.remote
    if (late < 1) this.#rtp.send(packet, port, address)
    else this.clock.after(late, () => void (this.#over || this.#rtp.send(packet, port, address)))
  }

  #hear(data: Buffer): void {
    const packet = parseRtp(data)
    const codec = packet && PCM[packet.payloadType]
    if (!packet || !codec || this.#over) return
    const pcm = decodeG711(codec, packet.payload)
    if (pcm.some(sample => Math.abs(sample) > LOUD)) this.heard.push(this.clock.now())
  }
}

function okTo(request: SipRequest): SipMessage {
  const copied = request.headers.filter(([name]) => ['Via', 'From', 'To', 'Call-ID', 'CSeq'].includes(name))
  return { kind: 'response', status: 200, reason: 'OK', headers: copied, body: Buffer.alloc(0) }
}

async function bind(host: string): Promise<Socket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.bind(0, host)
  await once(socket, 'listening')
  return socket
}
