/** The database: reached, new enough, with the tables of this version, and money that agrees with itself. */
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
import { ANSWER_MS, about, bytes, type Finding, failureOf, inTime, judgeClock, many, placeOf, time } from './finding.ts'

const PART = 'Postgres'
const say = about(PART)
/** The oldest that pg-boss takes. */
const OLDEST = 130_000
/** What `npm start` and the images bring, and the tests run on. */
const TRIED = 180_000
/** On a long ledger the sums take their time; nobody else waits for them. */
const SUMS_MS = 60_000

type MigratedRow = Pick<Migration, 'version' | 'name' | 'hash'>

export interface PostgresFound {
  place: string
  tookMs: number
  /** Of its clock against ours. */
  skewMs: number
  server: ServerState
  /** Null: there are no tables. */
  migrated: readonly MigratedRow[] | null
  known: readonly MigratedRow[]
  /** Sentences; null: the sums took too long. */
  contradictions: readonly string[] | null
  /** Of the disk it writes to, where that is one of this machine. */
  freeBytes: number | null
}

export interface WorkFound {
  queues: readonly QueueState[]
  webhooks: WebhookState
  trunks: TrunkState
}

export async function examinePostgres(url: string, embeddedIn: string | null): Promise<Finding[]> {
  const place = placeOf(url, 5432)
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
      ? ['it refuses user or password', 'Look at user and password in DATABASE_URL.']
      : code === '3D000'
        ? ['it has no such database', 'Create the database that DATABASE_URL names; control makes the tables.']
        : code === '53300'
          ? ['all its connections are taken', 'Raise max_connections, or find who holds them (pg_stat_activity).']
          : code === '57P03'
            ? ['it is starting up or shutting down', 'Wait, and look at its log if that goes on.']
            : code === '42501'
              ? ['its user may not read our tables', 'Give the user of DATABASE_URL the rights that control had.']
              : [failureOf(error), 'Start it, or look at host and port in DATABASE_URL. Nothing works without it.']
  return say.bad(`${place}: ${why}.`, todo)
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
    ...{ place, tookMs, skewMs, server, migrated, known },
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
  if (contradictions === null) findings.push(say.skip(`The sums of the ledger were given up after ${time(SUMS_MS)}.`))
  else if (contradictions.length > 0) {
    const todo = 'Stop control, keep a backup of this moment, and look at who wrote to the tables by hand.'
    findings.push(say.bad(`The money does not agree with itself: ${contradictions.join('; ')}.`, todo))
  }
  if (freeBytes !== null && freeBytes < 5e9) {
    const text = `${bytes(freeBytes)} are left on its disk.`
    const todo = 'Make room: without any it stops taking calls.'
    findings.push(freeBytes < 5e8 ? say.bad(text, todo) : say.warn(text, todo))
  }
  if (findings.some(({ verdict }) => verdict === 'bad')) return findings
  const tables = `${many(found.known.length, 'migration')} done, the ledger agrees with the balances`
  const size = `${server.version}, ${bytes(server.bytes)}`
  const summed = contradictions === null ? '' : `; ${tables}`
  return [say.ok(`${place} answers in ${time(tookMs)}: ${size}${summed}.`), ...findings]
}

function judgeServer({ version, version_number, standby, connections, max_connections }: ServerState): Finding[] {
  const findings: Finding[] = []
  if (version_number < OLDEST)
    findings.push(say.bad(`It is ${version}; 13 is the oldest that can be used.`, 'Upgrade.'))
  else if (version_number < TRIED) {
    findings.push(say.warn(`It is ${version}; Parley is tried with 18.`, 'Upgrade when you can.'))
  }
  if (standby) findings.push(say.bad('It is a standby and takes no writes.', 'Name the primary in DATABASE_URL.'))
  if (connections > 0.9 * max_connections) {
    const todo = 'Raise max_connections, or find who holds them (pg_stat_activity).'
    findings.push(say.warn(`${connections} of ${max_connections} connections are taken.`, todo))
  }
  return findings
}

function judgeTables(found: PostgresFound): Finding[] {
  const { migrated, known } = found
  if (migrated === null) {
    return [
      say.bad('It has no tables of Parley.', 'Start control, which makes them; or DATABASE_URL names another one.'),
    ]
  }
  const changed = migrated.filter((row, index) => known[index] && known[index].hash !== row.hash)
  if (changed.length > 0) {
    const todo = 'Put the files of control/platform/db/migrations back as they were released: control will not start.'
    return [say.bad(`Migration ${changed[0]!.name} was changed after it ran.`, todo)]
  }
  const pending = pendingOf(found)
  if (pending.length > 0) {
    const text = `${many(pending.length, 'migration')} of this version ${pending.length === 1 ? 'is' : 'are'} missing, from ${pending[0]!.name} on.`
    return [say.bad(text, 'Make a backup, then start control of this version: it brings the tables up to date.')]
  }
  if (migrated.length <= known.length) return []
  const text = `Its tables are of a newer version (${migrated.at(-1)!.name}).`
  return [say.warn(text, 'Bring all processes to that version.')]
}

const LATE_S = 60
const VERY_LATE_S = 600

export function judgeWork({ queues, webhooks, trunks }: WorkFound): Finding[] {
  const jobs = about('Jobs')
  const late = queues.filter(queue => queue.oldest_s > LATE_S)
  const findings: Finding[] = late.map(({ name, waiting, oldest_s }) => {
    const text = `${many(waiting, 'job')} of ${name} ${waiting === 1 ? 'waits' : 'wait'}, the oldest for ${time(oldest_s * 1000)}.`
    const todo = 'See that control runs; if it does, its log says what fails, and another process of it takes a share.'
    return oldest_s > VERY_LATE_S ? jobs.bad(text, todo) : jobs.warn(text, todo)
  })
  if (late.length === 0) {
    const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0)
    findings.push(jobs.ok(waiting === 0 ? 'None waits.' : `${waiting} wait, none for long.`))
  }
  return [...findings, judgeWebhooks(webhooks), judgeTrunks(trunks)]
}

function judgeWebhooks({ failed, delivered, disabled }: WebhookState): Finding {
  const hooks = about('Webhooks')
  const told = `${delivered} delivered and ${failed} given up within a day`
  const off = disabled === 0 ? '' : `; ${many(disabled, 'endpoint')} switched off, since they failed for too long`
  if (disabled === 0 && failed <= delivered / 10) return hooks.ok(`${told}.`)
  const todo = 'The owners see why at GET /webhooks/{id}/deliveries, and can replay them.'
  return hooks.warn(`${told}${off}.`, todo)
}

function judgeTrunks({ trunks, failed }: TrunkState): Finding {
  const line = about('Trunks')
  if (trunks === 0) return line.ok('There are none yet.')
  if (failed === 0) return line.ok(`${many(trunks, 'trunk')}, none that fails to register.`)
  const todo = 'POST /v1/public/trunks/{id}/check, or the dashboard, says why.'
  return line.warn(`${failed} of ${many(trunks, 'trunk')} cannot register.`, todo)
}
