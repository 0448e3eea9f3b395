/** Dialogs (RFC 3261 §12): their state, how messages change it, and where to find them. */
import { randomInt } from 'node:crypto'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'
import { parseCSeq } from '../text/validate.ts'
import type { App } from './apps.ts'
import { contactOf, selfOf, tagIn, withoutTag, withTag } from './headers.ts'
import type { Agreed } from './session-plan.ts'
import type { ServerTxn } from './transactions.ts'
import type { Flow } from './transport.ts'

export interface Dialog {
  /** drachtio's id: `<Call-ID>;from-tag=<From tag of the first request>`, in both directions. */
  id: string
  role: 'uas' | 'uac'
  usage: 'INVITE' | 'SUBSCRIBE'
  callId: string
  localTag: string
  remoteTag: string | null
  /** From and To values without their tags. */
  localParty: string
  remoteParty: string
  localSeq: number
  remoteSeq: number | null
  routeSet: readonly string[]
  remoteTarget: string
  /** The dialog was created by a request to a SIPS URI (§12.1). */
  secure: boolean
  phase: 'early' | 'confirmed' | 'ended'
  /** The flow of the peer's latest target refresh. Requests use it when there is no route set (NAT). */
  flow: Flow
  owner: App
  /** Our latest INVITE, for the ACK that the application will ask for. */
  invite: SentInvite | null
  /** True while our INVITE has no final response. */
  inviting: boolean
  /** The peer's INVITE that has no final response yet. */
  answering: ServerTxn | null
  /**
   * The running session timer (RFC 4028). A refresh also needs `takesUpdate` (the peer accepts UPDATE) and `localSdp`
   * (our last description).
   */
  session: { agreed: Agreed; timer: NodeJS.Timeout } | null
  takesUpdate: boolean
  localSdp: Buffer | null
  /** Removes a subscription when it expires. */
  expiry: NodeJS.Timeout | null
}

const FRESH = { session: null, takesUpdate: false, localSdp: null, expiry: null }
/** setTimeout cannot count further. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface SentInvite {
  seq: number
  /** Authorization headers, which the ACK repeats (§22.1). */
  credentials: readonly Header[]
  answered: boolean
  ack: { bytes: Buffer; flow: Flow } | null
}

export const dialogId = (callId: string, fromTag: string): string => `${callId};from-tag=${fromTag}`

function contactUri(message: SipRequest | SipResponse): string | null {
  const first = listOf(message, 'Contact')[0]
  return first === undefined ? null : (parseNameAddr(first)?.uri ?? null)
}

export function uasDialog(txn: ServerTxn, localTag: string, owner: App): Dialog {
  const { request, flow } = txn
  const callId = headerOf(request, 'Call-ID') ?? ''
  const from = headerOf(request, 'From') ?? ''
  const fromTag = tagIn(request, 'From')
  return {
    id: dialogId(callId, fromTag ?? ''),
    role: 'uas',
    usage: request.method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE',
    callId,
    localTag,
    remoteTag: fromTag,
    localParty: withoutTag(headerOf(request, 'To') ?? ''),
    remoteParty: withoutTag(from),
    localSeq: randomInt(1, 2 ** 20),
    remoteSeq: parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq ?? null,
    routeSet: listOf(request, 'Record-Route'),
    remoteTarget: contactUri(request) ?? parseNameAddr(from)?.uri ?? request.uri,
    secure: /^sips:/i.test(request.uri),
    phase: 'early',
    flow,
    owner,
    invite: null,
    inviting: false,
    answering: request.method === 'INVITE' ? txn : null,
    ...FRESH,
  }
}

export function uacDialog(request: SipRequest, flow: Flow, owner: App): Dialog {
  const callId = headerOf(request, 'Call-ID') ?? ''
  const localTag = tagIn(request, 'From') ?? ''
  const seq = parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq ?? 1
  return {
    id: dialogId(callId, localTag),
    role: 'uac',
    usage: request.method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE',
    callId,
    localTag,
    remoteTag: null,
    localParty: withoutTag(headerOf(request, 'From') ?? ''),
    remoteParty: withoutTag(headerOf(request, 'To') ?? ''),
    localSeq: seq,
    remoteSeq: null,
    routeSet: [],
    remoteTarget: request.uri,
    secure: /^sips:/i.test(request.uri),
    phase: 'early',
    flow,
    owner,
    invite: sentInvite(request, seq),
    inviting: request.method === 'INVITE',
    answering: null,
    ...FRESH,
  }
}

export function sentInvite(request: SipRequest, seq: number): SentInvite | null {
  if (request.method !== 'INVITE') return null
  const credentials = request.headers.filter(([name]) => name === 'Authorization' || name === 'Proxy-Authorization')
  return { seq, credentials, answered: false, ack: null }
}

/** Applies a response to the request that created the dialog (§12.1.2). The first 2xx fixes the route set. */
export function learnFromResponse(dialog: Dialog, response: SipResponse, flow: Flow): void {
  const tag = tagIn(response, 'To')
  if (dialog.phase === 'early' && tag !== null) {
    dialog.remoteTag = tag
    dialog.routeSet = listOf(response, 'Record-Route').reverse()
  }
  refreshTarget(dialog, response, flow)
  if (response.status >= 200 && response.status < 300 && dialog.phase === 'early') dialog.phase = 'confirmed'
}

/** §12.2.1.2, §12.2.2: the Contact of a target refresh becomes the remote target. */
export function refreshTarget(dialog: Dialog, message: SipRequest | SipResponse, flow: Flow): void {
  const target = contactUri(message)
  if (target !== null) {
    dialog.remoteTarget = target
    dialog.flow = flow
  } else if (!dialog.flow.usable()) dialog.flow = flow
}

/**
 * Builds a request inside the dialog (§12.2.1.1) without its Via. `extra` holds the headers that the application added.
 */
export function dialogRequest(
  dialog: Dialog,
  method: string,
  seq: number,
  extra: readonly Header[],
  body: Buffer,
): SipRequest {
  const { uri, routes } = routing(dialog)
  const needsContact =
    method === 'INVITE' || method === 'SUBSCRIBE' || method === 'REFER' || method === 'NOTIFY' || method === 'UPDATE'
  const hasContact = extra.some(([name]) => name === 'Contact')
  const headers: Header[] = [
    ['Max-Forwards', '70'],
    ...routes.map((route): Header => ['Route', route]),
    ['From', withTag(dialog.localParty, dialog.localTag)],
    ['To', dialog.remoteTag === null ? dialog.remoteParty : withTag(dialog.remoteParty, dialog.remoteTag)],
    ['Call-ID', dialog.callId],
    ['CSeq', `${seq} ${method}`],
    ...(needsContact && !hasContact ? [['Contact', contactOf(selfOf(dialog.flow), dialog.secure)] as const] : []),
    ...extra,
  ]
  return { kind: 'request', method, uri, headers, body }
}

/** §12.2.1.1: a first route without `lr` is a strict router and replaces the Request-URI. */
function routing(dialog: Dialog): { uri: string; routes: readonly string[] } {
  const first = dialog.routeSet[0]
  const uri = parseNameAddr(first ?? '')?.uri
  if (first === undefined || uri === undefined) return { uri: dialog.remoteTarget, routes: dialog.routeSet }
  const parsed = parseUri(uri)
  if (parsed?.scheme === 'other' || parsed?.params.has('lr'))
    return { uri: dialog.remoteTarget, routes: dialog.routeSet }
  return { uri, routes: [...dialog.routeSet.slice(1), `<${dialog.remoteTarget}>`] }
}

/** The URI to resolve for the next request, or null to reuse the existing flow. */
export function nextHopUri(dialog: Dialog): string | null {
  const first = dialog.routeSet[0]
  if (first !== undefined) return parseNameAddr(first)?.uri ?? dialog.remoteTarget
  return dialog.flow.usable() ? null : dialog.remoteTarget
}

/** Seconds that a 2xx to SUBSCRIBE grants, plus 64 s for messages still in transit when it expires. */
export function subscriptionSeconds(request: SipRequest, response: SipResponse): number {
  const granted = headerOf(response, 'Expires') ?? headerOf(request, 'Expires') ?? '3600'
  return (/^\d{1,9}$/.test(granted) ? Number(granted) : 3600) + 64
}

export class DialogStore {
  readonly #byId = new Map<string, Dialog>()
  readonly #byTag = new Map<string, Dialog>()

  get size(): number {
    return this.#byId.size
  }

  add(dialog: Dialog): void {
    this.#byId.set(dialog.id, dialog)
    this.#byTag.set(`${dialog.localTag} ${dialog.callId}`, dialog)
  }

  get(id: string): Dialog | null {
    return this.#byId.get(id) ?? null
  }

  /** Finds the dialog that a request from the network belongs to (§12.2.2). */
  match(request: SipRequest): Dialog | null {
    const dialog = this.#byTag.get(`${tagIn(request, 'To') ?? ''} ${headerOf(request, 'Call-ID') ?? ''}`)
    if (dialog === undefined) return null
    const theirs = tagIn(request, 'From')
    return dialog.phase !== 'early' && dialog.remoteTag !== null && dialog.remoteTag !== theirs ? null : dialog
  }

  remove(dialog: Dialog): void {
    dialog.phase = 'ended'
    if (dialog.session !== null) clearTimeout(dialog.session.timer)
    dialog.session = null
    if (dialog.expiry !== null) clearTimeout(dialog.expiry)
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id)
    const key = `${dialog.localTag} ${dialog.callId}`
    if (this.#byTag.get(key) === dialog) this.#byTag.delete(key)
  }

  /** Removes a subscription that is neither renewed nor ended, after a grace period (RFC 6665 §4.1.2.2). */
  keepFor(dialog: Dialog, ms: number): void {
    if (dialog.phase === 'ended') return
    if (dialog.expiry !== null) clearTimeout(dialog.expiry)
    dialog.expiry = setTimeout(() => this.remove(dialog), Math.min(ms, LONGEST_TIMER_MS))
    dialog.expiry.unref()
  }

  clear(): void {
    for (const dialog of [...this.#byId.values()]) this.remove(dialog)
  }

  of(owner: App): Dialog[] {
    return [...this.#byId.values()].filter(dialog => dialog.owner === owner)
  }
}
