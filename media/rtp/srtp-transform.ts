/** SRTP ciphers, one per direction and kind of packet: AES-CM with HMAC-SHA1 (RFC 3711 §4), AES-GCM (RFC 7714). */
import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import { type MasterKey, SUITES } from './srtp-keys.ts'

/** Encrypts the body of a packet and authenticates it together with its clear header. */
export interface Transform {
  tagBytes: number
  /**
   * Returns the encrypted body and its tag. `index`: 48 bits for RTP, 31 for RTCP. `trailer` is authenticated after the
   * body.
   */
  seal(header: Buffer, body: Buffer, trailer: Buffer, ssrc: number, index: number): { body: Buffer; tag: Buffer }
  /** Returns the clear body, or null when it is not authentic. */
  open(header: Buffer, body: Buffer, trailer: Buffer, tag: Buffer, ssrc: number, index: number): Buffer | null
}

export function createTransform(key: MasterKey, kind: 'rtp' | 'rtcp'): Transform {
  const suite = SUITES[key.suite]
  const keys = key.session(kind)
  const tagBytes = kind === 'rtp' ? suite.rtpTagBytes : suite.rtcpTagBytes
  return suite.mode === 'cm'
    ? new CounterMode(keys.cipher, keys.auth, keys.salt, tagBytes)
    : new GaloisMode(keys.cipher, keys.salt, tagBytes, kind)
}

const BLOCK = 16

class CounterMode implements Transform {
  readonly tagBytes: number
  readonly #auth: KeyObject
  readonly #salt: Buffer
  readonly #iv = Buffer.alloc(BLOCK)
  /**
   * Counter mode is ECB over counters, so one cipher serves all packets; a new cipher per packet costs many times as
   * much.
   */
  readonly #ecb: Cipheriv
  #counters = Buffer.alloc(0)

  constructor(cipher: Buffer, auth: Buffer, salt: Buffer, tagBytes: number) {
    this.tagBytes = tagBytes
    this.#auth = createSecretKey(auth)
    this.#salt = salt
    this.#ecb = createCipheriv(`aes-${cipher.length * 8}-ecb`, cipher, null).setAutoPadding(false)
  }

  seal(header: Buffer, body: Buffer, trailer: Buffer, ssrc: number, index: number): { body: Buffer; tag: Buffer } {
    const sealed = this.#xor(body, ssrc, index)
    return { body: sealed, tag: this.#tag(header, sealed, trailer) }
  }

  open(header: Buffer, body: Buffer, trailer: Buffer, tag: Buffer, ssrc: number, index: number): Buffer | null {
    return timingSafeEqual(this.#tag(header, body, trailer), tag) ? this.#xor(body, ssrc, index) : null
  }

  #tag(header: Buffer, body: Buffer, trailer: Buffer): Buffer {
    const hmac = createHmac('sha1', this.#auth)
    return hmac.update(header).update(body).update(trailer).digest().subarray(0, this.tagBytes)
  }

  /** Applies the AES-CM keystream (RFC 3711 §4.1.1). */
  #xor(body: Buffer, ssrc: number, index: number): Buffer {
    const iv = this.#iv
    iv.fill(0)
    iv.writeUInt32BE(ssrc, 4)
    iv.writeUIntBE(index, 8, 6)
    for (let i = 0; i < this.#salt.length; i++) iv[i]! ^= this.#salt[i]!
    const blocks = Math.ceil(body.length / BLOCK)
    this.#grow(blocks)
    for (let i = 0; i < blocks; i++) iv.copy(this.#counters, i * BLOCK, 0, BLOCK - 2)
    const stream = this.#ecb.update(this.#counters.subarray(0, blocks * BLOCK))
    for (let i = 0; i < body.length; i++) stream[i]! ^= body[i]!
    return stream.subarray(0, body.length)
  }

  /** Enlarges the counter blocks. The last two bytes of each are its constant block number. */
  #grow(blocks: number): void {
    if (this.#counters.length >= blocks * BLOCK) return
    this.#counters = Buffer.alloc(blocks * BLOCK)
    for (let i = 0; i < blocks; i++) this.#counters.writeUInt16BE(i, i * BLOCK + BLOCK - 2)
  }
}

class GaloisMode implements Transform {
  readonly tagBytes: number
  readonly #algorithm: 'aes-128-gcm' | 'aes-256-gcm'
  readonly #key: KeyObject
  readonly #salt: Buffer
  readonly #kind: 'rtp' | 'rtcp'

  constructor(key: Buffer, salt: Buffer, tagBytes: number, kind: 'rtp' | 'rtcp') {
    this.tagBytes = tagBytes
    this.#algorithm = key.length === 16 ? 'aes-128-gcm' : 'aes-256-gcm'
    this.#key = createSecretKey(key)
    this.#salt = salt
    this.#kind = kind
  }

  seal(header: Buffer, body: Buffer, trailer: Buffer, ssrc: number, index: number): { body: Buffer; tag: Buffer } {
    const cipher = createCipheriv(this.#algorithm, this.#key, this.#iv(ssrc, index))
    cipher.setAAD(this.#associated(header, trailer))
    const sealed = cipher.update(body)
    cipher.final()
    return { body: sealed, tag: cipher.getAuthTag() }
  }

  open(header: Buffer, body: Buffer, trailer: Buffer, tag: Buffer, ssrc: number, index: number): Buffer | null {
    const decipher = createDecipheriv(this.#algorithm, this.#key, this.#iv(ssrc, index), { authTagLength: 16 })
    decipher.setAAD(this.#associated(header, trailer)).setAuthTag(tag)
    const clear = decipher.update(body)
    try {
      decipher.final()
    } catch {
      return null
    }
    return clear
  }

  /**
   * For RTP the IV contains the rollover counter (RFC 7714 §9.1); for RTCP the trailer word is authenticated (§9.2).
   */
  #associated(header: Buffer, trailer: Buffer): Buffer {
    return this.#kind === 'rtp' ? header : Buffer.concat([header, trailer])
  }

  /** Builds the IV (RFC 7714 §8.1 and §9.1). */
  #iv(ssrc: number, index: number): Buffer {
    const iv = Buffer.alloc(12)
    iv.writeUInt32BE(ssrc, 2)
    iv.writeUIntBE(index, 6, 6)
    for (let i = 0; i < iv.length; i++) iv[i]! ^= this.#salt[i]!
    return iv
  }
}
