/**
 * How much of each source is taken, so that who floods us harms nobody else: what is too much gets no answer, and costs no
 * more than to be counted. Pure, in memory that is bounded whatever comes; time is an argument, in ms.
 */
import { Recent } from '../text/recent.ts'
import { networkOf } from '../text/source-network.ts'
import type { Standing } from './allow.ts'
import { Buckets, type Rate } from './rate.ts'

export type GateLimits = {
  /** Requests that open something, of one known address. */
  readonly knownOpening: Rate
  /** What it says inside of its calls. */
  readonly knownInside: Rate
  /** Whatever one network of strangers asks. */
  readonly stranger: Rate
  /** The same of one that has proved to hold a telephone of ours. */
  readonly proven: Rate
  /** All strangers together that have proved nothing; sources of datagrams can be forged, those of streams not. */
  readonly strangers: Rate
  /** Responses of one network from which no requests are expected, and of all of them. */
  readonly responses: Rate
  readonly allResponses: Rate
}

/** An office of telephones behind one address is within what a stranger may ask; a carrier is within what is known. */
export const GATE_LIMITS: GateLimits = {
  knownOpening: { perSecond: 200, burst: 200 },
  knownInside: { perSecond: 2000, burst: 2000 },
  stranger: { perSecond: 20, burst: 100 },
  proven: { perSecond: 50, burst: 200 },
  strangers: { perSecond: 150, burst: 100 },
  responses: { perSecond: 50, burst: 200 },
  allResponses: { perSecond: 1000, burst: 1000 },
}

/** As long as a telephone's registration lasts at most, and then some. */
const PROVEN_MS = 2 * 3_600_000
const LEAST_PROVEN = 10_000

export class Gate {
  private readonly limits: GateLimits
  private readonly known: Buckets
  private readonly strangers: Buckets
  private readonly together: Buckets
  private readonly proven = new Recent<number>(LEAST_PROVEN)

  constructor(limits: GateLimits = GATE_LIMITS) {
    this.limits = limits
    this.known = new Buckets()
    this.strangers = new Buckets()
    this.together = new Buckets()
  }

  /** Whether a request is taken. `opening`: it is inside of nothing yet. */
  request(standing: Standing, address: string, kind: { reliable: boolean; opening: boolean }, nowMs: number): boolean {
    const { limits } = this
    if (standing === 'unrestricted') return true
    if (standing === 'out') return false
    if (standing === 'known') {
      const [name, rate] = kind.opening ? (['o', limits.knownOpening] as const) : (['i', limits.knownInside] as const)
      return this.known.take(`${name} ${address}`, rate, nowMs)
    }
    const network = networkOf(address)
    const proven = this.isProven(address, nowMs)
    // Its own share first: who floods must not use up that of all.
    if (!this.strangers.take(network, proven ? limits.proven : limits.stranger, nowMs)) return false
    return proven || this.together.take(kind.reliable ? 'stream' : 'datagram', limits.strangers, nowMs)
  }

  /** Whether a response is looked at: they come from wherever we have asked, which need not be on any list. */
  response(standing: Standing, address: string, nowMs: number): boolean {
    if (standing === 'unrestricted' || standing === 'known') return true
    if (!this.strangers.take(`r ${networkOf(address)}`, this.limits.responses, nowMs)) return false
    return this.together.take('response', this.limits.allResponses, nowMs)
  }

  /** A telephone of ours was there. */
  prove(address: string, nowMs: number): void {
    this.proven.set(networkOf(address), nowMs)
  }

  isProven(address: string, nowMs: number): boolean {
    const atMs = this.proven.get(networkOf(address))
    return atMs !== undefined && nowMs - atMs < PROVEN_MS
  }

  /** What is remembered of sources. */
  get size(): number {
    return this.known.size + this.strangers.size + this.together.size + this.proven.size
  }
}

const IN_DIALOG = /^(?:to|t)[ \t]*:[^\r\n]*;[ \t]*tag[ \t]*=/im
/** More of a head than anybody needs before its To. */
const LOOKED_AT = 4096

/** Of a request not yet parsed. What is wrong about it is found out later, within the share of its source. */
export function opensSomething(bytes: Buffer): boolean {
  const head = bytes.toString('latin1', 0, LOOKED_AT)
  return !/^(?:ACK|CANCEL) /.test(head) && !IN_DIALOG.test(head)
}
