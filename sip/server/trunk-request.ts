/** Decides whether a request from a trunk's source belongs to a call; anything else is treated as a stranger's. Pure. */
import { headerOf, type SipRequest } from '../text/message.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'
import { type Known, namesSoftphone } from './softphone-guess.ts'

/** Methods that only calls use. In a dialog that has ended they get 481, so that the trunk's host ends its call, too. */
const OF_CALLS = new Set(['INVITE', 'ACK', 'CANCEL', 'BYE', 'PRACK', 'UPDATE'])
/** Bytes of the head that are searched for To: more than any real request needs before it. */
const LOOKED_AT = 4096
const LIKE_A_CALL = /^(?:INVITE|ACK|CANCEL|BYE|PRACK|UPDATE) |^(?:to|t)[ \t]*:[^\r\n]*;[ \t]*tag[ \t]*=/im
const PING = /^OPTIONS sips?:([^@\s;>]+)@/

export const isOfCalls = (method: string): boolean => OF_CALLS.has(method)

/** A guess before parsing, which `belongsToCall` corrects. `contacts`: users of our registrations. */
export function looksLikeCall(bytes: Buffer, contacts: ReadonlySet<string>): boolean {
  const head = bytes.toString('latin1', 0, LOOKED_AT)
  return LIKE_A_CALL.test(head) || contacts.has(PING.exec(head)?.[1] ?? '')
}

export function belongsToCall(request: SipRequest, contacts: ReadonlySet<string>, known: Known): boolean {
  if (known.hasTransaction(request) || known.hasDialog(request)) return true
  // Only the registrar that has our registration knows its contact: such hosts mark endpoints that are silent as down.
  if (request.method === 'OPTIONS') return contacts.has(userIn(request.uri))
  if (!OF_CALLS.has(request.method)) return false
  // A softphone proves itself with its password, wherever it calls from.
  return request.method !== 'INVITE' || !namesSoftphone(headerOf(request, 'From'))
}

function userIn(text: string): string {
  const uri = parseUri(parseNameAddr(text)?.uri ?? text)
  return uri?.scheme === 'sip' || uri?.scheme === 'sips' ? (uri.user ?? '') : ''
}
