/** Sends one request to the first next hop that accepts it (RFC 3263 §4.3), over TCP when it is too long for UDP. */
import { headerOf, type SipRequest, type SipResponse, serialise } from '../text/message.ts'
import type { Core } from './core.ts'
import type { ClientTxn, FailedWhy } from './transactions.ts'
import type { Flow } from './transport.ts'

/**
 * Builds the request as it leaves by `flow`, Via included. Only the fields that name our own address differ between
 * calls.
 */
export type Build = (flow: Flow) => SipRequest

export type FailoverListener = {
  response(response: SipResponse, flow: Flow): void
  failed(why: FailedWhy, error: Error | null): void
  /** The next hop is tried. */
  moved?(request: SipRequest, flow: Flow): void
  /** False when no other hop must be tried, for example after a CANCEL. */
  wanted?(): boolean
  /** A response from a hop that was given up. */
  late?(response: SipResponse, txn: ClientTxn, flow: Flow): void
}

/**
 * With another hop to try, silence for 8*T1 (four transmissions) is enough; RFC 3261's 64*T1 would outlast the caller.
 */
const PATIENCE_T1 = 8

/** RFC 3261 §18.1.1: when the path's MTU is unknown, a request longer than this must not use UDP. */
export const UDP_MOST = 1300

/**
 * A peer without TCP will hardly start it within a call, and a firewall that drops SYNs silently costs each attempt its
 * full patience.
 */
const NO_TCP_MS = 300_000

export class FailoverRequest {
  private readonly core: Core
  private readonly build: Build
  private readonly user: FailoverListener
  private readonly left: Flow[]
  private current: ClientTxn
  private timer: NodeJS.Timeout | null = null

  /** Tries `flows` in order. Throws when there are none. */
  constructor(core: Core, flows: readonly Flow[], build: Build, user: FailoverListener, onFirst: (txn: First) => void) {
    this.core = core
    this.build = build
    this.user = user
    const [first, ...left] = fitted(core, flows, build)
    if (first === undefined) throw new Error('Attempt needs at least one flow')
    this.left = left
    const request = build(first)
    onFirst({ request, flow: first })
    this.current = this.start(request, first)
  }

  get txn(): ClientTxn {
    return this.current
  }

  private start(request: SipRequest, flow: Flow): ClientTxn {
    const txn = this.core.txns.startClient(request, flow, {
      response: (response, from) => this.response(txn, response, from),
      failed: (why, error) => this.failed(txn, why, error),
    })
    if (this.left.length > 0) this.timer = setTimeout(() => this.impatient(txn), PATIENCE_T1 * this.core.timers.t1)
    return txn
  }

  private impatient(txn: ClientTxn): void {
    if (txn === this.current) this.next(txn)
  }

  private settle(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  private response(txn: ClientTxn, response: SipResponse, flow: Flow): void {
    if (txn !== this.current) {
      this.user.late?.(response, txn, flow)
      return
    }
    this.settle()
    if (response.status !== 503) this.core.dead.revive(txn.flow)
    else if (this.next(txn, retryAfter(response))) return
    this.user.response(response, flow)
  }

  private failed(txn: ClientTxn, why: FailedWhy, error: Error | null): void {
    if (txn !== this.current) return
    this.settle()
    if (!this.next(txn)) this.user.failed(why, error)
  }

  private next(txn: ClientTxn, deadMs?: number): boolean {
    // The only hop is not marked dead, because there is no alternative next time.
    const flow = this.user.wanted?.() === false ? undefined : this.left.shift()
    if (flow === undefined) return false
    const switched = txn.flow.protocol === 'tcp' && flow.protocol === 'udp' && flow.remote === txn.flow.remote
    this.core.dead.mark(txn.flow, Date.now(), switched ? NO_TCP_MS : deadMs)
    const request = this.build(flow)
    this.core.log.info({ from: txn.flow.remote.host, to: flow.remote.host }, 'trying next hop')
    this.user.moved?.(request, flow)
    this.current = this.start(request, flow)
    return true
  }
}

type First = { readonly request: SipRequest; readonly flow: Flow }

/** §18.1.1: a request too long for UDP is tried over TCP first, then over UDP in case nothing listens on TCP. */
function fitted(core: Core, flows: readonly Flow[], build: Build): Flow[] {
  const dead = (flow: Flow): boolean => !core.dead.alive(flow, Date.now())
  return flows.flatMap(flow => {
    if (flow.protocol !== 'udp' || serialise(build(flow)).length <= core.udpMost) return [flow]
    const tcp = core.network.flowTo('tcp', flow.remote)
    return tcp === null || dead(tcp) ? [flow] : [tcp, flow]
  })
}

function retryAfter(response: SipResponse): number | undefined {
  const seconds = /^\d+/.exec(headerOf(response, 'Retry-After') ?? '')?.[0]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}
