/** The cryptography that DTLS-SRTP needs from DTLS 1.2, on node:crypto: PRF, one AEAD, signatures, the exporter. */
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  type KeyObject,
  sign,
  verify,
  X509Certificate,
} from 'node:crypto'
import { ALERT, DtlsError, type DtlsRecord, uint } from './dtls-wire.ts'
import { MasterKey, SUITES, type SuiteName } from './srtp-keys.ts'

/** Our certificate and key. */
export interface DtlsIdentity {
  /** DER encoding. */
  certificate: Buffer
  /** ECDSA key on P-256. */
  key: KeyObject
  /** SHA-256 of the certificate, as in a=fingerprint (RFC 8122 §5): `AB:CD:…`. */
  fingerprint: string
}

/** Parses PEM. Throws a TypeError when the key is not on P-256. */
export function dtlsIdentity(pem: { cert: string; key: string }): DtlsIdentity {
  const certificate = new X509Certificate(pem.cert).raw
  const key = createPrivateKey(pem.key)
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new TypeError('The DTLS key must be on P-256. Create an ECDSA key with the curve prime256v1.')
  return { certificate, key, fingerprint: fingerprintOf(certificate, 'sha-256') }
}

export type FingerprintHash = 'sha-256' | 'sha-384' | 'sha-512'

/** A certificate fingerprint from signalling (RFC 8122). */
export interface Fingerprint {
  hash: FingerprintHash
  /** Upper-case hexadecimal with colons. */
  value: string
}

export function fingerprintOf(certificate: Buffer, hash: FingerprintHash): string {
  const digest = createHash(hash.replace('-', '')).update(certificate).digest('hex').toUpperCase()
  return digest.match(/../g)!.join(':')
}

/** The TLS PRF with SHA-256 (RFC 5246 §5). */
export function prf(secret: Buffer, label: string, seed: Buffer, bytes: number): Buffer {
  const hmac = (...data: Buffer[]) => createHmac('sha256', secret).update(Buffer.concat(data)).digest()
  const seeded = Buffer.concat([Buffer.from(label), seed])
  const blocks: Buffer[] = []
  for (let a = hmac(seeded); blocks.length * 32 < bytes; a = hmac(a)) blocks.push(hmac(a, seeded))
  return Buffer.concat(blocks).subarray(0, bytes)
}

export const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest()

const KEY_BYTES = 16
const SALT_BYTES = 4
const NONCE_BYTES = 8
const TAG_BYTES = 16

/** AES_128_GCM for the records of one direction (RFC 5288 §3, RFC 6347 §4.1.2.1). */
export class RecordCipher {
  readonly #key: Buffer
  readonly #salt: Buffer

  constructor(key: Buffer, salt: Buffer) {
    this.#key = key
    this.#salt = salt
  }

  seal(record: DtlsRecord): Buffer {
    const explicit = sequenceOf(record)
    const cipher = createCipheriv('aes-128-gcm', this.#key, Buffer.concat([this.#salt, explicit]))
    cipher.setAAD(associated(record, record.body.length))
    const sealed = cipher.update(record.body)
    cipher.final()
    return Buffer.concat([explicit, sealed, cipher.getAuthTag()])
  }

  /** Returns null when the record is not authentic. */
  open(record: DtlsRecord): Buffer | null {
    const { body } = record
    const length = body.length - NONCE_BYTES - TAG_BYTES
    if (length < 0) return null
    const nonce = Buffer.concat([this.#salt, body.subarray(0, NONCE_BYTES)])
    const decipher = createDecipheriv('aes-128-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(associated(record, length)).setAuthTag(body.subarray(body.length - TAG_BYTES))
    const clear = decipher.update(body.subarray(NONCE_BYTES, NONCE_BYTES + length))
    try {
      decipher.final()
    } catch {
      return null
    }
    return clear
  }
}

const sequenceOf = ({ epoch, sequence }: DtlsRecord) => Buffer.concat([uint(epoch, 2), uint(sequence, 6)])

function associated(record: DtlsRecord, length: number): Buffer {
  return Buffer.concat([sequenceOf(record), uint(record.type, 1), uint(record.version, 2), uint(length, 2)])
}

export interface Secrets {
  master: Buffer
  clientRandom: Buffer
  serverRandom: Buffer
}

/** Record ciphers of the client and the server (RFC 5246 §6.3). */
export function recordCiphers({
  master,
  clientRandom,
  serverRandom,
}: Secrets): Record<'client' | 'server', RecordCipher> {
  const seed = Buffer.concat([serverRandom, clientRandom])
  const block = prf(master, 'key expansion', seed, 2 * (KEY_BYTES + SALT_BYTES))
  const salts = block.subarray(2 * KEY_BYTES)
  return {
    client: new RecordCipher(block.subarray(0, KEY_BYTES), salts.subarray(0, SALT_BYTES)),
    server: new RecordCipher(block.subarray(KEY_BYTES, 2 * KEY_BYTES), salts.subarray(SALT_BYTES)),
  }
}

/** SRTP master keys of the client and the server (RFC 5764 §4.2, RFC 5705). */
export function exportSrtp(secrets: Secrets, suite: SuiteName): Record<'client' | 'server', MasterKey> {
  const { keyBytes, saltBytes } = SUITES[suite]
  const seed = Buffer.concat([secrets.clientRandom, secrets.serverRandom])
  const block = prf(secrets.master, 'EXTRACTOR-dtls_srtp', seed, 2 * (keyBytes + saltBytes))
  const salts = block.subarray(2 * keyBytes)
  const key = (i: number) => [block.subarray(i * keyBytes).subarray(0, keyBytes), salts.subarray(i * saltBytes)]
  const master = (i: number) => new MasterKey(suite, Buffer.concat(key(i)).subarray(0, keyBytes + saltBytes))
  return { client: master(0), server: master(1) }
}

export const ECDSA_SHA256 = 0x0403
/** Signature schemes accepted from the far end (RFC 5246 §7.4.1.4.1, RFC 8446 §4.2.3). */
const SCHEMES: ReadonlyMap<number, { hash: string; type: 'ec' | 'rsa'; padding?: number; saltLength?: number }> =
  new Map([
    [ECDSA_SHA256, { hash: 'sha256', type: 'ec' }],
    [0x0503, { hash: 'sha384', type: 'ec' }],
    [0x0804, { hash: 'sha256', type: 'rsa', padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }],
    [0x0401, { hash: 'sha256', type: 'rsa', padding: constants.RSA_PKCS1_PADDING }],
  ])
export const SIGNATURE_SCHEMES = [...SCHEMES.keys()]

export const signWith = (key: KeyObject, data: Buffer): Buffer => sign('sha256', data, key)

/** Throws a `DtlsError` unless the holder of the certificate's key has signed `data`. */
export function checkSignature(certificate: Buffer, scheme: number, data: Buffer, signature: Buffer): void {
  const known = SCHEMES.get(scheme)
  if (!known) throw new DtlsError(ALERT.illegalParameter, 'the far end used a signature scheme that was not offered')
  const { hash, type, ...how } = known
  const key = publicKeyOf(certificate)
  if (key.asymmetricKeyType !== type || !verifies(() => verify(hash, data, { key, ...how }, signature)))
    throw new DtlsError(ALERT.decryptError, 'the signature of the far end is invalid')
}

/** Returns false when OpenSSL throws, as it does for a key of an unusual size. */
function verifies(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

function publicKeyOf(certificate: Buffer): KeyObject {
  try {
    return new X509Certificate(certificate).publicKey
  } catch {
    throw new DtlsError(ALERT.badCertificate, 'could not parse the certificate of the far end')
  }
}
