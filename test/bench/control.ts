/** Control's two hottest requests against a bare Fastify that runs one equivalent SQL statement, in one run. */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import autocannon from 'autocannon'
import { createAccount, topUp } from '../../control/accounts/service.ts'
import { connect } from '../../control/db/connect.ts'
import { migrate } from '../../control/db/migrate.ts'
import { defaultConfig } from '../../control/deps.ts'
import { createBoss, installQueues } from '../../control/jobs.ts'
import { createKey } from '../../control/keys/service.ts'
import { bindNumber } from '../../control/numbers/service.ts'
import { createProject } from '../../control/projects/service.ts'
import { createTrunk } from '../../control/trunks/service.ts'
import { systemClock } from '../../infra/clock.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { fillCalls } from '../support/calls.ts'
import { quietLog } from '../support/world.ts'
import type { Line } from './main.ts'
import type { ServerArguments } from './server.ts'

export interface ControlBench {
  /** Calls in the table that is listed. */
  rows: number
  rounds: number
  secondsARound: number
  tell(text: string): void
}

const CONNECTIONS = 16
/** Enough for each to stay within its 120 requests a minute. */
const KEYS = 1500
const CALLERS = 300

export async function benchControl(options: ControlBench): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  await chmod(folder, 0o755)
  const place = (name: string) => ({
    folder: join(folder, name),
    logFile: join(folder, `${name}.log`),
    port: randomInt(33_000, 60_000),
    tell: options.tell,
  })
  const postgres = await startPostgres(place('postgres'))
  const redis = await startRedis({ ...place('redis'), throwaway: true })
  const url = postgres.url
  await migrate({ url })
  const sql = connect({ url, max: 10 })
  const boss = createBoss({ url, log: quietLog, supervise: false })
  await boss.start()
  await installQueues(boss)
  await sql.unsafe('update parley_jobs.queue set notify = false')
  const deps = {
    sql,
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    log: quietLog,
    boss,
    clock: systemClock,
    sealer: createSealer('the bench has no secrets'),
    config: defaultConfig,
  }
  const servers: Server[] = []
  try {
    options.tell(`Writing ${options.rows.toLocaleString('en')} calls`)
    const reader = await seedReader(deps, options.rows)
    const callers = await seedCallers(deps)
    for (const kind of ['ours', 'bare'] as const) {
      servers.push(await startServer({ kind, databaseUrl: url, redisUrl: redis.url }))
    }
    const [ours, bare] = servers as [Server, Server]
    const measure = (name: string, wanted: number, load: Record<'ours' | 'bare', autocannon.Request[]>) =>
      compare(name, wanted, { ours, bare }, load, options)
    return [
      await measure('GET /calls, a page of 50', 0.6, {
        ours: reader.keys.map(key => ({
          method: 'GET',
          path: '/v1/public/calls?limit=50',
          headers: { 'x-api-key': key },
        })),
        bare: [{ method: 'GET', path: `/calls?owner=${reader.ownerId}` }],
      }),
      await measure('POST /calls', 0.35, {
        ours: callers.map(one => ({
          ...json('/v1/public/calls', one.key),
          setupRequest: request => ({ ...request, body: body({ project_id: one.project_id, phone: nextPhone() }) }),
        })),
        bare: callers.map(({ key: _key, ...one }) => ({
          ...json('/calls'),
          setupRequest: request => ({ ...request, body: body({ ...one, phone: nextPhone() }) }),
        })),
      }),
    ]
  } finally {
    for (const server of servers) server.stop()
    await boss.stop({ graceful: false })
    await sql.end()
    await postgres.child.stop()
    await redis.child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

let phones = 0
const nextPhone = () => `+1${2_120_000_000 + phones++}`
const body = (value: unknown) => JSON.stringify(value)
const json = (path: string, key?: string): autocannon.Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json', ...(key ? { 'x-api-key': key } : {}) },
})

type SeedDeps = Parameters<typeof createTrunk>[0] & Parameters<typeof createProject>[0]

async function seedReader(deps: SeedDeps, rows: number) {
  const account = await createAccount(deps, { name: 'Reader' })
  await fillCalls(deps.sql, account.id, account.project_id, { rows })
  const keys: string[] = []
  for (let i = 0; i < KEYS; i++) {
    keys.push((await createKey(deps, account.id, { name: 'bench', scopes: ['read'] })).value)
  }
  return { ownerId: account.id, keys }
}

async function seedCallers(deps: SeedDeps) {
  const callers = []
  for (let i = 0; i < CALLERS; i++) {
    const { id: owner_id } = await createAccount(deps, { name: `Caller ${i}` })
    await topUp(deps, owner_id, '1000000')
    const project = await createProject(deps, owner_id, { name: 'Agent', language: 'en' })
    const from = `+1${2_020_000_000 + i}`
    const trunk = await createTrunk(deps, owner_id, { name: 'T', mode: 'ip', host: '127.0.0.1', numbers: [from] })
    await bindNumber(deps, owner_id, project.id, { number: from, direction: 'out' })
    const { value: key } = await createKey(deps, owner_id, { name: 'bench', scopes: ['write'] })
    callers.push({ key, owner_id, project_id: project.id, trunk_id: trunk.id, from })
  }
  return callers
}

interface Server {
  url: string
  stop(): void
}

export async function startServer(args: ServerArguments): Promise<Server> {
  const file = join(import.meta.dirname, 'server.ts')
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, JSON.stringify(args)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve)
    child.once('exit', code => reject(new Error(`the ${args.kind} server ended with ${code}`)))
  })
  return { url: `http://127.0.0.1:${JSON.parse(line).port}`, stop: () => void child.kill() }
}

/** In turns, so that what else the machine does falls on both alike; the middle of the rounds counts. */
async function compare(
  name: string,
  wanted: number,
  servers: Record<'ours' | 'bare', Server>,
  load: Record<'ours' | 'bare', autocannon.Request[]>,
  { rounds, secondsARound, tell }: ControlBench,
): Promise<Line> {
  const rates: Record<'ours' | 'bare', number[]> = { ours: [], bare: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const kind of ['ours', 'bare'] as const) {
      const result = await autocannon({
        url: servers[kind].url,
        connections: CONNECTIONS,
        duration: round === 0 ? 2 : secondsARound,
        requests: load[kind],
      })
      if (result.non2xx > 0 || result.errors > 0) {
        throw new Error(
          `${name}, ${kind}: ${result.non2xx} refused, ${result.errors} broken, ${JSON.stringify(result.statusCodeStats)}`,
        )
      }
      if (round > 0) rates[kind].push(result.requests.average) // the first warms up
    }
    const rate = (kind: 'ours' | 'bare') => Math.round(rates[kind].at(-1) ?? 0)
    if (round > 0) tell(`${name}: ${rate('ours')} against ${rate('bare')} a second`)
  }
  const [ours, bare] = [median(rates.ours), median(rates.bare)]
  return {
    name,
    value: ours,
    reference: bare,
    unit: 'requests/s',
    ratio: ours / bare,
    wanted: `≥ ${wanted}`,
    ok: ours / bare >= wanted,
  }
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
