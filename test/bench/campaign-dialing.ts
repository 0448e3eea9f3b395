/** Attempts a second that control alone begins, with everything real but the engines: claims, money, jobs, plans, bus. */
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Redis } from 'ioredis'
import { createAccount, topUp } from '../../control/accounts/service.ts'
import { startControl } from '../../control/app.ts'
import { connect, type Sql } from '../../control/db/connect.ts'
import { migrate } from '../../control/db/migrate.ts'
import { type Deps, defaultConfig } from '../../control/deps.ts'
import { createBoss, installQueues } from '../../control/jobs.ts'
import { bindNumber } from '../../control/numbers/service.ts'
import { createProject } from '../../control/projects/service.ts'
import { createTrunk } from '../../control/trunks/service.ts'
import { createFolderBlobs } from '../../infra/blobs.ts'
import { systemClock } from '../../infra/clock.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { createControlBus } from '../../media/contract/bus-control.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { fillCalls } from '../support/calls.ts'
import { quietLog } from '../support/world.ts'
import type { Line } from './main.ts'

export interface DialingBench {
  /** Contacts of the campaign that memory is measured with. */
  large: number
  tell(text: string): void
}

const CAMPAIGNS = 120
const CONCURRENCY = 100
const PAST = 20_000
const WANTED_A_SECOND = 500
/** What a larger campaign may take more of the heap, in MB. */
const WANTED_GROWTH_MB = 16

export async function benchDialing({ large, tell }: DialingBench): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  await chmod(folder, 0o755)
  const place = (name: string) => ({
    ...{ folder: join(folder, name), logFile: join(folder, `${name}.log`), port: randomInt(33_000, 60_000), tell },
  })
  const postgres = await startPostgres(place('postgres'))
  const started = await startRedis({ ...place('redis'), throwaway: true })
  await migrate({ url: postgres.url })
  const sql = connect({ url: postgres.url, max: 10 })
  const boss = createBoss({ url: postgres.url, log: quietLog })
  await boss.start()
  await installQueues(boss)
  const redis = new Redis(started.url, { maxRetriesPerRequest: null })
  const sealer = createSealer('the bench has no secrets')
  const bus = createControlBus({ redis, sealer, consumer: 'bench', log: quietLog })
  const placed: number[] = []
  const deps: Deps = {
    ...{ sql, redis, boss, sealer, clock: systemClock, log: quietLog, mail: { send: async () => {} } },
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    blobs: createFolderBlobs(folder),
    config: { ...defaultConfig, max_calls_per_owner: 1_000_000 },
    bus: {
      ...bus,
      engines: async () => [
        { engine: 'stub', boot: '1', at: Date.now(), calls: 0, capacity: 1_000_000, hears: true, rooms: false },
      ],
      async place(command) {
        await bus.place(command)
        placed.push(performance.now())
      },
    },
  }
  await fillPast(deps)
  const control = await startControl(deps)
  try {
    tell(`Dialling ${CAMPAIGNS} campaigns of ${CONCURRENCY} places`)
    for (let i = 0; i < CAMPAIGNS; i++) await fillCampaign(deps, i, CONCURRENCY, 'draft')
    await sql`analyze`
    await sql`update campaigns set status = 'running', consent = '{}', updated_at = now()`
    await until(() => placed.length >= CAMPAIGNS * CONCURRENCY)
    // Begin and end lie where all of it is under way.
    const middle = placed.slice(Math.floor(placed.length * 0.1), Math.floor(placed.length * 0.9))
    const rate = ((middle.length - 1) * 1000) / (middle.at(-1)! - middle[0]!)
    const small = heapMb()
    await fillCampaign(deps, CAMPAIGNS, large, 'running')
    await until(() => placed.length >= CAMPAIGNS * CONCURRENCY + CONCURRENCY)
    const growth = Math.max(0, heapMb() - small)
    return [
      {
        ...{ name: 'campaign attempts begun', value: rate, reference: WANTED_A_SECOND, unit: 'attempts/s' },
        ...{ ratio: rate / WANTED_A_SECOND, wanted: '≥ 1', ok: rate >= WANTED_A_SECOND },
      },
      {
        ...{ name: `heap with ${large} contacts more`, value: growth, reference: WANTED_GROWTH_MB, unit: 'MB' },
        ...{ ratio: growth / WANTED_GROWTH_MB, wanted: '≤ 1', ok: growth <= WANTED_GROWTH_MB },
      },
    ]
  } finally {
    await control.stop()
    await boss.stop({ graceful: false })
    await sql.end()
    redis.disconnect()
    await postgres.child.stop()
    await started.child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function until(look: () => boolean): Promise<void> {
  for (const endAt = performance.now() + 120_000; !look(); await sleep(20)) {
    if (performance.now() > endAt) throw new Error('the dialer does not get on')
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapMb(): number {
  collect()
  return process.memoryUsage().heapUsed / 1e6
}

/**
 * An installation that has called before: on empty tables Postgres plans to read them from end to end, and keeps to it
 * until its autovacuum has looked, within a minute.
 */
async function fillPast(deps: Deps): Promise<void> {
  const past = await createAccount(deps, { name: 'Past' })
  await deps.sql`
    insert into contacts (id, owner_id, phone, search, created_at)
    select gen_random_uuid(), ${past.id}, '+1' || (2130000000 + n), '+1' || (2130000000 + n), now()
    from generate_series(1, ${PAST}::int) n`
  await fillCalls(deps.sql, past.id, past.project_id, { rows: PAST })
  await deps.sql`analyze`
}

async function fillCampaign(deps: Deps, index: number, contacts: number, status: 'draft' | 'running'): Promise<void> {
  const { sql } = deps
  const { id: owner } = await createAccount(deps, { name: `Owner ${index}` })
  await topUp(deps, owner, '100000')
  const project = await createProject(deps, owner, { name: 'Agent', language: 'en', prompt: 'You call {{name}}.' })
  const number = `+1${2_020_000_000 + index}`
  await createTrunk(deps, owner, { name: 'T', mode: 'ip', host: '127.0.0.1', numbers: [number] })
  await bindNumber(deps, owner, project.id, { number, direction: 'out' })
  await writeCampaign(sql, { owner, project: project.id, index, contacts, status })
}

async function writeCampaign(
  sql: Sql,
  one: { owner: string; project: string; index: number; contacts: number; status: string },
): Promise<void> {
  const [campaign] = await sql<{ id: string }[]>`
    insert into campaigns (id, owner_id, project_id, name, task, status, timezone, window_start, window_end, concurrency,
      retries, retry_interval_min, resume_on_top_up, consent, created_at, updated_at)
    values (gen_random_uuid(), ${one.owner}, ${one.project}, 'Bench', 'Say hello.', 'draft', 'UTC', '00:00', '00:00',
      ${CONCURRENCY}, 2, 30, false, '{}', now(), now()) returning id`
  await sql`
    insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, name, next_attempt_at, created_at)
    select gen_random_uuid(), ${campaign!.id}, ${one.owner}, n, '+1' || (2120000000 + n), 'Somebody', now(), now()
    from generate_series(1, ${one.contacts}::int) n`
  await sql`
    insert into campaign_counters (campaign_id, owner_id, total, pending)
    values (${campaign!.id}, ${one.owner}, ${one.contacts}, ${one.contacts})`
  await sql`update campaigns set status = ${one.status} where id = ${campaign!.id}`
}
