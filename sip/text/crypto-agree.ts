/**
 * Negotiates media encryption from two descriptions: SDES (RFC 4568) and DTLS-SRTP (RFC 5763, 5764) under the profiles
 * of RFC 3711, 5124 and 5764, and opportunistically under RTP/AVP (RFC 8643). Pure except for random keys.
 */
import type { Fingerprint } from '../../media/rtp/dtls-crypto.ts'
import type { DtlsRole } from '../../media/rtp/dtls-handshake.ts'
import { MasterKey, SUITES, type SuiteName } from '../../media/rtp/srtp-keys.ts'
import { type Crypto, formatCrypto, parseCrypto, parseFingerprint } from './crypto.ts'
import { attributesOf, type MediaSection, type Sdp, type SdpAttribute } from './sdp.ts'

export type SrtpPolicy = 'off' | 'optional' | 'required'

/** Our side, constant for a call. */
export interface LocalSecurity {
  policy: SrtpPolicy
  keys: Readonly<Record<SuiteName, MasterKey>>
  /** SHA-256 of our certificate; null disables DTLS. */
  fingerprint: string | null
  /** The role agreed earlier in this call: changing it would start another association (RFC 8842 §4). */
  role: DtlsRole | null
}

export type AgreedSecurity =
  | { kind: 'none' }
  | { kind: 'sdes'; send: MasterKey; receive: MasterKey; answer: Crypto }
  | { kind: 'dtls'; role: DtlsRole; fingerprints: readonly Fingerprint[] }

export type SecurityProblem = 'unsupported_profile' | 'not_secured'

const PLAIN = new Set(['RTP/AVP', 'RTP/AVPF'])
const SECURE = new Set(['RTP/SAVP', 'RTP/SAVPF'])
const OVER_TLS = new Set(['UDP/TLS/RTP/SAVP', 'UDP/TLS/RTP/SAVPF'])
/**
 * Suites to offer. A peer that supports a short tag also supports the long one, and each line makes the INVITE longer.
 */
const OFFERED: readonly SuiteName[] = ['AES_CM_128_HMAC_SHA1_80', 'AES_256_CM_HMAC_SHA1_80']
const NONE: AgreedSecurity = { kind: 'none' }

export function localSecurity(policy: SrtpPolicy, fingerprint: string | null): LocalSecurity {
  const names = Object.keys(SUITES) as SuiteName[]
  const keys = Object.fromEntries(names.map(name => [name, MasterKey.random(name)])) as Record<SuiteName, MasterKey>
  return { policy, keys, fingerprint, role: null }
}

export interface SecurityLines {
  protocol: string
  attributes: readonly SdpAttribute[]
}

/**
 * `optional` offers RTP/AVP with keys (RFC 8643): a peer that does not know them answers as usual, while it would
 * refuse RTP/SAVP, and some peers take two streams, one of each, for two calls. A peer that supports both key exchanges
 * should use DTLS, whose keys are not signalled.
 */
export function offeredSecurity(local: LocalSecurity | undefined): SecurityLines {
  if (local === undefined || local.policy === 'off') return { protocol: 'RTP/AVP', attributes: [] }
  const lines = OFFERED.map((suite, i): SdpAttribute => {
    return ['crypto', formatCrypto({ tag: i + 1, suite, key: local.keys[suite] })]
  })
  const dtls = local.fingerprint === null ? [] : [...dtlsLines(local.fingerprint, 'actpass'), MUX]
  return { protocol: local.policy === 'required' ? 'RTP/SAVP' : 'RTP/AVP', attributes: [...lines, ...dtls] }
}

/** Attributes of an answer, under the profile of the offer. `muxed`: RTCP shares the RTP socket. */
export function answeredSecurity(
  agreed: AgreedSecurity,
  local: LocalSecurity | undefined,
  muxed: boolean,
): readonly SdpAttribute[] {
  switch (agreed.kind) {
    case 'none':
      return []
    case 'sdes':
      return [['crypto', formatCrypto({ ...agreed.answer, key: agreed.send })]]
    case 'dtls':
      return [
        ...dtlsLines(local!.fingerprint!, agreed.role === 'client' ? 'active' : 'passive'),
        ...(muxed ? [MUX] : []),
      ]
  }
}

/** With rtcp-mux, one DTLS handshake covers RTP and RTCP (RFC 5764 §4.1). */
const MUX: SdpAttribute = ['rtcp-mux', null]

function dtlsLines(fingerprint: string, setup: string): SdpAttribute[] {
  return [
    ['setup', setup],
    ['fingerprint', `sha-256 ${fingerprint}`],
  ]
}

/** Negotiates encryption for one section. `offered`: the section answers an offer of ours. */
export function agreeSecurity(
  sdp: Sdp,
  section: MediaSection,
  local: LocalSecurity | undefined,
  offered: boolean,
): AgreedSecurity | SecurityProblem {
  const { protocol } = section
  const plain = PLAIN.has(protocol)
  if (!plain && !SECURE.has(protocol) && !OVER_TLS.has(protocol)) return 'unsupported_profile'
  if (local === undefined || local.policy === 'off') return plain ? NONE : 'unsupported_profile'
  const agreed = byDtls(sdp, section, local) ?? (OVER_TLS.has(protocol) ? null : bySdes(section, local, offered))
  return agreed ?? (plain && local.policy === 'optional' ? NONE : 'not_secured')
}

function byDtls(sdp: Sdp, section: MediaSection, local: LocalSecurity): AgreedSecurity | null {
  const of = (name: string): string[] => {
    const own = attributesOf(section, name)
    return own.length > 0 ? own : attributesOf(sdp, name)
  }
  const fingerprints = of('fingerprint').flatMap(value => parseFingerprint(value) ?? [])
  if (local.fingerprint === null || fingerprints.length === 0) return null
  const role = ourRole(of('setup')[0]?.trim().toLowerCase(), local.role)
  return role && { kind: 'dtls', role, fingerprints }
}

/**
 * When the choice is ours we take the passive role (RFC 4145 §4.1), although RFC 5763 §5 recommends active: a phone
 * behind a NAT can be reached only at an address it has sent from.
 */
function ourRole(setup: string | undefined, before: DtlsRole | null): DtlsRole | null {
  switch (setup) {
    case undefined:
    case 'active':
      return 'server'
    case 'passive':
      return 'client'
    case 'actpass':
      return before ?? 'server'
    default:
      return null
  }
}

/**
 * RTCP over the RTP socket (RFC 5761 §5.1.1). As the answerer we accept it only for DTLS, where it saves a handshake.
 */
export function agreeMux(
  section: MediaSection,
  security: AgreedSecurity,
  local: LocalSecurity | undefined,
  offered: boolean,
): boolean {
  if (!section.attributes.some(([name]) => name === 'rtcp-mux')) return false
  return offered
    ? local !== undefined && local.policy !== 'off' && local.fingerprint !== null
    : security.kind === 'dtls'
}

/**
 * In an offer, takes the first supported line (RFC 4568 §5.1.2). In an answer, takes the line that matches one of ours
 * (§5.1.3).
 */
function bySdes(section: MediaSection, local: LocalSecurity, offered: boolean): AgreedSecurity | null {
  for (const value of attributesOf(section, 'crypto')) {
    const answer = parseCrypto(value)
    if (answer === null || (offered && OFFERED[answer.tag - 1] !== answer.key.suite)) continue
    return { kind: 'sdes', send: local.keys[answer.key.suite], receive: answer.key, answer }
  }
  return null
}
