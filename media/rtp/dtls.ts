/**
 * Keys for SRTP by DTLS on the media socket (RFC 5764), without ICE. The certificate identifies the peer, not the
 * address: a client behind NAT has another address than signalling named. Any other address first receives a cookie to
 * return; its handshake then fails without affecting the call.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../shared/clock.ts'
import { type Address, canonicalAddress } from './address.ts'
import { DtlsAssociation } from './dtls-association.ts'
import type { DtlsIdentity, Fingerprint } from './dtls-crypto.ts'
import type { DtlsRole, SrtpKeys } from './dtls-handshake.ts'
import {
  CONTENT,
  DTLS_1_0,
  DtlsError,
  HANDSHAKE,
  parseClientHello,
  parseFragments,
  parseRecords,
  uint,
  vector,
  writeHandshake,
  writeRecord,
} from './dtls-wire.ts'

export interface DtlsOptions {
  identity: DtlsIdentity
  role: DtlsRole
  fingerprints: readonly Fingerprint[]
  /** Remote address from signalling. */
  target: Address
  clock: Clock
  send(datagram: Buffer, to: Address): void
  onKeys(keys: SrtpKeys): void
  /** Called once, and never after `onKeys`. `words` is the reason for the log. */
  onFailed(words: string): void
}

const DEADLINE_MS = 10_000
const COOKIE_BYTES = 16
/** Maximum of concurrent handshakes with addresses that signalling did not name. */
const MAX_STRANGERS = 3

interface Hello {
  record: number
  message: number
  random: Buffer
  cookie: Buffer
}

export class Dtls {
  readonly #options: DtlsOptions
  readonly #secret = randomBytes(32)
  readonly #cancelDeadline: () => void
  #named: DtlsAssociation | null = null
  readonly #strangers = new Map<string, DtlsAssociation>()
  #over = false

  constructor(options: DtlsOptions) {
    this.#options = options
    this.#cancelDeadline = options.clock.after(DEADLINE_MS, () =>
      this.#fail('the DTLS handshake did not complete within 10 s'),
    )
    if (options.role === 'client') this.#named = DtlsAssociation.asClient(this.#associationOptions(options.target))
  }

  receive(data: Buffer, from: Address): void {
    const association = this.#isNamed(from) ? this.#named : this.#strangers.get(nameOf(from))
    if (association) association.receive(data)
    else if (this.#options.role === 'server' && !this.#over) this.#meet(data, from)
  }

  close(): void {
    this.#over = true
    this.#cancelDeadline()
    this.#named?.close()
    for (const stranger of this.#strangers.values()) stranger.close()
  }

  /** A first ClientHello creates no state: it only receives a shorter answer (RFC 6347 §4.2.1). */
  #meet(data: Buffer, from: Address): void {
    const hello = readHello(data)
    if (hello === null) return
    const cookie = this.#cookie(from, hello.random)
    if (hello.cookie.length !== COOKIE_BYTES || !timingSafeEqual(hello.cookie, cookie)) {
      this.#options.send(verifyRequest(hello, cookie), from)
      return
    }
    const association = DtlsAssociation.asServer(this.#associationOptions(from), hello)
    if (this.#isNamed(from)) this.#named = association
    else this.#admitStranger(nameOf(from), association)
    association.receive(data)
  }

  #admitStranger(name: string, association: DtlsAssociation): void {
    const [oldest] = this.#strangers
    if (oldest && this.#strangers.size >= MAX_STRANGERS) {
      oldest[1].close()
      this.#strangers.delete(oldest[0])
    }
    this.#strangers.set(name, association)
  }

  #cookie(from: Address, random: Buffer): Buffer {
    const hmac = createHmac('sha256', this.#secret).update(nameOf(from)).update(random)
    return hmac.digest().subarray(0, COOKIE_BYTES)
  }

  #associationOptions(peer: Address) {
    const { identity, fingerprints, clock, send } = this.#options
    return {
      identity,
      fingerprints,
      clock,
      send: (datagram: Buffer) => send(datagram, peer),
      onKeys: (keys: SrtpKeys) => this.#secure(keys),
      onFailed: (words: string) => {
        if (this.#isNamed(peer)) this.#fail(words)
        else this.#strangers.delete(nameOf(peer))
      },
    }
  }

  #secure(keys: SrtpKeys): void {
    if (this.#over) return
    // Keep the secured association, because its last flight may be lost; ignore all others.
    this.#over = true
    this.#cancelDeadline()
    for (const association of [this.#named, ...this.#strangers.values()])
      if (association?.secured === false) association.close()
    this.#options.onKeys(keys)
  }

  #fail(words: string): void {
    if (this.#over) return
    this.close()
    this.#options.onFailed(words)
  }

  #isNamed(address: Address): boolean {
    return sameAddress(address, this.#options.target)
  }
}

const nameOf = ({ address, port }: Address) => `${canonicalAddress(address) ?? address} ${port}`

export const sameAddress = (a: Address, b: Address): boolean => nameOf(a) === nameOf(b)

/** Returns the unfragmented ClientHello at the start of a datagram; null for anything else. */
function readHello(data: Buffer): Hello | null {
  const [record] = parseRecords(data)
  if (record?.type !== CONTENT.handshake || record.epoch !== 0) return null
  try {
    const [fragment] = parseFragments(record.body)
    if (fragment?.type !== HANDSHAKE.clientHello || fragment.body.length !== fragment.length) return null
    const { random, cookie } = parseClientHello(fragment.body)
    return { record: record.sequence, message: fragment.sequence, random, cookie }
  } catch (error) {
    if (error instanceof DtlsError) return null
    throw error
  }
}

/** The record takes the number of the hello that it answers, so the server keeps no state (RFC 6347 §4.2.1). */
function verifyRequest(hello: Hello, cookie: Buffer): Buffer {
  const message = Buffer.concat([uint(DTLS_1_0, 2), vector(1, cookie)])
  const body = writeHandshake({ type: HANDSHAKE.helloVerifyRequest, sequence: hello.message, body: message })
  return writeRecord({ type: CONTENT.handshake, version: DTLS_1_0, epoch: 0, sequence: hello.record, body })
}
