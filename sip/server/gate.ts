/**
 * Rate limits per source, so that a flood from one source harms nobody else. A message over its limit gets no answer
 * and costs only a counter. Pure; memory is bounded under any load; time is an argument, in ms.
 */
import { Recent } from '../text/recent.ts'
import { networkOf } from '../text/source-network.ts'
import type { SourceStanding } from './allow.ts'
import { Buckets, type Rate } from './rate.ts'

export interface GateLimits {
  /** Dialog-opening requests from one known address, or a trunk's. */
  knownOpening: Rate
  /** Requests inside dialogs from one known address. */
  knownInside: Rate
  /** All requests from one network of strangers. */
  stranger: Rate
  /** All requests from one network that has proved to hold one of our softphones. */
  proven: Rate
  /** All unproven strangers together. Datagrams, whose source can be forged, and streams have separate buckets. */
  strangers: Rate
  /** Responses from one network that no request was expected from, and from all such networks together. */
  responses: Rate
  allResponses: Rate
}

/** An office of telephones behind one address stays within the stranger limits, a carrier within the known ones. */
export const GATE_LIMITS: GateLimits = {
  knownOpening: { perSecond: 200, burst: 200 },
  knownInside: { perSecond: 2000, burst: 2000 },
  stranger: { perSecond: 20, burst: 100 },
  proven: { perSecond: 50, burst: 200 },
  strangers: { perSecond: 150, burst: 100 },
  responses: { perSecond: 50, burst: 200 },
  allResponses: { perSecond: 1000, burst: 1000 },
}

/** Longer than the longest softphone registration. */
const PROVEN_MS = 2 * 3_600_000
const LEAST_PROVEN = 10_000

export class Gate {
  readonly #limits: GateLimits
  readonly #known: Buckets
  readonly #strangers: Buckets
  readonly #together: Buckets
  readonly #proven = new Recent<number>(LEAST_PROVEN)

  constructor(limits: GateLimits = GATE_LIMITS) {
    this.#limits = limits
    this.#known = new Buckets()
    this.#strangers = new Buckets()
    this.#together = new Buckets()
  }

  /** True when the request is within its limits. `opening`: it belongs to no dialog yet. */
  request(
    standing: SourceStanding,
    address: string,
    kind: { reliable: boolean; opening: boolean },
    nowMs: number,
  ): boolean {
    const limits = this.#limits
    if (standing === 'unrestricted') return true
    if (standing === 'out') return false
    if (standing === 'known' || standing === 'trunk') {
      const [name, rate] = kind.opening ? (['o', limits.knownOpening] as const) : (['i', limits.knownInside] as const)
      return this.#known.take(`${name} ${address}`, rate, nowMs)
    }
    const network = networkOf(address)
    const proven = this.isProven(address, nowMs)
    // The source's own share is charged first, so that a flood cannot use up the shared one.
    if (!this.#strangers.take(network, proven ? limits.proven : limits.stranger, nowMs)) return false
    return proven || this.#together.take(kind.reliable ? 'stream' : 'datagram', limits.strangers, nowMs)
  }

  /** True when the response is within its limits. Responses come from any host that we called, listed or not. */
  response(standing: SourceStanding, address: string, nowMs: number): boolean {
    if (standing === 'unrestricted' || standing === 'known' || standing === 'trunk') return true
    if (!this.#strangers.take(`r ${networkOf(address)}`, this.#limits.responses, nowMs)) return false
    return this.#together.take('response', this.#limits.allResponses, nowMs)
  }

  /** Records that one of our softphones registered or called from this address. */
  prove(address: string, nowMs: number): void {
    this.#proven.set(networkOf(address), nowMs)
  }

  isProven(address: string, nowMs: number): boolean {
    const atMs = this.#proven.get(networkOf(address))
    return atMs !== undefined && nowMs - atMs < PROVEN_MS
  }

  /** Number of sources in memory. */
  get size(): number {
    return this.#known.size + this.#strangers.size + this.#together.size + this.#proven.size
  }
}

const IN_DIALOG = /^(?:to|t)[ \t]*:[^\r\n]*;[ \t]*tag[ \t]*=/im
/** Bytes of the head that are searched for To: more than any real request needs before it. */
const LOOKED_AT = 4096

/**
 * True for a request, not yet parsed, that opens a dialog or transaction. A wrong guess is caught by the parser later,
 * within the limits of its source.
 */
export function opensSomething(bytes: Buffer): boolean {
  const head = bytes.toString('latin1', 0, LOOKED_AT)
  return !/^(?:ACK|CANCEL) /.test(head) && !IN_DIALOG.test(head)
}
