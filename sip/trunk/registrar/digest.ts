/**
 * Server side of Digest authentication (RFC 7616, RFC 8760 for SIP): stateless challenges, and their verification. Pure
 * except for randomness.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SOFTPHONE_REALM } from '../../../media/contract/softphones.ts'
import { splitOutside } from '../../text/grammar.ts'

/** The credentials that a client sends in Authorization. */
export interface Proof {
  username: string
  nonce: string
  uri: string
  response: string
  algorithm: 'MD5' | 'SHA-256'
  cnonce: string
  /** The text as received, because the hash covers it. */
  nc: string
  nonceCount: number
}

export interface Ha1 {
  md5: string
  sha256: string
}

/**
 * Milliseconds that a nonce is valid; after that a client is challenged again without asking for its password again.
 */
export const NONCE_MS = 300_000
const TIME_BYTES = 6
const SALT_BYTES = 6
const MAC_BYTES = 16

/** Makes a nonce that contains its creation time and a MAC, so that challenges need no memory. */
export function makeNonce(secret: Buffer, wallMs: number): string {
  const head = Buffer.alloc(TIME_BYTES + SALT_BYTES)
  head.writeUIntBE(Math.floor(wallMs), 0, TIME_BYTES)
  randomBytes(SALT_BYTES).copy(head, TIME_BYTES)
  return Buffer.concat([head, macOf(secret, head)]).toString('base64url')
}

const macOf = (secret: Buffer, head: Buffer): Buffer =>
  createHmac('sha256', secret).update('sip nonce').update(head).digest().subarray(0, MAC_BYTES)

/** Checks a nonce. `stale`: ours, but too old. Clocks of engines may differ by a few seconds. */
export function judgeNonce(secret: Buffer, nonce: string, wallMs: number): 'good' | 'stale' | 'foreign' {
  const bytes = Buffer.from(nonce, 'base64url')
  if (bytes.length !== TIME_BYTES + SALT_BYTES + MAC_BYTES || bytes.toString('base64url') !== nonce) return 'foreign'
  const head = bytes.subarray(0, TIME_BYTES + SALT_BYTES)
  if (!timingSafeEqual(bytes.subarray(head.length), macOf(secret, head))) return 'foreign'
  const age = wallMs - head.readUIntBE(0, TIME_BYTES)
  return age < NONCE_MS && age > -NONCE_MS ? 'good' : 'stale'
}

/**
 * These clients give up when any challenge has an unknown algorithm, although RFC 8760 §2.4 requires them to skip it.
 */
const KNOWS_MD5_ALONE = /^baresip v[012]\./i

/**
 * The values of WWW-Authenticate, preferred algorithm first (RFC 8760 §2.4). Both share one nonce: a client answers one
 * of them.
 */
export function challenges(nonce: string, stale: boolean, userAgent = ''): string[] {
  const common = `Digest realm="${SOFTPHONE_REALM}", nonce="${nonce}", qop="auth"${stale ? ', stale=true' : ''}`
  const md5 = `${common}, algorithm=MD5`
  return KNOWS_MD5_ALONE.test(userAgent) ? [md5] : [`${common}, algorithm=SHA-256`, md5]
}

/**
 * Reads the credentials for our realm from Authorization or Proxy-Authorization, whose repeated values drachtio-srf
 * joins with commas. Returns null when none is usable: other realms and schemes, no `qop=auth` (and so no replay
 * protection), or missing fields.
 */
export function readProof(header: string | undefined): Proof | null {
  const claims: Map<string, string>[] = []
  for (const part of splitOutside((header ?? '').slice(0, LONGEST), ',')) {
    const [, scheme, name, value] = /^(?:([^\s=",]+)\s+)?([^\s=",]+)\s*=\s*(.*)$/s.exec(part) ?? []
    if (name === undefined) continue
    if (scheme !== undefined) claims.push(new Map([['scheme', scheme.toLowerCase()]]))
    claims.at(-1)?.set(name.toLowerCase(), unquoted(value ?? ''))
  }
  return claims.map(proofOf).find(proof => proof !== null) ?? null
}

const LONGEST = 4096

function proofOf(claim: ReadonlyMap<string, string>): Proof | null {
  const get = (name: string): string => claim.get(name) ?? ''
  const algorithm = (claim.get('algorithm') ?? 'MD5').toUpperCase()
  if (claim.get('scheme') !== 'digest' || get('realm') !== SOFTPHONE_REALM) return null
  if (algorithm !== 'MD5' && algorithm !== 'SHA-256') return null
  if (get('qop').toLowerCase() !== 'auth' || !/^[0-9a-f]{8}$/i.test(get('nc')) || get('cnonce') === '') return null
  const [username, nonce, uri, response] = [get('username'), get('nonce'), get('uri'), get('response').toLowerCase()]
  if (username === '' || uri === '') return null
  const nonceCount = Number.parseInt(get('nc'), 16)
  return { username, nonce, uri, response, algorithm, cnonce: get('cnonce'), nc: get('nc'), nonceCount }
}

/** True when the client knows the password behind `ha1`. Takes equally long for a wrong and a right password. */
export function isProven(proof: Proof, ha1: Ha1, method: string): boolean {
  const name = proof.algorithm === 'MD5' ? 'md5' : 'sha256'
  const hash = (text: string): string => createHash(name).update(text, 'utf8').digest('hex')
  const { nonce, nc, cnonce, uri } = proof
  const expected = Buffer.from(hash(`${ha1[name]}:${nonce}:${nc}:${cnonce}:auth:${hash(`${method}:${uri}`)}`))
  const given = Buffer.from(proof.response)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function unquoted(text: string): string {
  const trimmed = text.trim()
  return /^".*"$/s.test(trimmed) ? trimmed.slice(1, -1).replace(/\\(.)/gs, '$1') : trimmed
}
