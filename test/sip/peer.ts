import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket as TcpSocket } from 'node:net'
import { StreamFramer } from '../../sip/text/framer.ts'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../../sip/text/message.ts'
import { parseMessage } from '../../sip/text/parse.ts'

/** A scripted SIP peer on the wire: it sends literal messages of the test, and returns received ones in order. */
export class Peer {
  readonly received: SipMessage[] = []
  readonly port: number
  readonly transport: 'UDP' | 'TCP'
  readonly #toWire: (bytes: Buffer) => void
  #last: Buffer = Buffer.alloc(0)
  readonly #end: () => void
  #waiting: (() => void) | null = null
  #closed = false

  private constructor(transport: 'UDP' | 'TCP', port: number, write: (bytes: Buffer) => void, end: () => void) {
    this.transport = transport
    this.port = port
    this.#toWire = write
    this.#end = end
  }

  /** `host`: where it is, an address of loopback. */
  static async udp(serverPort: number, host = '127.0.0.1'): Promise<Peer> {
    const socket: Socket = createSocket('udp4')
    socket.bind(0, host)
    await once(socket, 'listening')
    const peer = new Peer(
      'UDP',
      socket.address().port,
      bytes => socket.send(bytes, serverPort, '127.0.0.1'),
      () => socket.close(),
    )
    socket.on('message', bytes => {
      // Line ends are a keep-alive or a probe, as for any SIP party.
      if (bytes.length > 4) peer.#take(bytes)
    })
    return peer
  }

  static async tcp(serverPort: number, host = '127.0.0.1'): Promise<Peer> {
    const socket: TcpSocket = connect({ port: serverPort, host: '127.0.0.1', localAddress: host })
    await once(socket, 'connect')
    const peer = new Peer(
      'TCP',
      socket.localPort ?? 0,
      bytes => socket.write(bytes),
      () => socket.destroy(),
    )
    const framer = new StreamFramer()
    socket.on('error', () => {})
    socket.on('data', chunk => {
      for (const event of framer.push(chunk)) if (event.type === 'message') peer.#take(event.bytes)
    })
    return peer
  }

  #take(bytes: Buffer): void {
    // Lax: what the server answers to a malformed request repeats that request's gaps.
    const parsed = parseMessage(bytes, { lax: true })
    if (!parsed.ok) throw parsed.error
    this.received.push(parsed.message)
    this.#waiting?.()
  }

  #write(bytes: Buffer): void {
    this.#last = bytes
    this.#toWire(bytes)
  }

  /** Retransmits the last message, as a UDP client without a response does. */
  again(): void {
    this.#toWire(this.#last)
  }

  raw(bytes: Buffer | string): void {
    this.#write(Buffer.from(bytes as string))
  }

  send(head: readonly string[], body = ''): void {
    this.#write(Buffer.from(`${[...head, `Content-Length: ${Buffer.byteLength(body)}`, '', ''].join('\r\n')}${body}`))
  }

  /** The next unread message that matches; others are kept for later. */
  async next<T extends SipMessage>(fits: (message: SipMessage) => message is T): Promise<T> {
    for (;;) {
      const at = this.received.findIndex(fits)
      if (at >= 0) return this.received.splice(at, 1)[0] as T
      await new Promise<void>(resolve => {
        this.#waiting = resolve
      })
    }
  }

  request(method: string): Promise<SipRequest> {
    return this.next((m): m is SipRequest => m.kind === 'request' && m.method === method)
  }

  response(status: number, method?: string): Promise<SipResponse> {
    const ofMethod = (m: SipMessage): boolean => method === undefined || headerOf(m, 'CSeq')?.split(' ')[1] === method
    return this.next((m): m is SipResponse => m.kind === 'response' && m.status === status && ofMethod(m))
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#end()
  }
}

let counter = 0

/** One call as seen by a peer that places it: keeps its tags and builds its requests. */
export class Caller {
  readonly callId: string
  readonly tag: string
  readonly #peer: Peer
  readonly #to: string
  #cseq = 0
  #inviteBranch = ''
  toTag: string | null = null

  constructor(peer: Peer, to: string) {
    counter += 1
    this.#peer = peer
    this.#to = to
    this.callId = `call-${process.pid}-${counter}`
    this.tag = `t${counter}`
  }

  head(method: string, options: { branch?: string; cseq?: number; extra?: readonly string[] } = {}): string[] {
    counter += 1
    const branch = options.branch ?? `z9hG4bK-${process.pid}-${counter}`
    const where = `127.0.0.1:${this.#peer.port}`
    return [
      `${method} ${this.#to} SIP/2.0`,
      `Via: SIP/2.0/${this.#peer.transport} ${where};branch=${branch}`,
      'Max-Forwards: 70',
      `From: <sip:caller@${where}>;tag=${this.tag}`,
      `To: <${this.#to}>${this.toTag === null ? '' : `;tag=${this.toTag}`}`,
      `Call-ID: ${this.callId}`,
      `CSeq: ${options.cseq ?? this.#cseq} ${method}`,
      ...(method === 'ACK' || method === 'CANCEL' ? [] : [`Contact: <sip:caller@${where}>`]),
      ...(options.extra ?? []),
    ]
  }

  invite(body = SDP, extra: readonly string[] = []): void {
    this.#cseq += 1
    counter += 1
    this.#inviteBranch = `z9hG4bK-${process.pid}-${counter}`
    const type = body === '' ? [] : ['Content-Type: application/sdp']
    this.#peer.send(this.head('INVITE', { branch: this.#inviteBranch, extra: [...type, ...extra] }), body)
  }

  async answered(status = 200): Promise<SipResponse> {
    const response = await this.#peer.response(status, 'INVITE')
    this.toTag = /;tag=([^;]+)/.exec(headerOf(response, 'To') ?? '')?.[1] ?? null
    return response
  }

  ack(failed = false): void {
    this.#peer.send(this.head('ACK', failed ? { branch: this.#inviteBranch } : {}))
  }

  cancel(): void {
    this.#peer.send(this.head('CANCEL', { branch: this.#inviteBranch }))
  }

  request(method: string, extra: readonly string[] = [], body = ''): void {
    this.#cseq += 1
    this.#peer.send(this.head(method, { extra }), body)
  }
}

/** Answers a request of the server's in its own words. */
export function reply(
  peer: Peer,
  to: SipRequest,
  status: string,
  extra: readonly string[] = [],
  body = '',
  tag = 'peer',
): void {
  const toValue = headerOf(to, 'To') ?? ''
  peer.send(
    [
      `SIP/2.0 ${status}`,
      ...to.headers
        .filter(([name]) => name === 'Via' || name === 'Record-Route')
        .map(([name, value]) => `${name}: ${value}`),
      `From: ${headerOf(to, 'From')}`,
      `To: ${toValue}${toValue.includes(';tag=') || status.startsWith('100') ? '' : `;tag=${tag}`}`,
      `Call-ID: ${headerOf(to, 'Call-ID')}`,
      `CSeq: ${headerOf(to, 'CSeq')}`,
      ...extra,
    ],
    body,
  )
}

export const SDP = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 40000 RTP/AVP 0',
  'a=rtpmap:0 PCMU/8000',
  '',
].join('\r\n')
