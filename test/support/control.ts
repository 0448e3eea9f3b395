/** A control plane for one test file: with its own database, Redis prefix, and an engine's end of the bus. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { createAccount, topUp } from '../../control/access/accounts/service.ts'
import { createKey } from '../../control/access/keys/service.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import { buildApp } from '../../control/app.ts'
import { type ControlConfig, type Deps, defaultConfig, type Mail } from '../../control/deps.ts'
import { handlers } from '../../control/handlers.ts'
import { connect } from '../../control/platform/db/connect.ts'
import type { Scope } from '../../control/platform/http/caller.ts'
import { UNDOCUMENTED } from '../../control/platform/http/errors.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createTrunk } from '../../control/telephony/trunks/service.ts'
import { createFolderBlobs } from '../../infra/adapters/blobs.ts'
import { createExtractor } from '../../infra/adapters/extractor.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createEngineBus, type EngineBus } from '../../media/bus/engine-bus.ts'
import { createSealer } from '../../media/contract/seal.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import { fakeLeads } from '../fakes/leads.ts'
import { createDatabase } from './database.ts'
import { plainFetch } from './receiver.ts'
import { recordingLog, type TestClock, testClock } from './world.ts'

function recordingMail() {
  const sent: Parameters<Mail['send']>[0][] = []
  return { sent, send: async (message: (typeof sent)[number]) => void sent.push(message) }
}

export interface TestControl {
  deps: Deps & { clock: TestClock; log: ReturnType<typeof recordingLog>; mail: ReturnType<typeof recordingMail> }
  app: FastifyInstance
  databaseUrl: string
  /** Another process's end of the same bus. */
  engine(name?: string): EngineBus
  close(): Promise<void>
}

export async function createControl(
  options: { config?: Partial<ControlConfig>; fetch?: Fetch } = {},
): Promise<TestControl> {
  const database = await createDatabase()
  const prefix = `test-${randomUUID()}`
  const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 1 })
  const clock = testClock()
  const log = recordingLog()
  const mail = recordingMail()
  const sealer = createSealer('test secret')
  const sql = connect({ url: database.url, max: 8 })
  const boss = createBoss({ url: database.url, max: 4, log, supervise: false })
  await boss.start()
  const bus = createControlBus({ redis, sealer, consumer: 'control-1', log, prefix })
  const config: ControlConfig = {
    ...defaultConfig,
    base_url: 'http://control.test',
    dashboard_folder: inject('dashboardFolder'),
    redis_prefix: prefix,
    engine_lost_grace_ms: 0,
    sweep_ms: 50,
    max_event_loop_delay_ms: 0, // a test machine may pause
    rate_limit: { per_key: 10_000, per_session: 10_000, per_address: 10_000, window_ms: 60_000 },
    ...options.config,
  }
  const folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'))
  const blobs = createFolderBlobs(folder)
  const knowledge = { extractor: createExtractor(), embedder: null, vectors: null, temp: join(folder, 'temp') }
  const deps = {
    ...handlers,
    sql,
    redis,
    bus,
    sealer,
    clock,
    log,
    mail,
    boss,
    blobs,
    knowledge,
    leads: fakeLeads(),
    config,
    fetch: options.fetch ?? plainFetch,
  }
  const app = await buildApp(deps)
  const engines: EngineBus[] = []
  return {
    deps,
    app,
    databaseUrl: database.url,
    engine(name = 'engine-1') {
      const engine = createEngineBus({ redis, sealer, engine: name, clock, log, prefix })
      engines.push(engine)
      return engine
    },
    async close() {
      const surprises = log.lines.filter(line => line.message === UNDOCUMENTED)
      if (surprises.length > 0) throw new Error(`${UNDOCUMENTED}: ${JSON.stringify(surprises)}`)
      await app.close()
      await knowledge.extractor.close()
      await Promise.all(engines.map(engine => engine.close()))
      await boss.stop({ graceful: false })
      await sql.end()
      redis.disconnect()
      await rm(folder, { recursive: true, force: true })
      await database.drop()
    },
  }
}

export interface Tenant {
  ownerId: string
  projectId: string
  key: string
  number: string
  trunkId: string
  /** Sends a request with this owner's key. */
  call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
  headers: Record<string, string | string[] | number | undefined>
}

let phones = 0
/** A new `+1 415 555 …` number on each call. */
export const nextPhone = () => `+1415555${String(1000 + phones++).padStart(4, '0')}`

export async function request(app: FastifyInstance, options: InjectOptions): Promise<Answer> {
  const response = await app.inject(options)
  const json = /json/.test(String(response.headers['content-type']))
  return { status: response.statusCode, body: json ? response.json() : response.body, headers: response.headers }
}

/** An owner with a key, money, a trunk with one number, and a project that may call from it. */
export async function createTenant(
  { deps, app }: TestControl,
  options: { scopes?: Scope[]; bound?: 'in' | 'out' | 'both' | null; money?: string; project?: object } = {},
): Promise<Tenant> {
  const account = await createAccount(deps, { name: 'Test' })
  if (options.money) await topUp(deps, account.id, options.money)
  const project = await createProject(deps, account.id, {
    name: 'Agent',
    language: 'en',
    prompt: 'You are {{name}}.',
    ...options.project,
  })
  const number = nextPhone()
  const trunk = await createTrunk(deps, account.id, {
    name: 'Carrier',
    mode: 'ip',
    host: '127.0.0.1',
    numbers: [number],
  })
  const bound = options.bound === undefined ? 'both' : options.bound
  if (bound) await bindNumber(deps, account.id, project.id, { number, direction: bound })
  const { value: key } = await createKey(deps, account.id, {
    name: 'test',
    scopes: options.scopes ?? ['read', 'write'],
  })
  return {
    ownerId: account.id,
    projectId: project.id,
    key,
    number,
    trunkId: trunk.id,
    call: (method, path, body, headers = {}) =>
      request(app, {
        method,
        url: `/v1/public${path}`,
        headers: { 'x-api-key': key, ...headers },
        ...(body === undefined ? {} : { payload: body as object }),
      }),
  }
}
