/** Trunks by id and by where a call comes from. Holds the latest snapshot and the addresses its host names stand for. */
import { BlockList, isIP } from 'node:net'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { Log, TrunkDirectory } from '../../media/ports.ts'
import { ownNumber } from './address.ts'

export type Match =
  | { readonly kind: 'trunk'; readonly trunk: TrunkPlan }
  /** Several trunks of one carrier, and the number called is on none of them. */
  | { readonly kind: 'ambiguous'; readonly trunks: readonly TrunkPlan[] }
  | { readonly kind: 'unknown' }

export type Lookup = (host: string) => Promise<readonly string[]>

/** Chooses among `candidates`, all of which the source may call on. */
export function chooseTrunk(candidates: readonly TrunkPlan[], dialed: readonly (string | null)[]): Match {
  const first = candidates[0]
  if (first === undefined) return { kind: 'unknown' }
  const owning = candidates.find(trunk => dialed.some(number => ownNumber(number, trunk.numbers) !== null))
  if (owning !== undefined) return { kind: 'trunk', trunk: owning }
  return candidates.length === 1 ? { kind: 'trunk', trunk: first } : { kind: 'ambiguous', trunks: candidates }
}

function allowedBy(cidrs: readonly string[], source: string): boolean {
  const family = source.includes(':') ? 'ipv6' : 'ipv4'
  return cidrs.some(cidr => {
    const [address = '', bits] = cidr.split('/')
    const version = isIP(address)
    if (version === 0) return false
    const list = new BlockList()
    const type = version === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, bits === undefined ? (version === 6 ? 128 : 32) : Number(bits), type)
    return type === family && list.check(source, family)
  })
}

export class Trunks {
  private readonly source: TrunkDirectory
  private readonly lookup: Lookup
  private readonly log: Log
  /** Addresses learnt by host name: by DNS, and from answers to our REGISTER. */
  private readonly addresses = new Map<string, Set<string>>()
  private readonly stopWatching: () => void
  private readonly onAllowed: (cidrs: string[]) => void
  private announced = ''

  /** `onAllowed` hears of every change of `allowedSources`. */
  constructor(source: TrunkDirectory, lookup: Lookup, log: Log, onAllowed: (cidrs: string[]) => void = () => {}) {
    this.source = source
    this.lookup = lookup
    this.log = log
    this.onAllowed = onAllowed
    this.stopWatching = source.onChange(() => void this.resolve())
  }

  /** Looks the trunks' host names up anew; a name that fails keeps the addresses it had. */
  async resolve(): Promise<void> {
    const hosts = new Set(this.source.all().flatMap(hostsOf))
    for (const host of this.addresses.keys()) if (!hosts.has(host)) this.addresses.delete(host)
    this.announce()
    await Promise.all([...hosts].filter(host => isIP(host) === 0).map(host => this.resolveOne(host)))
  }

  private async resolveOne(host: string): Promise<void> {
    try {
      for (const address of await this.lookup(host)) this.learn(host, address)
    } catch {
      this.log.warn({ host }, 'trunk host name could not be resolved')
    }
  }

  /** The registrar answered from there: calls will come from there. */
  learn(host: string, address: string): void {
    if (isIP(address) === 0) return
    const known = this.addresses.get(host) ?? new Set()
    known.add(address)
    this.addresses.set(host, known)
    this.announce()
  }

  private announce(): void {
    const cidrs = this.allowedSources().sort()
    if (cidrs.join() === this.announced) return
    this.announced = cidrs.join()
    this.onAllowed(cidrs)
  }

  byId(id: string): TrunkPlan | null {
    return this.source.all().find(trunk => trunk.id === id) ?? null
  }

  all(): readonly TrunkPlan[] {
    return this.source.all()
  }

  /** The trunk a call from `source` is on. `dialed`: the strings that may hold the number called, best first. */
  match(source: string, dialed: readonly (string | null)[]): Match {
    const candidates = this.source.all().filter(trunk => this.mayCall(trunk, source))
    return chooseTrunk(candidates, dialed)
  }

  private mayCall(trunk: TrunkPlan, source: string): boolean {
    return allowedBy(trunk.allowed_ips, source) || this.addressesOf(trunk).includes(source)
  }

  private addressesOf(trunk: TrunkPlan): string[] {
    return hostsOf(trunk).flatMap(host => (isIP(host) === 0 ? [...(this.addresses.get(host) ?? [])] : [host]))
  }

  /** Everything that may call, as CIDRs: the embedded server drops the rest before any answer. */
  allowedSources(): string[] {
    return [...new Set(this.source.all().flatMap(trunk => [...trunk.allowed_ips, ...this.addressesOf(trunk)]))]
  }

  close(): void {
    this.stopWatching()
  }
}

/** The host itself and, where calls go over one, the proxy. */
function hostsOf(trunk: TrunkPlan): string[] {
  const proxy = /^(?:sips?:)?(?:[^@]*@)?(\[[^\]]+\]|[^:;]+)/i.exec(trunk.outbound_proxy?.trim() ?? '')?.[1]
  return [trunk.host, ...(proxy ? [proxy.replace(/^\[|\]$/g, '')] : [])]
}
