import {
  type Header,
  headerOf,
  listOf,
  type SipMessage,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../text/message.ts'
import { parseCSeq } from '../text/validate.ts'
import { NOT_ALLOWED, refuseRequest } from './admission.ts'
import type { App } from './apps.ts'
import { type Core, stamp } from './core.ts'
import { type Dialog, dialogId, refreshTarget, subscriptionSeconds, uasDialog } from './dialogs.ts'
import { fullResponse, newTag, PolicyError, plainResponse, selfOf, tagIn } from './headers.ts'
import { PendingAcks } from './pending-acks.ts'
import { Proxies } from './proxies.ts'
import { Reliable } from './reliable.ts'
import { recordSession, type SessionTimers } from './session-timers.ts'
import { namesSoftphone } from './softphone-guess.ts'
import type { ServerTxn } from './transactions.ts'
import type { Flow } from './transport.ts'
import { type AppFrame, leader, type ProxyFrame } from './wire.ts'

/** A request from the network that an application has to answer. */
interface Asked {
  txn: ServerTxn
  app: App
  /** drachtio's dialog id; empty for a request that is in no dialog and creates none. */
  dialogId: string
  toTag: string
  dialog: Dialog | null
  /** Keys of this request in `open`; empty inside a dialog. */
  names: readonly string[]
  initial: boolean
}

const DIALOG_MAKERS = new Set(['INVITE', 'SUBSCRIBE'])
const REFRESHERS = new Set(['INVITE', 'UPDATE', 'SUBSCRIBE', 'NOTIFY', 'REFER'])

/** Handles requests from the network and the applications' responses to them. */
export class Incoming {
  readonly #core: Core
  readonly #asked = new Map<string, Asked>()
  /** Initial requests without a final response, by the key that is the same on every path (§8.2.2.2). */
  readonly #open = new Set<string>()
  readonly #answers: PendingAcks
  readonly #reliable: Reliable
  readonly #sessions: SessionTimers
  readonly #proxies: Proxies

  constructor(core: Core, sessions: SessionTimers, secret: string) {
    this.#core = core
    this.#sessions = sessions
    this.#answers = new PendingAcks(core)
    this.#reliable = new Reliable(core.timers)
    this.#proxies = new Proxies(core, secret)
  }

  /** Number of requests held for any reason. */
  get size(): number {
    return this.#asked.size + this.#answers.size + this.#reliable.size + this.#proxies.size + this.#open.size
  }

  request(request: SipRequest, flow: Flow): void {
    if (request.method === 'ACK') {
      this.#acknowledged(request, flow)
      return
    }
    const txn = this.#core.txns.startServer(request, flow, {
      ended: ended => this.#forget(ended.id),
      neglected: neglected => this.#refuse(neglected, 480, 'Temporarily Unavailable'),
    })
    if (txn === null) return
    const inside = tagIn(request, 'To') !== null
    if (request.method === 'CANCEL') this.#cancel(txn)
    else if (inside && this.#proxies.passes(request)) this.#proxies.pass(txn)
    else {
      const refusal = refuseRequest(request)
      if (refusal !== null) this.#refuse(txn, refusal.status, refusal.reason, refusal.headers)
      else if (inside) this.#inside(txn)
      else this.#outside(txn)
    }
  }

  #refuse(txn: ServerTxn, status: number, reason: string, extra: readonly Header[] = []): void {
    const asked = this.#asked.get(txn.id)
    const response = plainResponse(txn.request, status, reason, asked?.toTag ?? newTag(), extra)
    this.#core.txns.respond(txn, response)
    if (asked !== undefined) this.#concluded(asked, response)
  }

  #outside(txn: ServerTxn): void {
    const { request, flow } = txn
    const { method } = request
    const id = DIALOG_MAKERS.has(method)
      ? dialogId(headerOf(request, 'Call-ID') ?? '', tagIn(request, 'From') ?? '')
      : ''
    const names = id === '' ? [mergeKey(request)] : [mergeKey(request), id]
    // A copy of the request by another path, the same call a second time, or our own request coming back.
    if (names.some(name => this.#open.has(name)) || this.#core.dialogs.get(id) !== null) {
      this.#refuse(txn, 482, 'Loop Detected')
      return
    }
    const app = this.#core.apps.pick(method)
    if (app?.behind()) {
      // Another request would be late, and in the end cost the application its connection and its live calls.
      this.#core.counters.shed += 1
      this.#refuse(txn, 503, 'Service Unavailable', [['Retry-After', RETRY_SECONDS]])
      return
    }
    if (method === 'INVITE') this.#core.cdr.attempt('network', request)
    if (app === null) {
      this.#unhandled(txn)
      return
    }
    for (const name of names) this.#open.add(name)
    this.#asked.set(txn.id, { txn, app, dialogId: id, names, toTag: newTag(), dialog: null, initial: true })
    this.#trying(txn)
    const bytes = serialise(request)
    app.send(leader.newRequest(stamp(flow, bytes.length, 'remote'), txn.id, flow.local), bytes)
  }

  #unhandled(txn: ServerTxn): void {
    this.#core.counters.unhandled += 1
    // A stranger has nobody to transfer, so REFER gets 405; any other request may succeed once an application is back.
    const { status, reason, headers } = txn.request.method === 'REFER' ? NOT_ALLOWED : NOBODY
    const response = plainResponse(txn.request, status, reason, newTag(), headers)
    this.#core.txns.respond(txn, response)
    if (txn.request.method === 'INVITE') this.#core.cdr.settled('application', 'uas', response)
  }

  #trying(txn: ServerTxn): void {
    if (txn.request.method !== 'INVITE') return
    this.#core.txns.respond(txn, plainResponse(txn.request, 100, 'Trying', null))
  }

  #inside(txn: ServerTxn): void {
    const { request, flow } = txn
    const dialog = this.#core.dialogs.match(request)
    if (dialog === null) {
      this.#refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    const seq = parseCSeq(headerOf(request, 'CSeq') ?? '')?.seq ?? 0
    // §12.2.2 and §14.2.
    if (dialog.remoteSeq !== null && seq < dialog.remoteSeq) {
      this.#refuse(txn, 500, 'CSeq Out of Order')
      return
    }
    dialog.remoteSeq = seq
    if (request.method === 'PRACK' && !this.#reliable.acknowledged(dialog.answering, request)) {
      // RFC 3262 §3: the PRACK matches no response that awaits one.
      this.#refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    if (request.method === 'INVITE') {
      if (dialog.inviting) {
        this.#refuse(txn, 491, 'Request Pending')
        return
      }
      const retry: Header = ['Retry-After', String(Math.floor(Math.random() * 11))]
      if (dialog.answering !== null) {
        this.#refuse(txn, 500, 'Server Internal Error', [retry])
        return
      }
      dialog.answering = txn
    }
    if (REFRESHERS.has(request.method)) refreshTarget(dialog, request, flow)
    recordSession(dialog, request, false)
    dialog.remoteTag ??= tagIn(request, 'From')
    this.#hand(txn, dialog)
  }

  #hand(txn: ServerTxn, dialog: Dialog): void {
    const { request, flow } = txn
    const app = dialog.owner.alive() ? dialog.owner : this.#core.apps.pick(request.method)
    if (request.method === 'BYE') this.#ended(dialog, request)
    if (app === null) {
      if (request.method === 'BYE') {
        this.#refuse(txn, 200, 'OK')
        return
      }
      dialog.answering = null
      this.#refuse(txn, 503, 'Service Unavailable')
      return
    }
    dialog.owner = app
    const toTag = dialog.localTag
    this.#asked.set(txn.id, { txn, app, dialogId: dialog.id, names: [], toTag, dialog, initial: false })
    this.#trying(txn)
    const bytes = serialise(request)
    app.send(leader.network(stamp(flow, bytes.length, 'remote'), txn.id, dialog.id), bytes)
  }

  /** §15.1.2: a BYE ends the dialog and any INVITE pending in it. */
  #ended(dialog: Dialog, bye: SipRequest): void {
    this.#core.dialogs.remove(dialog)
    if (dialog.usage === 'INVITE') this.#core.cdr.stop('network', 'normal-release', bye)
    if (dialog.answering !== null) this.#refuse(dialog.answering, 487, 'Request Terminated')
  }

  #cancel(txn: ServerTxn): void {
    const invite = this.#core.txns.find(txn.request)
    const asked = invite === null ? undefined : this.#asked.get(invite.id)
    if (invite === null) {
      this.#refuse(txn, 481, 'Call/Transaction Does Not Exist')
      return
    }
    this.#core.txns.respond(txn, plainResponse(txn.request, 200, 'OK', asked?.toTag ?? newTag()))
    if (invite.status >= 200 || this.#proxies.cancel(invite.id) || asked === undefined) return
    this.#refuse(invite, 487, 'Request Terminated')
    const bytes = serialise(txn.request)
    asked.app.send(leader.network(stamp(txn.flow, bytes.length, 'remote'), invite.id, asked.dialogId), bytes)
  }

  #acknowledged(ack: SipRequest, flow: Flow): void {
    const invite = this.#core.txns.find(ack)
    if (invite !== null && this.#core.txns.acknowledged(invite)) return
    if (this.#proxies.passes(ack)) {
      void this.#proxies.passAck(ack, flow)
      return
    }
    const dialog = this.#core.dialogs.match(ack)
    if (dialog === null) return
    const txnId = this.#answers.acknowledged(dialog, parseCSeq(headerOf(ack, 'CSeq') ?? '')?.seq ?? null)
    if (txnId === null) return
    const bytes = serialise(ack)
    dialog.owner.send(leader.network(stamp(flow, bytes.length, 'remote'), txnId, dialog.id), bytes)
  }

  /** Sends an application's response. Throws PolicyError when there is nothing (more) to answer. */
  respond(app: App, frame: AppFrame & { type: 'sip' }, message: SipResponse): void {
    const asked = this.#asked.get(frame.txnId)
    if (asked === undefined || asked.txn.status >= 200)
      throw new PolicyError('Response not sent due to unknown transaction')
    const { txn } = asked
    this.#settleTag(asked, message)
    const rseq = this.#reliable.number(txn, message)
    if (asked.initial && asked.dialogId !== '' && message.status > 100) this.#openDialog(asked, app)
    const timer = asked.dialog === null ? [] : this.#sessions.answering(asked.dialog, txn.request, message)
    const plain = fullResponse(message, txn.request, asked.toTag, selfOf(txn.flow))
    const response = { ...plain, headers: [...plain.headers, ...rseq, ...timer] }
    if (asked.dialog !== null) recordSession(asked.dialog, response, true)
    const bytes = this.#core.txns.respond(txn, response)
    const id = txn.request.method === 'BYE' ? '' : asked.dialogId
    app.send(leader.responseSent(frame.msgId, stamp(txn.flow, bytes.length, 'remote'), txn.id, id), bytes)
    const giveUp = (): void => this.#refuse(txn, 504, 'Server Time-out')
    if (rseq.length > 0) this.#reliable.sent(txn, bytes, giveUp)
    if (message.status >= 200) this.#concluded(asked, response)
    this.#noteProof(txn, message.status)
    const answered = message.status >= 200 && message.status < 300 && txn.request.method === 'INVITE'
    if (answered && asked.dialog !== null) this.#answers.sent(txn, asked.dialog, bytes)
  }

  /** Applications accept these only from authenticated softphones. A call of a trunk proves nothing about its source. */
  #noteProof({ request, flow }: ServerTxn, status: number): void {
    const isProof =
      request.method === 'REGISTER' || (request.method === 'INVITE' && namesSoftphone(headerOf(request, 'From')))
    if (status >= 200 && status < 300 && isProof) this.#core.proved(flow.remote.host)
  }

  /** Forwards a request for an application that proxies it. Throws PolicyError when it cannot be forwarded. */
  proxy(app: App, frame: ProxyFrame, message: SipMessage): void {
    const asked = this.#asked.get(frame.txnId)
    if (asked === undefined || asked.txn.status >= 200) throw new PolicyError('unknown transaction')
    if (asked.dialog !== null || message.kind !== 'request') throw new PolicyError('request was answered already')
    this.#proxies.begin(app, frame, asked.txn, message)
    this.#asked.delete(frame.txnId)
    this.#unname(asked)
  }

  /** The application may choose the To tag with its first response. */
  #settleTag(asked: Asked, message: SipResponse): void {
    const chosen = asked.initial && asked.dialog === null ? tagIn(message, 'To') : null
    if (chosen !== null) asked.toTag = chosen
  }

  #openDialog(asked: Asked, app: App): void {
    if (asked.dialog !== null) return
    asked.dialog = uasDialog(asked.txn, asked.toTag, app)
    this.#core.dialogs.add(asked.dialog)
  }

  /** Updates the dialog after a final response. */
  #concluded(asked: Asked, response: SipResponse): void {
    const { dialog, txn } = asked
    const { status } = response
    this.#unname(asked)
    if (asked.initial && txn.request.method === 'INVITE')
      this.#core.cdr.settled(status === 487 ? 'network' : 'application', 'uas', response)
    if (dialog === null) return
    if (txn.request.method === 'SUBSCRIBE' && status < 300) this.#subscribed(dialog, txn.request, response)
    if (dialog.answering === txn) dialog.answering = null
    if (asked.initial && status >= 300) this.#core.dialogs.remove(dialog)
    if (asked.initial && status < 300 && dialog.phase === 'early') dialog.phase = 'confirmed'
    const state = listOf(txn.request, 'Subscription-State')[0] ?? ''
    if (txn.request.method === 'NOTIFY' && dialog.usage === 'SUBSCRIBE' && /^\s*terminated/i.test(state)) {
      this.#core.dialogs.remove(dialog)
    }
  }

  #subscribed(dialog: Dialog, request: SipRequest, response: SipResponse): void {
    if (dialog.usage !== 'SUBSCRIBE') return
    this.#core.dialogs.keepFor(dialog, subscriptionSeconds(request, response) * this.#core.timers.second)
  }

  #unname({ names }: Asked): void {
    for (const name of names) this.#open.delete(name)
  }

  #forget(txnId: string): void {
    const asked = this.#asked.get(txnId)
    this.#asked.delete(txnId)
    this.#proxies.ended(txnId)
    this.#reliable.forget(txnId)
    if (asked === undefined) return
    const { dialog, txn } = asked
    this.#unname(asked)
    if (dialog?.answering === txn) dialog.answering = null
    if (dialog?.phase === 'early' && asked.initial) this.#core.dialogs.remove(dialog)
  }

  /** Answers pending requests of an application that is gone. */
  abandon(app: App): void {
    for (const asked of [...this.#asked.values()]) {
      if (asked.app !== app || asked.txn.status >= 200) continue
      if (asked.txn.request.method === 'BYE') this.#refuse(asked.txn, 200, 'OK')
      else this.#refuse(asked.txn, 503, 'Service Unavailable')
    }
  }

  close(): void {
    this.#answers.close()
    this.#proxies.close()
  }
}

const RETRY_SECONDS = '1'
const NOBODY = { status: 503, reason: 'Service Unavailable', headers: [] }

/** §8.2.2.2: a key that is the same for copies of one request that arrive by different paths. */
function mergeKey(request: SipRequest): string {
  return [headerOf(request, 'Call-ID'), tagIn(request, 'From'), headerOf(request, 'CSeq')].join(' ')
}
