/** State of the whole installation: the database and its queues. Returns numbers only, no contents of rows. */
import type { Db } from './connect.ts'

export interface ServerState {
  version: string
  version_number: number
  now_ms: number
  standby: boolean
  connections: number
  max_connections: number
  bytes: number
}

export async function selectServerState(db: Db): Promise<ServerState> {
  const [row] = await db<ServerState[]>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as version_number,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
      pg_is_in_recovery() as standby,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int as max_connections,
      pg_database_size(current_database())::float8 as bytes`
  return row!
}

/** Null when Parley has never run on this database. */
export async function selectMigrated(db: Db): Promise<{ version: number; name: string; hash: string }[] | null> {
  const [found] = await db<{ there: boolean }[]>`select to_regclass('schema_migrations') is not null as there`
  if (!found!.there) return null
  return db<{ version: number; name: string; hash: string }[]>`
    select version, name, hash from schema_migrations order by version`
}

export interface QueueState {
  name: string
  /** Due jobs that no worker has taken. */
  waiting: number
  /** Age of the oldest due job in seconds. */
  oldest_s: number
}

/** `schema` is that of pg-boss. */
export async function selectQueues(db: Db, schema = 'parley_jobs'): Promise<QueueState[]> {
  const [found] = await db<{ there: boolean }[]>`select to_regclass(${`${schema}.job`}) is not null as there`
  if (!found!.there) return []
  return db<QueueState[]>`
    select name, count(*)::int as waiting,
      greatest(0, extract(epoch from now() - min(start_after)))::float8 as oldest_s
    from ${db(schema)}.job where state < 'active' and start_after <= now() group by name order by name`
}

export interface WebhookState {
  /** Deliveries of the last day that are not retried any more. */
  failed: number
  delivered: number
  /** Endpoints that were disabled because they failed for too long. */
  disabled: number
}

export async function selectWebhookState(db: Db): Promise<WebhookState> {
  const [row] = await db<WebhookState[]>`
    select count(*) filter (where status = 'failed')::int as failed,
      count(*) filter (where status = 'delivered')::int as delivered,
      (select count(*)::int from webhooks where not enabled and disabled_reason is not null) as disabled
    from webhook_deliveries where created_at > now() - interval '1 day'`
  return row!
}

export interface TrunkState {
  trunks: number
  /** Trunks whose registration was rejected or not answered. */
  failed: number
}

export async function selectTrunkState(db: Db): Promise<TrunkState> {
  const [row] = await db<TrunkState[]>`
    select count(*)::int as trunks, count(*) filter (where registration = 'failed')::int as failed from trunks`
  return row!
}

/**
 * Counts balances that differ from their newest ledger entry, or whose held money differs from the open holds. One
 * look-up for each balance, however long the ledger is; a trigger already ensures that the entries themselves are
 * consistent.
 */
export async function countDrifted(db: Db): Promise<number> {
  const [row] = await db<{ drifted: number }[]>`
    select count(*)::int as drifted from balances b
    left join (select owner_id, sum(amount) as amount from holds where captured is null group by owner_id) h
      on h.owner_id = b.owner_id
    where held <> coalesce(h.amount, 0) or available <> coalesce((select balance_after from ledger_entries l
      where l.owner_id = b.owner_id and account = 'balance' and seq = b.entries), 0)`
  return row!.drifted
}
