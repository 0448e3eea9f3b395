/** Reports to an application about the requests it sent. */
import { randomUUID } from 'node:crypto'
import { type Header, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import type { App } from './apps.ts'
import { forward, stamp } from './core.ts'
import { plainResponse } from './headers.ts'
import type { FailedWhy } from './transactions.ts'
import type { Flow } from './transport.ts'
import { transportWords } from './transport-tls.ts'
import { leader, timeOfDay } from './wire.ts'

/** A request of an application and the ids used in reports about it. `dialogId` is empty outside dialogs. */
export interface Sent {
  app: App
  txnId: string
  dialogId: string
  request: SipRequest
}

/** Reports that the request went out as given here; returns its transaction id. */
export function confirmSent(app: App, msgId: string, request: SipRequest, flow: Flow): string {
  const txnId = randomUUID()
  const bytes = serialise(request)
  app.send(leader.requestSent(msgId, stamp(flow, bytes.length, 'local'), txnId), bytes)
  return txnId
}

export function deliver(sent: Sent, response: SipResponse, flow: Flow): void {
  const bytes = serialise(response)
  sent.app.send(leader.network(stamp(flow, bytes.length, 'remote'), sent.txnId, sent.dialogId), bytes)
}

/**
 * Reports a response that the server generates because the network sent none. `words` explain why, for people (RFC 3261
 * §20.43).
 */
export function synthesise(sent: Sent, status: number, reason: string, words: string | null = null): void {
  const head = leader.synthetic(timeOfDay(new Date()), sent.txnId, sent.dialogId)
  const why: Header[] = words === null ? [] : [['Warning', `399 sip-server "${words.replace(/["\\\r\n]/g, ' ')}"`]]
  forward(sent.app, head, plainResponse(sent.request, status, reason, null, why))
}

export function reportFailure(sent: Sent, why: FailedWhy, error: Error | null): void {
  if (why === 'timeout') synthesise(sent, 408, 'Request Timeout')
  else synthesise(sent, 503, 'Service Unavailable', error === null ? null : transportWords(error))
}
