/** Digest authentication of a server (RFC 7616, RFC 8760 for SIP): challenges without memory, and proofs. Pure but for randomness. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SOFTPHONE_REALM } from '../../../media/contract/softphones.ts'
import { splitOutside } from '../../text/grammar.ts'

/** What a client claims in Authorization. */
export type Proof = {
  readonly username: string
  readonly nonce: string
  readonly uri: string
  readonly response: string
  readonly algorithm: 'MD5' | 'SHA-256'
  readonly cnonce: string
  /** As it was written, which is what is hashed. */
  readonly nc: string
  readonly nonceCount: number
}

export type Ha1 = { readonly md5: string; readonly sha256: string }

/** Beyond it a client is challenged anew, without being asked for its password again. */
export const NONCE_MS = 300_000
const TIME_BYTES = 6
const SALT_BYTES = 6
const MAC_BYTES = 16

/** A nonce tells when it was made, and that we made it: challenges cost no memory. */
export function makeNonce(secret: Buffer, wallMs: number): string {
  const head = Buffer.alloc(TIME_BYTES + SALT_BYTES)
  head.writeUIntBE(Math.floor(wallMs), 0, TIME_BYTES)
  randomBytes(SALT_BYTES).copy(head, TIME_BYTES)
  return Buffer.concat([head, macOf(secret, head)]).toString('base64url')
}

const macOf = (secret: Buffer, head: Buffer): Buffer =>
  createHmac('sha256', secret).update('sip nonce').update(head).digest().subarray(0, MAC_BYTES)

/** `stale`: ours, but too old. Clocks of engines may differ by some seconds. */
export function judgeNonce(secret: Buffer, nonce: string, wallMs: number): 'good' | 'stale' | 'foreign' {
  const bytes = Buffer.from(nonce, 'base64url')
  if (bytes.length !== TIME_BYTES + SALT_BYTES + MAC_BYTES || bytes.toString('base64url') !== nonce) return 'foreign'
  const head = bytes.subarray(0, TIME_BYTES + SALT_BYTES)
  if (!timingSafeEqual(bytes.subarray(head.length), macOf(secret, head))) return 'foreign'
  const age = wallMs - head.readUIntBE(0, TIME_BYTES)
  return age < NONCE_MS && age > -NONCE_MS ? 'good' : 'stale'
}

/** They give up when any challenge is of an algorithm they don't know, where RFC 8760 §2.4 has them pass it over. */
const KNOWS_MD5_ALONE = /^baresip v[012]\./i

/**
 * The values of WWW-Authenticate, the one that we like best first (RFC 8760 §2.4). The same nonce serves both: a client
 * answers one of them.
 */
export function challenges(nonce: string, stale: boolean, userAgent = ''): string[] {
  const common = `Digest realm="${SOFTPHONE_REALM}", nonce="${nonce}", qop="auth"${stale ? ', stale=true' : ''}`
  const md5 = `${common}, algorithm=MD5`
  return KNOWS_MD5_ALONE.test(userAgent) ? [md5] : [`${common}, algorithm=SHA-256`, md5]
}

/**
 * The proof for our realm in Authorization or Proxy-Authorization, whose repetitions drachtio-srf joins by commas. Null
 * when there is none that could hold: other realms and schemes, no `qop=auth` (which has no protection against repetition),
 * or half of it is missing.
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

/** Whether whoever made the proof has the password behind `ha1`; takes as long for a wrong one as for the right one. */
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
