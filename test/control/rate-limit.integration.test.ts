import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildApp } from '../../control/app.ts'
import { createControl, createTenant, request, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({
    config: { rate_limit: { per_key: 5, per_session: 5, per_address: 3, window_ms: 600 } },
  })
})
afterAll(() => control?.close())

test('limits a key across processes, with headers, and resets after the window', async () => {
  const owner = await createTenant(control)
  const other = await buildApp(control.deps)
  const ask = (app = control.app) =>
    request(app, { method: 'GET', url: '/v1/public/projects', headers: { 'x-api-key': owner.key } })
  const first = await ask()
  expect(first.headers['ratelimit-policy']).toBe('"key";q=5;w=1')
  expect(first.headers['ratelimit']).toBe('"key";r=4;t=1')
  const answers = await Promise.all([ask(other), ask(), ask(other), ask(), ask(other), ask()])
  expect(answers.map(answer => answer.status).sort()).toEqual([200, 200, 200, 200, 429, 429])
  const refused = answers.find(answer => answer.status === 429)!
  expect(refused.body).toMatchObject({ code: 'rate_limited' })
  expect(refused.headers['retry-after']).toBe('1')
  expect(refused.headers['ratelimit']).toBe('"key";r=0;t=1')
  await new Promise(resolve => setTimeout(resolve, 650)) // the window itself is what is tested
  expect((await ask()).status).toBe(200)
  await other.close()
})

test('keeps keys independent', async () => {
  const [a, b] = [await createTenant(control), await createTenant(control)]
  await Promise.all(Array.from({ length: 7 }, () => a.call('GET', '/projects')))
  expect((await a.call('GET', '/projects')).status).toBe(429)
  expect((await b.call('GET', '/projects')).status).toBe(200)
})

test('checks the limit before scope and body', async () => {
  const reader = await createTenant(control, { scopes: ['read'] })
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await reader.call('POST', '/calls', {})).status)
  expect(statuses).toEqual([403, 403, 403, 403, 403, 429])
})

test('limits requests without a key by address', async () => {
  const ask = (remoteAddress: string) =>
    request(control.app, { method: 'GET', url: '/v1/public/projects', remoteAddress })
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await ask('192.0.2.1')).status)
  expect(statuses).toEqual([401, 401, 401, 429, 429])
  expect((await ask('192.0.2.2')).status).toBe(401)
  const owner = await createTenant(control)
  const withKey = { method: 'GET' as const, url: '/v1/public/projects', remoteAddress: '192.0.2.1' }
  expect((await request(control.app, { ...withKey, headers: { 'x-api-key': owner.key } })).status).toBe(200)
})

test('serves requests without Redis', async () => {
  const owner = await createTenant(control)
  const redis = { eval: () => Promise.reject(new Error('away')) }
  const app = await buildApp({ ...control.deps, redis: redis as never })
  const answer = await request(app, { method: 'GET', url: '/v1/public/projects', headers: { 'x-api-key': owner.key } })
  expect(answer.status).toBe(200)
  await app.close()
})
