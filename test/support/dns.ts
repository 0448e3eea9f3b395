/** A small DNS server for tests, on UDP: A, AAAA, SRV and NAPTR records of given names (RFC 1035, 2782, 3403). */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

export type DnsRecord =
  | { type: 'address'; address: string }
  | {
      type: 'srv'
      priority: number
      weight: number
      port: number
      target: string
    }
  | {
      type: 'naptr'
      order: number
      preference: number
      service: string
      replacement: string
    }

export const address = (text: string): DnsRecord => ({ type: 'address', address: text })
export const srv = (target: string, port: number, priority = 10, weight = 10): DnsRecord => ({
  type: 'srv',
  target,
  port,
  priority,
  weight,
})
export const naptr = (service: string, replacement: string, order = 10): DnsRecord => ({
  type: 'naptr',
  service,
  replacement,
  order,
  preference: 10,
})

const TYPES = { 1: 'A', 28: 'AAAA', 33: 'SRV', 35: 'NAPTR' } as const
type Type = (typeof TYPES)[keyof typeof TYPES]
const NO_SUCH_NAME = 3
const SERVER_FAILURE = 2
const QUESTION_AT = 12

const name = (text: string): Buffer => Buffer.concat([...text.split('.').filter(Boolean).map(string), Buffer.alloc(1)])
const string = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])
const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2)
  return bytes
}

function addressBytes(text: string): Buffer {
  if (!isIPv6(text)) return Buffer.from(text.split('.').map(Number))
  const [head = '', tail = ''] = text.split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16))
  const [left, right] = [groups(head), groups(tail)]
  return numbers(...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right)
}

/** The record's data for a question of that type; null when it has none. */
function dataFor(record: DnsRecord, asked: Type): Buffer | null {
  switch (record.type) {
    case 'address':
      return asked === (isIPv6(record.address) ? 'AAAA' : 'A') ? addressBytes(record.address) : null
    case 'srv':
      if (asked !== 'SRV') return null
      return Buffer.concat([numbers(record.priority, record.weight, record.port), name(record.target)])
    case 'naptr':
      if (asked !== 'NAPTR') return null
      return Buffer.concat([
        numbers(record.order, record.preference),
        ...['s', record.service, ''].map(string),
        name(record.replacement),
      ])
  }
}

function readName(bytes: Buffer): { text: string; end: number } {
  const labels: string[] = []
  let at = QUESTION_AT
  for (let length = bytes[at]!; length > 0; length = bytes[at]!) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { text: labels.join('.').toLowerCase(), end: at + 1 }
}

export class DnsServer {
  /** Records by name; may be changed at any time. */
  readonly records = new Map<string, readonly DnsRecord[]>()
  /** `type name` of each question. */
  readonly asked: string[] = []
  /** When true, every question is answered with SERVFAIL, as for an unreachable zone. */
  failing = false
  readonly at: string
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    this.at = `127.0.0.1:${socket.address().port}`
    socket.on('message', (bytes, from) => socket.send(this.#answer(bytes), from.port, from.address))
  }

  static async start(records: Readonly<Record<string, readonly DnsRecord[]>> = {}): Promise<DnsServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    for (const [known, list] of Object.entries(records)) server.records.set(known, list)
    return server
  }

  #answer(query: Buffer): Buffer {
    const { text, end } = readName(query)
    const type = TYPES[query.readUInt16BE(end) as keyof typeof TYPES]
    this.asked.push(`${type} ${text}`)
    const known = this.records.get(text)
    const code = this.failing ? SERVER_FAILURE : known === undefined ? NO_SUCH_NAME : 0
    const data = code === 0 && type !== undefined ? known!.flatMap(record => dataFor(record, type) ?? []) : []
    // Response, recursion desired and available; one question, no more sections.
    const head = Buffer.concat([query.subarray(0, 2), numbers(0x8180 | code, 1, data.length, 0, 0)])
    const question = query.subarray(QUESTION_AT, end + 4)
    const answers = data.map(bytes =>
      Buffer.concat([
        // A pointer to the name in the question; type, class, a TTL of 1 s, length.
        ...[numbers(0xc000 | QUESTION_AT), query.subarray(end, end + 4), Buffer.from([0, 0, 0, 1])],
        ...[numbers(bytes.length), bytes],
      ]),
    )
    return Buffer.concat([head, question, ...answers])
  }

  close(): void {
    this.#socket.close()
  }
}
