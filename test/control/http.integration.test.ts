import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey, revoke } from '../../control/access/keys/service.ts'
import { buildApp } from '../../control/app.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { problems } from '../../control/platform/http/problem.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'
import { until } from '../support/world.ts'

let control: TestControl
let owner: Tenant
beforeAll(async () => {
  control = await createControl({ config: { body_limit: 20_000 } })
  owner = await createTenant(control)
})
afterAll(() => control?.close())

const get = (url: string, headers: Record<string, string> = {}) => request(control.app, { method: 'GET', url, headers })
const post = (payload: string, headers: Record<string, string> = {}) =>
  request(control.app, {
    method: 'POST',
    url: '/v1/public/calls',
    headers: { 'x-api-key': owner.key, 'content-type': 'application/json', ...headers },
    payload,
  })

describe('API keys', () => {
  test('is accepted in either header', async () => {
    expect((await get('/v1/public/projects', { 'x-api-key': owner.key })).status).toBe(200)
    expect((await get('/v1/public/projects', { authorization: `Bearer ${owner.key}` })).status).toBe(200)
    expect((await get('/v1/public/projects', { authorization: `bearer ${owner.key}` })).status).toBe(200)
  })

  test.each([
    ['missing', {}],
    ['unknown', { 'x-api-key': `svc_${'a'.repeat(43)}` }],
    ['without our prefix', { 'x-api-key': 'sk_123' }],
    ['in a scheme that is not ours', { authorization: 'Basic abc' }],
  ])('%s is 401 with a problem document', async (_, headers) => {
    const answer = await get('/v1/public/projects', headers)
    expect(answer.status).toBe(401)
    expect(answer.headers['content-type']).toMatch('application/problem+json')
    expect(answer.headers['www-authenticate']).toMatch('Bearer')
    expect(answer.body).toEqual({
      type: 'http://control.test/errors/unauthorized',
      title: problems.unauthorized.title,
      status: 401,
      detail: problems.unauthorized.title,
      code: 'unauthorized',
      request_id: answer.headers['x-request-id'],
    })
  })

  test('is random, and only its hash is stored', async () => {
    expect(owner.key).toMatch(/^svc_[0-9A-Za-z]{43}$/)
    const rows = await control.deps.sql`select * from api_keys where owner_id = ${owner.ownerId}`
    expect(JSON.stringify(rows)).not.toContain(owner.key)
  })

  test('is rejected when revoked or expired', async () => {
    const at = new Date(control.deps.clock.wall() - 1000)
    const expired = await createKey(control.deps, owner.ownerId, { name: 'old', scopes: ['read'], expires_at: at })
    expect((await get('/v1/public/projects', { 'x-api-key': expired.value })).status).toBe(401)
    const key = await createKey(control.deps, owner.ownerId, { name: 'gone', scopes: ['read'] })
    expect((await get('/v1/public/projects', { 'x-api-key': key.value })).status).toBe(200)
    expect(await revoke(control.deps, owner.ownerId, key.id)).toBe(true)
    expect((await get('/v1/public/projects', { 'x-api-key': key.value })).status).toBe(401)
  })

  test('stores last_used_at at most once a minute', async () => {
    const key = await createKey(control.deps, owner.ownerId, { name: 'used', scopes: ['read'] })
    const used = async () => {
      await get('/v1/public/projects', { 'x-api-key': key.value })
      await backgroundDone(control.deps)
      const [row] = await control.deps.sql`select last_used_at from api_keys where id = ${key.id}`
      return (row!['last_used_at'] as Date).getTime()
    }
    const first = await used()
    expect(await used()).toBe(first)
    control.deps.clock.advance(61_000)
    expect(await used()).toBeGreaterThan(first)
  })

  test('requires the scope', async () => {
    const reader = await createTenant(control, { scopes: ['read'] })
    const writer = await createTenant(control, { scopes: ['write'] })
    const call = { project_id: reader.projectId, phone: '+14155550100' }
    expect(await reader.call('POST', '/calls', call)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
    expect((await reader.call('GET', '/calls')).status).toBe(200)
    expect(await writer.call('GET', '/calls')).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })

  test('is checked before the body', async () => {
    expect((await post('{', { 'x-api-key': 'svc_no' })).status).toBe(401)
    const reader = await createTenant(control, { scopes: ['read'] })
    expect((await post('{', { 'x-api-key': reader.key })).status).toBe(403)
  })
})

describe('a body', () => {
  test('returns 400 when not JSON', async () => {
    expect(await post('{"phone":')).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
    expect(await post('{"__proto__": {"a": 1}}')).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
  })

  test.each(['"a\\u0000b"', '"\\ud800"', '{"\\u0000": 1}'])(
    'with text that no database takes is 400: %s',
    async text => {
      expect(await post(`{"task": ${text}}`)).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
    },
  )

  test('returns 400 with the root pointer when missing', async () => {
    const answer = await post('')
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors[0].pointer).toBe('')
  })

  test('of another media type is 415', async () => {
    expect(await post('<a/>', { 'content-type': 'application/xml' })).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
  })

  test('returns 413 when too large', async () => {
    expect(await post(JSON.stringify({ task: 'x'.repeat(30_000) }))).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    })
  })

  test('reports every invalid field with a pointer, unknown ones too', async () => {
    const answer = await post(JSON.stringify({ project_id: 'x', phone: '12', 'a/b': 1, vars: { 'x y': 1 } }))
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer)
    expect(pointers).toEqual(expect.arrayContaining(['/project_id', '/phone', '/a~1b', '/vars/x y']))
  })
})

describe('a query', () => {
  test.each([
    'limit=0',
    'limit=201',
    'limit=abc',
    'limit=1.5',
    'offset=-1',
    'what=1',
    'status=sleeping',
    'direction=up',
    'project_id=1',
    'limit=1&limit=2',
  ])('%s is 400', async query => {
    expect(await owner.call('GET', `/calls?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
  })

  test('returns 400 for an unknown parameter', async () => {
    expect((await owner.call('GET', '/projects?x=1')).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/x', code: 'unknown_field' }],
    })
  })
})

describe('addresses', () => {
  test('return a 404 problem when unknown', async () => {
    expect(await get('/nowhere')).toMatchObject({ status: 404, body: { code: 'route_not_found' } })
    expect(await owner.call('GET', '/nowhere')).toMatchObject({ status: 404, body: { code: 'route_not_found' } })
    const answer = await owner.call('PATCH', '/calls', {})
    expect(answer).toMatchObject({
      status: 405,
      body: { code: 'method_not_allowed' },
      headers: { allow: 'GET, HEAD, POST' },
    })
  })

  test('return 404 for a malformed ID', async () => {
    expect(await owner.call('GET', '/calls/not-an-id')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('return 400 when malformed', async () => {
    expect(await get('/v1/public/%zz')).toMatchObject({ status: 400, body: { code: 'bad_request' } })
  })

  test('need no key for errors and health', async () => {
    expect((await get('/healthz')).body).toEqual({ status: 'ok' })
    for (const [code, { title }] of Object.entries(problems)) {
      const page = await get(`/errors/${code}`)
      expect(page.status).toBe(200)
      expect(page.body).toContain(title)
    }
    expect((await get('/errors')).body).toContain('/errors/do_not_call')
    expect((await get('/errors/toString')).status).toBe(404)
  })
})

test('accepts a valid request ID, generates one otherwise, and logs it with the route and no address', async () => {
  expect((await get('/healthz', { 'x-request-id': 'abc-1' })).headers['x-request-id']).toBe('abc-1')
  expect((await get('/healthz', { 'x-request-id': 'a b\u00e9' })).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  await owner.call('DELETE', `/projects/${owner.projectId}/numbers/79991234567`, undefined, {
    'x-request-id': 'find-me',
  })
  const line = control.deps.log.lines.find(one => one.fields['request_id'] === 'find-me')
  expect(line?.fields).toMatchObject({ route: '/v1/public/projects/:project_id/numbers/:number', status: 404 })
  expect(JSON.stringify(control.deps.log.lines)).not.toContain('79991234567')
})

test('returns 500 without details for an internal error', async () => {
  await control.deps.sql`alter table projects rename to projects_away`
  const answer = await owner.call('GET', '/projects')
  await control.deps.sql`alter table projects_away rename to projects`
  expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } })
  expect(JSON.stringify(answer.body)).not.toContain('projects_away')
  expect(JSON.stringify(control.deps.log.lines)).toContain('42P01') // undefined_table
})

test('returns 503 with Retry-After without the database', async () => {
  const sql = connect({ url: 'postgres://nobody@127.0.0.1:1/none' })
  const app = await buildApp({ ...control.deps, sql })
  const headers = { 'x-api-key': owner.key }
  const answer = await request(app, { method: 'GET', url: '/v1/public/projects', headers })
  expect(answer).toMatchObject({ status: 503, body: { code: 'service_unavailable' } })
  expect(answer.headers['retry-after']).toBe('5')
  await app.close()
  await sql.end()
})

test('listens', async () => {
  const address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  const response = await fetch(`${address}/v1/public/projects`, { headers: { 'x-api-key': owner.key } })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ projects: [{ name: 'Agent' }, { name: 'Example' }] })
})

describe('shutdown', () => {
  const leave = async (drain_ms: number, hurry = new AbortController().signal) => {
    const app = await buildApp({ ...control.deps, hurry, config: { ...control.deps.config, drain_ms } })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    const ready = async () => {
      const response = await fetch(`${address}/readyz`)
      return { status: response.status, body: await response.json() }
    }
    return { app, address, ready }
  }

  test('reports draining at /readyz, and serves on for the drain time', async () => {
    const { app, address, ready } = await leave(500)
    expect(await ready()).toEqual({
      status: 200,
      body: { status: 'ready', checks: { postgres: true, redis: true } },
    })
    const gone = app.close()
    expect(await ready()).toMatchObject({ status: 503, body: { status: 'draining' } })
    const headers = { 'x-api-key': owner.key }
    expect((await fetch(`${address}/v1/public/projects`, { headers })).status).toBe(200)
    await gone
    await expect(fetch(`${address}/healthz`)).rejects.toThrow()
  })

  test('ends the drain when a second signal arrives', { timeout: 10_000 }, async () => {
    const hurry = new AbortController()
    const { app, address, ready } = await leave(60_000, hurry.signal)
    const gone = app.close()
    expect(await ready()).toMatchObject({ status: 503, body: { status: 'draining' } })
    hurry.abort()
    await gone
    await expect(fetch(`${address}/healthz`)).rejects.toThrow()
    const late = await leave(60_000, hurry.signal)
    await late.app.close()
  })

  test('reports not_ready but alive when Postgres or Redis is missing', async () => {
    const sql = connect({ url: 'postgres://nobody@127.0.0.1:1/none' })
    const app = await buildApp({ ...control.deps, sql })
    const answer = await request(app, { method: 'GET', url: '/readyz' })
    expect(answer).toMatchObject({
      status: 503,
      body: { status: 'not_ready', checks: { postgres: false, redis: true } },
    })
    expect((await request(app, { method: 'GET', url: '/healthz' })).status).toBe(200)
    await app.close()
    await sql.end()
  })
})

test('returns 503 when overloaded, except for health checks', async () => {
  const app = await buildApp({ ...control.deps, config: { ...control.deps.config, max_event_loop_delay_ms: 100 } })
  const get = (url: string) => request(app, { method: 'GET', url, headers: { 'x-api-key': owner.key } })
  const refused = await until(async () => {
    const end = performance.now() + 500
    while (performance.now() < end); // what a request that blocks the loop does to all others
    await new Promise(resolve => setTimeout(resolve, 20))
    const answer = await get('/v1/public/projects')
    return answer.status === 503 && answer
  })
  expect(refused.body.code).toBe('service_unavailable')
  expect(refused.headers['retry-after']).toBe('2')
  expect((await get('/healthz')).status).toBe(200)
  await until(async () => (await get('/v1/public/projects')).status === 200)
  await app.close()
})
