/** Applies a REGISTER to a softphone's bindings (RFC 3261 §10.3). Pure. */
import type { SoftphoneContact, SoftphoneState } from '../../../media/contract/softphones.ts'
import { splitOutside } from '../../text/grammar.ts'
import { parseNameAddr, parseUri, type SipUri } from '../../text/uri.ts'

/** The fields of a REGISTER that the registrar uses. */
export interface Registering {
  /** All Contact values; null for a query. */
  contact: string | null
  expires: string | null
  callId: string
  cseq: number
  userAgent: string | null
  /** Source address of the request. */
  host: string
  port: number
  transport: SoftphoneContact['transport']
  atMs: number
}

export interface RegisterLimits {
  shortestSeconds: number
  longestSeconds: number
  /**
   * Longest registration over UDP when the contact's address differs from the source: a NAT binding expires after two
   * minutes (RFC 4787).
   */
  behindNatSeconds: number
  contacts: number
}

export const REGISTER_LIMITS: RegisterLimits = {
  shortestSeconds: 60,
  longestSeconds: 3600,
  behindNatSeconds: 90,
  contacts: 8,
}

export type Registered =
  | { ok: true; state: SoftphoneState; changed: boolean }
  /** 400 malformed, 403 too many contacts, 423 interval too brief, 500 out of order. */
  | { ok: false; status: 400 | 403 | 423 | 500 }

interface Wanted {
  uri: string
  instance: string | null
  seconds: number
}

const LONGEST_URI = 512

export const liveContacts = (state: SoftphoneState | null, atMs: number): SoftphoneContact[] =>
  (state?.contacts ?? []).filter(contact => contact.expires_at > atMs)

export function register(
  before: SoftphoneState | null,
  request: Registering,
  limits: RegisterLimits = REGISTER_LIMITS,
): Registered {
  const { atMs, callId, cseq } = request
  const contacts = liveContacts(before, atMs)
  const seen = (kept: SoftphoneContact[]): Registered => ({
    ok: true,
    state: { seen_at: atMs, contacts: kept },
    changed: request.contact !== null,
  })
  if (request.contact === null) return seen(contacts)
  // Step 7: an earlier request must not undo a later one.
  const isOld = (contact: SoftphoneContact): boolean => contact.call_id === callId && contact.cseq >= cseq
  if (request.contact.trim() === '*') {
    if (!/^\s*0+\s*$/.test(request.expires ?? '')) return { ok: false, status: 400 }
    return contacts.some(isOld) ? { ok: false, status: 500 } : seen([])
  }
  const wanted = wantedOf(request, limits)
  if (wanted === null) return { ok: false, status: 400 }
  if (wanted.some(({ seconds }) => seconds > 0 && seconds < limits.shortestSeconds)) return { ok: false, status: 423 }
  let kept = contacts
  for (const one of wanted) {
    const replaced = kept.filter(contact => isSame(contact, one))
    if (replaced.some(isOld)) return { ok: false, status: 500 }
    kept = kept.filter(contact => !replaced.includes(contact))
    if (one.seconds > 0) kept = [...kept, contactOf(one, request, limits)]
  }
  return kept.length > limits.contacts ? { ok: false, status: 403 } : seen(kept)
}

function wantedOf(request: Registering, limits: RegisterLimits): Wanted[] | null {
  const wanted: Wanted[] = []
  for (const value of splitOutside(request.contact ?? '', ',')) {
    const addr = parseNameAddr(value)
    const uri = addr === null ? null : parseUri(addr.uri)
    if (addr === null || addr.uri.length > LONGEST_URI || uri === null) return null
    // §19.1.1: a Contact in REGISTER must not have URI headers.
    if ((uri.scheme !== 'sip' && uri.scheme !== 'sips') || uri.headers !== null) return null
    const said = secondsOf(addr.params.get('expires') ?? request.expires)
    const seconds = Math.min(said ?? limits.longestSeconds, limits.longestSeconds)
    const instance = addr.params.get('+sip.instance') ?? null
    wanted.push({ uri: addr.uri, instance: instance?.slice(0, LONGEST_URI) ?? null, seconds })
  }
  return wanted.length === 0 || wanted.length > limits.contacts ? null : wanted
}

/** §20.19: a malformed value counts as absent. */
function secondsOf(text: string | null | undefined): number | null {
  const digits = /^\s*(\d{1,10})\s*$/.exec(text ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}

function contactOf({ uri, instance, seconds }: Wanted, request: Registering, limits: RegisterLimits): SoftphoneContact {
  const { host, port, transport, userAgent, callId, cseq, atMs } = request
  const longest = isBehindNat(uri, request) ? limits.behindNatSeconds : limits.longestSeconds
  return {
    uri,
    instance,
    host,
    port,
    transport,
    user_agent: userAgent?.slice(0, 200) ?? null,
    call_id: callId,
    cseq,
    expires_at: atMs + Math.min(seconds, longest) * 1000,
  }
}

function isBehindNat(uri: string, { host, port, transport }: Registering): boolean {
  const own = parseUri(uri) as SipUri
  return transport === 'udp' && (own.host !== host || (own.port ?? 5060) !== port)
}

/** A new contact of the same phone replaces its earlier one (RFC 5626 §6). */
function isSame(contact: SoftphoneContact, { uri, instance }: Wanted): boolean {
  return (instance !== null && contact.instance === instance) || canonical(contact.uri) === canonical(uri)
}

/** Normalises a URI as far as RFC 3261 §19.1.4 requires to match a phone's own Contact. */
function canonical(text: string): string {
  const { scheme, user, host, port, params } = parseUri(text) as SipUri
  return [scheme, user, host.toLowerCase(), port ?? 5060, params.get('transport')?.toLowerCase() ?? 'udp'].join(' ')
}

/** The Contact value of our answer. */
export const contactHeader = (contacts: readonly SoftphoneContact[], atMs: number): string =>
  contacts
    .map(({ uri, expires_at }) => `<${uri}>;expires=${Math.max(1, Math.round((expires_at - atMs) / 1000))}`)
    .join(', ')
