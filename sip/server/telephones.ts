/** Whether what a stranger sends can be of a telephone of ours; all else is not worth a word (RFC 3261 §26.3.2.4). Pure. */
import { SOFTPHONE_USERNAME } from '../../media/contract/softphones.ts'
import { headerOf, type SipRequest } from '../text/message.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'
import { tagIn } from './headers.ts'

/** What a telephone may begin with before it has proved who it is. */
const FIRST = new Set(['REGISTER', 'INVITE'])

type Known = {
  /** Whether it belongs to a call, or to a request, that there is. */
  readonly hasDialog: (request: SipRequest) => boolean
  readonly hasTransaction: (request: SipRequest) => boolean
}

export function mayBeOfTelephone(request: SipRequest, { hasDialog, hasTransaction }: Known): boolean {
  if (hasTransaction(request) || hasDialog(request)) return true
  if (tagIn(request, 'To') !== null || !FIRST.has(request.method)) return false
  return SOFTPHONE_USERNAME.test(userIn(headerOf(request, 'From')) ?? '')
}

function userIn(header: string | null): string | null {
  const uri = parseUri(parseNameAddr(header ?? '')?.uri ?? '')
  return uri?.scheme === 'sip' || uri?.scheme === 'sips' ? uri.user : null
}
