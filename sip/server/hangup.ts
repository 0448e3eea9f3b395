import type { Header, SipResponse } from '../text/message.ts'
import type { CdrReason } from './cdr.ts'
import { type Core, forward, routeTo, stamp } from './core.ts'
import { type Dialog, dialogRequest, nextHopUri } from './dialogs.ts'
import { selfOf, tagIn, withVia } from './headers.ts'
import type { Flow } from './transport.ts'
import { leader } from './wire.ts'

/**
 * The flows to try for the dialog's next request; empty when its route cannot be resolved. A peer behind a NAT often
 * names a private address: where nothing may be sent to it, the request goes to where the peer's messages come from.
 */
export async function dialogFlows(core: Core, dialog: Dialog): Promise<readonly Flow[]> {
  const uri = nextHopUri(dialog)
  if (uri === null) return [dialog.flow]
  try {
    const route = await routeTo(core, uri)
    if (route.ok) return route.flows
    const { flow } = dialog
    return route.reason === 'Address Not Allowed' && core.mayReach(flow.remote.host) && flow.usable() ? [flow] : []
  } catch {
    return []
  }
}

export async function dialogFlow(core: Core, dialog: Dialog): Promise<Flow | null> {
  return (await dialogFlows(core, dialog))[0] ?? null
}

const ignore = { response: (): void => {}, failed: (): void => {} }

/**
 * Sends the server's own BYE and reports it to the application as `unsolicited` (drachtio's "ACK timeout" and the
 * like).
 */
export async function hangUp(
  core: Core,
  dialog: Dialog,
  reason: string,
  record: CdrReason = 'system-initiated-termination',
): Promise<void> {
  if (dialog.phase === 'ended') return
  core.dialogs.remove(dialog)
  const why: Header = ['Reason', `SIP ;cause=200 ;text="${reason}"`]
  dialog.localSeq += 1
  const bye = dialogRequest(dialog, 'BYE', dialog.localSeq, [why], Buffer.alloc(0))
  // The owner must be informed. When the owner is gone, any other application may be its successor.
  const audience = dialog.owner.alive() ? [dialog.owner] : core.apps.all()
  for (const app of audience) forward(app, leader.unsolicited(stamp(dialog.flow, 0, 'remote'), dialog.id), bye)
  core.cdr.stop('application', record, bye)
  const flow = await dialogFlow(core, dialog)
  if (flow !== null) core.txns.startClient(withVia(bye, selfOf(flow)), flow, ignore)
}

/**
 * Acknowledges and then ends an unwanted 2xx: from a second fork (RFC 3261 §13.2.2.4), or for an application that is
 * gone.
 */
export async function declineAnswer(core: Core, dialog: Dialog, response: SipResponse, seq: number): Promise<void> {
  const stray: Dialog = { ...dialog, remoteTag: tagIn(response, 'To'), phase: 'confirmed', localSeq: seq + 1 }
  const flow = await dialogFlow(core, stray)
  if (flow === null) return
  const self = selfOf(flow)
  const credentials = dialog.invite?.credentials ?? []
  const none = Buffer.alloc(0)
  core.txns.sendOnce(withVia(dialogRequest(stray, 'ACK', seq, credentials, none), self), flow)
  core.txns.startClient(withVia(dialogRequest(stray, 'BYE', seq + 1, [], none), self), flow, ignore)
}
