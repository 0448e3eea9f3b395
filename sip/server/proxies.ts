/** Proxied requests: those that an application forwards, and later requests of the same dialogs. */
import { type Header, headerOf, listOf, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'
import type { App } from './apps.ts'
import { type Core, routeTo, sipUri, stamp } from './core.ts'
import { appExtras, newTag, PolicyError, plainResponse, selfOf } from './headers.ts'
import { forwarded, hostPortOf, maxForwards, routeTarget, routeToken } from './proxy-plan.ts'
import { Run, type RunOrder, type RunUser, type Target } from './proxy-run.ts'
import type { ServerTxn } from './transactions.ts'
import type { Flow } from './transport.ts'
import { leader, type ProxyFrame } from './wire.ts'

export class Proxies {
  private readonly core: Core
  private readonly secret: string
  /** Runs by the id of the incoming transaction. */
  private readonly runs = new Map<string, Run>()

  constructor(core: Core, secret: string) {
    this.core = core
    this.secret = secret
  }

  get size(): number {
    return this.runs.size
  }

  /** Forwards a request for an application. Throws PolicyError when it cannot be started. */
  begin(app: App, frame: ProxyFrame, txn: ServerTxn, extra: SipRequest): void {
    const { request } = txn
    if (frame.destinations.length === 0) throw new PolicyError('no destination given')
    for (const destination of frame.destinations) sipUri(destination)
    const refused = refusal(request)
    if (refused !== null) {
      this.core.txns.respond(txn, refused)
      app.send(leader.reply(frame.msgId, 'OK', 'done'))
      return
    }
    const rewritten = this.isOurs(request.uri)
    const targets = frame.destinations.map((nextHop): Target => ({ nextHop, uri: rewritten ? nextHop : null }))
    const mark = frame.remainInDialog ? this.mark(request) : null
    const { simultaneous, followRedirects, provisionalMs, finalMs } = frame
    this.run(
      txn,
      {
        targets,
        simultaneous,
        followRedirects,
        provisionalMs,
        finalMs,
        forwarding: { ...this.unrouted(request), extra: appExtras(extra), mark, cameBy: selfOf(txn.flow) },
      },
      this.reporter(app, frame, request),
    )
  }

  private reporter(app: App, frame: ProxyFrame, { method }: SipRequest): RunUser {
    const { cdr } = this.core
    const invite = method === 'INVITE'
    return {
      sent: request => {
        if (invite) cdr.attempt('application', request)
      },
      branch: (response, flow) => {
        if (invite) cdr.settled('network', 'proxy-uac', response)
        if (!frame.fullResponse) return
        const bytes = serialise(response)
        app.send(leader.proxied(frame.msgId, stamp(flow, bytes.length, 'remote')), bytes)
      },
      settled: response => {
        if (invite) cdr.settled('application', 'proxy-uas', response)
      },
      done: () => app.send(leader.reply(frame.msgId, 'OK', 'done')),
    }
  }

  /** True for a request of a dialog that we record-routed (§16.12): its first Route is ours and carries our mark. */
  passes(request: SipRequest): boolean {
    const target = routeTarget(listOf(request, 'Route')[0] ?? '')
    return target !== null && target.mark === this.mark(request) && this.core.network.isOurs(target.at)
  }

  pass(txn: ServerTxn): void {
    const { request, flow } = txn
    const refused = refusal(request)
    if (refused !== null) {
      this.core.txns.respond(txn, refused)
      return
    }
    const forwarding = { ...this.unrouted(request), extra: [], mark: this.mark(request), cameBy: selfOf(flow) }
    const targets = [{ nextHop: nextHop(forwarding.request), uri: null }]
    const once = { simultaneous: false, followRedirects: false, provisionalMs: null, finalMs: null }
    const { cdr } = this.core
    const nobody = { sent: () => {}, branch: () => {}, settled: () => {}, done: () => {} }
    this.run(txn, { ...once, targets, forwarding }, nobody)
    if (request.method === 'BYE') cdr.stop('network', 'normal-release', request)
  }

  /** Forwards the ACK of a 2xx, which belongs to no transaction (§16.11). */
  async passAck(ack: SipRequest, flow: Flow): Promise<void> {
    if (maxForwards(ack) <= 0) return
    const forwarding = { ...this.unrouted(ack), uri: null, extra: [], mark: null, cameBy: selfOf(flow) }
    const route = await routeTo(this.core, nextHop(forwarding.request)).catch(() => null)
    if (!route?.ok) return
    const [next] = route.flows
    this.core.txns.sendOnce(forwarded(forwarding, selfOf(next)), next)
  }

  private run(txn: ServerTxn, order: RunOrder, user: RunUser): void {
    const run = new Run(this.core, txn, order, user)
    this.runs.set(txn.id, run)
    run.start()
  }

  /** Returns false when the transaction is not proxied. */
  cancel(txnId: string): boolean {
    const run = this.runs.get(txnId)
    run?.cancel()
    return run !== undefined
  }

  ended(txnId: string): void {
    this.runs.get(txnId)?.close()
    this.runs.delete(txnId)
  }

  close(): void {
    for (const run of this.runs.values()) run.close()
    this.runs.clear()
  }

  private mark(request: SipRequest): string {
    return routeToken(this.secret, headerOf(request, 'Call-ID') ?? '')
  }

  private isOurs(text: string): boolean {
    const uri = parseUri(text)
    return uri !== null && (uri.scheme === 'sip' || uri.scheme === 'sips') && this.core.network.isOurs(hostPortOf(uri))
  }

  /**
   * §16.4: removes the Routes that led to us; there are two when a request enters and leaves by different transports.
   */
  private unrouted(request: SipRequest): { readonly request: SipRequest } {
    const routes = listOf(request, 'Route')
    const ours = (value: string | undefined): boolean => {
      const target = routeTarget(value ?? '')
      return target !== null && this.core.network.isOurs(target.at)
    }
    while (ours(routes[0])) routes.shift()
    const others = request.headers.filter(([name]) => name !== 'Route')
    return { request: { ...request, headers: [...others, ...routes.map((route): Header => ['Route', route])] } }
  }
}

function nextHop(request: SipRequest): string {
  const first = listOf(request, 'Route')[0]
  return first === undefined ? request.uri : (parseNameAddr(first)?.uri ?? request.uri)
}

/** §16.3: refuses requests that must not be forwarded. We support no proxy extensions. */
function refusal(request: SipRequest): SipResponse | null {
  if (maxForwards(request) <= 0) return plainResponse(request, 483, 'Too Many Hops', newTag())
  const unknown = listOf(request, 'Proxy-Require')
  if (unknown.length === 0) return null
  return plainResponse(request, 420, 'Bad Extension', newTag(), [['Unsupported', unknown.join(', ')]])
}
