/**
 * Phones behind one trunk, which are never disturbed: they answer by the called number and record every INVITE. Plain
 * UDP without our code, so that the check is independent. Implements RFC 3261 §13.3.1 and §17.2 as far as a phone
 * needs it: answers are repeated until the ACK, and a retransmitted request gets the same answer.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'

/** The last digit of a number selects its phone's behaviour. */
export type Manner = 'hangs up' | 'stays' | 'busy' | 'rings'
const MANNERS: readonly Manner[] = ['hangs up', 'hangs up', 'stays', 'hangs up', 'busy', 'hangs up', 'rings']
export const mannerOf = (number: string): Manner => MANNERS[Number(number.at(-1)) % MANNERS.length]!

/** One INVITE, without retransmissions. */
export interface Ring {
  number: string
  sipCallId: string
  /** Epoch milliseconds. */
  atMs: number
}

export interface Phones {
  port: number
  rings: readonly Ring[]
  close(): void
}

const HOST = '127.0.0.1'
const T1_MS = 500
const T2_MS = 4000
/** 64*T1, after which no answer can arrive. */
const GIVE_UP_MS = 64 * T1_MS
const RING_MS = 150
const ANSWER_MS = 500
/** Forgets a call whose server disappeared without ending it. */
const FORGET_MS = 60_000
const FRAME_MS = 20
const FRAME_BYTES = 160
const PCMA = 8
const PCMA_SILENCE = 0xd5

interface Message {
  start: string
  headers: readonly [string, string][]
  body: string
}

function read(text: string): Message {
  const end = text.indexOf('\r\n\r\n')
  const [start = '', ...lines] = text.slice(0, end < 0 ? undefined : end).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { start, headers, body: end < 0 ? '' : text.slice(end + 4) }
}

const all = (message: Message, name: string) =>
  message.headers.filter(([known]) => known === name).map(([, value]) => value)
const one = (message: Message, name: string) => all(message, name)[0] ?? ''
const uriIn = (value: string) => /<([^>]+)>/.exec(value)?.[1] ?? value.split(';')[0]!.trim()

/** A call at a phone, from its INVITE to its end. */
interface Line {
  invite: Message
  from: RemoteInfo
  /** The last answer to the INVITE, for retransmissions. */
  answered: string
  /** The RTP port of the other side, once answered. */
  soundPort: number | null
  sequence: number
  timers: Set<NodeJS.Timeout>
  isOver: boolean
}

export async function startPhones(): Promise<Phones> {
  const [sip, sound] = await Promise.all([bound(), bound()])
  return new Switchboard(sip, sound)
}

class Switchboard implements Phones {
  readonly port: number
  readonly rings: Ring[] = []
  readonly #sip: Socket
  readonly #sound: Socket
  readonly #lines = new Map<string, Line>()
  /** Our requests that await an answer, by branch. */
  readonly #asked = new Map<string, NodeJS.Timeout>()
  readonly #frames: NodeJS.Timeout
  #branches = 0

  constructor(sip: Socket, sound: Socket) {
    this.port = sip.address().port
    this.#sip = sip
    this.#sound = sound
    sip.on('message', (data, from) => this.#take(read(data.toString('latin1')), from))
    this.#frames = setInterval(() => this.#speak(), FRAME_MS)
  }

  close(): void {
    clearInterval(this.#frames)
    for (const line of this.#lines.values()) end(line)
    for (const timer of this.#asked.values()) clearTimeout(timer)
    this.#sip.close()
    this.#sound.close()
  }

  #take(message: Message, from: RemoteInfo): void {
    const method = message.start.split(' ', 1)[0]!
    if (method === 'SIP/2.0') {
      const branch = branchOf(message)
      clearTimeout(this.#asked.get(branch))
      this.#asked.delete(branch)
    } else if (method === 'INVITE') this.#onInvite(message, from)
    else if (method === 'ACK') this.#onAck(message)
    else if (method === 'CANCEL') this.#onCancel(message, from)
    else {
      const line = method === 'BYE' ? this.#lineOf(message) : undefined
      if (line) end(line)
      this.#send(this.#answerTo(message, '200 OK'), from)
    }
  }

  #send(text: string, to: { port: number; address: string }): void {
    this.#sip.send(text, to.port, to.address)
  }

  #answerTo(request: Message, status: string, body = ''): string {
    const to = one(request, 'to')
    return [
      `SIP/2.0 ${status}`,
      ...all(request, 'via').map(value => `Via: ${value}`),
      ...all(request, 'record-route').map(value => `Record-Route: ${value}`),
      `From: ${one(request, 'from')}`,
      `To: ${to}${to.includes('tag=') ? '' : `;tag=phone${this.port}`}`,
      `Call-ID: ${one(request, 'call-id')}`,
      `CSeq: ${one(request, 'cseq')}`,
      `Contact: <sip:phone@${HOST}:${this.port}>`,
      ...(body ? ['Content-Type: application/sdp'] : []),
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n')
  }

  #say(line: Line, status: string, body = ''): void {
    line.answered = this.#answerTo(line.invite, status, body)
    this.#send(line.answered, line.from)
  }

  /** Repeats a final answer until it is acknowledged. */
  #sayFinally(line: Line, status: string, body = '', waitMs = T1_MS, sinceMs = 0): void {
    this.#say(line, status, body)
    if (sinceMs >= GIVE_UP_MS) {
      end(line)
      return
    }
    after(line, waitMs, () => this.#sayFinally(line, status, body, Math.min(2 * waitMs, T2_MS), sinceMs + waitMs))
  }

  #onInvite(request: Message, from: RemoteInfo): void {
    const id = transactionOf(request)
    const known = this.#lines.get(id)
    if (known) {
      this.#send(known.answered, from)
      return
    }
    const inDialog = one(request, 'to').includes('tag=')
    if (inDialog) {
      this.#send(this.#answerTo(request, '200 OK', describe(this.#sound)), from)
      return
    }
    const number = numberOf(request)
    this.rings.push({ number, sipCallId: one(request, 'call-id'), atMs: Date.now() })
    const line: Line = {
      invite: request,
      from,
      answered: '',
      soundPort: null,
      sequence: 0,
      timers: new Set(),
      isOver: false,
    }
    this.#lines.set(id, line)
    this.#say(line, '100 Trying')
    after(line, FORGET_MS, () => end(line))
    const manner = mannerOf(number)
    if (manner === 'busy') {
      this.#sayFinally(line, '486 Busy Here')
      return
    }
    after(line, RING_MS, () => this.#say(line, '180 Ringing'))
    if (manner !== 'rings') after(line, ANSWER_MS, () => this.#pickUp(line))
  }

  #pickUp(line: Line): void {
    line.soundPort = Number(/^m=audio (\d+) /m.exec(line.invite.body)?.[1] ?? 0)
    this.#sayFinally(line, '200 OK', describe(this.#sound))
  }

  #onAck(request: Message): void {
    const line = this.#lineOf(request)
    if (!line || line.isOver) return
    stopTimers(line)
    if (line.soundPort === null) {
      // the ACK of a refusal
      end(line)
      return
    }
    after(line, FORGET_MS, () => end(line))
    const number = numberOf(line.invite)
    const talksMs = 1500 + 300 * (Number(number.slice(-2)) % 10)
    if (mannerOf(number) === 'hangs up') after(line, talksMs, () => this.#hangUp(line))
  }

  #hangUp(line: Line): void {
    const { invite } = line
    end(line)
    const branch = `z9hG4bKphone${this.port}x${this.#branches++}`
    const text = [
      `BYE ${uriIn(one(invite, 'contact'))} SIP/2.0`,
      `Via: SIP/2.0/UDP ${HOST}:${this.port};branch=${branch}`,
      'Max-Forwards: 70',
      ...all(invite, 'record-route').map(value => `Route: ${value}`),
      `From: ${one(invite, 'to')};tag=phone${this.port}`,
      `To: ${one(invite, 'from')}`,
      `Call-ID: ${one(invite, 'call-id')}`,
      'CSeq: 1 BYE',
      'Content-Length: 0',
      ...['', ''],
    ].join('\r\n')
    const again = (waitMs: number, sinceMs: number) => {
      this.#send(text, line.from)
      if (sinceMs > GIVE_UP_MS) this.#asked.delete(branch)
      else this.#asked.set(branch, setTimeout(again, waitMs, Math.min(2 * waitMs, T2_MS), sinceMs + waitMs))
    }
    again(T1_MS, 0)
  }

  #onCancel(request: Message, from: RemoteInfo): void {
    this.#send(this.#answerTo(request, '200 OK'), from)
    const line = this.#lines.get(transactionOf(request))
    if (!line || line.isOver || line.soundPort !== null) return
    stopTimers(line)
    this.#sayFinally(line, '487 Request Terminated')
  }

  #lineOf(request: Message): Line | undefined {
    const callId = one(request, 'call-id')
    return [...this.#lines.values()].find(({ invite }) => one(invite, 'call-id') === callId)
  }

  /** Sends one packet of silence to each active call. */
  #speak(): void {
    for (const line of this.#lines.values())
      if (line.soundPort && !line.isOver) this.#sound.send(frame(line.sequence++), line.soundPort, HOST)
  }
}

function after(line: Line, ms: number, run: () => void): void {
  const timer = setTimeout(() => {
    line.timers.delete(timer)
    if (!line.isOver) run()
  }, ms)
  line.timers.add(timer)
}

function stopTimers(line: Line): void {
  for (const timer of line.timers) clearTimeout(timer)
  line.timers.clear()
}

function end(line: Line): void {
  line.isOver = true
  stopTimers(line)
}

const numberOf = (invite: Message) => /^INVITE sip:(\+?\d+)@/.exec(invite.start)?.[1] ?? ''
const branchOf = (message: Message) => /branch=([^;,\s]+)/.exec(one(message, 'via'))?.[1] ?? ''

/** Identifies an INVITE and its CANCEL (RFC 3261 §9.1: they share the branch). */
const transactionOf = (request: Message) => `${one(request, 'call-id')} ${branchOf(request)}`

function bound(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('error', () => {}) // the other side may be gone
  return new Promise(resolve => socket.bind(0, HOST, () => resolve(socket)))
}

const describe = (sound: Socket) =>
  [
    ...['v=0', `o=phone 1 1 IN IP4 ${HOST}`, 's=-', `c=IN IP4 ${HOST}`, 't=0 0'],
    ...[`m=audio ${sound.address().port} RTP/AVP ${PCMA}`, `a=rtpmap:${PCMA} PCMA/8000`, ''],
  ].join('\r\n')

/** A packet of silence (RFC 3550 §5.1). */
function frame(sequence: number): Buffer {
  const packet = Buffer.alloc(12 + FRAME_BYTES, PCMA_SILENCE)
  packet.writeUInt16BE(0x8000 | PCMA, 0)
  packet.writeUInt16BE(sequence & 0xffff, 2)
  packet.writeUInt32BE((sequence * FRAME_BYTES) >>> 0, 4)
  packet.writeUInt32BE(0x70686f6e, 8)
  return packet
}
