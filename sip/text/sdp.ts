/** Session descriptions (RFC 8866): the subset that a call needs, read leniently and written strictly. Pure. */

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

export type SdpAttribute = readonly [name: string, value: string | null]

export interface MediaSection {
  kind: string
  port: number
  protocol: string
  formats: readonly string[]
  /** The address in this section's c=, or null. */
  address: string | null
  attributes: readonly SdpAttribute[]
}

export interface Sdp {
  origin: string
  address: string | null
  attributes: readonly SdpAttribute[]
  media: readonly MediaSection[]
}

interface Draft {
  origin: string | null
  address: string | null
  attributes: SdpAttribute[]
  media: MediaDraft[]
}
type MediaDraft = Omit<MediaSection, 'address' | 'attributes'> & { address: string | null; attributes: SdpAttribute[] }

const MAX_LINES = 500

/**
 * Returns null when the text is not a session description. Accepts bare LF as line end, which is common (RFC 8866 §5).
 */
export function parseSdp(text: string): Sdp | null {
  const lines = text.split(/\r\n|\n|\r/).filter(line => line !== '')
  if (lines.length > MAX_LINES || lines[0] !== 'v=0') return null
  const draft: Draft = { origin: null, address: null, attributes: [], media: [] }
  for (const line of lines.slice(1)) {
    const parts = /^([a-z])=(.*)$/.exec(line)
    if (parts === null || !readLine(draft, parts[1]!, parts[2]!.trim())) return null
  }
  return draft.origin === null ? null : { ...draft, origin: draft.origin }
}

function readLine(draft: Draft, type: string, value: string): boolean {
  const current = draft.media.at(-1) ?? draft
  switch (type) {
    case 'o':
      draft.origin = value
      return value.split(/\s+/).length >= 6
    case 'c': {
      const address = /^IN\s+IP[46]\s+([^\s/]+)(?:\/\S*)?$/.exec(value)?.[1]
      current.address = address ?? null
      return address !== undefined
    }
    case 'm': {
      const media = readMedia(value)
      if (media !== null) draft.media.push(media)
      return media !== null
    }
    case 'a': {
      const colon = value.indexOf(':')
      current.attributes.push(colon < 0 ? [value, null] : [value.slice(0, colon), value.slice(colon + 1).trim()])
      return true
    }
    default:
      return true
  }
}

function readMedia(value: string): MediaDraft | null {
  const parts = /^(\S+)\s+(\d{1,5})(?:\/\d+)?\s+(\S+)\s*(.*)$/.exec(value)
  if (parts === null || Number(parts[2]) > 65535) return null
  const formats = parts[4]!.split(/\s+/).filter(format => format !== '')
  return {
    kind: parts[1]!.toLowerCase(),
    port: Number(parts[2]),
    protocol: parts[3]!.toUpperCase(),
    formats,
    address: null,
    attributes: [],
  }
}

export function attributesOf(section: { attributes: readonly SdpAttribute[] }, name: string): string[] {
  return section.attributes.filter(([known]) => known === name).map(([, value]) => value ?? '')
}

const DIRECTIONS: readonly Direction[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive']

/** The section's own direction, or the session's, or sendrecv (RFC 8866 §6.7). */
export function directionOf(sdp: Sdp, media: MediaSection): Direction {
  const find = (attributes: readonly SdpAttribute[]): Direction | undefined =>
    DIRECTIONS.find(direction => attributes.some(([name]) => name === direction))
  return find(media.attributes) ?? find(sdp.attributes) ?? 'sendrecv'
}

export function formatAddress(address: string): string {
  return `IN ${address.includes(':') ? 'IP6' : 'IP4'} ${address}`
}

/** Writes a description with CRLF line ends, and c= at session level and wherever a section differs. */
export function formatSdp(sdp: Sdp): string {
  const lines = ['v=0', `o=${sdp.origin}`, 's=-']
  if (sdp.address !== null) lines.push(`c=${formatAddress(sdp.address)}`)
  lines.push('t=0 0', ...sdp.attributes.map(formatAttribute))
  for (const media of sdp.media) {
    lines.push(`m=${media.kind} ${media.port} ${media.protocol} ${media.formats.join(' ')}`.trimEnd())
    if (media.address !== null) lines.push(`c=${formatAddress(media.address)}`)
    lines.push(...media.attributes.map(formatAttribute))
  }
  return `${lines.join('\r\n')}\r\n`
}

function formatAttribute([name, value]: SdpAttribute): string {
  return value === null ? `a=${name}` : `a=${name}:${value}`
}
