/** Checks that a request from the network is acceptable (RFC 3261 §8.2) before an application sees it. Pure. */
import { type Header, headerOf, listOf, type SipRequest } from '../text/message.ts'
import { parseUri } from '../text/uri.ts'
import { parseVia } from '../text/validate.ts'
import { tagIn } from './headers.ts'
import { MIN_SESSION_SECONDS, tooShort } from './session-plan.ts'
import { COOKIE } from './transactions.ts'

export interface Refusal {
  status: number
  reason: string
  headers: readonly Header[]
}

export const ALLOW =
  'INVITE, ACK, CANCEL, BYE, OPTIONS, REGISTER, SUBSCRIBE, NOTIFY, PUBLISH, INFO, REFER, MESSAGE, PRACK, UPDATE'
const KNOWN = new Set(ALLOW.split(', '))

/** Methods that are meaningless outside a dialog (RFC 3261 §15.1.2, RFC 3262 §3, RFC 3311 §5.2). */
const ONLY_IN_DIALOG = new Set(['BYE', 'PRACK', 'UPDATE'])

/**
 * Option tags that a peer may list in Require: those that the server implements, and those that only concern headers
 * which the application reads.
 */
const UNDERSTOOD = new Set([
  ...['100rel', 'timer', 'replaces', 'path', 'norefersub', 'histinfo', 'privacy', 'from-change', 'tdialog', '199'],
])

const refusal = (status: number, reason: string, ...headers: Header[]): Refusal => ({ status, reason, headers })

export const NO_DIALOG = refusal(481, 'Call/Transaction Does Not Exist')
export const NOT_ALLOWED = refusal(405, 'Method Not Allowed', ['Allow', ALLOW])

/** True for an RFC 2543 request, which may omit Contact. */
const isOld = (request: SipRequest): boolean =>
  !parseVia(listOf(request, 'Via')[0] ?? '')
    ?.params.get('branch')
    ?.startsWith(COOKIE)

/** Returns the refusal, or null when the request is acceptable. Not called for CANCEL and ACK. */
export function refuseRequest(request: SipRequest): Refusal | null {
  if (!KNOWN.has(request.method)) return refusal(501, 'Not Implemented', ['Allow', ALLOW])
  const scheme = parseUri(request.uri)?.scheme
  if (scheme === 'other') return refusal(416, 'Unsupported URI Scheme')
  const unknown = listOf(request, 'Require').filter(option => !UNDERSTOOD.has(option.toLowerCase()))
  if (unknown.length > 0) return refusal(420, 'Bad Extension', ['Unsupported', unknown.join(', ')])
  const outside = tagIn(request, 'To') === null
  if (outside && ONLY_IN_DIALOG.has(request.method)) return NO_DIALOG
  if (outside && request.method === 'INVITE' && headerOf(request, 'Contact') === null && !isOld(request))
    return refusal(400, 'Missing Contact')
  if (tooShort(request)) return refusal(422, 'Session Interval Too Small', ['Min-SE', String(MIN_SESSION_SECONDS)])
  return null
}
