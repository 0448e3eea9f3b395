/**
 * Decides whether a stranger's request can come from one of our softphones; any other gets no answer (RFC 3261
 * §26.3.2.4). Pure.
 */
import { SOFTPHONE_USERNAME } from '../../media/contract/softphones.ts'
import { headerOf, type SipRequest } from '../text/message.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'
import { tagIn } from './headers.ts'

/** Methods that a softphone may start with before it is authenticated. */
const FIRST = new Set(['REGISTER', 'INVITE'])

export interface Known {
  /** True when the request belongs to an existing dialog; `hasTransaction`: to an existing transaction. */
  hasDialog: (request: SipRequest) => boolean
  hasTransaction: (request: SipRequest) => boolean
}

export function mayBeSoftphone(request: SipRequest, { hasDialog, hasTransaction }: Known): boolean {
  if (hasTransaction(request) || hasDialog(request)) return true
  if (tagIn(request, 'To') !== null || !FIRST.has(request.method)) return false
  return namesSoftphone(headerOf(request, 'From'))
}

/** True when a From header has the form of a softphone's user name. */
export const namesSoftphone = (from: string | null): boolean => SOFTPHONE_USERNAME.test(userIn(from) ?? '')

function userIn(header: string | null): string | null {
  const uri = parseUri(parseNameAddr(header ?? '')?.uri ?? '')
  return uri?.scheme === 'sip' || uri?.scheme === 'sips' ? uri.user : null
}
