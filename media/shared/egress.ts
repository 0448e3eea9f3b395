/** Guards what leaves this machine for addresses that somebody else chose, and remembers what it refused. */
import type { Metrics } from './metrics.ts'

export const EGRESS_KINDS = ['rtp', 'rtcp', 'http'] as const
export type EgressKind = (typeof EGRESS_KINDS)[number]

/** A destination that was refused since the last `drain`. */
export interface EgressRefusal {
  kind: string
  /** `address:port`, IPv6 in brackets. */
  target: string
  count: number
  /** Epoch ms of the latest one. */
  at: number
}

export interface EgressGuard {
  /** True when a packet may go there. Counts it otherwise. */
  admits(kind: EgressKind, address: string, port: number): boolean
  /** Records a refusal that another rule decided. */
  refused(kind: EgressKind, address: string, port: number): void
  /** Returns the refusals since the last call. */
  drain(): EgressRefusal[]
}

/** Milliseconds that a decision stays valid: interfaces may change, and parsing an address costs more than a packet. */
const VALID_MS = 5000
const MOST_DECISIONS = 10_000
/** Targets remembered between two drains; more are counted by the metric only. */
const MOST_TARGETS = 64

export interface EgressOptions {
  mayReach(address: string): boolean
  metrics: Metrics
  clock: { now(): number; wall(): number }
}

export function createEgressGuard({ mayReach, metrics, clock }: EgressOptions): EgressGuard {
  const blocked = metrics.counter({
    name: 'parley_egress_blocked_total',
    help: 'Packets and requests not sent because their destination address is not allowed.',
    labels: { kind: EGRESS_KINDS },
  })
  const decisions = new Map<string, { allowed: boolean; untilMs: number }>()
  let refusals = new RefusalBook()

  function decide(address: string): boolean {
    const nowMs = clock.now()
    const known = decisions.get(address)
    if (known !== undefined && known.untilMs > nowMs) return known.allowed
    if (decisions.size >= MOST_DECISIONS) decisions.clear()
    const allowed = mayReach(address)
    decisions.set(address, { allowed, untilMs: nowMs + VALID_MS })
    return allowed
  }

  const guard: EgressGuard = {
    admits(kind, address, port) {
      const allowed = decide(address)
      if (!allowed) guard.refused(kind, address, port)
      return allowed
    },
    refused(kind, address, port) {
      blocked.add({ kind })
      refusals.note(kind, address, port, clock.wall())
    },
    drain() {
      const all = refusals.all()
      refusals = new RefusalBook()
      return all
    },
  }
  return guard
}

/** Refusals by kind and target, bounded under any load. */
export class RefusalBook {
  readonly #refusals = new Map<string, EgressRefusal>()

  /** Returns true for the first refusal of that target. */
  note(kind: string, address: string, port: number, at: number): boolean {
    const target = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
    const key = `${kind} ${target}`
    const known = this.#refusals.get(key)
    if (known === undefined && this.#refusals.size >= MOST_TARGETS) return false
    this.#refusals.set(key, { kind, target, count: (known?.count ?? 0) + 1, at })
    return known === undefined
  }

  all(): EgressRefusal[] {
    return [...this.#refusals.values()]
  }
}
