import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey, keyCache, revoke, verifyKey } from '../../control/access/keys/service.ts'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { buildApp } from '../../control/app.ts'
import type { Deps } from '../../control/deps.ts'
import type { Sql } from '../../control/platform/db/connect.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let owner: Tenant
let cookie: string
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control)
  cookie = `parley_session=${(await openSession(control.deps, owner.ownerId)).token}`
})
afterAll(() => control?.close())

const dashboard = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
  headers: Record<string, string> = {},
) =>
  request(control.app, {
    method,
    url: `/v1/public${path}`,
    headers: { cookie, origin: 'http://control.test', ...headers },
    ...(body ? { payload: body } : {}),
  })
const use = (key: string, app = control.app, url = '/v1/public/projects') =>
  request(app, { method: 'GET', url, headers: { 'x-api-key': key } })

/** Another process on the same database, and a count of the statements that it sends. */
async function anotherProcess(change: Partial<Deps> = {}) {
  const statements: string[] = []
  const sql = new Proxy(control.deps.sql, {
    apply(target, _, args: Parameters<Sql>) {
      // Called with a template it is a statement, else a helper for one.
      if (Array.isArray((args[0] as { raw?: unknown } | undefined)?.raw)) {
        statements.push((args[0] as unknown as string[]).join('?'))
      }
      return target(...args)
    },
  })
  const deps = { ...control.deps, sql, ...change }
  return { deps, statements, app: await buildApp(deps) }
}

describe('keys in the dashboard', () => {
  test('are created, shown once, used, listed and revoked', async () => {
    const made = await dashboard('POST', '/keys', { name: 'CRM', scopes: ['read'] })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'CRM', scopes: ['read'], expires_at: null, last_used_at: null, revoked_at: null },
    })
    const { id, value, prefix } = made.body
    expect(value).toMatch(/^svc_[0-9A-Za-z]{43}$/)
    expect(prefix).toBe(value.slice(0, 8))
    expect((await use(value)).status).toBe(200)
    await backgroundDone(control.deps)
    const listed = await dashboard('GET', '/keys?limit=1')
    expect(listed.body).toMatchObject({ total: 2, limit: 1, offset: 0, items: [{ id, prefix, name: 'CRM' }] })
    expect(Date.parse(listed.body.items[0].last_used_at)).toBeGreaterThan(0)
    expect(JSON.stringify(listed.body)).not.toContain(value)

    expect(await dashboard('DELETE', `/keys/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } })
    expect((await use(value)).status).toBe(401)
    const after = (await dashboard('GET', '/keys')).body.items[0]
    expect(Date.parse(after.revoked_at)).toBeGreaterThan(0)
    expect((await dashboard('DELETE', `/keys/${id}`)).status).toBe(200)
    expect((await dashboard('GET', '/keys')).body.items[0].revoked_at).toBe(after.revoked_at)
  })

  test('cannot be managed with a key', async () => {
    const forbidden = { status: 403, body: { code: 'insufficient_scope' } }
    expect(await owner.call('GET', '/keys')).toMatchObject(forbidden)
    expect(await owner.call('POST', '/keys', { name: 'More', scopes: ['write'] })).toMatchObject(forbidden)
    expect(await owner.call('DELETE', `/keys/${owner.projectId}`)).toMatchObject(forbidden)
    expect(control.app.operations.filter(one => one.scope === 'session').map(one => typeof one.notATool)).toEqual(
      expect.arrayContaining(['string', 'string', 'string']),
    )
  })

  test('are invisible to other owners', async () => {
    const theirs = await createTenant(control)
    const key = await createKey(control.deps, theirs.ownerId, { name: 'Theirs', scopes: ['read'] })
    expect(await dashboard('DELETE', `/keys/${key.id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await use(key.value)).status).toBe(200)
    const names = (await dashboard('GET', '/keys')).body.items.map((one: { name: string }) => one.name)
    expect(names).not.toContain('Theirs')
  })

  test('omit the value in a replayed answer', async () => {
    const ask = () => dashboard('POST', '/keys', { name: 'Once', scopes: ['read'] }, { 'idempotency-key': 'once' })
    const first = await ask()
    const again = await ask()
    expect(again).toMatchObject({ status: 201, body: { id: first.body.id } })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.body).not.toHaveProperty('value')
    const kept = await control.deps.sql`select body from idempotency`
    expect(JSON.stringify(kept)).not.toContain(first.body.value)
  })

  test.each([
    [{ name: '', scopes: ['read'] }, '/name'],
    [{ name: 'A', scopes: [] }, '/scopes'],
    [{ name: 'A', scopes: ['read', 'read'] }, '/scopes'],
    [{ name: 'A', scopes: ['admin'] }, '/scopes/0'],
    [{ name: 'A', scopes: ['read'], expires_at: 'tomorrow' }, '/expires_at'],
    [{ name: 'A', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ name: 'A', scopes: ['read'], value: 'svc_mine' }, '/value'],
  ])('return 400 for the invalid body %o', async (body, pointer) => {
    expect(await dashboard('POST', '/keys', body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer }] },
    })
  })

  test('expire on time although they are cached', async () => {
    const expires_at = new Date(control.deps.clock.wall() + 3000).toISOString()
    const { value } = (await dashboard('POST', '/keys', { name: 'Short', scopes: ['read'], expires_at })).body
    expect((await use(value)).status).toBe(200)
    control.deps.clock.advance(3001)
    expect((await use(value)).status).toBe(401)
  })
})

describe('authentication', () => {
  const auth = /api_keys|sessions/

  test('needs no SQL on the hot path', async () => {
    const { deps, statements, app } = await anotherProcess()
    for (let i = 0; i < 100; i++) expect((await use(owner.key, app)).status).toBe(200)
    await backgroundDone(deps)
    const own = statements.filter(text => !auth.test(text)).length
    expect(own).toBeGreaterThanOrEqual(100) // of the route itself, so the count counts
    expect(statements.filter(text => /select .*api_keys/.test(text))).toHaveLength(1)
    expect(statements.filter(text => /update api_keys/.test(text)).length).toBeLessThanOrEqual(1)

    statements.length = 0
    const headers = { cookie }
    for (let i = 0; i < 100; i++) {
      expect((await request(app, { method: 'GET', url: '/v1/public/projects', headers })).status).toBe(200)
    }
    expect(statements.filter(text => auth.test(text)).length).toBe(1)
    await app.close()
  })

  test('queries once for concurrent requests', async () => {
    const { statements, app } = await anotherProcess()
    const answers = await Promise.all(Array.from({ length: 50 }, () => use(owner.key, app)))
    expect(answers.every(answer => answer.status === 200)).toBe(true)
    expect(statements.filter(text => /select .*api_keys/.test(text))).toHaveLength(1)
    await app.close()
  })

  test('rejects a revoked key at once here, and within 5 s elsewhere', async () => {
    const { app } = await anotherProcess()
    const key = await createKey(control.deps, owner.ownerId, { name: 'Two', scopes: ['read'] })
    expect([(await use(key.value)).status, (await use(key.value, app)).status]).toEqual([200, 200])
    control.deps.clock.advance(1000)
    await use(key.value, app)
    await revoke(control.deps, owner.ownerId, key.id)
    expect((await use(key.value)).status).toBe(401)
    control.deps.clock.advance(4900)
    expect((await use(key.value, app)).status).toBe(401)
    await app.close()
  })

  test('does not cache an answer that a revocation overtook', async () => {
    const key = await createKey(control.deps, owner.ownerId, { name: 'Race', scopes: ['read'] })
    let answer = () => {}
    const slow = new Promise<void>(resolve => (answer = resolve))
    const row = await verifyKey({ ...control.deps }, key.value, '127.0.0.1')
    if (row === 'elsewhere') throw new Error('the key has no addresses')
    const deps = { ...control.deps }
    const asked = keyCache(deps).of(Buffer.from(key.id), async () => {
      await slow
      return row
    })
    keyCache(deps).forget(one => one.id === key.id)
    answer()
    expect(await asked).not.toBeNull()
    expect(await keyCache(deps).of(Buffer.from(key.id), async () => null)).toBeNull()
  })

  test('counts the age of a cached answer from its query', async () => {
    const deps = { ...control.deps }
    const cache = keyCache(deps)
    const hash = Buffer.from('slow')
    let answer = () => {}
    const slow = new Promise<null>(resolve => (answer = () => resolve(null)))
    let asked = 0
    const ask = () => {
      asked++
      return asked === 1 ? slow : Promise.resolve(null)
    }
    const first = cache.of(hash, ask)
    control.deps.clock.advance(3900)
    const joined = cache.of(hash, ask)
    control.deps.clock.advance(200)
    answer()
    await Promise.all([first, joined])
    expect(asked).toBe(2)
  })

  test('queries again after a database error', async () => {
    const cache = keyCache({ ...control.deps })
    const hash = Buffer.from('failing')
    await expect(cache.of(hash, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(await cache.of(hash, async () => null)).toBeNull()
  })

  test('caches unknown keys, too, and bounds the cache', async () => {
    const { deps, statements, app } = await anotherProcess()
    for (let i = 0; i < 3; i++) expect((await use(`svc_${'b'.repeat(43)}`, app)).status).toBe(401)
    expect(statements.filter(text => auth.test(text))).toHaveLength(1)
    expect((await use('svc_short', app)).status).toBe(401) // not looked up
    expect(statements.filter(text => auth.test(text))).toHaveLength(1)

    const cache = keyCache(deps)
    for (let i = 0; i < 25_000; i++) await cache.of(Buffer.from(`unknown ${i}`), async () => null)
    expect(cache.size).toBe(10_000)
    await app.close()
  })

  test('does not wait for the last_used_at update, and only logs its failure', async () => {
    const { deps, app } = await anotherProcess()
    const key = await createKey(control.deps, owner.ownerId, { name: 'Noted', scopes: ['read'] })
    await control.deps.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update on api_keys for each row execute function refuse()`)
    expect((await use(key.value, app)).status).toBe(200)
    await backgroundDone(deps)
    expect(control.deps.log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'last use of API key was not recorded' }),
    )
    await control.deps.sql.unsafe('drop trigger refuse on api_keys')
    control.deps.clock.advance(61_000)
    await Promise.all([use(key.value, app), use(key.value)])
    await Promise.all([backgroundDone(deps), backgroundDone(control.deps)])
    const [row] = await control.deps.sql`select last_used_at from api_keys where id = ${key.id}`
    expect(row!['last_used_at']).toBeInstanceOf(Date)
    await app.close()
  })
})
