/**
 * The DTLS 1.2 handshake for SRTP (RFC 6347 §4.2, RFC 5246 §7, RFC 5764), message by message, as client or server. It
 * uses ECDHE on P-256 with AES_128_GCM and the extended master secret (RFC 7627). Both sides have a certificate that
 * signalling has named (RFC 5763). No resumption, no renegotiation. Records and timers are the caller's task.
 */
import { createECDH, type ECDH, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  checkSignature,
  type DtlsIdentity,
  ECDSA_SHA256,
  exportSrtp,
  type Fingerprint,
  fingerprintOf,
  prf,
  type RecordCipher,
  recordCiphers,
  type Secrets,
  SIGNATURE_SCHEMES,
  sha256,
  signWith,
} from './dtls-crypto.ts'
import {
  ALERT,
  ByteReader,
  DTLS_1_2,
  DtlsError,
  type Extensions,
  HANDSHAKE,
  type HandshakeMessage,
  parseClientHello,
  parseServerHello,
  uint,
  uint16s,
  vector,
  writeClientHello,
  writeHandshake,
  writeServerHello,
} from './dtls-wire.ts'
import type { MasterKey, SuiteName } from './srtp-keys.ts'

export type DtlsRole = 'client' | 'server'

/** SRTP master keys that the handshake produced. */
export interface SrtpKeys {
  send: MasterKey
  receive: MasterKey
}

/** Messages that are sent and retransmitted together (RFC 6347 §4.2.4). */
export interface Flight {
  plain: Buffer[]
  /** The Finished, sent after the change of cipher; null when a later flight contains it. */
  finished: Buffer | null
}

export interface HandshakeStep {
  flight: Flight | null
  /** Set once, when the handshake is complete. */
  keys: SrtpKeys | null
}

export interface HandshakeOptions {
  identity: DtlsIdentity
  /** The far end's certificate must match one of these. */
  fingerprints: readonly Fingerprint[]
}

/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256. */
const SUITES = { ecdsa: 0xc02b, rsa: 0xc02f }
const P256 = 23
const UNCOMPRESSED = 0
const ECDSA_SIGN = 64
const RSA_SIGN = 1
const EXTENSION = { groups: 10, pointFormats: 11, signatures: 13, srtp: 14, extendedMaster: 23, renegotiation: 0xff01 }
const VERIFY_BYTES = 12
const MASTER_BYTES = 48

/** Preferred first: the most widely supported profile, then slightly faster ones (RFC 5764 §4.1.2, RFC 7714 §14.2). */
const PROFILES: ReadonlyMap<number, SuiteName> = new Map([
  [0x0001, 'AES_CM_128_HMAC_SHA1_80'],
  [0x0007, 'AEAD_AES_128_GCM'],
  [0x0008, 'AEAD_AES_256_GCM'],
  [0x0002, 'AES_CM_128_HMAC_SHA1_32'],
])

const WAIT: HandshakeStep = { flight: null, keys: null }

abstract class Handshake {
  /** Record ciphers of both sides, once agreed. */
  ciphers: Record<DtlsRole, RecordCipher> | null = null
  protected readonly options: HandshakeOptions
  protected readonly random = randomBytes(32)
  protected readonly ecdh: ECDH = createECDH('prime256v1')
  protected transcript: Buffer[] = []
  protected sequence = 0
  protected suite: SuiteName | null = null
  protected extended = false
  protected peer: Buffer | null = null
  protected secrets: Secrets | null = null
  /** Message types that may come next. */
  protected expected: readonly number[] = []

  constructor(options: HandshakeOptions) {
    this.options = options
    this.ecdh.generateKeys()
  }

  /** `encrypted`: the message came under the new cipher. Throws a `DtlsError` on a protocol violation. */
  receive(message: HandshakeMessage, encrypted: boolean): HandshakeStep {
    if (!this.expected.includes(message.type) || encrypted !== (message.type === HANDSHAKE.finished))
      throw new DtlsError(ALERT.unexpectedMessage, `unexpected handshake message (type ${message.type})`)
    return this.take(message)
  }

  protected abstract take(message: HandshakeMessage): HandshakeStep

  protected make(type: number, body: Buffer): Buffer {
    const data = writeHandshake({ type, sequence: this.sequence++, body })
    this.transcript.push(data)
    return data
  }

  protected note(message: HandshakeMessage): void {
    this.transcript.push(writeHandshake(message))
  }

  protected certificate(): Buffer {
    return this.make(HANDSHAKE.certificate, vector(3, vector(3, this.options.identity.certificate)))
  }

  /** The certificate must match a fingerprint from signalling (RFC 5763 §5). */
  protected takeCertificate(message: HandshakeMessage): void {
    const reader = new ByteReader(new ByteReader(message.body).vector(3))
    const certificate = reader.left === 0 ? null : Buffer.from(reader.vector(3))
    if (certificate === null) throw new DtlsError(ALERT.handshakeFailure, 'the far end sent no certificate')
    const named = this.options.fingerprints.some(({ hash, value }) => fingerprintOf(certificate, hash) === value)
    if (!named)
      throw new DtlsError(ALERT.badCertificate, 'the certificate of the far end does not match its fingerprint')
    this.peer = certificate
    this.note(message)
  }

  protected checkPeer(scheme: number, data: Buffer, signature: Buffer): void {
    if (this.peer === null)
      throw new DtlsError(ALERT.unexpectedMessage, 'the far end sent a signature before its certificate')
    checkSignature(this.peer, scheme, data, signature)
  }

  protected agree(clientRandom: Buffer, serverRandom: Buffer, point: Buffer): void {
    const premaster = sharedSecret(this.ecdh, point)
    const master = this.extended
      ? prf(premaster, 'extended master secret', this.hash(), MASTER_BYTES)
      : prf(premaster, 'master secret', Buffer.concat([clientRandom, serverRandom]), MASTER_BYTES)
    this.secrets = { master, clientRandom, serverRandom }
    this.ciphers = recordCiphers(this.secrets)
  }

  protected hash(): Buffer {
    return sha256(Buffer.concat(this.transcript))
  }

  protected finished(role: DtlsRole): Buffer {
    return this.make(HANDSHAKE.finished, this.verifyData(role))
  }

  protected takeFinished(role: DtlsRole, message: HandshakeMessage): void {
    const wanted = this.verifyData(role)
    if (message.body.length !== VERIFY_BYTES || !timingSafeEqual(message.body, wanted))
      throw new DtlsError(ALERT.decryptError, 'the Finished message of the far end does not match the handshake')
    this.note(message)
    this.expected = []
  }

  private verifyData(role: DtlsRole): Buffer {
    return prf(this.secrets!.master, `${role} finished`, this.hash(), VERIFY_BYTES)
  }

  protected keys(role: DtlsRole): SrtpKeys {
    const keys = exportSrtp(this.secrets!, this.suite!)
    return { send: keys[role], receive: keys[role === 'client' ? 'server' : 'client'] }
  }
}

function sharedSecret(ecdh: ECDH, point: Buffer): Buffer {
  try {
    return ecdh.computeSecret(point)
  } catch {
    throw new DtlsError(ALERT.illegalParameter, 'the key share of the far end is not on the curve')
  }
}

const pointOf = (ecdh: ECDH) => vector(1, ecdh.getPublicKey())
const curvePoint = (ecdh: ECDH) => Buffer.concat([uint(3, 1), uint(P256, 2), pointOf(ecdh)])
const list16 = (values: readonly number[]) => vector(2, ...values.map(value => uint(value, 2)))
const srtpExtension = (profiles: readonly number[]) => Buffer.concat([list16(profiles), vector(1)])

function signed(scheme: number, signature: Buffer): Buffer {
  return Buffer.concat([uint(scheme, 2), vector(2, signature)])
}

function srtpProfiles(extensions: Extensions): number[] {
  const data = extensions.get(EXTENSION.srtp)
  if (!data) throw new DtlsError(ALERT.handshakeFailure, 'the far end does not offer SRTP')
  return uint16s(new ByteReader(data).vector(2))
}

function checkVersion(version: number): void {
  if (version !== DTLS_1_2) throw new DtlsError(ALERT.protocolVersion, 'the far end does not support DTLS 1.2')
}

export class ClientHandshake extends Handshake {
  #serverRandom = Buffer.alloc(0)
  #point = Buffer.alloc(0)
  #certificateWanted = false

  /** Returns the first flight. */
  start(): Flight {
    this.expected = [HANDSHAKE.helloVerifyRequest, HANDSHAKE.serverHello]
    return this.#hello(Buffer.alloc(0))
  }

  #hello(cookie: Buffer): Flight {
    const extensions = new Map([
      [EXTENSION.groups, list16([P256])],
      [EXTENSION.pointFormats, vector(1, uint(UNCOMPRESSED, 1))],
      [EXTENSION.signatures, list16(SIGNATURE_SCHEMES)],
      [EXTENSION.srtp, srtpExtension([...PROFILES.keys()])],
      [EXTENSION.extendedMaster, Buffer.alloc(0)],
      [EXTENSION.renegotiation, vector(1)],
    ])
    const hello = { random: this.random, cookie, suites: [SUITES.ecdsa, SUITES.rsa], extensions }
    return { plain: [this.make(HANDSHAKE.clientHello, writeClientHello(hello))], finished: null }
  }

  protected take(message: HandshakeMessage): HandshakeStep {
    switch (message.type) {
      case HANDSHAKE.helloVerifyRequest:
        return this.#takeVerifyRequest(message)
      case HANDSHAKE.serverHello:
        return this.#takeHello(message)
      case HANDSHAKE.certificate:
        this.takeCertificate(message)
        this.expected = [HANDSHAKE.serverKeyExchange]
        return WAIT
      case HANDSHAKE.serverKeyExchange:
        return this.#takeKeyExchange(message)
      case HANDSHAKE.certificateRequest:
        this.#certificateWanted = true
        this.note(message)
        this.expected = [HANDSHAKE.serverHelloDone]
        return WAIT
      case HANDSHAKE.serverHelloDone:
        this.note(message)
        return this.#answer()
      default:
        this.takeFinished('server', message)
        return { flight: null, keys: this.keys('client') }
    }
  }

  /** The HelloVerifyRequest and the ClientHello before it are excluded from the transcript (RFC 6347 §4.2.1). */
  #takeVerifyRequest(message: HandshakeMessage): HandshakeStep {
    const reader = new ByteReader(message.body)
    reader.uint(2)
    const cookie = reader.vector(1)
    this.transcript = []
    this.expected = [HANDSHAKE.serverHello]
    return { flight: this.#hello(cookie), keys: null }
  }

  #takeHello(message: HandshakeMessage): HandshakeStep {
    const hello = parseServerHello(message.body)
    checkVersion(hello.version)
    if (hello.suite !== SUITES.ecdsa && hello.suite !== SUITES.rsa)
      throw new DtlsError(ALERT.illegalParameter, 'the far end chose a cipher suite that was not offered')
    const [profile, ...more] = srtpProfiles(hello.extensions)
    this.suite = PROFILES.get(profile ?? 0) ?? null
    if (this.suite === null || more.length > 0)
      throw new DtlsError(ALERT.illegalParameter, 'the far end chose an SRTP profile that was not offered')
    this.extended = hello.extensions.has(EXTENSION.extendedMaster)
    this.#serverRandom = Buffer.from(hello.random)
    this.note(message)
    this.expected = [HANDSHAKE.certificate]
    return WAIT
  }

  #takeKeyExchange(message: HandshakeMessage): HandshakeStep {
    const reader = new ByteReader(message.body)
    const [type, curve, point] = [reader.uint(1), reader.uint(2), reader.vector(1)]
    if (type !== 3 || curve !== P256)
      throw new DtlsError(ALERT.illegalParameter, 'the far end chose a curve that was not offered')
    const params = message.body.subarray(0, 4 + point.length)
    const [scheme, signature] = [reader.uint(2), reader.vector(2)]
    reader.end()
    this.checkPeer(scheme, Buffer.concat([this.random, this.#serverRandom, params]), signature)
    this.#point = Buffer.from(point)
    this.note(message)
    this.expected = [HANDSHAKE.certificateRequest, HANDSHAKE.serverHelloDone]
    return WAIT
  }

  #answer(): HandshakeStep {
    const plain = this.#certificateWanted ? [this.certificate()] : []
    plain.push(this.make(HANDSHAKE.clientKeyExchange, pointOf(this.ecdh)))
    this.agree(this.random, this.#serverRandom, this.#point)
    if (this.#certificateWanted) {
      const signature = signWith(this.options.identity.key, Buffer.concat(this.transcript))
      plain.push(this.make(HANDSHAKE.certificateVerify, signed(ECDSA_SHA256, signature)))
    }
    this.expected = [HANDSHAKE.finished]
    return { flight: { plain, finished: this.finished('client') }, keys: null }
  }
}

export class ServerHandshake extends Handshake {
  #clientRandom = Buffer.alloc(0)

  /** Starts with the ClientHello that returned the cookie and continues its message numbers (RFC 6347 §4.2.2). */
  constructor(options: HandshakeOptions, firstSequence: number) {
    super(options)
    this.sequence = firstSequence
    this.expected = [HANDSHAKE.clientHello]
  }

  protected take(message: HandshakeMessage): HandshakeStep {
    switch (message.type) {
      case HANDSHAKE.clientHello:
        return this.#takeHello(message)
      case HANDSHAKE.certificate:
        this.takeCertificate(message)
        this.expected = [HANDSHAKE.clientKeyExchange]
        return WAIT
      case HANDSHAKE.clientKeyExchange:
        this.note(message)
        this.agree(this.#clientRandom, this.random, new ByteReader(message.body).vector(1))
        this.expected = [HANDSHAKE.certificateVerify]
        return WAIT
      case HANDSHAKE.certificateVerify:
        return this.#takeVerify(message)
      default:
        this.takeFinished('client', message)
        return { flight: { plain: [], finished: this.finished('server') }, keys: this.keys('server') }
    }
  }

  #takeHello(message: HandshakeMessage): HandshakeStep {
    const hello = parseClientHello(message.body)
    // A client that also supports DTLS 1.3 says so in an extension, and sends 1.2 here.
    if (hello.version > DTLS_1_2) checkVersion(hello.version)
    if (!hello.suites.includes(SUITES.ecdsa))
      throw new DtlsError(ALERT.handshakeFailure, 'the far end offers no cipher suite that we support')
    const groups = hello.extensions.get(EXTENSION.groups)
    if (groups && !uint16s(new ByteReader(groups).vector(2)).includes(P256))
      throw new DtlsError(ALERT.handshakeFailure, 'the far end does not support the curve P-256')
    const offered = srtpProfiles(hello.extensions)
    const profile = [...PROFILES.keys()].find(known => offered.includes(known))
    if (profile === undefined)
      throw new DtlsError(ALERT.handshakeFailure, 'the far end offers no SRTP profile that we support')
    this.suite = PROFILES.get(profile)!
    this.extended = hello.extensions.has(EXTENSION.extendedMaster)
    this.#clientRandom = Buffer.from(hello.random)
    this.note(message)
    this.expected = [HANDSHAKE.certificate]
    return { flight: { plain: this.#answer(profile), finished: null }, keys: null }
  }

  #answer(profile: number): Buffer[] {
    const extensions = new Map([
      [EXTENSION.pointFormats, vector(1, uint(UNCOMPRESSED, 1))],
      [EXTENSION.srtp, srtpExtension([profile])],
      [EXTENSION.renegotiation, vector(1)],
    ])
    if (this.extended) extensions.set(EXTENSION.extendedMaster, Buffer.alloc(0))
    const params = curvePoint(this.ecdh)
    const signature = signWith(this.options.identity.key, Buffer.concat([this.#clientRandom, this.random, params]))
    const types = vector(1, uint(ECDSA_SIGN, 1), uint(RSA_SIGN, 1))
    return [
      this.make(HANDSHAKE.serverHello, writeServerHello({ random: this.random, suite: SUITES.ecdsa, extensions })),
      this.certificate(),
      this.make(HANDSHAKE.serverKeyExchange, Buffer.concat([params, signed(ECDSA_SHA256, signature)])),
      this.make(HANDSHAKE.certificateRequest, Buffer.concat([types, list16(SIGNATURE_SCHEMES), vector(2)])),
      this.make(HANDSHAKE.serverHelloDone, Buffer.alloc(0)),
    ]
  }

  #takeVerify(message: HandshakeMessage): HandshakeStep {
    const reader = new ByteReader(message.body)
    const [scheme, signature] = [reader.uint(2), reader.vector(2)]
    reader.end()
    this.checkPeer(scheme, Buffer.concat(this.transcript), signature)
    this.note(message)
    this.expected = [HANDSHAKE.finished]
    return WAIT
  }
}
