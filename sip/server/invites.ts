import { randomUUID } from 'node:crypto'
import { headerOf, type SipRequest, type SipResponse } from '../text/message.ts'
import type { App } from './apps.ts'
import type { Core } from './core.ts'
import { type Dialog, learnFromResponse, refreshTarget, type SentInvite } from './dialogs.ts'
import { declineAnswer } from './hangup.ts'
import { appHeaders, cancelOf, PolicyError, selfOf, tagIn } from './headers.ts'
import { confirmSent, deliver, reportFailure, type Sent } from './report.ts'
import type { ClientTxn } from './transactions.ts'
import type { Flow } from './transport.ts'

/** An INVITE of ours, first or repeated inside its dialog. */
type Call = Sent & {
  readonly dialog: Dialog
  readonly invite: SentInvite
  /** It makes the dialog; a re-INVITE does not. */
  readonly initial: boolean
}
type Pending = { readonly txn: ClientTxn; readonly call: Call; waitingCancel: WaitingCancel | null }
type WaitingCancel = { readonly request: SipRequest; readonly txnId: string }

const ignore = { response: (): void => {}, failed: (): void => {} }

/** INVITEs that applications send: their responses, their CANCELs, and what becomes of the dialog. */
export class Invites {
  private readonly core: Core
  /** Those without a final response, by transaction id. */
  private readonly pending = new Map<string, Pending>()

  constructor(core: Core) {
    this.core = core
  }

  get size(): number {
    return this.pending.size
  }

  start(sent: Sent, dialog: Dialog, invite: SentInvite, flow: Flow, initial: boolean): void {
    const call: Call = { ...sent, dialog, invite, initial }
    dialog.inviting = true
    const user = {
      response: (response: SipResponse, from: Flow) => this.response(call, response, from),
      failed: (why: 'timeout' | 'transport') => {
        this.failed(call)
        reportFailure(call, why)
      },
    }
    const txn = this.core.txns.startClient(sent.request, flow, user, sent.txnId)
    this.pending.set(sent.txnId, { txn, call, waitingCancel: null })
  }

  private response(call: Call, response: SipResponse, flow: Flow): void {
    if (response.status < 200) {
      this.provisional(call, response, flow)
      return
    }
    if (response.status < 300) {
      this.over(call)
      this.answered(call, response, flow)
      return
    }
    this.failed(call)
    deliver(call, response, flow)
  }

  private over(call: Call): void {
    this.pending.delete(call.txnId)
    call.dialog.inviting = false
  }

  private failed(call: Call): void {
    this.over(call)
    if (call.initial) this.core.dialogs.remove(call.dialog)
  }

  private provisional(call: Call, response: SipResponse, flow: Flow): void {
    const pending = this.pending.get(call.txnId)
    if (pending?.waitingCancel) {
      this.sendCancel(pending, pending.waitingCancel)
      pending.waitingCancel = null
    }
    if (response.status === 100) return
    if (call.initial) learnFromResponse(call.dialog, response, flow)
    deliver(call, response, flow)
  }

  private answered(call: Call, response: SipResponse, flow: Flow): void {
    const { app, dialog, invite, initial } = call
    if (invite.answered) {
      // The 2xx again: its ACK was lost (§13.2.2.4). With another tag it is a second fork's.
      const forked = tagIn(response, 'To') !== dialog.remoteTag
      if (forked) void declineAnswer(this.core, { ...dialog, flow }, response, invite.seq)
      else invite.ack?.flow.send(invite.ack.bytes, () => {})
      return
    }
    invite.answered = true
    if (initial) learnFromResponse(dialog, response, flow)
    else refreshTarget(dialog, response, flow)
    if (app.alive()) deliver(call, response, flow)
    // Nobody is there to talk; or drachtio-srf makes no dialog of it, for want of a Contact, and would leave it open.
    const usable = app.alive() && (!initial || headerOf(response, 'Contact') !== null)
    if (usable) return
    this.core.dialogs.remove(dialog)
    void declineAnswer(this.core, dialog, response, invite.seq)
  }

  cancel(app: App, msgId: string, txnId: string, message: SipRequest): void {
    const pending = this.pending.get(txnId)
    if (pending === undefined) throw new PolicyError('unable to find transaction to cancel')
    const { flow, request } = pending.txn
    const cancel = cancelOf(request, appHeaders({ ...message, body: Buffer.alloc(0) }, selfOf(flow)))
    this.cancelSoon(pending, { request: cancel, txnId: confirmSent(app, msgId, cancel, flow) })
  }

  /** §9.1: not before a provisional response has come. */
  private cancelSoon(pending: Pending, cancel: WaitingCancel): void {
    if (pending.txn.status === 0) pending.waitingCancel = cancel
    else this.sendCancel(pending, cancel)
  }

  private sendCancel(pending: Pending, cancel: WaitingCancel): void {
    this.core.txns.startClient(cancel.request, pending.txn.flow, ignore, cancel.txnId)
    this.core.txns.canceled(pending.txn)
  }

  /** CANCELs what an application that is gone had under way. */
  abandon(app: App): void {
    for (const pending of this.pending.values()) {
      if (pending.call.app !== app || pending.waitingCancel !== null) continue
      this.cancelSoon(pending, { request: cancelOf(pending.txn.request, []), txnId: randomUUID() })
    }
  }
}
