import type { TrunkStatusEvent } from '../../../media/contract/messages.ts'
import type { CodecName, NumberClaim, TrunkHost } from '../../../media/contract/plan.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface TrunkRow {
  id: string
  owner_id: string
  name: string
  mode: 'register' | 'ip' | 'both'
  host: string
  port: number | null
  transport: 'udp' | 'tcp' | 'tls'
  hosts: TrunkHost[]
  options_interval_seconds: number | null
  username: string | null
  password_sealed: string | null
  realm: string | null
  outbound_proxy: string | null
  allowed_ips: string[]
  codecs: CodecName[]
  srtp: 'off' | 'optional' | 'required'
  max_calls: number | null
  max_cps: number | null
  from_user: string | null
  from_domain: string | null
  pai: 'always' | 'never'
  privacy: 'none' | 'id'
  number_format: 'plus' | 'national' | 'digits'
  region: string | null
  transfer: 'refer' | 'bridge'
  fallback_number: string | null
  refusal_announcement: string | null
  refusal_language: string
  host_status: TrunkStatusEvent['hosts']
  registration: 'none' | 'registering' | 'registered' | 'failed'
  last_error: string | null
  status_at: Date | null
  /** Addresses of the registrar that accepted `registered_account` (`trunkAccount`). */
  registrars: string[]
  registered_account: string | null
  created_at: Date
}
type Status = 'host_status' | 'registration' | 'last_error' | 'status_at' | 'registrars' | 'registered_account'
type NewTrunk = Omit<TrunkRow, Status>

const columns = [
  'id',
  'owner_id',
  'name',
  'mode',
  'host',
  'port',
  'transport',
  'hosts',
  'options_interval_seconds',
  'username',
  'password_sealed',
  'realm',
  'outbound_proxy',
  'allowed_ips',
  'codecs',
  'srtp',
  'max_calls',
  'max_cps',
  'from_user',
  'from_domain',
  'pai',
  'privacy',
  'number_format',
  'region',
  'transfer',
  'fallback_number',
  'refusal_announcement',
  'refusal_language',
] as const

const asJson = (db: Db, trunk: NewTrunk) => ({ ...trunk, hosts: db.json(trunk.hosts as never) })

export async function insertTrunk(db: Db, trunk: NewTrunk): Promise<void> {
  await db`insert into trunks ${db(asJson(db, trunk) as never, ...columns, 'created_at')}`
}

export async function updateTrunk(db: Db, ownerId: string, trunk: NewTrunk): Promise<void> {
  await db`update trunks set ${db(asJson(db, trunk) as never, ...columns)} where owner_id = ${ownerId} and id = ${trunk.id}`
}

export async function lockTrunk(tx: Tx, ownerId: string, id: string): Promise<TrunkRow | undefined> {
  const [row] = await tx<TrunkRow[]>`select * from trunks where owner_id = ${ownerId} and id = ${id} for update`
  return row
}

type WithNumbers = TrunkRow & { numbers: string[] }

const withNumbers = (db: Db) => db`
  trunks.*, coalesce(
    (select array_agg(number order by number) from numbers where numbers.trunk_id = trunks.id), '{}') as numbers`

export async function selectTrunk(db: Db, ownerId: string, id: string): Promise<WithNumbers | undefined> {
  const [row] = await db<WithNumbers[]>`
    select ${withNumbers(db)} from trunks where owner_id = ${ownerId} and id = ${id}`
  return row
}

export async function selectTrunks(db: Db, ownerId: string, page: Page): Promise<WithNumbers[]> {
  return db<WithNumbers[]>`
    select ${withNumbers(db)} from trunks where owner_id = ${ownerId}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** An owner has only a few. */
export async function countTrunks(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`select count(*)::int as total from trunks where owner_id = ${ownerId}`
  return row!.total
}

export async function deleteTrunk(db: Db, ownerId: string, id: string): Promise<boolean> {
  return (await db`delete from trunks where owner_id = ${ownerId} and id = ${id} returning 1`).length > 0
}

/** Owner of a trunk that an engine names. Has no owner parameter, because engines are trusted. */
export async function selectTrunkOwner(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ owner_id: string }[]>`select owner_id from trunks where id = ${id}`
  return row?.owner_id
}

/** Maximum calls per second of the carrier; null: no limit, or the trunk was deleted. */
export async function selectMaxCps(db: Db, ownerId: string, id: string): Promise<number | null> {
  const [row] = await db<{ max_cps: number | null }[]>`
    select max_cps from trunks where owner_id = ${ownerId} and id = ${id}`
  return row?.max_cps ?? null
}

export async function insertNumbers(
  db: Db,
  ownerId: string,
  numbers: { id: string; trunk_id: string; number: string; created_at: Date }[],
): Promise<void> {
  if (numbers.length === 0) return
  const rows = numbers.map(number => ({ ...number, owner_id: ownerId }))
  await db`insert into numbers ${db(rows)}`
}

export async function deleteNumbersExcept(db: Db, ownerId: string, trunkId: string, kept: string[]): Promise<void> {
  await db`
    delete from numbers where owner_id = ${ownerId} and trunk_id = ${trunkId} and number <> all(${kept})`
}

export async function selectNumbersOf(db: Db, ownerId: string, trunkId: string): Promise<string[]> {
  const rows = await db<{ number: string }[]>`
    select number from numbers where owner_id = ${ownerId} and trunk_id = ${trunkId} order by number`
  return rows.map(row => row.number)
}

export async function updateStatus(
  db: Db,
  ownerId: string,
  status: Pick<TrunkStatusEvent, 'trunk_id' | 'registration' | 'last_error' | 'hosts'> & { at: Date },
): Promise<void> {
  await db`
    update trunks set registration = ${status.registration}, last_error = ${status.last_error},
      host_status = ${db.json(status.hosts as never)}, status_at = ${status.at}
    where owner_id = ${ownerId} and id = ${status.trunk_id} and (status_at is null or status_at < ${status.at})`
}

/** The registrar's addresses; none when it rejected the account. */
export async function updateRegistrars(
  tx: Tx,
  ownerId: string,
  trunk: Pick<TrunkRow, 'id' | 'registrars' | 'registered_account'>,
): Promise<void> {
  await tx`
    update trunks set registrars = ${trunk.registrars}, registered_account = ${trunk.registered_account}
    where owner_id = ${ownerId} and id = ${trunk.id}`
}

export async function raiseVersion(db: Db): Promise<void> {
  await db`update trunks_version set version = version + 1`
}

const PUBLISH_LOCK = 7_281_113

/** Serialises publishing without blocking changes of trunks: Redis may be slow to accept the snapshot. */
export async function lockPublishing(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${PUBLISH_LOCK})`
}

const epochMs = (db: Db, column: string) => db`floor(extract(epoch from ${db(column)}) * 1000)::bigint`

/**
 * Claims to numbers: for those that several accounts list, that were called, or verified. Another number may be dialled
 * in the same way, in the national form of another country, so calls count even if no other account lists the number.
 */
const claims = (db: Db) => db`
  coalesce((
    select json_agg(json_build_object(
      'number', numbers.number,
      'listed_at', ${epochMs(db, 'numbers.created_at')},
      'verified_at', ${epochMs(db, 'numbers.verified_at')},
      'called', (
        select coalesce(json_object_agg(source, ${epochMs(db, 'first_at')}), '{}') from number_calls
        where number_id = numbers.id)))
    from numbers where numbers.trunk_id = trunks.id and (
      numbers.verified_at is not null
      or exists (select 1 from number_calls where number_id = numbers.id)
      or exists (
        select 1 from numbers other where other.number = numbers.number and other.owner_id <> numbers.owner_id))
  ), '[]') as claims`

type Published = WithNumbers & { claims: NumberClaim[] }

/** One statement, so that version and trunks are from the same snapshot. */
export async function selectAll(db: Db): Promise<{ version: number; trunks: Published[] }> {
  const rows = await db<(Published & { version: number })[]>`
    select trunks_version.version, ${withNumbers(db)}, ${claims(db)}
    from trunks_version left join trunks on true order by trunks.id`
  return { version: rows[0]!.version, trunks: rows.filter(row => row.id !== null) }
}

/** Region or number of the first trunk, used when the project has no line yet. */
export async function selectHome(db: Db, ownerId: string): Promise<{ region: string | null; number: string | null }> {
  const [row] = await db<{ region: string | null; number: string | null }[]>`
    select trunks.region, (
      select number from numbers where trunk_id = trunks.id order by numbers.created_at, number limit 1
    ) as number
    from trunks where owner_id = ${ownerId} order by trunks.created_at, trunks.id limit 1`
  return row ?? { region: null, number: null }
}
