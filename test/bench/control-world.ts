/** Control with its own database and Redis, accounts with keys, and a server of either kind. */

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { createAccount, topUp } from '../../control/access/accounts/service.ts'
import { createKey } from '../../control/access/keys/service.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import { type Deps, defaultConfig } from '../../control/deps.ts'
import { handlers } from '../../control/handlers.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { createBoss, installQueues } from '../../control/platform/jobs/jobs.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createTrunk } from '../../control/telephony/trunks/service.ts'
import { createFolderBlobs } from '../../infra/adapters/blobs.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { quietLog } from '../support/world.ts'
import type { ServerArguments } from './server.ts'

export const SECRET = 'the bench has no secrets'

export interface ControlWorld {
  /** Includes the real bus. */
  deps: Deps
  databaseUrl: string
  redisUrl: string
  stop(): Promise<void>
}

export async function openControlWorld(
  report: (text: string) => void,
  config: Partial<Deps['config']> = {},
): Promise<ControlWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  await chmod(folder, 0o755)
  const place = (name: string) => ({
    folder: join(folder, name),
    logFile: join(folder, `${name}.log`),
    port: randomInt(33_000, 60_000),
    report,
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
    ...handlers,
    sql,
    redis,
    boss,
    sealer,
    clock: systemClock,
    log: quietLog,
    mail: { send: async () => {} },
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    blobs: createFolderBlobs(folder),
    config: { ...defaultConfig, max_calls_per_owner: 1_000_000, ...config },
    bus: createControlBus({ redis, sealer, consumer: 'bench', log: quietLog }),
  }
  return {
    deps,
    databaseUrl: postgres.url,
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

export interface Server {
  url: string
  pid: number
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
  return { url: `http://127.0.0.1:${JSON.parse(line).port}`, pid: child.pid!, stop: () => void child.kill() }
}

/** An owner with many rows, and enough keys for each to stay within its rate limit. */
export interface Reader {
  ownerId: string
  projectId: string
  keys: string[]
}

export async function seedReader(deps: Deps, keys: number): Promise<Reader> {
  const account = await createAccount(deps, { name: 'Reader' })
  const reader: Reader = { ownerId: account.id, projectId: account.project_id, keys: [] }
  for (let i = 0; i < 10; i++) await createProject(deps, account.id, { name: `Agent ${i}`, language: 'en' })
  for (let i = 0; i < keys; i++) {
    reader.keys.push((await createKey(deps, account.id, { name: 'bench', scopes: ['read'] })).value)
  }
  return reader
}

export interface Caller {
  owner_id: string
  project_id: string
  trunk_id: string
  from: string
  keys: string[]
}

/** Owners that can call, with keys with write scope. */
export async function seedCallers(deps: Deps, count: number, keysEach: number): Promise<Caller[]> {
  const callers: Caller[] = []
  for (let i = 0; i < count; i++) {
    const { id: owner_id } = await createAccount(deps, { name: `Caller ${i}` })
    await topUp(deps, owner_id, '1000000')
    const project = await createProject(deps, owner_id, { name: 'Agent', language: 'en', prompt: 'You take orders.' })
    const from = `+1${2_020_000_000 + i}`
    const trunk = await createTrunk(deps, owner_id, { name: 'T', mode: 'ip', host: '127.0.0.1', numbers: [from] })
    await bindNumber(deps, owner_id, project.id, { number: from, direction: 'out' })
    const keys: string[] = []
    for (let n = 0; n < keysEach; n++) {
      keys.push((await createKey(deps, owner_id, { name: 'bench', scopes: ['write'] })).value)
    }
    callers.push({ owner_id, project_id: project.id, trunk_id: trunk.id, from, keys })
  }
  return callers
}
