import type { TrunkStatusEvent } from '../../../media/contract/messages.ts'
import {
  CONTRACT_VERSION,
  type DialingRules,
  type NewTrunk,
  type NumberClaim,
  type TrunkHost,
} from '../../../media/contract/plan.ts'
import { trunkAccount } from '../../../media/contract/trunk-account.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { invalidField, limitReached, notFound } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { dialingRules, regionOf } from '../../platform/phone.ts'
import { insertNumberCall } from '../numbers/sql.ts'
import { checkHosts, checkSources } from './private-hosts.ts'
import { TrunkCreate, type TrunkInput, TrunkPatch, type TrunkSettings, trunkDefaults } from './schema.ts'
import {
  countTrunks,
  deleteNumbersExcept,
  deleteTrunk,
  insertNumbers,
  insertTrunk,
  lockPublishing,
  lockTrunk,
  raiseVersion,
  selectAll,
  selectNumbersOf,
  selectTrunk,
  type TrunkRow,
  updateRegistrars,
  updateStatus,
  updateTrunk,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'sealer' | 'boss' | 'config'>
type Save = (db: Db, answer: unknown) => Promise<void>
/** Limit of an account: every engine holds all trunks and gets each change. */
const MOST_TRUNKS = 100

const associated = (id: string) => `trunk:${id}`

/** The engines get the change within a second, or as soon as Redis is reachable. */
export async function announceTrunks(deps: Pick<Deps, 'boss'>, tx: Tx): Promise<void> {
  await raiseVersion(tx)
  await enqueue(deps, tx, 'trunks.publish', {})
}

/** Registration without a password cannot work; reporting it here is better than an error of the carrier. */
function check(settings: TrunkSettings): void {
  const { mode, username, password, numbers, fallback_number } = settings
  if (mode !== 'ip' && (username === null || password === null)) {
    throw invalidField('/username', 'credentials', 'registration needs a user name and a password')
  }
  if (fallback_number !== null && numbers.includes(fallback_number)) {
    throw invalidField('/fallback_number', 'own_number', 'must not be a number of this trunk')
  }
}

const given = (patch: TrunkPatch) =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))

export async function createTrunk(
  deps: Ports,
  ownerId: string,
  input: TrunkInput,
  save: Save = async () => {},
): Promise<TrunkAnswer> {
  const settings: TrunkSettings = {
    ...trunkDefaults,
    ...(given(TrunkCreate.parse(input)) as TrunkInput),
  } as TrunkSettings
  check(settings)
  checkHosts(deps.config, settings)
  checkSources(deps.config, settings.allowed_ips)
  const { numbers, password, ...trunk } = settings
  const created_at = wallDate(deps)
  const id = uuidv7(created_at.getTime())
  const password_sealed = password === null ? null : deps.sealer.seal(password, associated(id))
  return withJobs(deps, async tx => {
    if ((await countTrunks(tx, ownerId)) >= MOST_TRUNKS) throw limitReached(MOST_TRUNKS, 'trunks')
    await insertTrunk(tx, { ...trunk, id, owner_id: ownerId, password_sealed, created_at })
    await addNumbers(tx, ownerId, id, numbers, created_at)
    await announceTrunks(deps, tx)
    const answer = await viewOf(tx, ownerId, id)
    await save(tx, answer)
    return answer
  })
}

/**
 * Omitted fields stay, including the password. Numbers that are missing from the list are deleted with their bindings.
 */
export async function patchTrunk(deps: Ports, ownerId: string, id: string, patch: TrunkPatch): Promise<TrunkAnswer> {
  return withJobs(deps, async tx => {
    const before = await lockTrunk(tx, ownerId, id)
    if (!before) throw notFound()
    const have = await selectNumbersOf(tx, ownerId, id)
    const known =
      before.password_sealed === null ? null : String(deps.sealer.open(before.password_sealed, associated(id)))
    const settings: TrunkSettings = { ...before, password: known, numbers: have, ...given(TrunkPatch.parse(patch)) }
    check(settings)
    checkHosts(deps.config, settings)
    // Engines ignore sources that a trunk of an earlier version has; they must not stop other changes of it.
    if (patch.allowed_ips !== undefined) checkSources(deps.config, patch.allowed_ips)
    const { numbers, password, ...trunk } = settings
    const password_sealed = password === null ? null : deps.sealer.seal(password, associated(id))
    await updateTrunk(tx, ownerId, { ...before, ...trunk, password_sealed })
    await deleteNumbersExcept(tx, ownerId, id, numbers)
    await addNumbers(
      tx,
      ownerId,
      id,
      numbers.filter(number => !have.includes(number)),
      wallDate(deps),
    )
    await announceTrunks(deps, tx)
    return viewOf(tx, ownerId, id)
  })
}

export type TrunkAnswer = ReturnType<typeof presentTrunk>

export function presentTrunk(row: TrunkRow & { numbers: string[] }) {
  const { owner_id: _owner, password_sealed: _password, created_at, ...rest } = row
  const { host_status, registration, last_error, status_at, registrars: _at, registered_account: _as, ...shown } = rest
  const hosts = hostStatus(shown, host_status)
  const last_options_ms = hosts.find(host => host.alive)?.options_ms ?? null
  return {
    ...shown,
    status: { registration, last_options_ms, hosts, last_error, changed_at: time(status_at) },
    created_at: created_at.toISOString(),
  }
}

/** Status of the currently configured hosts: a report may be about earlier ones. */
function hostStatus(trunk: TrunkHost & { hosts: TrunkHost[] }, reported: TrunkRow['host_status']) {
  const { host, port, transport, hosts } = trunk
  return [{ host, port, transport }, ...hosts].map(one => {
    const known = reported.find(
      other => other.host === one.host && other.port === one.port && other.transport === one.transport,
    )
    const { alive = null, options_ms = null, targets = [] } = known ?? {}
    return { ...one, alive, options_ms, targets }
  })
}

async function viewOf(db: Db, ownerId: string, id: string): Promise<TrunkAnswer> {
  const row = await selectTrunk(db, ownerId, id)
  if (!row) throw notFound()
  return presentTrunk(row)
}

export async function getTrunk(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<TrunkAnswer> {
  return viewOf(deps.sql, ownerId, id)
}

export async function removeTrunk(deps: Ports, ownerId: string, id: string): Promise<void> {
  await withJobs(deps, async tx => {
    if (!(await deleteTrunk(tx, ownerId, id))) throw notFound()
    await announceTrunks(deps, tx)
  })
}

async function addNumbers(tx: Tx, ownerId: string, trunkId: string, numbers: string[], at: Date): Promise<void> {
  const rows = numbers.map(number => ({ id: uuidv7(at.getTime()), trunk_id: trunkId, number, created_at: at }))
  try {
    await insertNumbers(tx, ownerId, rows)
  } catch (error) {
    if ((error as { code?: string }).code !== '23505') throw error // unique_violation
    throw invalidField('/numbers', 'number_listed', 'a number is on another trunk of this account')
  }
}

/** Records a call that the number alone decided: a later account with the number does not take the calls of its source. */
export async function noteNumberCall(
  deps: Pick<Deps, 'sql' | 'boss' | 'clock'>,
  ownerId: string,
  call: { number: string; trunkId: string; source: string },
): Promise<void> {
  await withJobs(deps, async tx => {
    if (await insertNumberCall(tx, ownerId, { ...call, at: wallDate(deps) })) await announceTrunks(deps, tx)
  })
}

/** Serialised, so that an older snapshot cannot overwrite a newer one. */
export async function publishTrunks(deps: Pick<Deps, 'sql' | 'sealer' | 'bus'>): Promise<number> {
  return deps.sql.begin(async tx => {
    await lockPublishing(tx)
    const { version, trunks } = await selectAll(tx)
    await deps.bus.publishTrunks({
      v: CONTRACT_VERSION,
      version,
      trunks: trunks.map(row => planOf(deps, row)),
    })
    return version
  })
}

/** A trunk in the form of engines, with its password decrypted. */
export function planOf(
  deps: Pick<Deps, 'sealer'>,
  row: TrunkRow & { numbers: string[]; claims?: NumberClaim[] },
): NewTrunk {
  return {
    id: row.id,
    owner_id: row.owner_id,
    name: row.name,
    mode: row.mode,
    host: row.host,
    port: row.port,
    transport: row.transport,
    hosts: row.hosts,
    options_interval_seconds: row.options_interval_seconds,
    username: row.username,
    password: row.password_sealed === null ? null : String(deps.sealer.open(row.password_sealed, associated(row.id))),
    realm: row.realm,
    outbound_proxy: row.outbound_proxy,
    allowed_ips: row.allowed_ips,
    codecs: row.codecs,
    srtp: row.srtp,
    max_calls: row.max_calls,
    max_cps: row.max_cps,
    from_user: row.from_user,
    from_domain: row.from_domain,
    pai: row.pai,
    privacy: row.privacy,
    number_format: row.number_format,
    dialing: dialingOf(row),
    transfer: row.transfer,
    fallback_number: row.fallback_number,
    refusal_announcement: row.refusal_announcement,
    refusal_language: row.refusal_language,
    numbers: row.numbers,
    contact_user: contactUserOf(deps, row.id),
    registrars: row.registered_account === trunkAccount(row) ? row.registrars : [],
    claims: row.claims ?? [],
  }
}

/** Not guessable, because it decides whose a call is; the same at every engine and after each restart. */
const contactUserOf = ({ sealer }: Pick<Deps, 'sealer'>, id: string): string => `t${sealer.nameFor(`trunk:${id}`)}`

/** Rules of the configured country, or of the trunk's numbers. */
function dialingOf({ region, numbers }: { region: string | null; numbers: string[] }): DialingRules | null {
  const country = region ?? numbers.map(regionOf).find(known => known !== null)
  return country ? dialingRules(country) : null
}

export async function noteTrunkStatus(deps: Pick<Deps, 'sql' | 'boss'>, event: TrunkStatusEvent): Promise<void> {
  const { trunk_id, registration, last_error, hosts } = event
  await updateStatus(deps.sql, event.owner_id, { trunk_id, registration, last_error, hosts, at: new Date(event.at) })
  if (event.registrar) await noteRegistrar(deps, event.owner_id, trunk_id, event.registrar)
}

/** A registrar behind a name may answer from several servers. */
const MOST_REGISTRARS = 8

/** An answer about an account that the trunk no longer has is ignored: its owner may have changed the user name since. */
async function noteRegistrar(
  deps: Pick<Deps, 'sql' | 'boss'>,
  ownerId: string,
  trunkId: string,
  { account, address }: NonNullable<TrunkStatusEvent['registrar']>,
): Promise<void> {
  await withJobs(deps, async tx => {
    const row = await lockTrunk(tx, ownerId, trunkId)
    if (!row || trunkAccount(row) !== account) return
    const known = row.registered_account === account ? row.registrars : []
    if (address === null ? known.length === 0 : known.includes(address)) return
    const registrars = address === null ? [] : [address, ...known].slice(0, MOST_REGISTRARS)
    await updateRegistrars(tx, ownerId, { id: trunkId, registrars, registered_account: account })
    await announceTrunks(deps, tx)
  })
}
