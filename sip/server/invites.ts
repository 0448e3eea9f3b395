import { randomUUID } from 'node:crypto'
import { headerOf, type SipRequest, type SipResponse } from '../text/message.ts'
import type { App } from './apps.ts'
import type { Core } from './core.ts'
import { type Dialog, learnFromResponse, refreshTarget, type SentInvite } from './dialogs.ts'
import { type Build, type FailoverListener, FailoverRequest } from './failover-request.ts'
import { declineAnswer } from './hangup.ts'
import { appHeaders, cancelOf, PolicyError, selfOf, tagIn } from './headers.ts'
import { confirmSent, deliver, reportFailure, type Sent } from './report.ts'
import { recordSession, type SessionTimers } from './session-timers.ts'
import type { ClientTxn } from './transactions.ts'
import type { Flow } from './transport.ts'

/** An INVITE of ours, initial or re-INVITE. */
export type Call = Sent & {
  readonly dialog: Dialog
  readonly invite: SentInvite
  /** True for the INVITE that creates the dialog; false for a re-INVITE. */
  readonly initial: boolean
}
type Pending = { readonly attempt: FailoverRequest; readonly call: Call; waitingCancel: WaitingCancel | null }
type WaitingCancel = { readonly request: SipRequest; readonly txnId: string }

const ignore = { response: (): void => {}, failed: (): void => {} }

/** INVITEs that applications send: their responses, their CANCELs, and the state of their dialogs. */
export class Invites {
  private readonly core: Core
  /** INVITEs without a final response, by transaction id. */
  private readonly pending = new Map<string, Pending>()

  private readonly sessions: SessionTimers

  constructor(core: Core, sessions: SessionTimers) {
    this.core = core
    this.sessions = sessions
  }

  get size(): number {
    return this.pending.size
  }

  /** Sends an INVITE. `open` receives the first request as it leaves and creates the call. */
  start(flows: readonly Flow[], build: Build, open: (first: { request: SipRequest; flow: Flow }) => Call): void {
    let opened: Call | null = null
    const call = (): Call => opened!
    const user: FailoverListener = {
      response: (response, from) => this.response(call(), response, from),
      failed: (why, error) => {
        this.failed(call())
        reportFailure(call(), why, error)
      },
      moved: (_request, flow) => {
        call().dialog.flow = flow
      },
      wanted: () => !this.pending.get(call().txnId)?.waitingCancel,
      late: (response, txn, flow) => this.late(call(), response, txn, flow),
    }
    const attempt = new FailoverRequest(this.core, flows, build, user, first => {
      opened = open(first)
    })
    call().dialog.inviting = true
    if (call().initial) this.core.cdr.attempt('application', call().request)
    this.pending.set(call().txnId, { attempt, call: call(), waitingCancel: null })
  }

  /** A hop that was given up rings or answers after all: its call is cancelled, or acknowledged and ended. */
  private late(call: Call, response: SipResponse, txn: ClientTxn, flow: Flow): void {
    const { dialog, invite } = call
    if (response.status < 200) {
      this.core.txns.startClient(cancelOf(txn.request, []), txn.flow, ignore)
      this.core.txns.canceled(txn)
    } else if (response.status < 300) void declineAnswer(this.core, { ...dialog, flow }, response, invite.seq)
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
    if (call.initial) this.core.cdr.settled('network', 'uac', response)
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
    recordSession(call.dialog, response, false)
    deliver(call, response, flow)
  }

  private answered(call: Call, response: SipResponse, flow: Flow): void {
    const { app, dialog, invite, initial } = call
    if (invite.answered) {
      // A repeated 2xx means that its ACK was lost (§13.2.2.4). A different tag means a second fork.
      const forked = tagIn(response, 'To') !== dialog.remoteTag
      if (forked) void declineAnswer(this.core, { ...dialog, flow }, response, invite.seq)
      else invite.ack?.flow.send(invite.ack.bytes, () => {})
      return
    }
    invite.answered = true
    if (initial) learnFromResponse(dialog, response, flow)
    else refreshTarget(dialog, response, flow)
    recordSession(dialog, response, false)
    this.sessions.answered(dialog, 'INVITE', response)
    if (initial) this.core.cdr.settled('network', 'uac', response)
    if (app.alive()) deliver(call, response, flow)
    // End the call when its application is gone, or when the 2xx has no Contact: drachtio-srf creates no dialog from it
    // and would leave it open.
    const usable = app.alive() && (!initial || headerOf(response, 'Contact') !== null)
    if (usable) return
    this.core.dialogs.remove(dialog)
    void declineAnswer(this.core, dialog, response, invite.seq)
  }

  cancel(app: App, msgId: string, txnId: string, message: SipRequest): void {
    const pending = this.pending.get(txnId)
    if (pending === undefined) throw new PolicyError('unable to find transaction to cancel')
    const { flow, request } = pending.attempt.txn
    const cancel = cancelOf(request, appHeaders({ ...message, body: Buffer.alloc(0) }, selfOf(flow)))
    this.cancelSoon(pending, { request: cancel, txnId: confirmSent(app, msgId, cancel, flow) })
  }

  /** §9.1: a CANCEL waits for the first provisional response. */
  private cancelSoon(pending: Pending, cancel: WaitingCancel): void {
    if (pending.attempt.txn.status === 0) pending.waitingCancel = cancel
    else this.sendCancel(pending, cancel)
  }

  private sendCancel(pending: Pending, cancel: WaitingCancel): void {
    const { txn } = pending.attempt
    this.core.txns.startClient(cancel.request, txn.flow, ignore, cancel.txnId)
    this.core.txns.canceled(txn)
  }

  /** Cancels the pending INVITEs of an application that is gone. */
  abandon(app: App): void {
    for (const pending of this.pending.values()) {
      if (pending.call.app !== app || pending.waitingCancel !== null) continue
      this.cancelSoon(pending, { request: cancelOf(pending.attempt.txn.request, []), txnId: randomUUID() })
    }
  }
}
