/** Findings about Postgres: connection, version, migrations, and the ledger's consistency. */
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { selectContradictions } from '../../control/data/backup/sql.ts'
import { connect, type Sql } from '../../control/platform/db/connect.ts'
import { type Migration, readMigrations } from '../../control/platform/db/migrate.ts'
import {
  type QueueState,
  type ServerState,
  selectMigrated,
  selectQueues,
  selectServerState,
  selectTrunkState,
  selectWebhookState,
  type TrunkState,
  type WebhookState,
} from '../../control/platform/db/state-sql.ts'
import {
  ANSWER_MS,
  about,
  bytes,
  type Finding,
  failureOf,
  hostPortOf,
  inTime,
  judgeClock,
  many,
  time,
} from './finding.ts'

const PART = 'Postgres'
const say = about(PART)
/** The oldest version that pg-boss supports. */
const OLDEST = 130_000
/** The version of `npm start` and the images, and of the tests. */
const TRIED = 180_000
/** Milliseconds for the ledger sums, which are slow on a long ledger; they block nobody. */
const SUMS_MS = 60_000

type MigratedRow = Pick<Migration, 'version' | 'name' | 'hash'>

export interface PostgresFound {
  place: string
  tookMs: number
  /** Milliseconds that its clock is ahead of ours. */
  skewMs: number
  server: ServerState
  /** Null when there are no tables. */
  migrated: readonly MigratedRow[] | null
  known: readonly MigratedRow[]
  /** Contradictions found, as sentences; null when the sums timed out. */
  contradictions: readonly string[] | null
  /** Free bytes on its disk, when that is on this machine. */
  freeBytes: number | null
}

export interface WorkFound {
  queues: readonly QueueState[]
  webhooks: WebhookState
  trunks: TrunkState
}

export async function examinePostgres(url: string, embeddedIn: string | null): Promise<Finding[]> {
  const place = hostPortOf(url, 5432)
  const sql = connect({ url, max: 1 })
  try {
    const found = await inTime(look(sql, place, embeddedIn), SUMS_MS + 3 * ANSWER_MS)
    const findings = judgePostgres(found)
    if (found.migrated === null || pendingOf(found).length > 0) return findings
    return [...findings, ...judgeWork(await inTime(lookAtWork(sql), 3 * ANSWER_MS))]
  } catch (error) {
    return [unreachable(place, error)]
  } finally {
    await sql.end({ timeout: 1 }).catch(() => {})
  }
}

function unreachable(place: string, error: unknown): Finding {
  const { code = '' } = error as { code?: string }
  const [why, todo] =
    code === '28P01' || code === '28000'
      ? ['wrong user or password', 'Check the user and password in DATABASE_URL.']
      : code === '3D000'
        ? ['the database does not exist', 'Create the database named in DATABASE_URL; control creates the tables.']
        : code === '53300'
          ? ['all connections are in use', 'Raise max_connections, or find their users in pg_stat_activity.']
          : code === '57P03'
            ? ['it is starting up or shutting down', 'Wait. If it persists, check its log.']
            : code === '42501'
              ? ['its user may not read our tables', 'Grant the user in DATABASE_URL the same rights as control.']
              : [
                  failureOf(error),
                  'Start Postgres, or correct the host and port in DATABASE_URL. Parley cannot work without it.',
                ]
  return say.error(`${place}: ${why}.`, todo)
}

async function look(sql: Sql, place: string, embeddedIn: string | null): Promise<PostgresFound> {
  await inTime(sql`select 1`.execute(), ANSWER_MS)
  const began = Date.now()
  const server = await selectServerState(sql)
  const tookMs = Date.now() - began
  const skewMs = server.now_ms - (began + tookMs / 2)
  const migrated = await selectMigrated(sql)
  const known = await readMigrations()
  const free = embeddedIn === null ? null : await statfs(join(embeddedIn, 'postgres')).catch(() => null)
  const current = migrated !== null && migrated.length >= known.length
  return {
    place,
    tookMs,
    skewMs,
    server,
    migrated,
    known,
    contradictions: current ? await sums(sql) : [],
    freeBytes: free === null ? null : free.bavail * free.bsize,
  }
}

async function sums(sql: Sql): Promise<string[] | null> {
  try {
    return await sql.begin(async tx => {
      await tx`select set_config('statement_timeout', ${String(SUMS_MS)}, true)`
      return selectContradictions(tx)
    })
  } catch (error) {
    if ((error as { code?: string }).code === '57014') return null
    throw error
  }
}

async function lookAtWork(sql: Sql): Promise<WorkFound> {
  return {
    queues: await selectQueues(sql),
    webhooks: await selectWebhookState(sql),
    trunks: await selectTrunkState(sql),
  }
}

const pendingOf = ({ migrated, known }: Pick<PostgresFound, 'migrated' | 'known'>): readonly MigratedRow[] =>
  known.slice(migrated?.length ?? 0)

export function judgePostgres(found: PostgresFound): Finding[] {
  const { place, tookMs, server, contradictions, freeBytes } = found
  const findings = [...judgeServer(server), ...judgeTables(found)]
  findings.push(...judgeClock(PART, 'Its clock', found.skewMs, tookMs))
  if (contradictions === null) findings.push(say.skipped(`The ledger check timed out after ${time(SUMS_MS)}.`))
  else if (contradictions.length > 0) {
    const todo = 'Stop control, make a backup now, and find out who changed the tables by hand.'
    findings.push(say.error(`The ledger is inconsistent: ${contradictions.join('; ')}.`, todo))
  }
  if (freeBytes !== null && freeBytes < 5e9) {
    const text = `${bytes(freeBytes)} left on its disk.`
    const todo = 'Free disk space: without it Parley stops accepting calls.'
    findings.push(freeBytes < 5e8 ? say.error(text, todo) : say.warning(text, todo))
  }
  if (findings.some(({ status }) => status === 'error')) return findings
  const tables = `${many(found.known.length, 'migration')} applied, ledger and balances agree`
  const size = `${server.version}, ${bytes(server.bytes)}`
  const summed = contradictions === null ? '' : `; ${tables}`
  return [say.ok(`${place} answers in ${time(tookMs)}: ${size}${summed}.`), ...findings]
}

function judgeServer({ version, version_number, standby, connections, max_connections }: ServerState): Finding[] {
  const findings: Finding[] = []
  if (version_number < OLDEST)
    findings.push(say.error(`${version} is too old; 13 is the oldest supported version.`, 'Upgrade Postgres.'))
  else if (version_number < TRIED) {
    findings.push(say.warning(`${version} is untested; Parley is tested with 18.`, 'Upgrade Postgres when you can.'))
  }
  if (standby) findings.push(say.error('This server is a read-only standby.', 'Use the primary in DATABASE_URL.'))
  if (connections > 0.9 * max_connections) {
    const todo = 'Raise max_connections, or find their users in pg_stat_activity.'
    findings.push(say.warning(`${connections} of ${max_connections} connections are in use.`, todo))
  }
  return findings
}

function judgeTables(found: PostgresFound): Finding[] {
  const { migrated, known } = found
  if (migrated === null) {
    return [
      say.error('The database has no Parley tables.', 'Start control, which creates them, or correct DATABASE_URL.'),
    ]
  }
  const changed = migrated.filter((row, index) => known[index] && known[index].hash !== row.hash)
  if (changed.length > 0) {
    const todo = 'Restore the released files in control/platform/db/migrations. Control does not start until then.'
    return [say.error(`Migration ${changed[0]!.name} was changed after it was applied.`, todo)]
  }
  const pending = pendingOf(found)
  if (pending.length > 0) {
    const text = `${many(pending.length, 'migration')} of this version not applied, starting with ${pending[0]!.name}.`
    return [say.error(text, 'Make a backup, then start control of this version, which applies them.')]
  }
  if (migrated.length <= known.length) return []
  const text = `The tables belong to a newer version (${migrated.at(-1)!.name}).`
  return [say.warning(text, 'Upgrade all processes to that version.')]
}

const LATE_S = 60
const VERY_LATE_S = 600

export function judgeWork({ queues, webhooks, trunks }: WorkFound): Finding[] {
  const jobs = about('Jobs')
  const late = queues.filter(queue => queue.oldest_s > LATE_S)
  const findings: Finding[] = late.map(({ name, waiting, oldest_s }) => {
    const text = `${many(waiting, 'job')} pending in ${name}, the oldest for ${time(oldest_s * 1000)}.`
    const todo =
      'Check that control is running. If it is, check its log for failures, or start another control process.'
    return oldest_s > VERY_LATE_S ? jobs.error(text, todo) : jobs.warning(text, todo)
  })
  if (late.length === 0) {
    const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0)
    findings.push(jobs.ok(waiting === 0 ? 'No pending jobs.' : `${many(waiting, 'pending job')}, none overdue.`))
  }
  return [...findings, judgeWebhooks(webhooks), judgeTrunks(trunks)]
}

function judgeWebhooks({ failed, delivered, disabled }: WebhookState): Finding {
  const hooks = about('Webhooks')
  const counts = `${delivered} delivered and ${failed} failed in the last day`
  const off = disabled === 0 ? '' : `; ${many(disabled, 'endpoint')} disabled after repeated failures`
  if (disabled === 0 && failed <= delivered / 10) return hooks.ok(`${counts}.`)
  const todo = 'Owners see the reason at GET /webhooks/{id}/deliveries and can replay deliveries.'
  return hooks.warning(`${counts}${off}.`, todo)
}

function judgeTrunks({ trunks, failed }: TrunkState): Finding {
  const line = about('Trunks')
  if (trunks === 0) return line.ok('No trunks yet.')
  if (failed === 0) return line.ok(`${many(trunks, 'trunk')}, no registration failures.`)
  const todo = 'Run POST /v1/public/trunks/{id}/check, or the check in the dashboard, to see the reason.'
  return line.warning(`${failed} of ${many(trunks, 'trunk')} failed to register.`, todo)
}
