import { randomUUID } from 'node:crypto'
import { headerOf, listOf, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import { parseUri } from '../text/uri.ts'
import { parseCSeq } from '../text/validate.ts'
import type { App } from './apps.ts'
import { type Core, routeTo } from './core.ts'
import {
  type Dialog,
  dialogId,
  dialogRequest,
  learnFromResponse,
  refreshTarget,
  sentInvite,
  subscriptionSeconds,
  uacDialog,
} from './dialogs.ts'
import { type Build, type FailoverListener, FailoverRequest } from './failover-request.ts'
import { dialogFlow, dialogFlows } from './hangup.ts'
import { appDialogHeaders, appHeaders, newRequest, PolicyError, type Self, selfOf, tagIn, withVia } from './headers.ts'
import { Invites } from './invites.ts'
import { confirmSent, deliver, reportFailure, type Sent, synthesise } from './report.ts'
import { chanceOf } from './resolve.ts'
import { recordSession, type SessionTimers } from './session-timers.ts'
import type { Flow } from './transport.ts'
import { type AppFrame, leader, timeOfDay } from './wire.ts'

type Frame = AppFrame & { type: 'sip' }
interface First {
  request: SipRequest
  flow: Flow
}

const DIALOG_MAKERS = new Set(['INVITE', 'SUBSCRIBE'])
const REFRESHERS = new Set(['UPDATE', 'SUBSCRIBE'])

/** Sends the applications' requests. */
export class Outgoing {
  readonly #core: Core
  readonly #invites: Invites
  /** The last queued operation of each dialog, by dialog id. */
  readonly #turns = new Map<string, Promise<void>>()

  readonly #sessions: SessionTimers

  constructor(core: Core, sessions: SessionTimers) {
    this.#core = core
    this.#sessions = sessions
    this.#invites = new Invites(core, sessions)
  }

  /** INVITEs without a final response. */
  get size(): number {
    return this.#invites.size
  }

  /** Rejects with PolicyError when the request can't be sent. */
  async send(app: App, frame: Frame, message: SipRequest): Promise<void> {
    if (message.method === 'CANCEL') this.#invites.cancel(app, frame.msgId, frame.txnId, message)
    else if (message.method === 'ACK') await this.#inTurn(frame, () => this.#acknowledge(app, frame, message))
    else if (frame.dialogId === '') await this.#sendNew(app, frame, message)
    else await this.#inTurn(frame, () => this.#sendInDialog(app, frame, message))
  }

  /**
   * Sends the requests of one dialog in the order in which the application made them, however long a name takes to
   * resolve.
   */
  async #inTurn(frame: Frame, act: () => Promise<void>): Promise<void> {
    const { dialogId: id } = frame
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(act)
    const over = turn.then(
      () => {},
      () => {},
    )
    this.#turns.set(id, over)
    try {
      await turn
    } finally {
      if (this.#turns.get(id) === over) this.#turns.delete(id)
    }
  }

  async #sendNew(app: App, frame: Frame, message: SipRequest): Promise<void> {
    if (parseUri(message.uri) === null) throw new PolicyError(`invalid request-uri: ${message.uri}`)
    const nextHop = frame.nextHop.replace(/^<|>$/g, '')
    // The retry after a challenge must reach the host that sent it, and a refreshed registration its registrar.
    const random = chanceOf(headerOf(message, 'Call-ID') ?? randomUUID())
    const route = await routeTo(this.#core, nextHop === '' ? message.uri : nextHop, random)
    if (!app.alive()) return
    if (!route.ok) {
      this.#refuse(app, frame, message, route.reason)
      return
    }
    const { flows } = route
    const { protocol, remote } = flows[0]
    if (this.#core.network.isSelf(protocol, remote)) throw new PolicyError('can not send request to myself')
    const build = sameRequest(message)
    if (message.method === 'INVITE') {
      this.#invites.start(flows, build, first => {
        const { dialog, sent } = this.#openDialog(app, frame, first)
        return { ...sent, dialog, invite: dialog.invite!, initial: true }
      })
    } else if (message.method === 'SUBSCRIBE') this.#subscribe(app, frame, flows, build)
    else this.#sendPlain(app, frame, flows, build)
  }

  #openDialog(app: App, frame: Frame, { request, flow }: First): { dialog: Dialog; sent: Sent } {
    const dialog = uacDialog(request, flow, app)
    recordSession(dialog, request, true)
    this.#core.dialogs.add(dialog)
    const txnId = confirmSent(app, frame.msgId, request, flow)
    return { dialog, sent: { app, txnId, dialogId: dialog.id, request } }
  }

  #sendPlain(app: App, frame: Frame, flows: readonly Flow[], build: Build): void {
    let sent: Sent | null = null
    const user: FailoverListener = {
      response: (response, flow) => {
        if (response.status > 100) deliver(sent!, response, flow)
      },
      failed: (why, error) => reportFailure(sent!, why, error),
    }
    new FailoverRequest(this.#core, flows, build, user, ({ request, flow }) => {
      sent = { app, txnId: confirmSent(app, frame.msgId, request, flow), dialogId: '', request }
    })
  }

  #subscribe(app: App, frame: Frame, flows: readonly Flow[], build: Build): void {
    const core = this.#core
    let opened: { dialog: Dialog; sent: Sent } | null = null
    const user: FailoverListener = {
      response: (response, flow) => {
        const { dialog, sent } = opened!
        if (response.status < 300) learnFromResponse(dialog, response, flow)
        else core.dialogs.remove(dialog)
        this.#subscribed(dialog, sent.request, response)
        if (response.status > 100) deliver(sent, response, flow)
      },
      failed: (why, error) => {
        core.dialogs.remove(opened!.dialog)
        reportFailure(opened!.sent, why, error)
      },
      moved: (_request, flow) => {
        opened!.dialog.flow = flow
      },
    }
    new FailoverRequest(core, flows, build, user, first => {
      opened = this.#openDialog(app, frame, first)
    })
  }

  /** Reports the request as sent and then as failed, as drachtio does. */
  #refuse(app: App, frame: Frame, message: SipRequest, reason: string): void {
    const bound = this.#core.network.bound()[0]
    const local = { host: bound?.host ?? '127.0.0.1', port: bound?.port ?? 5060 }
    const self: Self = { local, protocol: bound?.protocol ?? 'udp' }
    const request = withVia(newRequest(message, self), self)
    const txnId = randomUUID()
    const bytes = serialise(request)
    const stamp = { bytes: bytes.length, protocol: self.protocol, address: local.host, port: local.port }
    app.send(leader.requestSent(frame.msgId, { ...stamp, time: timeOfDay(new Date()) }, txnId), bytes)
    const id = dialogId(headerOf(request, 'Call-ID') ?? '', tagIn(request, 'From') ?? '')
    synthesise({ app, txnId, dialogId: DIALOG_MAKERS.has(request.method) ? id : '', request }, 503, reason)
  }

  #subscribed(dialog: Dialog, request: SipRequest, response: SipResponse): void {
    const granted = request.method === 'SUBSCRIBE' && response.status >= 200 && response.status < 300
    if (!granted || dialog.usage !== 'SUBSCRIBE') return
    this.#core.dialogs.keepFor(dialog, subscriptionSeconds(request, response) * this.#core.timers.second)
  }

  /** The application asks for the ACK of a 2xx, because it may carry an SDP answer (RFC 3261 §13.2.2.4). */
  async #acknowledge(app: App, frame: Frame, message: SipRequest): Promise<void> {
    const dialog = this.#core.dialogs.get(frame.dialogId)
    const invite = dialog?.invite
    if (dialog === null || !invite?.answered) {
      throw new PolicyError('ACK for non-success final response is automatically generated by server')
    }
    const flow = await dialogFlow(this.#core, dialog)
    if (flow === null) throw new PolicyError('unable to route ACK')
    const self = selfOf(flow)
    const extra = appHeaders(message, self)
    const credentials = invite.credentials.filter(([name]) => !extra.some(([given]) => given === name))
    const ack = withVia(dialogRequest(dialog, 'ACK', invite.seq, [...credentials, ...extra], message.body), self)
    recordSession(dialog, ack, true)
    confirmSent(app, frame.msgId, ack, flow)
    invite.ack = { bytes: this.#core.txns.sendOnce(ack, flow), flow }
  }

  async #sendInDialog(app: App, frame: Frame, message: SipRequest): Promise<void> {
    const dialog = this.#core.dialogs.get(frame.dialogId)
    if (dialog === null) throw new PolicyError('unable to find dialog for dialog id provided')
    const routed = await dialogFlows(this.#core, dialog)
    const flows = routed.length > 0 ? routed : [dialog.flow]
    dialog.owner = app
    // A digest retry has its own number, one above the last.
    dialog.localSeq = Math.max(parseCSeq(headerOf(message, 'CSeq') ?? '')?.seq ?? 0, dialog.localSeq + 1)
    const seq = dialog.localSeq
    const build: Build = flow => {
      const self = selfOf(flow)
      const extra = [...appDialogHeaders(message, self, dialog.secure), ...this.#sessions.keeping(dialog, message)]
      return withVia(dialogRequest(dialog, message.method, seq, extra, message.body), self)
    }
    const confirm = ({ request, flow }: First): Sent => {
      recordSession(dialog, request, true)
      if (request.method === 'BYE' && dialog.usage === 'INVITE')
        this.#core.cdr.stop('application', 'normal-release', request)
      return { app, txnId: confirmSent(app, frame.msgId, request, flow), dialogId: dialog.id, request }
    }
    if (routed.length === 0) {
      const request = build(dialog.flow)
      const sent = confirm({ request, flow: dialog.flow })
      this.#ending(dialog, request, 503)
      synthesise(sent, 503, 'DNS Error')
    } else if (message.method === 'INVITE') {
      this.#invites.start(flows, build, first => {
        const invite = sentInvite(first.request, seq)!
        dialog.invite = invite
        return { ...confirm(first), dialog, invite, initial: false }
      })
    } else this.#sendPlainInDialog(dialog, flows, build, confirm)
  }

  #sendPlainInDialog(dialog: Dialog, flows: readonly Flow[], build: Build, confirm: (first: First) => Sent): void {
    let sent: Sent | null = null
    const user: FailoverListener = {
      response: (response, flow) => {
        const { request } = sent!
        const accepted = response.status >= 200 && response.status < 300
        if (accepted && REFRESHERS.has(request.method)) refreshTarget(dialog, response, flow)
        this.#sessions.answered(dialog, request.method, response)
        this.#subscribed(dialog, request, response)
        if (response.status >= 200) this.#ending(dialog, request, response.status)
        if (response.status > 100) deliver(sent!, response, flow)
      },
      failed: (why, error) => {
        this.#ending(dialog, sent!.request, 408)
        reportFailure(sent!, why, error)
      },
    }
    new FailoverRequest(this.#core, flows, build, user, first => {
      sent = confirm(first)
    })
  }

  /** A final response to our BYE, or to the NOTIFY that ends a subscription, ends the dialog. */
  #ending(dialog: Dialog, request: SipRequest, status: number): void {
    const { dialogs, timers } = this.#core
    const unsubscribed =
      request.method === 'NOTIFY' &&
      dialog.usage === 'SUBSCRIBE' &&
      /^\s*terminated/i.test(listOf(request, 'Subscription-State')[0] ?? '')
    if (request.method !== 'BYE' && !unsubscribed) return
    // A challenged BYE is repeated with credentials; the timer removes the dialog if it never is.
    if (status === 401 || status === 407) setTimeout(() => dialogs.remove(dialog), 64 * timers.t1).unref()
    else dialogs.remove(dialog)
  }

  /** Cancels the pending requests of an application that is gone. */
  abandon(app: App): void {
    this.#invites.abandon(app)
  }
}

/** Builds the same request for each hop: only Via and the fields that name our address differ. */
function sameRequest(message: SipRequest): Build {
  let first: SipRequest | null = null
  const fixed = new Set(['From', 'To', 'Call-ID', 'CSeq'])
  return flow => {
    const self = selfOf(flow)
    const again = first?.headers.filter(([name]) => fixed.has(name)) ?? []
    const kept = first === null ? message.headers : [...again, ...message.headers.filter(([name]) => !fixed.has(name))]
    const made = newRequest({ ...message, headers: kept }, self)
    first ??= made
    return withVia(made, self)
  }
}
