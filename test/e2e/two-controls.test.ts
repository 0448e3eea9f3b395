/**
 * Two real control processes on one Postgres and one Redis: changes of one take effect in the other, and one continues
 * the work of the other.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect } from '../../control/platform/db/connect.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import type { Child } from '../../infra/embedded/child.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { startProcess } from '../../infra/embedded/programs.ts'
import { createEngineBus } from '../../media/bus/engine-bus.ts'
import type { CallPlan } from '../../media/contract/plan.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { createReceiver } from '../support/receiver.ts'
import { record } from '../support/records.ts'
import { quietLog, until } from '../support/world.ts'

const HOST = '127.0.0.1'
const secret = randomUUID()
const prefix = `two-${randomUUID()}`
const folder = mkdtempSync(join(tmpdir(), 'parley-two-'))
const receiver = await createReceiver()

interface Process {
  url: string
  child: Child
}
let database: TestDatabase
const processes: Process[] = []
let first: Process
let second: Process
let cookie: string

async function startControl(): Promise<Process> {
  const port = await freePort(10_000 + randomInt(8000), HOST)
  const env = {
    PARLEY_HOME: folder,
    PARLEY_SECRET: secret,
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_PREFIX: prefix,
    HTTP_PORT: String(port),
    FETCH_ALLOW: new URL(receiver.url).host,
  }
  const logFile = join(folder, `control-${port}.log`)
  const child = await startProcess({ name: 'Control', file: 'control.ts', env, logFile, report: () => {} })
  const started = { url: `http://${HOST}:${port}`, child }
  processes.push(started)
  return started
}

beforeAll(async () => {
  database = await createDatabase()
  ;[first, second] = await Promise.all([startControl(), startControl()])
  const email = `${randomUUID()}@example.com`
  const signedUp = await ask(first, 'POST', '/auth/sign-up', { email, password: 'correct horse battery' }, {})
  expect(signedUp.status).toBe(201)
  cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
})
afterAll(async () => {
  await Promise.all(processes.map(({ child }) => child.stop()))
  await receiver.close()
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

interface Answered {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
  headers: Headers
}

async function ask(
  { url }: Process,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = { cookie, origin: url },
): Promise<Answered> {
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null, headers: response.headers }
}
const withKey = (key: string) => ({ 'x-api-key': key })
async function newKey(scopes = ['read', 'write']): Promise<{ id: string; value: string }> {
  const { body } = await ask(first, 'POST', '/v1/public/keys', { name: 'two', scopes })
  return body
}

test('shares sessions and log-out', async () => {
  const email = `${randomUUID()}@example.com`
  const signedUp = await ask(first, 'POST', '/auth/sign-up', { email, password: 'correct horse battery' }, {})
  const own = (url: string) => ({ cookie: signedUp.headers.get('set-cookie')!.split(';')[0]!, origin: url })
  expect((await ask(second, 'GET', '/v1/public/projects', undefined, own(second.url))).status).toBe(200)
  await ask(first, 'POST', '/auth/log-out', undefined, own(first.url))
  await until(async () => (await ask(second, 'GET', '/v1/public/projects', undefined, own(second.url))).status === 401)
})

test('revokes a key in both within five seconds', async () => {
  const key = await newKey()
  const used = () => ask(second, 'GET', '/v1/public/projects', undefined, withKey(key.value))
  expect((await used()).status).toBe(200)
  expect((await ask(first, 'DELETE', `/v1/public/keys/${key.id}`)).status).toBe(200)
  const revokedAt = performance.now()
  const own = await ask(first, 'GET', '/v1/public/projects', undefined, withKey(key.value))
  expect(own.status).toBe(401)
  await until(async () => (await used()).status === 401, 'the other process to refuse it')
  expect(performance.now() - revokedAt).toBeLessThan(5500) // 5 s, and a request
})

test('the rate limit is one for both', async () => {
  const key = await newKey(['read'])
  const statuses = await Promise.all(
    Array.from({ length: 130 }, async (_, i) => {
      const answer = await ask([first, second][i % 2]!, 'GET', '/v1/public/projects', undefined, withKey(key.value))
      return answer.status
    }),
  )
  expect(statuses.filter(status => status === 200)).toHaveLength(120)
  expect(statuses.filter(status => status === 429)).toHaveLength(10)
})

test('creates one object for one Idempotency-Key at both', async () => {
  const key = await newKey()
  const headers = { ...withKey(key.value), 'idempotency-key': randomUUID() }
  const body = { name: 'Once', language: 'en' }
  const answers = await Promise.all(
    [first, second, first, second].map(one => ask(one, 'POST', '/v1/public/projects', body, headers)),
  )
  for (const { status, body: answer } of answers) {
    expect([201, 409]).toContain(status)
    if (status === 409) expect(answer.code).toBe('idempotency_in_flight')
  }
  const again = await ask(second, 'POST', '/v1/public/projects', body, headers)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  const { projects } = (await ask(first, 'GET', '/v1/public/projects')).body
  expect(projects.filter((project: { name: string }) => project.name === 'Once')).toHaveLength(1)
})

test('shows a call in both, charges it once, and sends its webhook once', async () => {
  const { projects } = (await ask(first, 'GET', '/v1/public/projects')).body
  const number = '+12025550111'
  await ask(first, 'POST', '/v1/public/trunks', { name: 'T', mode: 'ip', host: HOST, numbers: [number] })
  await ask(second, 'POST', `/v1/public/projects/${projects[0].id}/numbers`, { number, direction: 'out' })
  await ask(first, 'POST', '/v1/public/webhooks', { url: `${receiver.url}/once`, events: ['call.completed'] })
  const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null })
  const sealer = createSealer(secret)
  const engine = createEngineBus({ redis, sealer, engine: 'two', clock: systemClock, log: quietLog, prefix })
  const taken = Promise.withResolvers<CallPlan>()
  const reader = engine.onPlace(() => 1, taken.resolve)
  const input = { project_id: projects[0].id, phone: '+14155550123' }
  const placed = await ask(second, 'POST', '/v1/public/calls', input)
  expect(placed).toMatchObject({ status: 201, body: { status: 'queued' } })
  const emit = engine.emitter(await taken.promise)
  await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  await emit({ type: 'call.ended', record: record({ talked_ms: 12_000 }) })
  for (const one of [first, second]) {
    await until(async () => (await ask(one, 'GET', `/v1/public/calls/${placed.body.id}`)).body.status === 'completed')
    const balance = (await ask(one, 'GET', '/v1/public/balance')).body
    expect(balance).toMatchObject({ balance: { amount: '99.0000' }, held: { amount: '0.0000' } })
  }
  await until(() => receiver.received.length > 0)
  expect(receiver.received.filter(({ path }) => path === '/once')).toHaveLength(1)
  await reader.stop()
  await engine.close()
  redis.disconnect()
})

test('sends webhooks of a process killed after its commit', async () => {
  const made = await ask(first, 'POST', '/v1/public/webhooks', { url: `${receiver.url}/left`, events: ['call.failed'] })
  let hanging = true
  receiver.answer((_, response) => (hanging ? undefined : void response.writeHead(204).end()))
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    ids.push((await ask(first, 'POST', `/v1/public/webhooks/${made.body.id}/test`)).body.id)
  }
  await until(() => receiver.received.some(({ path }) => path === '/left'))
  hanging = false
  process.kill(first.child.pid, 'SIGKILL')
  const sql = connect({ url: database.url, max: 1 })
  await until(
    async () => (await sql`select 1 from webhook_deliveries where status = 'pending'`).length === 0,
    'the deliveries to be settled',
    100_000,
  )
  await sql.end()
  const got = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
  for (const id of ids) expect(got).toContain(id)
}, 300_000)
