/** Offer and answer (RFC 3264) for one audio stream. Pure. */
import { type AgreedCodecs, agreeCodecs, answeredFormats, type CodecName, offeredFormats } from './codecs.ts'
import {
  type AgreedSecurity,
  agreeMux,
  agreeSecurity,
  answeredSecurity,
  type LocalSecurity,
  offeredSecurity,
  type SecurityProblem,
} from './crypto-agree.ts'
import {
  attributesOf,
  type Direction,
  directionOf,
  formatSdp,
  type MediaSection,
  parseSdp,
  type Sdp,
  type SdpAttribute,
} from './sdp.ts'

export type { CodecName }

export type LocalAudio = {
  readonly address: string
  readonly port: number
  /** Our codecs, best first. */
  readonly codecs: readonly CodecName[]
  /** The session id in o=, constant for the call; the version grows by one with each new description (RFC 3264 §8). */
  readonly sessionId: string
  readonly version: number
  /** The direction we are willing to use; sendrecv by default. */
  readonly direction?: Direction
  readonly dtmf?: boolean
  /** No encryption when left out. */
  readonly security?: LocalSecurity
}

export type Endpoint = { readonly address: string; readonly port: number }

export type AgreedAudio = AgreedCodecs & {
  readonly remote: Endpoint
  readonly rtcp: Endpoint
  /** True when RTCP shares the RTP socket (RFC 5761). */
  readonly rtcpMux: boolean
  /** Our direction from now on. */
  readonly direction: Direction
  readonly security: AgreedSecurity
}

/** `not_secured`: one side requires encryption, and no method is common to both. */
export type SdpErrorCode = 'malformed' | 'no_audio' | 'no_common_codec' | SecurityProblem
export type AnswerResult =
  | { readonly ok: true; readonly audio: AgreedAudio; readonly sdp: string }
  | { readonly ok: false; readonly code: SdpErrorCode }
export type AgreedResult =
  | { readonly ok: true; readonly audio: AgreedAudio }
  | { readonly ok: false; readonly code: SdpErrorCode }

export function makeOffer(local: LocalAudio): string {
  const { formats, attributes } = offeredFormats(local.codecs, local.dtmf !== false)
  const { protocol, attributes: keys } = offeredSecurity(local.security)
  const lines: SdpAttribute[] = [...attributes, [local.direction ?? 'sendrecv', null], ...keys]
  return describe(local, [audioSection(local.port, protocol, formats, lines)])
}

/**
 * Answers the peer's offer: accepts the first usable audio stream, preferring an encrypted one, and refuses every other
 * m-line with port 0 (§6).
 */
export function answerOffer(offerText: string, local: LocalAudio): AnswerResult {
  const offer = parseSdp(offerText)
  if (offer === null) return { ok: false, code: 'malformed' }
  const chosen = pick(offer, local, false)
  if (!chosen.ok) return chosen
  const { section, audio } = chosen
  const sections = offer.media.map(media => (media === section ? accepted(local, section, audio) : refused(media)))
  return { ok: true, audio, sdp: describe(local, sections) }
}

/** Reads the peer's answer to our offer. */
export function readAnswer(answerText: string, local: LocalAudio): AgreedResult {
  const answer = parseSdp(answerText)
  if (answer === null) return { ok: false, code: 'malformed' }
  const chosen = pick(answer, local, true)
  return chosen.ok ? { ok: true, audio: chosen.audio } : chosen
}

type Picked =
  | { readonly ok: true; readonly section: MediaSection; readonly audio: AgreedAudio }
  | { readonly ok: false; readonly code: SdpErrorCode }

/** Chooses the audio section. `offered`: `sdp` answers an offer of ours. */
function pick(sdp: Sdp, local: LocalAudio, offered: boolean): Picked {
  let code: SdpErrorCode = 'no_audio'
  let plain: Picked | null = null
  for (const section of sdp.media) {
    if (section.kind !== 'audio' || section.port === 0) continue
    const security = agreeSecurity(sdp, section, local.security, offered)
    if (typeof security === 'string') {
      if (code === 'no_audio') code = security
      continue
    }
    const address = section.address ?? sdp.address
    if (address === null) return { ok: false, code: 'malformed' }
    const codecs = agreeCodecs(section, local.codecs, { dtmf: local.dtmf !== false, offered })
    if (codecs === null) {
      code = 'no_common_codec'
      continue
    }
    const rtcpMux = agreeMux(section, security, local.security, offered)
    const audio = { ...agree(sdp, section, address, codecs, local), security, rtcpMux }
    if (security.kind !== 'none') return { ok: true, section, audio }
    plain ??= { ok: true, section, audio }
  }
  return plain ?? { ok: false, code }
}

type Unsecured = Omit<AgreedAudio, 'security' | 'rtcpMux'>

function agree(sdp: Sdp, section: MediaSection, address: string, codecs: AgreedCodecs, local: LocalAudio): Unsecured {
  const remote = { address, port: section.port }
  return {
    ...codecs,
    remote,
    rtcp: rtcpOf(section, remote),
    direction: ourDirection(sdp, section, address, local.direction ?? 'sendrecv'),
  }
}

/**
 * a=rtcp (RFC 3605), or else the RTP port plus one. Without rtcp-mux the peer falls back to these (RFC 5761 §5.1.1).
 */
function rtcpOf(section: MediaSection, remote: Endpoint): Endpoint {
  const parts = /^(\d{1,5})(?:\s+IN\s+IP[46]\s+(\S+))?$/.exec(attributesOf(section, 'rtcp')[0] ?? '')
  if (parts === null || Number(parts[1]) > 65535) return { address: remote.address, port: remote.port + 1 }
  return { address: parts[2] ?? remote.address, port: Number(parts[1]) }
}

/** §6.1 and §8.4: our direction, reduced by what the peer sends and receives. 0.0.0.0 is the old way to hold. */
function ourDirection(sdp: Sdp, section: MediaSection, address: string, wish: Direction): Direction {
  const theirs = directionOf(sdp, section)
  const unheld = address !== '0.0.0.0' && address !== '::'
  const send =
    unheld && (theirs === 'sendrecv' || theirs === 'recvonly') && (wish === 'sendrecv' || wish === 'sendonly')
  const receive = (theirs === 'sendrecv' || theirs === 'sendonly') && (wish === 'sendrecv' || wish === 'recvonly')
  if (send) return receive ? 'sendrecv' : 'sendonly'
  return receive ? 'recvonly' : 'inactive'
}

function accepted(local: LocalAudio, { protocol }: MediaSection, audio: AgreedAudio): MediaSection {
  const { formats, attributes } = answeredFormats(audio)
  const keys = answeredSecurity(audio.security, local.security, audio.rtcpMux)
  return audioSection(local.port, protocol, formats, [...attributes, [audio.direction, null], ...keys])
}

function refused(media: MediaSection): MediaSection {
  return { ...media, port: 0, address: null, attributes: [], formats: media.formats.slice(0, 1) }
}

function audioSection(
  port: number,
  protocol: string,
  formats: readonly number[],
  attributes: readonly SdpAttribute[],
): MediaSection {
  return { kind: 'audio', port, protocol, formats: formats.map(String), address: null, attributes }
}

function describe(local: LocalAudio, media: readonly MediaSection[]): string {
  const family = local.address.includes(':') ? 'IP6' : 'IP4'
  const origin = `- ${local.sessionId} ${local.version} IN ${family} ${local.address}`
  return formatSdp({ origin, address: local.address, attributes: [], media })
}

/** Our parameters for the rest of the call: fixes the DTLS role. */
export function withAgreedRole(local: LocalAudio, { security }: AgreedAudio): LocalAudio {
  if (local.security === undefined || security.kind !== 'dtls') return local
  return { ...local, security: { ...local.security, role: security.role } }
}

/** The reason with which a call ends when its description is unusable. */
export function reasonOf(code: SdpErrorCode): 'bad_sdp' | 'no_common_codec' | 'encryption_failed' {
  if (code === 'malformed') return 'bad_sdp'
  return code === 'not_secured' || code === 'unsupported_profile' ? 'encryption_failed' : 'no_common_codec'
}

/** Our parameters once encryption is no longer optional. */
export function withRequiredEncryption(local: LocalAudio): LocalAudio {
  return local.security === undefined ? local : { ...local, security: { ...local.security, policy: 'required' } }
}
