/**
 * Copies the whole database, table by table, with the COPY protocol, so that no program of a certain version is needed.
 */
import type { Readable, Writable } from 'node:stream'
import type { Db, Tx } from '../../platform/db/connect.ts'

export interface Table {
  name: string
  columns: string[]
}

/** The record of executed migrations belongs to the schema, not to the data. */
const NO_DATA = 'schema_migrations'

export async function selectTables(db: Db): Promise<Table[]> {
  return db<Table[]>`
    select tables.table_name as name, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.tables join information_schema.columns using (table_schema, table_name)
    where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> ${NO_DATA}
      and is_generated = 'NEVER'
    group by 1 order by 1`
}

/** Pairs of tables with a foreign key between them. */
export async function selectReferences(db: Db): Promise<{ from: string; to: string }[]> {
  return db<{ from: string; to: string }[]>`
    select distinct conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
    where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid`
}

export interface Sequence {
  name: string
  last_value: bigint | null
}

export async function selectSequences(db: Db): Promise<Sequence[]> {
  return db<Sequence[]>`
    select sequencename as name, last_value from pg_sequences where schemaname = current_schema() order by 1`
}

export async function updateSequence(
  db: Db,
  { name, last_value }: { name: string; last_value: string },
): Promise<void> {
  await db`select setval(${name}::regclass, ${last_value}::bigint)`
}

export interface Ran {
  version: number
  name: string
  hash: string
}

export async function selectRan(db: Db): Promise<Ran[]> {
  return db<Ran[]>`select version, name, hash from schema_migrations order by version`
}

/** Null when the schema does not exist. */
export async function countAccounts(db: Db): Promise<number | null> {
  const [there] = await db<{ there: boolean }[]>`select to_regclass('accounts') is not null as there`
  if (!there?.there) return null
  const [row] = await db<{ accounts: number }[]>`select count(*)::int as accounts from accounts`
  return row!.accounts
}

export async function copyOut(tx: Tx, { name, columns }: Table): Promise<Readable> {
  return tx`copy (select ${tx(columns)} from ${tx(name)}) to stdout`.readable()
}

/** Copies counters as they are: triggers stay off until `wakeTriggers`, so nothing is counted twice. */
export async function copyInto(tx: Tx, { name, columns }: Table): Promise<Writable> {
  await tx`alter table ${tx(name)} disable trigger user`
  await tx`delete from ${tx(name)}` // rows that a migration inserted
  return tx`copy ${tx(name)} (${tx(columns)}) from stdin`.writable()
}

export async function wakeTriggers(tx: Tx, { name }: Table): Promise<void> {
  await tx`alter table ${tx(name)} enable trigger user`
}

/** Keys of blobs that rows refer to. */
export async function selectRecordingKeys(db: Db): Promise<string[]> {
  const rows = await db<{ key: string }[]>`
    select recording ->> 'key' as key from calls where recording is not null order by 1`
  return rows.map(row => row.key)
}

export async function selectSources(db: Db): Promise<{ id: string; owner_id: string }[]> {
  return db<{ id: string; owner_id: string }[]>`
    select id, owner_id from knowledge_sources where stored and kind <> 'url' order by id`
}

// ---- State that must not simply resume after a restore ----

/** Pauses campaigns: contacts may have been called since the backup, so only the owners may resume. */
export async function pauseCampaigns(tx: Tx, at: Date): Promise<number> {
  const rows = await tx`
    update campaigns set status = 'paused', pause_reason = 'owner', updated_at = ${at}
    where status = 'running' or (status = 'scheduled' and scheduled_start_at <= ${at}) returning 1`
  return rows.length
}

export async function selectUnsent(db: Db): Promise<{ id: string; owner_id: string; attempts: number }[]> {
  return db<{ id: string; owner_id: string; attempts: number }[]>`
    select id, owner_id, attempts from webhook_deliveries where status = 'pending' order by created_at, id`
}

export async function selectUnindexed(db: Db): Promise<{ id: string; owner_id: string }[]> {
  return db<{ id: string; owner_id: string }[]>`
    select id, owner_id from knowledge_sources where stored and status in ('pending', 'indexing') order by id`
}

export async function selectSearching(db: Db): Promise<{ id: string; owner_id: string }[]> {
  return db<{ id: string; owner_id: string }[]>`
    select id, owner_id from lead_jobs where ended_at is null order by id`
}

/** Accounts whose owners were promised erasure. A backup of an older version does not have the column. */
export async function selectUnerased(db: Db): Promise<{ id: string }[]> {
  return db<{ id: string }[]>`
    select id from accounts
    where to_jsonb(accounts) ->> 'closed_at' is not null and deleted_at is null order by id`
}

// ---- Consistency ----

/** Returns a sentence for each inconsistency of money and counters; none when everything is consistent. */
export async function selectContradictions(db: Db): Promise<string[]> {
  const rows = await db<{ what: string; found: number }[]>`
    select 'ledger transactions that do not sum to zero' as what, count(*)::int as found from (
      select from ledger_entries group by transaction_id having sum(amount) <> 0) as t
    union all select 'balances that differ from the sum of their entries', count(*)::int from balances b
      where available <> (
        select coalesce(sum(amount), 0) from ledger_entries l where l.owner_id = b.owner_id and account = 'balance')
    union all select 'held money that differs from the sum of its entries', count(*)::int from balances b
      where held <> (
        select coalesce(sum(amount), 0) from ledger_entries l where l.owner_id = b.owner_id and account = 'held')
    union all select 'held money that differs from the open holds', count(*)::int from balances b
      where held <> (select coalesce(sum(amount), 0) from holds h where h.owner_id = b.owner_id and captured is null)
    union all select 'wrong counters of open holds', count(*)::int from balances b
      where open_holds <> (select count(*) from holds h
        where h.owner_id = b.owner_id and captured is null and call_id is not null)
    union all select 'calls in progress without a hold', count(*)::int from calls
      where ended_at is null and not exists (select from holds where call_id = calls.id and captured is null)
    union all select 'wrong counters of calls', count(*)::int from (
      (select owner_id, project_id, direction, status, count(*)::int as calls from calls group by 1, 2, 3, 4
        except select owner_id, project_id, direction, status, calls from call_counters)
      union all
      (select owner_id, project_id, direction, status, calls from call_counters where calls <> 0
        except select owner_id, project_id, direction, status, count(*)::int from calls group by 1, 2, 3, 4)) as c`
  return rows.filter(row => row.found > 0).map(row => `${row.what}: ${row.found}`)
}
