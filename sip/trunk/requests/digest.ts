/** Client side of Digest authentication (RFC 7616, and RFC 8760 for SIP), without `auth-int`. Pure. */
import { createHash } from 'node:crypto'
import { splitOutside } from '../../text/grammar.ts'

export interface Challenge {
  realm: string
  nonce: string
  opaque: string | null
  /** The text of the challenge, because it is sent back; null when absent, which means MD5. */
  algorithm: string | null
  /** Empty when absent, as before RFC 2617. */
  qop: readonly string[]
  stale: boolean
}

export interface DigestInput {
  username: string
  password: string
  method: string
  uri: string
  cnonce: string
  /** Number of uses of the nonce, including this one. */
  nonceCount: number
}

/** Strongest first. */
const HASHES = [
  ['SHA-512-256', 'sha512-256'],
  ['SHA-256', 'sha256'],
  ['MD5', 'md5'],
] as const

interface Algorithm {
  hash: (text: string) => string
  session: boolean
  strength: number
}

function algorithmOf({ algorithm }: Challenge): Algorithm | null {
  const name = (algorithm ?? 'MD5').toUpperCase()
  const session = name.endsWith('-SESS')
  const at = HASHES.findIndex(([known]) => known === (session ? name.slice(0, -'-SESS'.length) : name))
  const found = HASHES[at]
  if (found === undefined) return null
  const hash = (text: string): string => createHash(found[1]).update(text, 'utf8').digest('hex')
  return { hash, session, strength: HASHES.length - at }
}

/** All Digest challenges of one header, whose repeated values drachtio-srf joins with commas. Skips other schemes. */
export function parseChallenges(header: string): Challenge[] {
  const schemes: { name: string; params: Map<string, string> }[] = []
  for (const part of splitOutside(header, ',')) {
    const [, scheme, name, value] = /^(?:([^\s=",]+)\s+)?([^\s=",]+)\s*=\s*(.*)$/s.exec(part) ?? []
    if (scheme !== undefined) schemes.push({ name: scheme.toLowerCase(), params: new Map() })
    else if (name === undefined) schemes.push({ name: part.toLowerCase(), params: new Map() })
    if (name !== undefined) schemes.at(-1)?.params.set(name.toLowerCase(), unquoted(value ?? ''))
  }
  return schemes.flatMap(({ name, params }) => (name === 'digest' ? challengeOf(params) : []))
}

function challengeOf(params: ReadonlyMap<string, string>): Challenge[] {
  const [realm, nonce] = [params.get('realm'), params.get('nonce')]
  if (realm === undefined || nonce === undefined) return []
  const qop = (params.get('qop') ?? '').split(',').map(option => option.trim().toLowerCase())
  return [
    {
      realm,
      nonce,
      opaque: params.get('opaque') ?? null,
      algorithm: params.get('algorithm') ?? null,
      qop: qop.filter(option => option !== ''),
      stale: params.get('stale')?.toLowerCase() === 'true',
    },
  ]
}

const usable = ({ qop }: Challenge): boolean => qop.length === 0 || qop.includes('auth')

/** The strongest challenge that we can answer, the first of equals; null when there is none. */
export function strongest(challenges: readonly Challenge[]): Challenge | null {
  const strength = (challenge: Challenge): number => algorithmOf(challenge)?.strength ?? 0
  const known = challenges.filter(challenge => strength(challenge) > 0 && usable(challenge))
  return known.reduce<Challenge | null>(
    (best, one) => (best === null || strength(one) > strength(best) ? one : best),
    null,
  )
}

export function digestResponse(challenge: Challenge, input: DigestInput): string {
  const algorithm = algorithmOf(challenge)
  if (algorithm === null) throw new Error('Cannot answer a challenge with an unknown algorithm')
  const { hash, session } = algorithm
  const { nonce, realm, qop } = challenge
  const { username, password, method, uri, cnonce, nonceCount } = input
  const secret = hash(`${username}:${realm}:${password}`)
  const key = session ? hash(`${secret}:${nonce}:${cnonce}`) : secret
  const what = hash(`${method}:${uri}`)
  return qop.length === 0
    ? hash(`${key}:${nonce}:${what}`)
    : hash(`${key}:${nonce}:${counted(nonceCount)}:${cnonce}:auth:${what}`)
}

/** The value of Authorization or Proxy-Authorization. */
export function authorization(challenge: Challenge, input: DigestInput): string {
  const { realm, nonce, opaque, algorithm, qop } = challenge
  const { username, uri, cnonce, nonceCount } = input
  const session = /-sess$/i.test(algorithm ?? '')
  return [
    `Digest username=${quoted(username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    `response="${digestResponse(challenge, input)}"`,
    ...(algorithm === null ? [] : [`algorithm=${algorithm}`]),
    ...(qop.length > 0 || session ? [`cnonce=${quoted(cnonce)}`] : []),
    ...(opaque === null ? [] : [`opaque=${quoted(opaque)}`]),
    ...(qop.length > 0 ? ['qop=auth', `nc=${counted(nonceCount)}`] : []),
  ].join(', ')
}

/** `nextnonce` of Authentication-Info; null when absent. */
export function nextNonce(info: string): string | null {
  const value = /(?:^|[\s,])nextnonce\s*=\s*("(?:[^"\\]|\\.)*")/i.exec(info)?.[1]
  return value === undefined ? null : unquoted(value)
}

const counted = (nonceCount: number): string => nonceCount.toString(16).padStart(8, '0')

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

function unquoted(text: string): string {
  const trimmed = text.trim()
  return /^".*"$/s.test(trimmed) ? trimmed.slice(1, -1).replace(/\\(.)/gs, '$1') : trimmed
}
