import { type Header, headerOf, listOf, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import { parseUri } from '../text/uri.ts'
import { parseCSeq } from '../text/validate.ts'
import { Answers } from './answers.ts'
import type { App } from './apps.ts'
import { type Core, forward, stamp } from './core.ts'
import { type Dialog, dialogId, refreshTarget, uasDialog } from './dialogs.ts'
import { fullResponse, newTag, PolicyError, plainResponse, selfOf, tagIn } from './headers.ts'
import { Reliable } from './reliable.ts'
import type { ServerTxn } from './transactions.ts'
import type { Flow } from './transport.ts'
import { type AppFrame, leader } from './wire.ts'

/** A request of the network that an application has to answer. */
type Asked = {
  readonly txn: ServerTxn
  readonly app: App
  /** drachtio's dialog id; empty for what is in no dialog and makes none. */
  readonly dialogId: string
  toTag: string
  dialog: Dialog | null
  readonly initial: boolean
}

const ALLOW =
  'INVITE, ACK, CANCEL, BYE, OPTIONS, REGISTER, SUBSCRIBE, NOTIFY, PUBLISH, INFO, REFER, MESSAGE, PRACK, UPDATE'
const KNOWN = new Set(ALLOW.split(', '))
/** Of no use outside a dialog (RFC 3261 §15.1.2, RFC 3262 §3, RFC 3311 §5.2). */
const ONLY_IN_DIALOG = new Set(['BYE', 'PRACK', 'UPDATE'])
const DIALOG_MAKERS = new Set(['INVITE', 'SUBSCRIBE'])
const REFRESHERS = new Set(['INVITE', 'UPDATE', 'SUBSCRIBE', 'NOTIFY', 'REFER'])

/** Requests that come from the network, and what applications answer to them. */
export class Incoming {
  private readonly core: Core
  private readonly asked = new Map<string, Asked>()
  private readonly answers: Answers
  private readonly reliable: Reliable

  constructor(core: Core) {
    this.core = core
    this.answers = new Answers(core)
    this.reliable = new Reliable(core.timers)
  }

  /** Requests kept, for whatever reason. */
  get size(): number {
    return this.asked.size + this.answers.size + this.reliable.size
  }

  request(request: SipRequest, flow: Flow): void {
    if (request.method === 'ACK') {
      this.acknowledged(request, flow)
      return
    }
    if (this.core.txns.repeated(request)) return
    const txn = this.core.txns.startServer(request, flow, {
      ended: () => this.forget(txn.id),
      neglected: () => this.refuse(txn, 480, 'Temporarily Unavailable'),
    })
    if (request.method === 'CANCEL') this.cancel(txn)
    else if (!KNOWN.has(request.method)) this.refuse(txn, 501, 'Not Implemented', [['Allow', ALLOW]])
    else if (parseUri(request.uri)?.scheme === 'other') this.refuse(txn, 416, 'Unsupported URI Scheme')
    else if (tagIn(request, 'To') === null) this.outside(txn)
    else this.inside(txn)
  }

  private refuse(txn: ServerTxn, status: number, reason: string, extra: Header[] = []): void {
    const asked = this.asked.get(txn.id)
    this.core.txns.respond(txn, plainResponse(txn.request, status, reason, asked?.toTag ?? newTag(), extra))
    if (asked !== undefined) this.concluded(asked, status)
  }

  private outside(txn: ServerTxn): void {
    const { request } = txn
    const { method } = request
    if (ONLY_IN_DIALOG.has(method)) {
      this.refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    if (method === 'REFER') {
      this.refuse(txn, 405, 'Method Not Allowed', [['Allow', ALLOW]])
      return
    }
    const id = DIALOG_MAKERS.has(method)
      ? dialogId(headerOf(request, 'Call-ID') ?? '', tagIn(request, 'From') ?? '')
      : ''
    if (id !== '' && this.known(id)) {
      this.refuse(txn, 482, 'Loop Detected')
      return
    }
    const app = this.core.apps.pick(method)
    if (app === null) {
      this.refuse(txn, 503, 'Service Unavailable')
      return
    }
    this.asked.set(txn.id, { txn, app, dialogId: id, toTag: newTag(), dialog: null, initial: true })
    this.trying(txn)
    const { flow } = txn
    const bytes = serialise(request)
    app.send(leader.newRequest(stamp(flow, bytes.length, 'remote'), txn.id, flow.local), bytes)
  }

  /** §8.2.2.2: the same call over another path, or our own coming back. */
  private known(id: string): boolean {
    if (this.core.dialogs.get(id) !== null) return true
    for (const asked of this.asked.values()) if (asked.dialogId === id && asked.txn.status < 200) return true
    return false
  }

  private trying(txn: ServerTxn): void {
    if (txn.request.method !== 'INVITE') return
    this.core.txns.respond(txn, plainResponse(txn.request, 100, 'Trying', null))
  }

  private inside(txn: ServerTxn): void {
    const { request, flow } = txn
    const dialog = this.core.dialogs.match(request)
    if (dialog === null) {
      this.refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    const seq = parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq ?? 0
    // §12.2.2 and §14.2.
    if (dialog.remoteSeq !== null && seq < dialog.remoteSeq) {
      this.refuse(txn, 500, 'CSeq Out of Order')
      return
    }
    dialog.remoteSeq = seq
    if (request.method === 'PRACK' && !this.reliable.acknowledged(this.openInvite(dialog), request)) {
      // RFC 3262 §3: for no response that awaits it.
      this.refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    if (request.method === 'INVITE') {
      if (dialog.inviting) {
        this.refuse(txn, 491, 'Request Pending')
        return
      }
      const retry: Header = ['Retry-After', String(Math.floor(Math.random() * 11))]
      if (dialog.answering) {
        this.refuse(txn, 500, 'Server Internal Error', [retry])
        return
      }
      dialog.answering = true
    }
    if (REFRESHERS.has(request.method)) refreshTarget(dialog, request, flow)
    dialog.remoteTag ??= tagIn(request, 'From')
    this.hand(txn, dialog)
  }

  private hand(txn: ServerTxn, dialog: Dialog): void {
    const { request, flow } = txn
    const app = dialog.owner.alive() ? dialog.owner : this.core.apps.pick(request.method)
    if (request.method === 'BYE') this.ended(dialog)
    if (app === null) {
      if (request.method === 'BYE') {
        this.refuse(txn, 200, 'OK')
        return
      }
      dialog.answering = false
      this.refuse(txn, 503, 'Service Unavailable')
      return
    }
    dialog.owner = app
    this.asked.set(txn.id, { txn, app, dialogId: dialog.id, toTag: dialog.localTag, dialog, initial: false })
    this.trying(txn)
    const bytes = serialise(request)
    app.send(leader.network(stamp(flow, bytes.length, 'remote'), txn.id, dialog.id), bytes)
  }

  /** Their INVITE that we have given no final answer. */
  private openInvite(dialog: Dialog): ServerTxn | null {
    for (const { dialog: known, txn } of this.asked.values()) {
      if (known === dialog && txn.request.method === 'INVITE' && txn.status < 200) return txn
    }
    return null
  }

  /** §15.1.2: a BYE ends the dialog and whatever INVITE is open in it. */
  private ended(dialog: Dialog): void {
    this.core.dialogs.remove(dialog)
    const open = this.openInvite(dialog)
    if (open !== null) this.refuse(open, 487, 'Request Terminated')
  }

  private cancel(txn: ServerTxn): void {
    const invite = this.core.txns.find(txn.request)
    const asked = invite === null ? undefined : this.asked.get(invite.id)
    if (invite === null) {
      this.refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    this.core.txns.respond(txn, plainResponse(txn.request, 200, 'OK', asked?.toTag ?? newTag()))
    if (asked === undefined || invite.status >= 200) return
    this.refuse(invite, 487, 'Request Terminated')
    const bytes = serialise(txn.request)
    asked.app.send(leader.network(stamp(txn.flow, bytes.length, 'remote'), invite.id, asked.dialogId), bytes)
  }

  private acknowledged(ack: SipRequest, flow: Flow): void {
    const invite = this.core.txns.find(ack)
    if (invite !== null && this.core.txns.acknowledged(invite)) return
    const dialog = this.core.dialogs.match(ack)
    if (dialog === null) return
    const txnId = this.answers.acknowledged(dialog, parseCSeq(headerOf(ack, 'CSeq') ?? '')?.seq ?? null)
    if (txnId === null) return
    forward(dialog.owner, leader.network(stamp(flow, serialise(ack).length, 'remote'), txnId, dialog.id), ack)
  }

  /** An application's response. Throws PolicyError when there is nothing (more) to answer. */
  respond(app: App, frame: AppFrame & { type: 'sip' }, message: SipResponse): void {
    const asked = this.asked.get(frame.txnId)
    if (asked === undefined || asked.txn.status >= 200)
      throw new PolicyError('Response not sent due to unknown transaction')
    const { txn } = asked
    this.settleTag(asked, message)
    const rseq = this.reliable.number(txn, message)
    const plain = fullResponse(message, txn.request, asked.toTag, selfOf(txn.flow))
    const response = { ...plain, headers: [...plain.headers, ...rseq] }
    if (asked.initial && asked.dialogId !== '' && message.status > 100) this.openDialog(asked, app)
    this.core.txns.respond(txn, response)
    const bytes = serialise(response)
    const id = txn.request.method === 'BYE' ? '' : asked.dialogId
    app.send(leader.responseSent(frame.msgId, stamp(txn.flow, bytes.length, 'remote'), txn.id, id), bytes)
    const giveUp = (): void => this.refuse(txn, 504, 'Server Time-out')
    if (rseq.length > 0) this.reliable.sent(txn, bytes, giveUp)
    if (message.status >= 200) this.concluded(asked, message.status)
    const answered = message.status >= 200 && message.status < 300 && txn.request.method === 'INVITE'
    if (answered && asked.dialog !== null) this.answers.sent(txn, asked.dialog, bytes)
  }

  /** The application may choose the To tag with its first response. */
  private settleTag(asked: Asked, message: SipResponse): void {
    const chosen = asked.initial && asked.dialog === null ? tagIn(message, 'To') : null
    if (chosen !== null) asked.toTag = chosen
  }

  private openDialog(asked: Asked, app: App): void {
    if (asked.dialog !== null) return
    asked.dialog = uasDialog(asked.txn.request, asked.toTag, asked.txn.flow, app)
    this.core.dialogs.add(asked.dialog)
  }

  /** What a final response does to the dialog. */
  private concluded(asked: Asked, status: number): void {
    const { dialog, txn } = asked
    if (dialog === null) return
    if (txn.request.method === 'INVITE') dialog.answering = false
    if (asked.initial && status >= 300) this.core.dialogs.remove(dialog)
    if (asked.initial && status < 300 && dialog.phase === 'early') dialog.phase = 'confirmed'
    const state = listOf(txn.request, 'Subscription-State')[0] ?? ''
    if (txn.request.method === 'NOTIFY' && dialog.usage === 'SUBSCRIBE' && /^\s*terminated/i.test(state)) {
      this.core.dialogs.remove(dialog)
    }
  }

  private forget(txnId: string): void {
    const asked = this.asked.get(txnId)
    this.asked.delete(txnId)
    this.reliable.forget(txnId)
    if (asked?.dialog?.phase === 'early' && asked.initial) this.core.dialogs.remove(asked.dialog)
  }

  /** Answers for an application that is gone. */
  abandon(app: App): void {
    for (const asked of [...this.asked.values()]) {
      if (asked.app !== app || asked.txn.status >= 200) continue
      if (asked.txn.request.method === 'BYE') this.refuse(asked.txn, 200, 'OK')
      else this.refuse(asked.txn, 503, 'Service Unavailable')
    }
  }

  close(): void {
    this.answers.close()
  }
}
