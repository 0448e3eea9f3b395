/** One proxied request (RFC 3261 §16): its branches, and its single final response. */
import { listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { parseNameAddr } from '../text/uri.ts'
import { type Core, type Route, routeTo } from './core.ts'
import { type FailoverListener, FailoverRequest } from './failover-request.ts'
import { cancelOf, newTag, plainResponse, selfOf } from './headers.ts'
import { bestOf, type Forwarding, forwarded, upstream } from './proxy-plan.ts'
import type { ClientTxn, ServerTxn } from './transactions.ts'
import type { Flow } from './transport.ts'

export type RunOrder = {
  /** Next hops, each with the Request-URI to use. */
  readonly targets: readonly Target[]
  readonly forwarding: Omit<Forwarding, 'uri'>
  readonly simultaneous: boolean
  readonly followRedirects: boolean
  readonly provisionalMs: number | null
  readonly finalMs: number | null
}

export type Target = { readonly nextHop: string; readonly uri: string | null }

export type RunUser = {
  /** A request left for another hop. */
  sent(request: SipRequest): void
  /** A final response of a branch. */
  branch(response: SipResponse, flow: Flow): void
  /** A final response goes upstream. */
  settled(response: SipResponse): void
  done(): void
}

type Branch = {
  readonly target: Target
  attempt: FailoverRequest | null
  final: SipResponse | null
  rang: boolean
  canceled: boolean
  readonly timers: Set<NodeJS.Timeout>
  timerC: NodeJS.Timeout | null
}

const ignore = { response: (): void => {}, failed: (): void => {} }

export class Run {
  readonly txn: ServerTxn
  private readonly core: Core
  private readonly order: RunOrder
  private readonly user: RunUser
  private readonly waiting: Target[]
  private readonly branches: Branch[] = []
  private answered = false
  private stopped = false

  constructor(core: Core, txn: ServerTxn, order: RunOrder, user: RunUser) {
    this.core = core
    this.txn = txn
    this.order = order
    this.user = user
    this.waiting = [...order.targets]
  }

  start(): void {
    this.launch()
    while (this.order.simultaneous && this.waiting.length > 0) this.launch()
  }

  /** §16.10: cancels the branches; their 487 becomes the answer. */
  cancel(): void {
    this.stopped = true
    this.waiting.length = 0
    for (const branch of this.branches) this.cancelBranch(branch)
    this.advance()
  }

  private launch(): void {
    const target = this.waiting.shift()
    if (target === undefined) return
    const branch: Branch = {
      target,
      attempt: null,
      final: null,
      rang: false,
      canceled: false,
      timers: new Set<NodeJS.Timeout>(),
      timerC: null,
    }
    this.branches.push(branch)
    const route = routeTo(this.core, target.nextHop).catch((): Route => ({ ok: false, reason: 'DNS Error' }))
    void route.then(found => this.send(branch, found))
  }

  private send(branch: Branch, route: Route): void {
    if (branch.final !== null) return
    if (!route.ok) {
      this.over(branch, this.made(503, 'Service Unavailable'))
      return
    }
    const [{ protocol, remote }] = route.flows
    if (this.core.network.isSelf(protocol, remote)) {
      this.over(branch, this.made(482, 'Loop Detected'))
      return
    }
    const forwarding: Forwarding = { ...this.order.forwarding, uri: branch.target.uri }
    const build = (flow: Flow): SipRequest => forwarded(forwarding, selfOf(flow))
    branch.attempt = new FailoverRequest(this.core, route.flows, build, this.listener(branch), ({ request }) =>
      this.user.sent(request),
    )
    this.limit(branch, this.order.provisionalMs, () => !branch.rang)
    this.limit(branch, this.order.finalMs, () => true)
    if (this.txn.request.method === 'INVITE') this.progress(branch)
  }

  private listener(branch: Branch): FailoverListener {
    return {
      response: (response, flow) => this.response(branch, response, flow),
      failed: why => {
        const transport = this.made(503, 'Service Unavailable')
        this.over(branch, why === 'transport' ? transport : this.made(408, 'Request Timeout'))
      },
      wanted: () => !branch.canceled,
      late: (response, txn) => this.late(response, txn),
    }
  }

  private response(branch: Branch, response: SipResponse, flow: Flow): void {
    const first = !branch.rang
    branch.rang = true
    // §9.1: a branch can be cancelled only after its first response.
    if (first && branch.canceled && response.status < 200) this.sendCancel(branch)
    if (response.status === 100) return
    if (response.status < 200) {
      this.progress(branch)
      if (!this.answered) this.core.txns.respond(this.txn, upstream(response))
      return
    }
    if (branch.final === null) this.user.branch(response, flow)
    if (response.status < 300) this.success(branch, response)
    else this.over(branch, response)
  }

  /** §16.7 step 5: every 2xx to an INVITE goes upstream at once; the first ends all the other branches. */
  private success(branch: Branch, response: SipResponse): void {
    const { request } = this.txn
    const first = !this.answered
    this.settle(branch, response)
    if (!first && request.method !== 'INVITE') return
    this.answered = true
    const answer = upstream(response)
    this.core.txns.respond(this.txn, answer)
    if (!first) return
    this.user.settled(answer)
    this.waiting.length = 0
    for (const other of this.branches) this.cancelBranch(other)
    this.user.done()
  }

  private late(response: SipResponse, txn: ClientTxn): void {
    if (txn.request.method !== 'INVITE') return
    if (response.status < 200) {
      this.core.txns.startClient(cancelOf(txn.request, []), txn.flow, ignore)
      this.core.txns.canceled(txn)
    } else if (response.status < 300) this.core.txns.respond(this.txn, upstream(response))
  }

  private over(branch: Branch, response: SipResponse): void {
    if (branch.final !== null) return
    this.settle(branch, response)
    if (response.status >= 300 && response.status < 400 && this.order.followRedirects) this.follow(response)
    if (response.status >= 600) {
      this.waiting.length = 0
      for (const other of this.branches) this.cancelBranch(other)
    }
    this.advance()
  }

  private settle(branch: Branch, response: SipResponse): void {
    branch.final ??= response
    for (const timer of branch.timers) clearTimeout(timer)
    branch.timers.clear()
  }

  private follow(response: SipResponse): void {
    const contacts = listOf(response, 'Contact').flatMap(value => parseNameAddr(value)?.uri ?? [])
    const known = new Set([...this.branches.map(({ target }) => target.nextHop), ...this.waiting.map(t => t.nextHop)])
    for (const uri of contacts) if (!known.has(uri)) this.waiting.push({ nextHop: uri, uri })
  }

  /** Starts the next branch, or answers with the best response received (§16.7 step 6). */
  private advance(): void {
    if (this.answered) return
    if (this.order.simultaneous) while (this.waiting.length > 0) this.launch()
    if (this.branches.some(({ final }) => final === null)) return
    if (this.waiting.length > 0) {
      this.launch()
      return
    }
    this.answered = true
    const finals = this.branches.flatMap(({ final }) => final ?? [])
    const best = this.stopped && finals.length === 0 ? this.made(487, 'Request Terminated') : bestOf(finals)
    const answer = this.addressed(best ?? this.made(480, 'Temporarily Unavailable'))
    this.core.txns.respond(this.txn, answer)
    this.user.settled(answer)
    this.user.done()
  }

  /** A response that we generated has no Via of ours to remove. */
  private addressed(response: SipResponse): SipResponse {
    return this.own.has(response.headers) ? response : upstream(response)
  }

  private readonly own = new WeakSet<object>()

  private made(status: number, reason: string): SipResponse {
    const response = plainResponse(this.txn.request, status, reason, newTag())
    this.own.add(response.headers)
    return response
  }

  private cancelBranch(branch: Branch): void {
    if (branch.final !== null || branch.canceled) return
    branch.canceled = true
    if (branch.attempt === null) this.over(branch, this.made(487, 'Request Terminated'))
    else if (branch.rang) this.sendCancel(branch)
  }

  private sendCancel(branch: Branch): void {
    const txn = branch.attempt?.txn
    if (txn === undefined || txn.request.method !== 'INVITE') return
    this.core.txns.startClient(cancelOf(txn.request, []), txn.flow, ignore)
    this.core.txns.canceled(txn)
  }

  /** Gives up the branch after `ms` if `still` returns true then. */
  private limit(branch: Branch, ms: number | null, still: () => boolean): void {
    if (ms === null) return
    const timer = setTimeout(() => {
      if (still()) this.giveUp(branch)
    }, ms)
    branch.timers.add(timer)
  }

  /** Timer C (§16.6 step 11, §16.7 step 2): ends an INVITE that makes no progress. */
  private progress(branch: Branch): void {
    if (branch.timerC !== null) {
      clearTimeout(branch.timerC)
      branch.timers.delete(branch.timerC)
    }
    branch.timerC = setTimeout(() => this.giveUp(branch), this.core.timers.c)
    branch.timers.add(branch.timerC)
  }

  private giveUp(branch: Branch): void {
    if (branch.final !== null) return
    this.cancelBranch(branch)
    this.over(branch, this.made(408, 'Request Timeout'))
  }

  /** Ends the run when the caller's transaction is over, whatever the branches do. */
  close(): void {
    this.waiting.length = 0
    for (const branch of this.branches) {
      if (!this.answered) this.cancelBranch(branch)
      for (const timer of branch.timers) clearTimeout(timer)
      branch.timers.clear()
    }
    this.answered = true
  }
}
