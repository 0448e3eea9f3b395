/** DTLS 1.2 on the wire (RFC 6347 §4, RFC 5246 §7.4): records, handshake fragments, hellos. Pure. */

/** A protocol error of the far end, with the alert to send (RFC 5246 §7.2). */
export class DtlsError extends Error {
  readonly alert: number

  constructor(alert: number, message: string) {
    super(message)
    this.alert = alert
  }
}

export const ALERT = {
  closeNotify: 0,
  unexpectedMessage: 10,
  handshakeFailure: 40,
  badCertificate: 42,
  illegalParameter: 47,
  decodeError: 50,
  decryptError: 51,
  protocolVersion: 70,
} as const

export const DTLS_1_0 = 0xfeff
export const DTLS_1_2 = 0xfefd
export const CONTENT = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const
export const HANDSHAKE = {
  clientHello: 1,
  serverHello: 2,
  helloVerifyRequest: 3,
  certificate: 11,
  serverKeyExchange: 12,
  certificateRequest: 13,
  serverHelloDone: 14,
  certificateVerify: 15,
  clientKeyExchange: 16,
  finished: 20,
} as const

/** True for a DTLS record by its first byte (RFC 7983 §7). */
export const looksLikeDtls = (data: Buffer): boolean => data.length > 0 && data[0]! >= 20 && data[0]! <= 63

/** Reads fields in order; throws a `decodeError` when the data is too short. */
export class ByteReader {
  readonly #data: Buffer
  #at = 0

  constructor(data: Buffer) {
    this.#data = data
  }

  get left(): number {
    return this.#data.length - this.#at
  }

  uint(bytes: 1 | 2 | 3 | 6): number {
    return this.take(bytes).readUIntBE(0, bytes)
  }

  take(bytes: number): Buffer {
    if (bytes > this.left) throw new DtlsError(ALERT.decodeError, 'the message is truncated')
    this.#at += bytes
    return this.#data.subarray(this.#at - bytes, this.#at)
  }

  /** Reads a length and as many bytes. */
  vector(lengthBytes: 1 | 2 | 3): Buffer {
    return this.take(this.uint(lengthBytes))
  }

  end(): void {
    if (this.left > 0) throw new DtlsError(ALERT.decodeError, 'the message is too long')
  }
}

export function uint(value: number, bytes: 1 | 2 | 3 | 6): Buffer {
  const data = Buffer.alloc(bytes)
  data.writeUIntBE(value, 0, bytes)
  return data
}

export function vector(lengthBytes: 1 | 2 | 3, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([uint(content.length, lengthBytes), content])
}

export interface DtlsRecord {
  type: number
  version: number
  epoch: number
  /** 48-bit sequence number. */
  sequence: number
  body: Buffer
}

const RECORD_HEADER_BYTES = 13

/** Returns the complete records; anything else ends the list silently (RFC 6347 §4.1.2.7). */
export function parseRecords(datagram: Buffer): DtlsRecord[] {
  const records: DtlsRecord[] = []
  for (let at = 0; at + RECORD_HEADER_BYTES <= datagram.length; ) {
    const version = datagram.readUInt16BE(at + 1)
    const end = at + RECORD_HEADER_BYTES + datagram.readUInt16BE(at + 11)
    if (end > datagram.length || version >> 8 !== 0xfe) break
    records.push({
      type: datagram[at]!,
      version,
      epoch: datagram.readUInt16BE(at + 3),
      sequence: datagram.readUIntBE(at + 5, 6),
      body: datagram.subarray(at + RECORD_HEADER_BYTES, end),
    })
    at = end
  }
  return records
}

export function writeRecord({ type, version, epoch, sequence, body }: DtlsRecord): Buffer {
  return Buffer.concat([uint(type, 1), uint(version, 2), uint(epoch, 2), uint(sequence, 6), vector(2, body)])
}

export interface HandshakeMessage {
  type: number
  sequence: number
  body: Buffer
}

/** Writes one fragment, the form in which a message enters the transcript (RFC 6347 §4.2.6). */
export function writeHandshake({ type, sequence, body }: HandshakeMessage): Buffer {
  const head = [uint(type, 1), uint(body.length, 3), uint(sequence, 2), uint(0, 3)]
  return Buffer.concat([...head, vector(3, body)])
}

export interface Fragment {
  type: number
  length: number
  sequence: number
  offset: number
  body: Buffer
}

/** Returns the fragments of one handshake record. */
export function parseFragments(body: Buffer): Fragment[] {
  const reader = new ByteReader(body)
  const fragments: Fragment[] = []
  while (reader.left > 0) {
    const [type, length, sequence, offset] = [reader.uint(1), reader.uint(3), reader.uint(2), reader.uint(3)]
    const part = reader.vector(3)
    if (offset + part.length > length) throw new DtlsError(ALERT.decodeError, 'the fragment is longer than its message')
    fragments.push({ type, length, sequence, offset, body: part })
  }
  return fragments
}

/** Limit for a message; certificate chains are the longest. */
const MAX_MESSAGE_BYTES = 32_768
const MAX_AHEAD = 8

/** Reassembles messages and restores their order (RFC 6347 §4.2.3). */
export class Reassembly {
  #next: number
  readonly #parts = new Map<number, { fragment: Fragment; data: Buffer; got: Uint8Array }>()

  /** `next`: number of the first expected message. */
  constructor(next: number) {
    this.#next = next
  }

  /** True when the fragment belongs to a message that was returned before. */
  isOld(fragment: Fragment): boolean {
    return fragment.sequence < this.#next
  }

  add(fragment: Fragment): void {
    if (this.isOld(fragment) || fragment.sequence >= this.#next + MAX_AHEAD) return
    if (fragment.length > MAX_MESSAGE_BYTES) throw new DtlsError(ALERT.decodeError, 'the handshake message is too long')
    const known = this.#parts.get(fragment.sequence)
    const part = known ?? { fragment, data: Buffer.alloc(fragment.length), got: new Uint8Array(fragment.length) }
    if (part.fragment.length !== fragment.length || part.fragment.type !== fragment.type) return
    this.#parts.set(fragment.sequence, part)
    fragment.body.copy(part.data, fragment.offset)
    part.got.fill(1, fragment.offset, fragment.offset + fragment.body.length)
  }

  /** Returns the next message once it is complete, or null. */
  take(): HandshakeMessage | null {
    const part = this.#parts.get(this.#next)
    if (!part || part.got.includes(0)) return null
    this.#parts.delete(this.#next)
    return { type: part.fragment.type, sequence: this.#next++, body: part.data }
  }
}

export type Extensions = ReadonlyMap<number, Buffer>

export interface ClientHello {
  version: number
  random: Buffer
  session: Buffer
  cookie: Buffer
  suites: number[]
  extensions: Extensions
}

export function parseClientHello(body: Buffer): ClientHello {
  const reader = new ByteReader(body)
  const [version, random, session, cookie] = [reader.uint(2), reader.take(32), reader.vector(1), reader.vector(1)]
  const suites = uint16s(reader.vector(2))
  reader.vector(1) // compression methods, which must include null
  return { version, random, session, cookie, suites, extensions: readExtensions(reader) }
}

export function writeClientHello(hello: Omit<ClientHello, 'session' | 'version'>): Buffer {
  const suites = vector(2, ...hello.suites.map(suite => uint(suite, 2)))
  const parts = [uint(DTLS_1_2, 2), hello.random, vector(1), vector(1, hello.cookie), suites, NULL_COMPRESSION]
  return Buffer.concat([...parts, writeExtensions(hello.extensions)])
}

const NULL_COMPRESSION = Buffer.from([1, 0])

export interface ServerHello {
  version: number
  random: Buffer
  suite: number
  extensions: Extensions
}

export function parseServerHello(body: Buffer): ServerHello {
  const reader = new ByteReader(body)
  const [version, random] = [reader.uint(2), reader.take(32)]
  reader.vector(1) // session id; we never resume
  const [suite, compression] = [reader.uint(2), reader.uint(1)]
  if (compression !== 0)
    throw new DtlsError(ALERT.illegalParameter, 'the far end chose a compression method that was not offered')
  return { version, random, suite, extensions: readExtensions(reader) }
}

export function writeServerHello(hello: Omit<ServerHello, 'version'>): Buffer {
  const parts = [uint(DTLS_1_2, 2), hello.random, vector(1), uint(hello.suite, 2), uint(0, 1)]
  return Buffer.concat([...parts, writeExtensions(hello.extensions)])
}

function readExtensions(reader: ByteReader): Extensions {
  const extensions = new Map<number, Buffer>()
  if (reader.left === 0) return extensions
  const list = new ByteReader(reader.vector(2))
  reader.end()
  while (list.left > 0) {
    const type = list.uint(2)
    if (extensions.has(type)) throw new DtlsError(ALERT.decodeError, 'the message contains an extension twice')
    extensions.set(type, list.vector(2))
  }
  return extensions
}

function writeExtensions(extensions: Extensions): Buffer {
  return vector(2, ...[...extensions].map(([type, data]) => Buffer.concat([uint(type, 2), vector(2, data)])))
}

export function uint16s(data: Buffer): number[] {
  if (data.length % 2 !== 0) throw new DtlsError(ALERT.decodeError, 'the list is truncated')
  return Array.from({ length: data.length / 2 }, (_, i) => data.readUInt16BE(i * 2))
}
