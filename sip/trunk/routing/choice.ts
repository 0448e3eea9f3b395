/**
 * Chooses the trunk of an inbound call among those that its source may call on. Several accounts may be customers of one
 * carrier, and anybody may add a trunk at its address. So what a stranger can write into a trunk decides nothing that
 * the carrier has shown to be another's. Pure.
 */
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import { networkOf } from '../../text/source-network.ts'
import { accountDomain, accountUser } from './identity.ts'
import { ownNumber } from './numbers.ts'

export type Match =
  /** `by`: what showed the trunk; left out for anything weaker. */
  | { kind: 'trunk'; trunk: TrunkPlan; by?: 'registration' | 'number' }
  /** Trunks of one carrier, and the call names nothing of any of them. */
  | { kind: 'ambiguous'; trunks: readonly TrunkPlan[] }
  | { kind: 'unknown' }

export interface CallFacts {
  source: string
  /** Users that may name the account or the number, best first: of the Request-URI, of P-Called-Party-ID, of To. */
  dialed: readonly (string | null)[]
  /** Hosts of To and From, which may be the realm of an account. */
  domains: readonly string[]
  /** Addresses of the registrar that accepted the trunk's account. */
  registrarsOf(trunk: TrunkPlan): readonly string[]
}

type Order = (one: TrunkPlan, other: TrunkPlan) => number

/**
 * Tries each name in turn: a registration's own contact, an account that the source has accepted, a number. Then an
 * account that nobody has shown to be his. The headers' order comes first, because callers may choose To.
 */
export function chooseTrunk(candidates: readonly TrunkPlan[], call: CallFacts): Match {
  const [first] = candidates
  if (first === undefined) return { kind: 'unknown' }
  const names = call.dialed.filter(name => name !== null)
  const registered = candidates.filter(trunk => nearness(trunk, call) > 0)
  for (const name of names) {
    const known = byContact(candidates, name) ?? byAccount(registered, name, call)
    if (known !== undefined) return { kind: 'trunk', trunk: known, by: 'registration' }
    const owning = byNumber(candidates, name, call)
    if (owning !== undefined) return { kind: 'trunk', trunk: owning, by: 'number' }
  }
  for (const name of names) {
    const claimed = byAccount(candidates, name, call)
    if (claimed !== undefined) return { kind: 'trunk', trunk: claimed }
  }
  const sole = candidates.length === 1 ? first : registered.length === 1 ? registered[0] : undefined
  return sole === undefined ? { kind: 'ambiguous', trunks: candidates } : { kind: 'trunk', trunk: sole }
}

/** How near the call's source is to the registrar: 2 its address, 1 its network (a carrier has several), 0 elsewhere. */
function nearness(trunk: TrunkPlan, { source, registrarsOf }: CallFacts): number {
  const registrars = registrarsOf(trunk)
  if (registrars.includes(source)) return 2
  return registrars.some(address => carrierNetworkOf(address) === carrierNetworkOf(source)) ? 1 : 0
}

/** The /24 of an IPv4 address, the /64 of an IPv6 address. */
const carrierNetworkOf = (address: string): string =>
  address.includes(':') ? networkOf(address) : address.replace(/\.\d+$/, '')

const byContact = (trunks: readonly TrunkPlan[], name: string): TrunkPlan | undefined =>
  trunks.find(trunk => trunk.contact_user === name)

/** Accounts that are numbers come with and without the plus. */
const bare = (name: string): string => name.replace(/^\+/, '').replace(/@.*$/, '')

export const isAccount = (trunk: TrunkPlan, name: string): boolean =>
  [accountUser(trunk), trunk.username].some(account => account !== null && bare(account) === bare(name))

function byAccount(trunks: readonly TrunkPlan[], name: string, call: CallFacts): TrunkPlan | undefined {
  const named = trunks.filter(trunk => isAccount(trunk, name))
  const isRealm = (trunk: TrunkPlan): boolean =>
    [trunk.realm, accountDomain(trunk)].some(realm => realm !== null && call.domains.includes(realm.toLowerCase()))
  // A registrar checks the password of the user name; whether the account may have another name, few check.
  const isUser = ({ username }: TrunkPlan): boolean => username !== null && bare(username) === bare(name)
  return best(named, [
    nearest(call),
    preferring(isUser),
    preferring(isRealm),
    preferring(trunk => ownsAny(trunk, call)),
    earlier,
  ])
}

/** Names with letters are accounts, whatever digits they contain. */
const numberOf = (trunk: TrunkPlan, name: string | null): string | null =>
  name === null || /[^\d+*#\s().-]/.test(name) ? null : ownNumber(name, trunk.numbers, trunk.dialing)

const ownsAny = (trunk: TrunkPlan, { dialed }: CallFacts): boolean =>
  dialed.some(name => numberOf(trunk, name) !== null)

/**
 * Whoever verified the number last has it. Else whoever had its calls from this source first, else who is registered
 * there, else who listed it first.
 */
function byNumber(trunks: readonly TrunkPlan[], name: string, call: CallFacts): TrunkPlan | undefined {
  const owning = trunks.filter(trunk => numberOf(trunk, name) !== null)
  const claim = (trunk: TrunkPlan) => trunk.claims.find(({ number }) => number === numberOf(trunk, name))
  return best(owning, [
    ascending(trunk => -(claim(trunk)?.verified_at ?? 0)),
    ascending(trunk => claim(trunk)?.called[call.source] ?? Number.POSITIVE_INFINITY),
    nearest(call),
    ascending(trunk => claim(trunk)?.listed_at ?? Number.POSITIVE_INFINITY),
    earlier,
  ])
}

/** Ids begin with the time at which they were made (UUIDv7). */
const earlier: Order = (one, other) => (one.id < other.id ? -1 : 1)
const nearest = (call: CallFacts): Order => ascending(trunk => -nearness(trunk, call))
const preferring =
  (holds: (trunk: TrunkPlan) => boolean): Order =>
  (one, other) =>
    Number(holds(other)) - Number(holds(one))
const ascending =
  (value: (trunk: TrunkPlan) => number): Order =>
  (one, other) =>
    value(one) === value(other) ? 0 : value(one) - value(other)

function best(trunks: readonly TrunkPlan[], orders: readonly Order[]): TrunkPlan | undefined {
  const compare: Order = (one, other) => orders.map(order => order(one, other)).find(result => result !== 0) ?? 0
  return [...trunks].sort(compare)[0]
}
