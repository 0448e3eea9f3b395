/** A scripted SIP server: it listens on one transport, and sends literal responses. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { StreamFramer } from '../../../sip/text/framer.ts'
import { headerOf, type SipRequest, type SipResponse } from '../../../sip/text/message.ts'
import { parseMessage } from '../../../sip/text/parse.ts'

export interface Pair {
  cert: string
  key: string
}
export interface Heard {
  request: SipRequest
  /** Source of the message; the same for all messages of one connection. */
  from: string
  answer(status: string, extra?: readonly string[], body?: string): void
}

export class Far {
  readonly port: number
  readonly host: string
  readonly heard: Heard[] = []
  /** Connections that were opened to it. */
  connections = 0
  onResponse: (response: SipResponse) => void = () => {}
  readonly #end: () => void
  readonly #waiting: (() => void)[] = []
  #closed = false

  private constructor(host: string, port: number, end: () => void) {
    this.host = host
    this.port = port
    this.#end = end
  }

  static async udp(host = '127.0.0.1', port = 0): Promise<Far> {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').bind(port, host)
    await once(socket, 'listening')
    const far = new Far(host, socket.address().port, () => socket.close())
    socket.on('message', (bytes, from) => {
      if (bytes.length > 4) far.#take(bytes, `${from.port}`, reply => socket.send(reply, from.port, from.address))
    })
    return far
  }

  static async tcp(host = '127.0.0.1', port = 0): Promise<Far> {
    return Far.#stream(createServer(), 'connection', host, port)
  }

  static async tls(pair: Pair, host = '127.0.0.1'): Promise<Far> {
    return Far.#stream(createTlsServer(pair), 'secureConnection', host, 0)
  }

  static async #stream(server: Server, event: string, host: string, port: number): Promise<Far> {
    const sockets = new Set<Socket>()
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
    })
    server.on('tlsClientError', () => {})
    server.listen(port, host)
    await once(server, 'listening')
    const far = new Far(host, (server.address() as AddressInfo).port, () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    server.on(event, (socket: Socket) => {
      far.connections += 1
      const framer = new StreamFramer()
      const from = String(socket.remotePort)
      socket.on('error', () => {})
      socket.on('data', chunk => {
        for (const piece of framer.push(chunk)) {
          if (piece.type === 'message') far.#take(piece.bytes, from, reply => socket.write(reply))
        }
      })
    })
    return far
  }

  #take(bytes: Buffer, from: string, write: (reply: Buffer) => void): void {
    const parsed = parseMessage(bytes)
    if (!parsed.ok) throw parsed.error
    const { message } = parsed
    if (message.kind === 'request') this.heard.push({ request: message, from, answer: answering(message, write) })
    else this.onResponse(message)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  next(method: string): Promise<Heard> {
    return this.#find(({ request }) => request.method === method)
  }

  any(): Promise<Heard> {
    return this.#find(() => true)
  }

  async #find(fits: (heard: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const at = this.heard.findIndex(fits)
      if (at >= 0) return this.heard.splice(at, 1)[0]!
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  close(): void {
    if (!this.#closed) this.#end()
    this.#closed = true
  }
}

function answering(to: SipRequest, write: (reply: Buffer) => void): Heard['answer'] {
  return (status, extra = [], body = '') => {
    const target = headerOf(to, 'To') ?? ''
    const copied = to.headers.filter(([name]) => ['Via', 'Record-Route', 'From', 'Call-ID', 'CSeq'].includes(name))
    const head = [
      `SIP/2.0 ${status}`,
      ...copied.map(([name, value]) => `${name}: ${value}`),
      `To: ${target}${target.includes(';tag=') || status.startsWith('100') ? '' : ';tag=far'}`,
      ...extra,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    write(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'))
  }
}
