/** Finds trunks by id and by the source of a call. Holds the latest trunks and the addresses of their host names. */
import { BlockList, isIP } from 'node:net'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import { trunkAccount } from '../../../media/contract/trunk-account.ts'
import type { TrunkDirectory } from '../../../media/ports/trunks.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { proxyHost, proxyUri, trunkUri } from './address.ts'
import { type CallFacts, chooseTrunk, type Match } from './choice.ts'
import { hostsOf } from './hosts.ts'
import type { NextHopResolver } from './next-hop.ts'

/** One list per family: a list of both would match IPv4 addresses with IPv6 networks that embed them. */
interface Sources {
  ipv4: BlockList
  ipv6: BlockList
}

function sourcesOf(cidrs: readonly string[]): Sources {
  const sources = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const cidr of cidrs) {
    const [named = '', bits] = cidr.split('/')
    const mapped = /^::ffff:([\d.]+)$/i.exec(named)?.[1]
    const address = mapped ?? named
    const version = isIP(address)
    if (version === 0) continue
    const family = version === 6 ? 'ipv6' : 'ipv4'
    const most = version === 6 ? 128 : 32
    sources[family].addSubnet(address, bits === undefined ? most : Number(bits) - (mapped ? 96 : 0), family)
  }
  return sources
}

/** Milliseconds that an address stays allowed after DNS stopped returning it: calls from there continue. */
const LEFT_MS = 3_600_000
/** A registrar behind a name may answer from several servers. */
const MOST_REGISTRARS = 8

export interface TrunksParts {
  nextHops: Pick<NextHopResolver, 'addressesOf'>
  clock: Pick<Clock, 'now'>
  log: Log
  /** True when calls may come from a source that a trunk lists; all when left out. */
  mayAdmit?: ((network: string) => boolean) | undefined
  /** True when a trunk may be at an address; anywhere when left out. */
  mayReach?: ((address: string) => boolean) | undefined
}

export class Trunks {
  readonly #source: TrunkDirectory
  readonly #parts: TrunksParts
  /** Addresses by URI, with the time of the latest DNS answer that had them. */
  readonly #addresses = new Map<string, Map<string, number>>()
  /** Registrars' answers by trunk id, from this engine's own registrations. */
  readonly #registrars = new Map<string, { account: string; addresses: readonly string[] }>()
  /** Addresses by host name, from answers to our REGISTER. */
  readonly #learnt = new Map<string, Set<string>>()
  /** Sources that each trunk lists, without those that it may not. A changed trunk is another object. */
  readonly #listed = new WeakMap<TrunkPlan, { cidrs: readonly string[]; sources: Sources }>()
  readonly #stopWatching: () => void
  readonly #onAllowed: (cidrs: string[]) => void
  #announced = ''

  /** `onAllowed` receives every change of `allowedSources`. */
  constructor(source: TrunkDirectory, parts: TrunksParts, onAllowed: (cidrs: string[]) => void = () => {}) {
    this.#source = source
    this.#parts = parts
    this.#onAllowed = onAllowed
    this.#stopWatching = source.onChange(() => void this.resolve())
  }

  /** Resolves the trunks' host names again; a name that fails keeps its addresses. */
  async resolve(): Promise<void> {
    const uris = new Set(this.#source.all().flatMap(urisOf))
    for (const uri of this.#addresses.keys()) if (!uris.has(uri)) this.#addresses.delete(uri)
    const ids = new Set(this.#source.all().map(({ id }) => id))
    for (const id of this.#registrars.keys()) if (!ids.has(id)) this.#registrars.delete(id)
    const names = new Set(this.#source.all().flatMap(namesOf))
    for (const name of this.#learnt.keys()) if (!names.has(name)) this.#learnt.delete(name)
    this.#announce()
    await Promise.all([...uris].map(uri => this.#resolveOne(uri)))
    this.#announce()
  }

  async #resolveOne(uri: string): Promise<void> {
    const { nextHops, clock, log } = this.#parts
    const known = this.#addresses.get(uri) ?? new Map<string, number>()
    try {
      const told = await nextHops.addressesOf(uri)
      const nowMs = clock.now()
      for (const address of told) known.set(address, nowMs)
      for (const [address, atMs] of known) if (nowMs - atMs > LEFT_MS) known.delete(address)
      if (urisIn(this.#source).has(uri)) this.#addresses.set(uri, known)
    } catch {
      // Without a new answer the last one stays valid.
      for (const address of known.keys()) known.set(address, clock.now())
      log.warn({ uri }, 'resolving trunk host name failed')
    }
  }

  /** The registrar answered from this address, so calls will come from it. */
  learn(host: string, address: string): void {
    if (isIP(address) === 0) return
    const known = this.#learnt.get(host) ?? new Set()
    known.add(address)
    this.#learnt.set(host, known)
    this.#announce()
  }

  #announce(): void {
    const cidrs = this.allowedSources().sort()
    const news = [...cidrs, ...this.contactUsers()].join()
    if (news === this.#announced) return
    this.#announced = news
    try {
      this.#onAllowed(cidrs)
    } catch (error) {
      this.#announced = ''
      this.#parts.log.error({ err: error }, 'publishing allowed sources failed')
    }
  }

  byId(id: string): TrunkPlan | null {
    return this.#source.all().find(trunk => trunk.id === id) ?? null
  }

  all(): readonly TrunkPlan[] {
    return this.#source.all()
  }

  /** Finds the trunk of a call. */
  match(source: string, dialed: CallFacts['dialed'], domains: CallFacts['domains'] = []): Match {
    const candidates = this.#source.all().filter(trunk => this.mayCall(trunk, source))
    return chooseTrunk(candidates, { source, dialed, domains, registrarsOf: trunk => this.#registrarsOf(trunk) })
  }

  #registrarsOf(trunk: TrunkPlan): readonly string[] {
    const told = this.#registrars.get(trunk.id)
    return told?.account === trunkAccount(trunk) ? told.addresses : trunk.registrars
  }

  /** Records a registrar's answer before control has published it: its address, or null when it rejected the account. */
  noteRegistrar(trunk: TrunkPlan, address: string | null): void {
    const account = trunkAccount(trunk)
    const others = this.#registrarsOf(trunk).filter(other => other !== address)
    const next = address === null ? [] : [address, ...others]
    this.#registrars.set(trunk.id, { account, addresses: next.slice(0, MOST_REGISTRARS) })
  }

  /** The trunk whose registration has this contact; null for a contact that is none of ours. */
  byContact(user: string | null): TrunkPlan | null {
    return this.#source.all().find(trunk => trunk.contact_user !== null && trunk.contact_user === user) ?? null
  }

  /** True when calls of a trunk may come from `source`. */
  mayCall(trunk: TrunkPlan, source: string): boolean {
    const family = source.includes(':') ? 'ipv6' : 'ipv4'
    return this.#listedBy(trunk).sources[family].check(source, family) || this.#addressesOf(trunk).includes(source)
  }

  /** Trunks of earlier versions may list more than a trunk may name today. */
  #listedBy(trunk: TrunkPlan): { cidrs: readonly string[]; sources: Sources } {
    const { mayAdmit = () => true } = this.#parts
    const cidrs = this.#listed.get(trunk)?.cidrs ?? trunk.allowed_ips.filter(cidr => mayAdmit(cidr))
    const listed = this.#listed.get(trunk) ?? { cidrs, sources: sourcesOf(cidrs) }
    this.#listed.set(trunk, listed)
    return listed
  }

  /** Addresses of the trunk's hosts. What a name resolves to is its owner's choice, so each address is checked. */
  #addressesOf(trunk: TrunkPlan): string[] {
    const { mayReach = () => true } = this.#parts
    const learnt = namesOf(trunk).flatMap(host => (isIP(host) === 0 ? [...(this.#learnt.get(host) ?? [])] : [host]))
    const resolved = urisOf(trunk).flatMap(uri => [...(this.#addresses.get(uri)?.keys() ?? [])])
    return [...learnt, ...resolved].filter(address => mayReach(address))
  }

  /** All sources that may call, as CIDRs. The embedded server drops other messages without an answer. */
  allowedSources(): string[] {
    const sources = this.#source.all().flatMap(trunk => [...this.#listedBy(trunk).cidrs, ...this.#addressesOf(trunk)])
    return [...new Set(sources)]
  }

  /** Users of our registrations' contacts. */
  contactUsers(): string[] {
    return this.#source.all().flatMap(trunk => (isRegistering(trunk) ? [trunk.contact_user!] : []))
  }

  close(): void {
    this.#stopWatching()
  }
}

const isRegistering = ({ mode, contact_user: user }: TrunkPlan): boolean => mode !== 'ip' && user !== null

/** URIs to resolve with DNS. */
function urisOf(trunk: TrunkPlan): string[] {
  const hosts = hostsOf(trunk).filter(({ host }) => isIP(host) === 0)
  const proxy = isIP(proxyHost(trunk) ?? '0.0.0.0') === 0 ? proxyUri(trunk) : null
  return [...hosts.map(host => trunkUri(host, null)), ...(proxy === null ? [] : [proxy])]
}

const urisIn = (source: TrunkDirectory): Set<string> => new Set(source.all().flatMap(urisOf))

/** The trunk's hosts and its outbound proxy. */
function namesOf(trunk: TrunkPlan): string[] {
  const proxy = proxyHost(trunk)
  return [...new Set([...hostsOf(trunk).map(({ host }) => host), ...(proxy === null ? [] : [proxy])])]
}
