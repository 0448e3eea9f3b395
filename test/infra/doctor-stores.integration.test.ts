/** Findings of the doctor about Postgres, Redis and their queues, each broken in turn. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect, type Sql } from '../../control/platform/db/connect.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { busKeys } from '../../media/bus/keys.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { closedPort, examine, expectFinding } from '../support/doctor.ts'
import { HOST } from '../support/stack.ts'

let env: Record<string, string>
let folder: string
const closers: (() => unknown)[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-doctor-test-'))
  const database = await createDatabase()
  closers.push(() => database.drop())
  env = {
    PARLEY_HOME: folder,
    PARLEY_SECRET: randomBytes(24).toString('hex'),
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_PREFIX: `doctor-${randomBytes(4).toString('hex')}`,
  }
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

const find = (given: Record<string, string>, part: string, status: 'error' | 'warning', text: RegExp) =>
  expectFinding({ ...env, ...given }, part, status, text)

async function ownDatabase(change: (sql: Sql) => Promise<unknown>): Promise<TestDatabase> {
  const database = await createDatabase()
  closers.push(() => database.drop())
  const sql = connect({ url: database.url, max: 1 })
  await change(sql)
  await sql.end()
  return database
}

describe('Postgres', () => {
  const at = (change: (url: URL) => void) => {
    const url = new URL(env['DATABASE_URL']!)
    change(url)
    return { DATABASE_URL: url.href }
  }

  it('is not reachable', async () => {
    const port = await closedPort()
    await find(
      at(url => (url.port = port)),
      'Postgres',
      'error',
      /connection refused/,
    )
  })

  it('refuses the password', async () => {
    const wrong = at(url => (url.password = 'certainly-another-one'))
    await find(wrong, 'Postgres', 'error', /wrong user or password/)
  })

  it('has no database of that name', async () => {
    await find(
      at(url => (url.pathname = '/nobody')),
      'Postgres',
      'error',
      /database does not exist/,
    )
  })

  it('has no tables', async () => {
    const { url, drop } = await createDatabase({ empty: true })
    closers.push(drop)
    await find({ DATABASE_URL: url }, 'Postgres', 'error', /no Parley tables/)
  })

  it('lacks a migration', async () => {
    const { url } = await ownDatabase(
      sql => sql`delete from schema_migrations where version = (select max(version) from schema_migrations)`,
    )
    await find({ DATABASE_URL: url }, 'Postgres', 'error', /1 migration .* not applied, starting with 00/)
  })

  it('a migration was changed', async () => {
    const { url } = await ownDatabase(sql => sql`update schema_migrations set hash = 'x' where version = 3`)
    await find({ DATABASE_URL: url }, 'Postgres', 'error', /0003_projects.* was changed/)
  })

  it('has a newer schema', async () => {
    const { url } = await ownDatabase(
      sql => sql`insert into schema_migrations (version, name, hash) values (9000, '9000_later.sql', 'x')`,
    )
    await find({ DATABASE_URL: url }, 'Postgres', 'warning', /newer version \(9000_later/)
  })

  it('has an inconsistent ledger', async () => {
    const { url } = await ownDatabase(async sql => {
      const id = '00000000-0000-4000-8000-000000000001'
      await sql`insert into accounts (id, name, created_at) values (${id}, 'Somebody', now())`
      await sql`insert into balances (owner_id, available, held) values (${id}, 7, 0)`
    })
    const text = /ledger is inconsistent: balances that differ from the sum of their entries: 1/
    await find({ DATABASE_URL: url }, 'Postgres', 'error', text)
  })

  it('has stalled jobs', async () => {
    const { url } = await ownDatabase(
      sql => sql`insert into parley_jobs.job (name, start_after) values ('webhook.deliver', now() - interval '1 hour')`,
    )
    const text = /1 job pending in webhook.deliver, the oldest for 60 minutes/
    await find({ DATABASE_URL: url }, 'Jobs', 'error', text)
  })
})

describe('Redis', () => {
  const own = async (...commands: string[][]) => {
    const port = await freePort(31_000)
    const { url, child } = await startRedis({
      folder: join(folder, `redis-${port}`),
      logFile: join(folder, 'redis.log'),
      port,
      report() {},
    })
    closers.push(() => child.stop())
    const redis = new Redis(url)
    for (const [command, ...args] of commands) await redis.call(command!, ...args)
    redis.disconnect()
    return url
  }

  it('is not reachable', async () => {
    const url = `redis://${HOST}:${await closedPort()}/0`
    await find({ REDIS_URL: url }, 'Redis', 'error', /connection refused/)
  })

  it('wants another password', async () => {
    const { host } = new URL(await own(['CONFIG', 'SET', 'requirepass', 'certainly-this-one']))
    for (const url of [`redis://${host}/0`, `redis://:another-one@${host}/0`]) {
      await find({ REDIS_URL: url }, 'Redis', 'error', /wrong user or password/)
    }
  })

  it('evicts keys', async () => {
    const url = await own(['CONFIG', 'SET', 'maxmemory', '200mb'], ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'])
    const findings = await find({ REDIS_URL: url }, 'Redis', 'error', /maxmemory-policy is allkeys-lru/)
    expect(findings.filter(({ part, text }) => part === 'Redis' && /on disk/.test(text))).toEqual([])
    expect(findings).toContainEqual(
      expect.objectContaining({ part: 'Engines', text: expect.stringContaining('No engine is running') }),
    )
  })

  it('is a replica', async () => {
    const url = await own(['REPLICAOF', HOST, await closedPort()])
    await find({ REDIS_URL: url }, 'Redis', 'error', /is a read-only replica/)
  })
})

describe('between control and engines', () => {
  const prefix = `doctor-${randomBytes(4).toString('hex')}`
  const keys = busKeys(prefix)
  let redis: Redis
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'))
    closers.push(() => redis.disconnect())
  })
  const beat = async (change: object) => {
    const state = {
      engine: 'far',
      boot: 'b',
      at: Date.now(),
      calls: 1,
      capacity: 10,
      stt_ready: true,
      rooms: true,
      ...change,
    }
    await redis.multi().sadd(keys.heartbeats, 'far').set(keys.heartbeat('far'), JSON.stringify(state), 'EX', 60).exec()
    return { REDIS_PREFIX: prefix }
  }

  it('no engine accepts calls', async () => {
    await redis.xadd(keys.events, `${Date.now() - 40 * 60_000}-0`, 'event', '{}')
    const given = { REDIS_PREFIX: prefix }
    await find(given, 'Bus', 'error', /waiting for control for 40 minutes/)
    await redis.xgroup('CREATE', keys.events, 'control', '0')
    await redis.xreadgroup('GROUP', 'control', 'one', 'STREAMS', keys.events, '>')
    await find(given, 'Bus', 'error', /waiting for control for 40 minutes/)
    await redis.xack(keys.events, 'control', ...(await redis.xrange(keys.events, '-', '+')).map(([id]) => id))
    expect((await examine({ ...env, ...given })).filter(({ text }) => /waiting for control/.test(text))).toEqual([])
  })

  it('an event is in the dead-letter stream', async () => {
    await redis.xadd(keys.deadEvents, '*', 'event', '{}')
    await find({ REDIS_PREFIX: prefix }, 'Bus', 'warning', /1 event could not be processed/)
  })

  it('the secrets differ', async () => {
    await redis.set(keys.trunks, createSealer('quite another secret').seal({}, 'trunks'))
    await find({ REDIS_PREFIX: prefix }, 'Bus', 'error', /use different secrets/)
  })

  it('an engine has a wrong clock', async () => {
    const given = await beat({ at: Date.now() - 5 * 60_000 })
    await find(given, 'Engines', 'error', /far: its clock is 5 minutes behind/)
  })

  it('an engine drains, and has no STT', async () => {
    const given = await beat({ capacity: 0, stt_ready: false })
    const findings = await find(given, 'Engines', 'error', /1 engine, none accepting calls/)
    const texts = findings.filter(({ part }) => part === 'Engines').map(({ text }) => text)
    expect(texts).toContainEqual(expect.stringMatching(/far accepts no calls and still has 1 call/))
    expect(texts).toContainEqual(expect.stringMatching(/far has no speech-to-text/))
  })

  it('every call slot is in use', async () => {
    await find(await beat({ calls: 10 }), 'Engines', 'warning', /All 10 call slots are in use/)
  })
})
