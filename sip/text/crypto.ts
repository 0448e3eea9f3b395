/** SRTP key attributes of SDP: a=crypto (RFC 4568), a=fingerprint (RFC 8122) and a=setup (RFC 4145). Pure. */
import type { Fingerprint, FingerprintHash } from '../../media/rtp/dtls-crypto.ts'
import { MasterKey, SUITES, type SuiteName } from '../../media/rtp/srtp-keys.ts'

export interface Crypto {
  tag: number
  /** The suite name as the peer wrote it. */
  suite: string
  key: MasterKey
}

/** Names used before RFC 6188, and by some peers still. */
const OTHER_NAMES: Readonly<Record<string, SuiteName>> = {
  AES_CM_256_HMAC_SHA1_80: 'AES_256_CM_HMAC_SHA1_80',
  AES_CM_256_HMAC_SHA1_32: 'AES_256_CM_HMAC_SHA1_32',
}
const LINE = /^(\d{1,9})\s+(\S+)\s+inline:(\S+)((?:\s+\S+)*)$/i
const MAX_LIFETIME_BITS = 48

const suiteOf = (name: string): SuiteName | undefined =>
  name in SUITES ? (name as SuiteName) : Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined

/** Returns null for lines that cannot be used: unknown suites, several keys, an MKI, or parameters that change SRTP. */
export function parseCrypto(value: string): Crypto | null {
  const [, tag, suite, keyInfo, parameters] = LINE.exec(value.trim()) ?? []
  if (tag === undefined || suite === undefined || keyInfo === undefined) return null
  const name = suiteOf(suite.toUpperCase())
  if (name === undefined || !parameters!.split(/\s+/).every(isHarmless)) return null
  const [text, lifetime, ...more] = keyInfo.split('|')
  // A second part without a colon is the lifetime, one with a colon is the MKI (§9.1).
  if (more.length > 0 || (lifetime !== undefined && !isLifetime(lifetime))) return null
  const bytes = decodeKey(text!, SUITES[name].keyBytes + SUITES[name].saltBytes)
  return bytes && { tag: Number(tag), suite, key: new MasterKey(name, bytes) }
}

/** A line with unsupported parameters must be skipped, unless the peer marks them as optional with a minus (§6.3.7). */
function isHarmless(parameter: string): boolean {
  return parameter === '' || parameter.startsWith('-') || /^(?:KDR=0|WSH=\d+)$/i.test(parameter)
}

/** A number of packets, at most 2^48 (§6.1). No call comes near it, so it is not enforced. */
function isLifetime(text: string): boolean {
  const power = /^2\^(\d{1,2})$/.exec(text)
  if (power) return Number(power[1]) <= MAX_LIFETIME_BITS
  return /^[1-9]\d{0,14}$/.test(text) && Number(text) <= 2 ** MAX_LIFETIME_BITS
}

/** Some peers omit the base64 padding. */
function decodeKey(text: string, length: number): Buffer | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === length && bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
    ? bytes
    : null
}

export function formatCrypto({ tag, suite, key }: Crypto): string {
  return `${tag} ${suite} inline:${key.base64()}`
}

const HASH_BYTES: Readonly<Record<FingerprintHash, number>> = { 'sha-256': 32, 'sha-384': 48, 'sha-512': 64 }

/** Returns null for a malformed value and for hashes that are too weak, such as SHA-1. */
export function parseFingerprint(value: string): Fingerprint | null {
  const [, name, digits] = /^(\S+)\s+((?:[0-9A-F]{2}:)+[0-9A-F]{2})$/i.exec(value.trim()) ?? []
  const hash = name?.toLowerCase()
  if (hash === undefined || digits === undefined || !Object.hasOwn(HASH_BYTES, hash)) return null
  const known = hash as FingerprintHash
  return digits.length === HASH_BYTES[known] * 3 - 1 ? { hash: known, value: digits.toUpperCase() } : null
}
