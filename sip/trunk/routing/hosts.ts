/** A trunk's hosts: which of them answer, and the order to try them in. */
import type { TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import type { Clock } from '../../../media/shared/clock.ts'

export const hostsOf = ({ host, port, transport, hosts }: TrunkPlan): TrunkHost[] => [
  { host, port, transport },
  ...hosts,
]

/** A server that DNS returned. */
export type Target = TrunkHost & { readonly port: number }

export type HostStatus = TrunkHost & {
  /** Null when never asked, or without any answer so far. */
  readonly alive: boolean | null
  /** Milliseconds that the latest OPTIONS took to be answered. */
  readonly optionsMs: number | null
  /** The servers that its SRV records name, when no port is set. */
  readonly targets: readonly (Target & { readonly alive: boolean | null; readonly optionsMs: number | null })[]
}

type Known = { deadUntilMs: number; silent: boolean; spoke: boolean; optionsMs: number | null }

/** Milliseconds that a failed host is skipped, unless it answers sooner. */
const DEAD_MS = 32_000
const LONGEST_DEAD_MS = 300_000

const keyOf = ({ host, port, transport }: TrunkHost): string => `${transport} ${host} ${port}`

/** The health of all hosts, from calls, registrations and pings alike. */
export class HostHealth {
  private readonly clock: Pick<Clock, 'now'>
  private readonly known = new Map<string, Known>()
  private readonly watchers = new Set<(host: TrunkHost) => void>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.clock = clock
  }

  private of(host: TrunkHost): Known {
    const key = keyOf(host)
    const known = this.known.get(key) ?? { deadUntilMs: 0, silent: false, spoke: false, optionsMs: null }
    this.known.set(key, known)
    return known
  }

  /** Records any answer; `optionsMs` when it was to OPTIONS. */
  recordAnswer(host: TrunkHost, optionsMs?: number): void {
    const known = this.of(host)
    known.deadUntilMs = 0
    known.silent = false
    known.spoke = true
    if (optionsMs !== undefined) known.optionsMs = optionsMs
  }

  /** Records a missing answer, or one that the host is unavailable; `forMs` is its Retry-After. */
  recordFailure(host: TrunkHost, forMs: number | null = null): void {
    this.of(host).deadUntilMs = this.clock.now() + Math.min(forMs ?? DEAD_MS, LONGEST_DEAD_MS)
  }

  /**
   * Records a missing answer to OPTIONS. Some hosts never answer it, so this counts as a failure only after earlier
   * answers.
   */
  recordSilence(host: TrunkHost): void {
    const known = this.of(host)
    known.silent = true
    known.optionsMs = null
    if (known.spoke) for (const watch of this.watchers) watch(host)
  }

  /** True when the host used to answer and no longer does. */
  hasDied(host: TrunkHost): boolean {
    const known = this.of(host)
    return known.deadUntilMs > this.clock.now() || (known.silent && known.spoke)
  }

  /** Calls back when a host that used to answer OPTIONS stops answering. */
  onSilence(watch: (host: TrunkHost) => void): () => void {
    this.watchers.add(watch)
    return () => this.watchers.delete(watch)
  }

  /** Healthy hosts first; the others last, since nothing else may be left to try. */
  order(hosts: readonly TrunkHost[]): TrunkHost[] {
    return this.orderBy(hosts, host => host)
  }

  orderBy<T>(things: readonly T[], hostOf: (thing: T) => TrunkHost): T[] {
    const doubtful = (thing: T): boolean => this.of(hostOf(thing)).silent || this.hasDied(hostOf(thing))
    return [...things.filter(thing => !doubtful(thing)), ...things.filter(doubtful)]
  }

  /** Status of a host; one live server behind a name is enough. */
  statusOf(host: TrunkHost, behind: readonly Target[] = []): HostStatus {
    const targets = behind.map(target => ({ ...target, ...this.stateOf(target) }))
    const own = this.stateOf(host)
    if (targets.length === 0) return { ...host, ...own, targets }
    const best = targets.find(({ alive }) => alive) ?? (own.alive ? own : targets.find(({ alive }) => alive === null))
    return {
      ...host,
      alive: best?.alive ?? (best === undefined ? false : null),
      optionsMs: best?.optionsMs ?? null,
      targets,
    }
  }

  private stateOf(host: TrunkHost): Pick<HostStatus, 'alive' | 'optionsMs'> {
    const { silent, spoke, optionsMs } = this.of(host)
    return { alive: this.hasDied(host) || silent ? false : spoke ? true : null, optionsMs }
  }

  /** Forgets hosts that are not in `hosts`. */
  keep(hosts: readonly TrunkHost[]): void {
    const kept = new Set(hosts.map(keyOf))
    for (const key of this.known.keys()) if (!kept.has(key)) this.known.delete(key)
  }
}

export const sameHost = (one: TrunkHost, other: TrunkHost): boolean => keyOf(one) === keyOf(other)
