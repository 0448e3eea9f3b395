/** Control with a database and a Redis of its own, accounts that call, and campaigns that are written as if uploaded. */
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createAccount, topUp } from '../../control/accounts/service.ts'
import { connect } from '../../control/db/connect.ts'
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

export const SECRET = 'the bench has no secrets'
const PAST = 20_000

export interface CampaignWorld {
  /** With the real bus. */
  deps: Deps
  redisUrl: string
  stop(): Promise<void>
}

export async function openCampaignWorld(
  tell: (text: string) => void,
  config: Partial<Deps['config']> = {},
): Promise<CampaignWorld> {
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
  const sealer = createSealer(SECRET)
  const deps: Deps = {
    ...{ sql, redis, boss, sealer, clock: systemClock, log: quietLog, mail: { send: async () => {} } },
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    blobs: createFolderBlobs(folder),
    config: { ...defaultConfig, max_calls_per_owner: 1_000_000, ...config },
    bus: createControlBus({ redis, sealer, consumer: 'bench', log: quietLog }),
  }
  await fillPast(deps)
  return {
    deps,
    redisUrl: started.url,
    async stop() {
      await boss.stop({ graceful: false })
      await sql.end()
      redis.disconnect()
      await postgres.child.stop()
      await started.child.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
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

export interface CampaignWish {
  /** Tells owners and numbers apart. */
  index: number
  contacts: number
  concurrency: number
  status: 'draft' | 'running'
  /** What the owner is topped up with. */
  money?: string
  max_cps?: number
  max_calls?: number
}

/** An owner with a campaign of its own; answers the id of its trunk. */
export async function fillCampaign(
  deps: Deps,
  { index, contacts, concurrency, status, money = '100000', max_cps, max_calls }: CampaignWish,
): Promise<string> {
  const { sql } = deps
  const { id: owner } = await createAccount(deps, { name: `Owner ${index}` })
  await topUp(deps, owner, money)
  const project = await createProject(deps, owner, { name: 'Agent', language: 'en', prompt: 'You call {{name}}.' })
  const number = `+1${2_020_000_000 + index}`
  const limits = { ...(max_cps ? { max_cps } : {}), ...(max_calls ? { max_calls } : {}) }
  const trunk = await createTrunk(deps, owner, {
    name: 'T',
    mode: 'ip',
    host: '127.0.0.1',
    numbers: [number],
    ...limits,
  })
  await bindNumber(deps, owner, project.id, { number, direction: 'out' })
  const [campaign] = await sql<{ id: string }[]>`
    insert into campaigns (id, owner_id, project_id, name, task, status, timezone, window_start, window_end, concurrency,
      retries, retry_interval_min, resume_on_top_up, consent, created_at, updated_at)
    values (gen_random_uuid(), ${owner}, ${project.id}, 'Bench', 'Say hello.', 'draft', 'UTC', '00:00', '00:00',
      ${concurrency}, 2, 30, false, '{}', now(), now()) returning id`
  const { id } = campaign!
  await sql`
    insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, name, next_attempt_at, created_at)
    select gen_random_uuid(), ${id}, ${owner}, n, '+1' || (2120000000 + n), 'Somebody', now(), now()
    from generate_series(1, ${contacts}::int) n`
  await sql`
    insert into campaign_counters (campaign_id, owner_id, total, pending) values (${id}, ${owner}, ${contacts}, ${contacts})`
  await sql`update campaigns set status = ${status} where id = ${id}`
  return trunk.id
}

/** All that wait begin now. */
export async function startCampaigns({ sql }: Pick<Deps, 'sql'>): Promise<void> {
  await sql`analyze`
  await sql`update campaigns set status = 'running', consent = '{}', updated_at = now()`
}
