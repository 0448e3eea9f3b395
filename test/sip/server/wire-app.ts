import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import { encodeFrame, FrameDecoder } from '../../../sip/server/wire.ts'
import { SECRET } from '../rig.ts'

const SrfMessage = createRequire(import.meta.url)('drachtio-srf/lib/sip-parser/message')

const RING_MS = 500

const ANSWERS: Readonly<Record<string, string>> = {
  INVITE: 'SIP/2.0 486 Busy Here',
  OPTIONS: 'SIP/2.0 200 OK',
  SUBSCRIBE: 'SIP/2.0 202 Accepted\r\nExpires: 1',
}

/**
 * An application that speaks the wire protocol and nothing else: it answers all requests at once and keeps nothing, so
 * that what grows is the server's. Every message it is given must be readable for drachtio-srf.
 */
export class WireApp {
  unreadable = 0
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    const decoder = new FrameDecoder(2 ** 24)
    socket.on('error', () => {})
    socket.on('data', chunk => {
      for (const frame of decoder.push(chunk)) this.#take(frame)
    })
  }

  static async start(port: number, verbs: readonly string[]): Promise<WireApp> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const app = new WireApp(socket)
    app.#say(`authenticate|${SECRET}|`)
    await once(socket, 'data')
    for (const verb of verbs) app.#say(`route|${verb}`)
    return app
  }

  #say(leader: string, message?: string): void {
    if (!this.#socket.destroyed)
      this.#socket.write(encodeFrame(randomUUID(), leader, message === undefined ? undefined : Buffer.from(message)))
  }

  /** Sends a request without waiting for its response. */
  ask(method: string, uri: string): void {
    const body = method === 'INVITE' ? 'v=0\r\n' : ''
    this.#say('sip||', `${method} ${uri} SIP/2.0\r\n\r\n${body}`)
  }

  #take(frame: Buffer): void {
    const end = frame.indexOf('\r\n')
    if (end < 0) return
    const tokens = frame.toString('latin1', 0, end).split('|')
    const text = frame.toString('utf8', end + 2)
    if (tokens[1] === 'response' && text.startsWith('INVITE ')) this.#limit(tokens[10] ?? '')
    if (tokens[1] !== 'sip') return
    try {
      new SrfMessage(text)
    } catch {
      this.unreadable += 1
    }
    const method = text.slice(0, text.indexOf(' '))
    if (method === 'SIP/2.0') this.#responded(text, tokens[8] ?? '', tokens[9] ?? '')
    if (tokens[2] !== 'network' || method === 'ACK' || method === 'SIP/2.0') return
    this.#say(`sip|${tokens[8]}|`, `${ANSWERS[method] ?? 'SIP/2.0 200 OK'}\r\n\r\n`)
  }

  /** As any application it lets nothing ring for ever. */
  #limit(txnId: string): void {
    setTimeout(() => this.#say(`sip|${txnId}|`, 'CANCEL sip:placeholder SIP/2.0\r\n\r\n'), RING_MS).unref()
  }

  /** Its calls are short: canceled when they ring, ended when they are answered. */
  #responded(text: string, txnId: string, dialogId: string): void {
    if (!/^CSeq: \d+ INVITE\r$/m.test(text)) return
    if (text.startsWith('SIP/2.0 1')) this.#say(`sip|${txnId}|`, 'CANCEL sip:placeholder SIP/2.0\r\n\r\n')
    if (!text.startsWith('SIP/2.0 2')) return
    for (const method of ['ACK', 'BYE']) this.#say(`sip||${dialogId}`, `${method} sip:placeholder SIP/2.0\r\n\r\n`)
  }

  close(): void {
    this.#socket.destroy()
  }
}
