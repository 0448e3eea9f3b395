/** Offer and answer (RFC 3264) for one audio stream of G.711 with telephone-events (RFC 4733). Pure. */
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

export type CodecName = 'PCMU' | 'PCMA'

export type LocalAudio = {
  readonly address: string
  readonly port: number
  /** Ours, best first. */
  readonly codecs: readonly CodecName[]
  /** o= of our side: the id stays for the call, the version grows by one with each new description (RFC 3264 §8). */
  readonly sessionId: string
  readonly version: number
  /** What we are willing to do; sendrecv unless given. */
  readonly direction?: Direction
  readonly dtmf?: boolean
}

export type Endpoint = { readonly address: string; readonly port: number }

export type AgreedAudio = {
  readonly codec: CodecName
  readonly payloadType: number
  /** Payload types of telephone-event for each way; null when the peer has none. */
  readonly dtmf: { readonly send: number; readonly receive: number } | null
  readonly remote: Endpoint
  readonly rtcp: Endpoint
  /** What we do from now on. */
  readonly direction: Direction
  /** Packet time in ms the peer would like to receive. */
  readonly ptime: number
}

export type SdpErrorCode = 'malformed' | 'no_audio' | 'unsupported_profile' | 'no_common_codec'
export type AnswerResult =
  | { readonly ok: true; readonly audio: AgreedAudio; readonly sdp: string }
  | { readonly ok: false; readonly code: SdpErrorCode }
export type AgreedResult =
  | { readonly ok: true; readonly audio: AgreedAudio }
  | { readonly ok: false; readonly code: SdpErrorCode }

const STATIC: Readonly<Record<CodecName, number>> = { PCMU: 0, PCMA: 8 }
const OUR_DTMF = 101
const PTIMES = [10, 20, 30, 40, 60]

export function makeOffer(local: LocalAudio): string {
  const formats = local.codecs.map(codec => STATIC[codec])
  const attributes: SdpAttribute[] = local.codecs.map(codec => ['rtpmap', `${STATIC[codec]} ${codec}/8000`])
  const dtmf = local.dtmf !== false
  if (dtmf) attributes.push(...dtmfAttributes(OUR_DTMF))
  attributes.push(['ptime', '20'], [local.direction ?? 'sendrecv', null])
  return describe(local, [audioSection(local.port, dtmf ? [...formats, OUR_DTMF] : formats, attributes)])
}

/** Answers the peer's offer: the first audio stream we can take is taken, every other m-line gets port 0 (§6). */
export function answerOffer(offerText: string, local: LocalAudio): AnswerResult {
  const offer = parseSdp(offerText)
  if (offer === null) return { ok: false, code: 'malformed' }
  const chosen = pick(offer, local)
  if (!chosen.ok) return chosen
  const { section, audio } = chosen
  const sections = offer.media.map(media => (media === section ? accepted(local, audio) : refused(media)))
  return { ok: true, audio, sdp: describe(local, sections) }
}

/** Reads the peer's answer to our offer. */
export function readAnswer(answerText: string, local: LocalAudio): AgreedResult {
  const answer = parseSdp(answerText)
  if (answer === null) return { ok: false, code: 'malformed' }
  const chosen = pick(answer, local)
  if (!chosen.ok) return chosen
  const { dtmf } = chosen.audio
  const receive = dtmf === null ? null : { send: dtmf.send, receive: OUR_DTMF }
  return { ok: true, audio: { ...chosen.audio, dtmf: receive } }
}

type Picked =
  | { readonly ok: true; readonly section: MediaSection; readonly audio: AgreedAudio }
  | { readonly ok: false; readonly code: SdpErrorCode }

function pick(sdp: Sdp, local: LocalAudio): Picked {
  let code: SdpErrorCode = 'no_audio'
  for (const section of sdp.media) {
    if (section.kind !== 'audio' || section.port === 0) continue
    if (section.protocol !== 'RTP/AVP') {
      if (code === 'no_audio') code = 'unsupported_profile'
      continue
    }
    const address = section.address ?? sdp.address
    if (address === null) return { ok: false, code: 'malformed' }
    const codec = commonCodec(section, local.codecs)
    if (codec !== null) return { ok: true, section, audio: agree(sdp, section, address, codec, local) }
    code = 'no_common_codec'
  }
  return { ok: false, code }
}

type Chosen = { readonly codec: CodecName; readonly payloadType: number }

/** The peer's order of preference decides (§6.1). */
function commonCodec(section: MediaSection, ours: readonly CodecName[]): Chosen | null {
  for (const format of section.formats) {
    const codec = encodingOf(section, format)
    if ((codec === 'PCMU' || codec === 'PCMA') && ours.includes(codec)) return { codec, payloadType: Number(format) }
  }
  return null
}

function encodingOf(section: MediaSection, format: string): string | null {
  if (!/^\d{1,3}$/.test(format) || Number(format) > 127) return null
  for (const map of attributesOf(section, 'rtpmap')) {
    const parts = /^(\d+)\s+([^/\s]+)\/(\d+)(?:\/(\d+))?$/.exec(map)
    if (parts?.[1] !== format) continue
    return parts[3] === '8000' && (parts[4] ?? '1') === '1' ? parts[2]!.toUpperCase() : null
  }
  return format === '0' ? 'PCMU' : format === '8' ? 'PCMA' : null
}

function agree(sdp: Sdp, section: MediaSection, address: string, chosen: Chosen, local: LocalAudio): AgreedAudio {
  const dtmf =
    local.dtmf === false ? undefined : section.formats.find(f => encodingOf(section, f) === 'TELEPHONE-EVENT')
  const remote = { address, port: section.port }
  const wished = Number(attributesOf(section, 'ptime')[0])
  return {
    ...chosen,
    dtmf: dtmf === undefined ? null : { send: Number(dtmf), receive: Number(dtmf) },
    remote,
    rtcp: rtcpOf(section, remote),
    direction: ourDirection(sdp, section, address, local.direction ?? 'sendrecv'),
    ptime: PTIMES.includes(wished) ? wished : 20,
  }
}

/** a=rtcp (RFC 3605), else the port above; we never agree to rtcp-mux, so the peer falls back to these (RFC 5761 §5.1.1). */
function rtcpOf(section: MediaSection, remote: Endpoint): Endpoint {
  const parts = /^(\d{1,5})(?:\s+IN\s+IP[46]\s+(\S+))?$/.exec(attributesOf(section, 'rtcp')[0] ?? '')
  if (parts === null || Number(parts[1]) > 65535) return { address: remote.address, port: remote.port + 1 }
  return { address: parts[2] ?? remote.address, port: Number(parts[1]) }
}

/** §6.1 and §8.4: what is left of our wish when the peer sends or receives less; 0.0.0.0 is the old way to hold. */
function ourDirection(sdp: Sdp, section: MediaSection, address: string, wish: Direction): Direction {
  const theirs = directionOf(sdp, section)
  const unheld = address !== '0.0.0.0' && address !== '::'
  const send =
    unheld && (theirs === 'sendrecv' || theirs === 'recvonly') && (wish === 'sendrecv' || wish === 'sendonly')
  const receive = (theirs === 'sendrecv' || theirs === 'sendonly') && (wish === 'sendrecv' || wish === 'recvonly')
  if (send) return receive ? 'sendrecv' : 'sendonly'
  return receive ? 'recvonly' : 'inactive'
}

function accepted(local: LocalAudio, audio: AgreedAudio): MediaSection {
  const attributes: SdpAttribute[] = [['rtpmap', `${audio.payloadType} ${audio.codec}/8000`]]
  if (audio.dtmf !== null) attributes.push(...dtmfAttributes(audio.dtmf.receive))
  attributes.push(['ptime', '20'], [audio.direction, null])
  const formats = audio.dtmf === null ? [audio.payloadType] : [audio.payloadType, audio.dtmf.receive]
  return audioSection(local.port, formats, attributes)
}

function refused(media: MediaSection): MediaSection {
  return { ...media, port: 0, address: null, attributes: [], formats: media.formats.slice(0, 1) }
}

function dtmfAttributes(payloadType: number): SdpAttribute[] {
  return [
    ['rtpmap', `${payloadType} telephone-event/8000`],
    ['fmtp', `${payloadType} 0-16`],
  ]
}

function audioSection(port: number, formats: readonly number[], attributes: SdpAttribute[]): MediaSection {
  return { kind: 'audio', port, protocol: 'RTP/AVP', formats: formats.map(String), address: null, attributes }
}

function describe(local: LocalAudio, media: readonly MediaSection[]): string {
  const family = local.address.includes(':') ? 'IP6' : 'IP4'
  const origin = `- ${local.sessionId} ${local.version} IN ${family} ${local.address}`
  return formatSdp({ origin, address: local.address, attributes: [], media })
}
