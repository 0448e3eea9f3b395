/** Runs the session timers of dialogs (RFC 4028) as drachtio-server does: without involving the application. */
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import type { Core } from './core.ts'
import { type Dialog, dialogRequest, refreshTarget } from './dialogs.ts'
import { dialogFlow, hangUp } from './hangup.ts'
import { selfOf, withVia } from './headers.ts'
import { type Agreed, agreeAsClient, agreeAsServer, deadAfter, keepHeaders, refreshAfter } from './session-plan.ts'
import type { Flow } from './transport.ts'

const SESSION_METHODS = new Set(['INVITE', 'UPDATE'])
/** Seconds until the next attempt after an open re-INVITE or glare (RFC 3261 §14.1). */
const AGAIN_SECONDS = 4

export class SessionTimers {
  private readonly core: Core

  constructor(core: Core) {
    this.core = core
  }

  /** Starts the timer for our 2xx and returns the headers to add to it. */
  answering(dialog: Dialog, request: SipRequest, response: SipResponse): readonly Header[] {
    if (!SESSION_METHODS.has(request.method) || !isSuccess(response)) return []
    const { agreed, headers } = agreeAsServer(request, response)
    if (agreed !== null || request.method === 'INVITE') this.agree(dialog, agreed)
    return headers
  }

  /** Handles a 2xx to our request. */
  answered(dialog: Dialog, method: string, response: SipResponse): void {
    if (!SESSION_METHODS.has(method) || !isSuccess(response)) return
    // An answer to UPDATE without Session-Expires does not end the agreed session: it counts as a refresh.
    const kept = method === 'UPDATE' ? (dialog.session?.agreed ?? null) : null
    const agreed = agreeAsClient(response) ?? kept
    if (agreed !== null || method === 'INVITE') this.agree(dialog, agreed)
  }

  /** Headers for a request that the application sends inside the dialog. */
  keeping(dialog: Dialog, request: SipRequest): readonly Header[] {
    return SESSION_METHODS.has(request.method) ? keepHeaders(dialog.session?.agreed ?? null, request) : []
  }

  private agree(dialog: Dialog, agreed: Agreed | null): void {
    if (dialog.session !== null) clearTimeout(dialog.session.timer)
    dialog.session = null
    if (agreed === null || dialog.phase === 'ended') return
    if (agreed.weRefresh)
      this.after(dialog, agreed, refreshAfter(agreed.seconds, Math.random()), () => this.due(dialog))
    else this.after(dialog, agreed, deadAfter(agreed.seconds), () => this.expired(dialog))
  }

  private after(dialog: Dialog, agreed: Agreed, seconds: number, act: () => void): void {
    if (dialog.phase === 'ended') return
    if (dialog.session !== null) clearTimeout(dialog.session.timer)
    // A timer longer than a day and a half is not useful, and setTimeout cannot exceed 24 days.
    const ms = Math.min(seconds, 131_072) * this.core.timers.second
    const timer = setTimeout(() => {
      if (dialog.phase !== 'ended') act()
    }, ms)
    dialog.session = { agreed, timer }
  }

  private expired(dialog: Dialog): void {
    void hangUp(this.core, dialog, 'Session timer expired', 'session-expired')
  }

  private due(dialog: Dialog): void {
    const agreed = dialog.session?.agreed
    if (agreed === undefined) return
    if (dialog.inviting || dialog.answering !== null) this.after(dialog, agreed, AGAIN_SECONDS, () => this.due(dialog))
    else void this.refresh(dialog, agreed)
  }

  private async refresh(dialog: Dialog, agreed: Agreed): Promise<void> {
    // If the refresh gets no response, the session ends when the peer would end it.
    this.after(dialog, agreed, deadAfter(agreed.seconds) - agreed.seconds / 2, () => this.expired(dialog))
    const flow = await dialogFlow(this.core, dialog)
    if (flow === null || dialog.phase === 'ended') return
    const method = dialog.takesUpdate || dialog.localSdp === null ? 'UPDATE' : 'INVITE'
    dialog.localSeq += 1
    const seq = dialog.localSeq
    const body = method === 'INVITE' ? (dialog.localSdp ?? Buffer.alloc(0)) : Buffer.alloc(0)
    const extra: Header[] = [
      ['Supported', 'timer'],
      ['Session-Expires', `${agreed.seconds};refresher=uac`],
      ...(body.length === 0 ? [] : [['Content-Type', 'application/sdp'] as const]),
    ]
    const request = withVia(dialogRequest(dialog, method, seq, extra, body), selfOf(flow))
    if (method === 'INVITE') dialog.inviting = true
    this.core.txns.startClient(request, flow, {
      response: (response, from) => this.refreshed(dialog, agreed, { request, seq }, response, from),
      failed: () => this.expired(dialog),
    })
  }

  private refreshed(dialog: Dialog, agreed: Agreed, sent: Refresh, response: SipResponse, flow: Flow): void {
    const { status } = response
    if (status < 200) return
    const invite = sent.request.method === 'INVITE'
    if (invite) dialog.inviting = false
    if (isSuccess(response)) {
      refreshTarget(dialog, response, flow)
      if (invite) void this.acknowledge(dialog, sent.seq)
      // An answer without Session-Expires does not end the agreed session: drachtio keeps refreshing.
      this.agree(dialog, agreeAsClient(response) ?? agreed)
    } else if (status === 491) this.after(dialog, agreed, AGAIN_SECONDS, () => this.due(dialog))
    else if (status === 422) this.agreeOnLonger(dialog, agreed, response)
    else if (status === 481 || status === 408) this.expired(dialog)
    else this.core.log.warn({ status, callId: dialog.callId }, 'session refresh failed')
  }

  private agreeOnLonger(dialog: Dialog, agreed: Agreed, response: SipResponse): void {
    const least = Number(/^\d+/.exec(headerOf(response, 'Min-SE') ?? '')?.[0] ?? 0)
    if (least > agreed.seconds) void this.refresh(dialog, { ...agreed, seconds: least })
  }

  private async acknowledge(dialog: Dialog, seq: number): Promise<void> {
    const flow = await dialogFlow(this.core, dialog)
    if (flow === null) return
    const ack = withVia(dialogRequest(dialog, 'ACK', seq, [], Buffer.alloc(0)), selfOf(flow))
    this.core.txns.sendOnce(ack, flow)
  }
}

type Refresh = { readonly request: SipRequest; readonly seq: number }

const isSuccess = ({ status }: SipResponse): boolean => status >= 200 && status < 300

/** Records whether the peer allows UPDATE and our latest description, both needed for a refresh. */
export function recordSession(dialog: Dialog, message: SipRequest | SipResponse, ours: boolean): void {
  const type = headerOf(message, 'Content-Type') ?? ''
  if (ours && message.body.length > 0 && /^application\/sdp\b/i.test(type)) dialog.localSdp = message.body
  const allow = ours ? [] : listOf(message, 'Allow')
  if (allow.length > 0) dialog.takesUpdate = allow.some(method => method.toUpperCase() === 'UPDATE')
}
