/** SRTP key material: suites (RFC 4568 §6.2, RFC 6188, RFC 7714) and session key derivation (RFC 3711 §4.3). */
import { createCipheriv, randomBytes } from 'node:crypto'

export type SuiteName =
  | 'AES_CM_128_HMAC_SHA1_80'
  | 'AES_CM_128_HMAC_SHA1_32'
  | 'AES_256_CM_HMAC_SHA1_80'
  | 'AES_256_CM_HMAC_SHA1_32'
  | 'AEAD_AES_128_GCM'
  | 'AEAD_AES_256_GCM'

export interface Suite {
  keyBytes: 16 | 32
  saltBytes: 12 | 14
  /** `gcm` is authenticated encryption; `cm` (counter mode) is combined with HMAC-SHA1. */
  mode: 'cm' | 'gcm'
  rtpTagBytes: number
  /** SRTCP never uses the short tag (RFC 3711 §4.2, RFC 5764 §4.1.2). */
  rtcpTagBytes: number
}

const cm = (keyBytes: 16 | 32, rtpTagBytes: number): Suite => ({
  keyBytes,
  saltBytes: 14,
  mode: 'cm',
  rtpTagBytes,
  rtcpTagBytes: 10,
})
const gcm = (keyBytes: 16 | 32): Suite => ({
  keyBytes,
  saltBytes: 12,
  mode: 'gcm',
  rtpTagBytes: 16,
  rtcpTagBytes: 16,
})

export const SUITES: Readonly<Record<SuiteName, Suite>> = {
  AES_CM_128_HMAC_SHA1_80: cm(16, 10),
  AES_CM_128_HMAC_SHA1_32: cm(16, 4),
  AES_256_CM_HMAC_SHA1_80: cm(32, 10),
  AES_256_CM_HMAC_SHA1_32: cm(32, 4),
  AEAD_AES_128_GCM: gcm(16),
  AEAD_AES_256_GCM: gcm(32),
}

/** A master key with its salt. Printing or serialising it shows only the suite. */
export class MasterKey {
  readonly suite: SuiteName
  readonly #bytes: Buffer

  /** `bytes`: key and salt as in SDES. Throws a RangeError when their length does not fit the suite. */
  constructor(suite: SuiteName, bytes: Uint8Array) {
    const { keyBytes, saltBytes } = SUITES[suite]
    if (bytes.length !== keyBytes + saltBytes)
      throw new RangeError(`${suite} requires ${keyBytes + saltBytes} bytes of key and salt`)
    this.suite = suite
    this.#bytes = Buffer.from(bytes)
  }

  static random(suite: SuiteName): MasterKey {
    return new MasterKey(suite, randomBytes(SUITES[suite].keyBytes + SUITES[suite].saltBytes))
  }

  /** Key and salt in base64, for SDES. */
  base64(): string {
    return this.#bytes.toString('base64')
  }

  equals(other: MasterKey): boolean {
    return this.suite === other.suite && this.#bytes.equals(other.#bytes)
  }

  session(kind: 'rtp' | 'rtcp'): SessionKeys {
    return deriveKeys(SUITES[this.suite], this.#bytes, kind)
  }
}

export interface SessionKeys {
  cipher: Buffer
  /** Empty for GCM. */
  auth: Buffer
  salt: Buffer
}

const AUTH_BYTES = 20

/** RFC 3711 §4.3.1 with a key derivation rate of 0, the only one in use. */
function deriveKeys(suite: Suite, master: Buffer, kind: 'rtp' | 'rtcp'): SessionKeys {
  const first = kind === 'rtp' ? 0 : 3
  const derive = (label: number, bytes: number) => pseudoRandom(suite, master, first + label, bytes)
  return {
    cipher: derive(0, suite.keyBytes),
    auth: suite.mode === 'gcm' ? Buffer.alloc(0) : derive(1, AUTH_BYTES),
    salt: derive(2, suite.saltBytes),
  }
}

/** AES in counter mode over the salt combined with the label (RFC 3711 §4.3.3, RFC 6188 §3). */
function pseudoRandom({ keyBytes }: Suite, master: Buffer, label: number, bytes: number): Buffer {
  // A 96-bit salt is padded with zeros (RFC 7714 §11, erratum 4938).
  const iv = Buffer.alloc(16)
  master.copy(iv, 0, keyBytes)
  iv[7]! ^= label
  return createCipheriv(`aes-${keyBytes * 8}-ctr`, master.subarray(0, keyBytes), iv).update(Buffer.alloc(bytes))
}
