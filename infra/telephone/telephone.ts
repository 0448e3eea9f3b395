/**
 * A telephone: SIP over UDP (RFC 3261) with its own RTP. It places calls, and answers them if it has a person to do so;
 * it holds one call at a time. It shares no state with the engine, so it measures and shows what the far end of a
 * call gets.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { G711 } from '../../media/audio/g711.ts'
import { type Header, type SipMessage, type SipRequest, type SipResponse, serialise } from '../../sip/text/message.ts'
import { type AgreedAudio, answerOffer, type LocalAudio, makeOffer, readAnswer } from '../../sip/text/offer.ts'
import { parseMessage } from '../../sip/text/parse.ts'
import { systemClock } from '../adapters/clock.ts'
import { type AudioLine, type AudioSide, TelephoneAudio } from './audio.ts'
import {
  ackOfRefusal,
  answeredDialog,
  callIdOf,
  type Dialog,
  dialogFrom,
  dialogTo,
  methodOf,
  newTag,
  requestIn,
  responseTo,
} from './signalling.ts'

/** T1 (RFC 3261 §17.1.1.1). */
const T1_MS = 500
const ANSWER_TIMEOUT_MS = 15_000
const BYE_TIMEOUT_MS = 2000
const ALLOW: Header = ['Allow', 'INVITE, ACK, BYE, CANCEL, OPTIONS']

/** The person at the telephone during one call. */
export interface CallSide extends AudioSide {
  /** A received call rings. */
  ringing?(): void
  /** Audio flows in both directions. */
  answered?(): void
  /** The call is over, whoever ended it; a call that was never answered as well. */
  ended?(): void
}

export interface TelephoneOptions {
  /** Local address, as the far end sees it. */
  host: string
  /** Local SIP port; 0, the default, lets the system choose. */
  port?: number
  /** User part of our SIP URI. */
  user: string
  /** Our codecs, best first. */
  codecs: readonly G711[]
  /** Simulates the network for packets that we send. */
  line?: AudioLine
  /** Without it, the telephone is busy for every received call. */
  answer?: Answering
}

export interface Answering {
  /** Milliseconds of ringing before the call is answered. */
  ringMs: number
  /** Returns the person who takes the next call. */
  side(): CallSide
}

export interface Callee {
  user: string
  host: string
  port: number
}

export class CallRefused extends Error {
  readonly status: number
  constructor(status: number, reason: string) {
    super(`The call was refused: ${status} ${reason}`)
    this.status = status
  }
}

interface Call {
  dialog: Dialog
  side: CallSide
  /** Where our requests go. */
  peer: { address: string; port: number }
  audio: TelephoneAudio | null
  /** A received call: its INVITE, our tag, and once we have answered, our 200 and what it agreed to. */
  received: { invite: SipRequest; tag: string; answer: { ok: SipResponse; agreed: AgreedAudio } | null } | null
  stopRinging: () => void
}

/** A request of ours that waits for its final response. */
interface Transaction {
  callId: string
  method: string
  onResponse(response: SipResponse): void
}

export class Telephone {
  readonly #options: TelephoneOptions
  readonly #socket: Socket
  #call: Call | null = null
  #transaction: Transaction | null = null
  #closed = false

  static async open(options: TelephoneOptions): Promise<Telephone> {
    const { host, port = 0 } = options
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').bind(port, host)
    await once(socket, 'listening')
    return new Telephone(options, socket)
  }

  private constructor(options: TelephoneOptions, socket: Socket) {
    this.#options = options
    this.#socket = socket
    socket.on('message', (bytes, from) => this.#receive(bytes, from))
    socket.on('error', () => {}) // a timeout reports what could not be sent
  }

  get port(): number {
    return this.#socket.address().port
  }

  /** Places a call; resolves when it is answered. Throws CallRefused. */
  async dial({ user, host, port }: Callee, side: CallSide): Promise<void> {
    const audio = await TelephoneAudio.open(this.#options.host, this.#options.line)
    const dialog = dialogTo(this.#addresses().contact, `sip:${user}@${host}:${port}`)
    const call: Call = { dialog, side, peer: { address: host, port }, audio, received: null, stopRinging: () => {} }
    this.#call = call
    try {
      await this.#invite(call, this.#localAudio(audio))
    } catch (error) {
      this.#end(call)
      throw error
    }
  }

  /** Sends keys instead of audio; settles when the last was sent or the call has ended. */
  async press(keys: string): Promise<void> {
    await this.#call?.audio?.press(keys)
  }

  /** Ends an answered call; settles when the far end has confirmed that, at most 2 s later. */
  async hangUp(): Promise<void> {
    const call = this.#call
    if (!call) return
    call.dialog.cseq++
    const ended = this.#request(call, requestIn(call.dialog, 'BYE', this.#addresses()), BYE_TIMEOUT_MS)
    this.#end(call)
    await ended
  }

  /** Ends the call, if there is one, without a BYE. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#call) this.#end(this.#call)
    this.#socket.close()
  }

  async #invite(call: Call, local: LocalAudio): Promise<void> {
    const invite = requestIn(call.dialog, 'INVITE', this.#addresses(), makeOffer(local))
    const response = await this.#request(call, invite, ANSWER_TIMEOUT_MS)
    if (!response) throw new CallRefused(408, 'no answer')
    if (response.status >= 300) {
      await this.#send(ackOfRefusal(invite, response), call.peer)
      throw new CallRefused(response.status, response.reason)
    }
    call.dialog = answeredDialog(call.dialog, response)
    this.#ack(call)
    const agreed = readAnswer(response.body.toString('latin1'), local)
    if (!agreed.ok) throw new CallRefused(488, agreed.code)
    this.#start(call, agreed.audio)
  }

  /** Resolves to the final response, or to null when none came in time. Repeats the request until any response came. */
  async #request(call: Call, request: SipRequest, timeoutMs: number): Promise<SipResponse | null> {
    const { promise, resolve } = Promise.withResolvers<SipResponse | null>()
    let stopRepeating = () => {}
    const repeat = (afterMs: number) => {
      void this.#send(request, call.peer)
      stopRepeating = systemClock.after(afterMs, () => repeat(afterMs * 2))
    }
    const onResponse = (response: SipResponse) => {
      stopRepeating()
      if (response.status >= 200) resolve(response)
    }
    this.#transaction = { callId: call.dialog.callId, method: request.method, onResponse }
    repeat(T1_MS)
    const stopTimeout = systemClock.after(timeoutMs, () => resolve(null))
    const response = await promise
    stopRepeating()
    stopTimeout()
    this.#transaction = null
    return response
  }

  #receive(bytes: Buffer, from: RemoteInfo): void {
    const parsed = parseMessage(bytes)
    if (!parsed.ok) return
    if (parsed.message.kind === 'response') this.#receiveResponse(parsed.message)
    else this.#receiveRequest(parsed.message, from)
  }

  #receiveResponse(response: SipResponse): void {
    const [callId, method] = [callIdOf(response), methodOf(response)]
    const waiting = this.#transaction
    if (waiting?.callId === callId && waiting.method === method) waiting.onResponse(response)
    // Our ACK was lost.
    else if (this.#call?.dialog.callId === callId && method === 'INVITE' && response.status === 200)
      this.#ack(this.#call)
  }

  #receiveRequest(request: SipRequest, from: RemoteInfo): void {
    const call = this.#call?.dialog.callId === callIdOf(request) ? this.#call : null
    const tag = call?.received?.tag ?? newTag()
    const ok = () => void this.#send(responseTo(request, [200, 'OK'], tag, [ALLOW]), from)
    switch (request.method) {
      case 'INVITE':
        if (call?.received) void (call.received.answer && this.#send(call.received.answer.ok, from))
        else if (call) ok()
        else if (this.#call || !this.#options.answer)
          void this.#send(responseTo(request, [486, 'Busy Here'], tag), from)
        else void this.#ring(request, from, this.#options.answer)
        return
      case 'ACK':
        if (call?.received?.answer) this.#start(call, call.received.answer.agreed)
        return
      case 'BYE':
        ok()
        if (call) this.#end(call)
        return
      case 'CANCEL':
        ok()
        if (call?.received && !call.received.answer) {
          void this.#send(responseTo(call.received.invite, [487, 'Request Terminated'], tag), from)
          this.#end(call)
        }
        return
      default:
        ok()
    }
  }

  async #ring(invite: SipRequest, from: RemoteInfo, { ringMs, side: sideOf }: Answering): Promise<void> {
    const [tag, side] = [newTag(), sideOf()]
    const call: Call = {
      dialog: dialogFrom(invite, tag),
      side,
      peer: from,
      audio: null,
      received: { invite, tag, answer: null },
      stopRinging: () => {},
    }
    this.#call = call
    const audio = await TelephoneAudio.open(this.#options.host, this.#options.line)
    if (this.#call !== call) return audio.close() // canceled meanwhile
    call.audio = audio
    const answer = answerOffer(invite.body.toString('latin1'), this.#localAudio(audio))
    if (!answer.ok) {
      void this.#send(responseTo(invite, [488, 'Not Acceptable Here'], tag), from)
      this.#end(call)
      return
    }
    const contact: Header = ['Contact', `<${this.#addresses().contact}>`]
    void this.#send(responseTo(invite, [180, 'Ringing'], tag, [contact]), from)
    side.ringing?.()
    call.stopRinging = systemClock.after(ringMs, () => {
      const ok = responseTo(invite, [200, 'OK'], tag, [contact], answer.sdp)
      call.received = { invite, tag, answer: { ok, agreed: answer.audio } }
      void this.#send(ok, from)
    })
  }

  /** A repeated ACK changes nothing. */
  #start({ audio, side }: Call, agreed: AgreedAudio): void {
    if (audio?.start(agreed, side)) side.answered?.()
  }

  #end(call: Call): void {
    if (this.#call !== call) return
    this.#call = null
    call.stopRinging()
    call.audio?.close()
    call.side.ended?.()
  }

  #ack(call: Call): void {
    void this.#send(requestIn(call.dialog, 'ACK', this.#addresses()), call.peer)
  }

  #send(message: SipMessage, { address, port }: { address: string; port: number }): Promise<void> {
    if (this.#closed) return Promise.resolve()
    return new Promise(resolve => this.#socket.send(serialise(message), port, address, () => resolve()))
  }

  #addresses(): { own: string; contact: string } {
    const own = `${this.#options.host}:${this.port}`
    return { own, contact: `sip:${this.#options.user}@${own}` }
  }

  #localAudio({ port }: TelephoneAudio): LocalAudio {
    const { host, codecs } = this.#options
    return { address: host, port, codecs, sessionId: String(Date.now()), version: 1 }
  }
}
