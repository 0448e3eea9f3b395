/**
 * OWASP API Security Top 10 (2023), authorization: API1, API2, API3, API5. The tests cover every operation of the
 * OpenAPI document, so new operations are included. docs/threat-model.md lists the tests for the rest of each item.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../../control/access/keys/service.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../../support/control.ts'
import { ask, fieldsOf, type Json, openSession, type Target, variants, type Walk, walkDocument } from './walk.ts'

let control: TestControl
let tenant: Tenant
let session: Record<string, string>
let walk: Walk

beforeAll(async () => {
  control = await createControl({
    config: {
      rate_limit: { per_key: 1_000_000, per_session: 1_000_000, per_address: 1_000_000, window_ms: 60_000 },
    },
  })
  tenant = await createTenant(control, { money: '1000' })
  session = await openSession(control, 'walker@example.com')
  walk = await walkDocument(control)
})
afterAll(() => control?.close())

const under = (...reaches: Target['reach'][]) => walk.targets.filter(({ reach }) => reaches.includes(reach))
const behindKeys = () => under('read', 'write', 'session').filter(({ path }) => !path.startsWith('/auth/'))

async function keyOf(scopes: ('read' | 'write')[]): Promise<{ id: string; headers: Record<string, string> }> {
  const { id, value } = await createKey(control.deps, tenant.ownerId, { name: 'walk', scopes })
  return { id, headers: { 'x-api-key': value } }
}

describe('API1, object level: somebody else’s id', () => {
  test('is walked over every operation that has one (test/control/owners.integration.test.ts), and this is all of them', () => {
    const declared = control.app.operations.map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
    const documented = walk.targets
      .filter(({ path }) => path.startsWith('/v1/'))
      .map(({ method, path }) => `${method} ${path}`)
    expect(documented.sort()).toEqual(declared.sort())
    expect(documented.filter(one => one.includes('{')).length).toBeGreaterThan(40)
  })

  test('that never was is 404 for each operation, before a word of the body is carried out', async () => {
    for (const target of walk.targets.filter(({ path }) => path.includes('{'))) {
      const headers = target.reach === 'session' ? session : { 'x-api-key': tenant.key }
      const { status, body } = await ask(control, target, headers)
      // For multipart forms, the content type is checked first.
      const expected = target.id.endsWith('_file') ? 415 : 404
      expect([target.id, status, body?.code]).toEqual([target.id, expected, expect.any(String)])
    }
  })
})

describe('API2, authentication: refused at every operation is', () => {
  const refused = async (headers: Record<string, string>, which = behindKeys()) => {
    expect(which.length).toBeGreaterThan(80)
    for (const target of which) {
      const { status, body } = await ask(control, target, headers)
      expect([target.id, status, body.code]).toEqual([target.id, 401, 'unauthorized'])
    }
  }

  test('no credential', () => refused({}))
  test('an unknown key', () => refused({ 'x-api-key': `${tenant.key.slice(0, -4)}AAAA` }))
  test('a key in a cookie', () => refused({ cookie: `parley_session=${tenant.key}; x-api-key=${tenant.key}` }))

  test('a key that was revoked', async () => {
    const { id, headers } = await keyOf(['read', 'write'])
    await control.deps.sql`update api_keys set revoked_at = now() where id = ${id}`
    await refused(headers)
  })

  test('a key that has expired', async () => {
    const { id, headers } = await keyOf(['read', 'write'])
    await control.deps.sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`
    await refused(headers)
  })

  test('a logged-out session', async () => {
    const left = await openSession(control, 'left@example.com')
    expect((await request(control.app, { method: 'POST', url: '/auth/log-out', headers: left })).status).toBeLessThan(
      300,
    )
    await refused(left, under('read', 'write', 'session'))
  })

  test('a key in the address, which is no parameter of anything', async () => {
    for (const target of behindKeys()) {
      const url = `${target.url}?x-api-key=${tenant.key}&api_key=${tenant.key}&access_token=${tenant.key}`
      expect([target.id, (await ask(control, { ...target, url })).status]).toEqual([target.id, 401])
    }
  })
})

/** Fields that no client may set, by their internal names. */
const READ_ONLY = ['id', 'owner_id', 'account_id', 'created_at', 'price', 'cost', 'balance', 'factor_percent', 'scopes']

describe('API3, property level: refused is', () => {
  const withBody = () => walk.targets.filter(({ body }) => body !== null)
  const fieldNames = (schema: Json) =>
    new Set(variants(walk, schema).flatMap(one => Object.keys((one['properties'] as Json) ?? {})))

  test('a field that a body does not have: ours, read-only ones of the answer, and made-up ones', async () => {
    let tried = 0
    for (const target of withBody()) {
      const { schema, example } = target.body!
      const isList = Array.isArray(example)
      const settable = isList ? fieldNames((walk.resolve(schema)['items'] as Json) ?? {}) : fieldNames(schema)
      const shown = target.answer ? [...fieldNames(target.answer)] : []
      for (const name of new Set([...READ_ONLY, ...shown, 'no_such_field', 'constructor', 'isAdmin'])) {
        if (settable.has(name)) continue
        const more = (one: unknown) => ({ ...(one as object), [name]: 'x' })
        const payload = isList ? example.map(more) : more(example)
        const headers = target.reach === 'session' ? session : { 'x-api-key': tenant.key }
        const { status, body } = await ask(control, target, headers, payload)
        tried += 1
        if (target.id === 'upload_campaign_contacts') {
          // A list is judged entry by entry, once there is a campaign to hold it.
          expect([target.id, name, status]).toEqual([target.id, name, 404])
          continue
        }
        expect([target.id, name, status, body.code]).toEqual([target.id, name, 400, 'validation_failed'])
      }
    }
    expect(tried).toBeGreaterThan(300)
  })

  test('every object inside a body is closed too, but for those that hold what a customer names', () => {
    const open = new Set<string>()
    for (const target of withBody()) {
      const all = [{ name: '', schema: target.body!.schema }, ...fieldsOf(walk, target.body!.schema)]
      for (const { name, schema } of all) {
        for (const variant of variants(walk, schema)) {
          if (variant['type'] === 'object' && variant['additionalProperties'] !== false) open.add(name)
        }
      }
    }
    expect([...open].sort()).toEqual(OPEN_OBJECTS)
  })

  test('returns secrets once', () => {
    const told = walk.targets
      .filter(({ method, answer }) => method === 'GET' && answer !== null)
      .flatMap(({ id, answer }) => fieldsOf(walk, answer!).map(({ name }) => `${id} ${name}`))
    expect(told).toContain('get_trunk username')
    expect(told.length).toBeGreaterThan(300)
    expect(told.filter(name => /(?:^|[ .])(?:password|secret|token|value|\w*_sealed|\w*hash)$/.test(name))).toEqual([])
  })
})

/** Maps by names that a customer chooses, and JSON Schemas. */
const OPEN_OBJECTS = ['[].vars', 'arguments', 'extraction', 'tools[].headers', 'tools[].parameters', 'vars']

describe('API5, function level:', () => {
  test('a key that may read writes nothing, and one that may write reads nothing', async () => {
    const [reader, writer] = [await keyOf(['read']), await keyOf(['write'])]
    for (const target of under('write')) {
      const { status, body } = await ask(control, target, reader.headers)
      expect([target.id, status, body.code]).toEqual([target.id, 403, 'insufficient_scope'])
    }
    for (const target of under('read')) {
      const { status, body } = await ask(control, target, writer.headers)
      expect([target.id, status, body.code]).toEqual([target.id, 403, 'insufficient_scope'])
    }
  })

  test('requires write for every change', () => {
    const changing = under('read').filter(({ method }) => method !== 'GET')
    expect(changing.map(({ id }) => id)).toEqual(['search_knowledge'])
    expect(under('write').filter(({ method }) => method === 'GET')).toEqual([])
  })

  test('lets no key use operations of the dashboard', async () => {
    const { headers } = await keyOf(['read', 'write'])
    const which = behindKeys().filter(({ reach }) => reach === 'session')
    expect(which.map(({ id }) => id).sort()).toEqual(
      [
        ...['create_key', 'list_keys', 'revoke_key', 'update_limits', 'resume_calls', 'update_retention'],
        ...['list_sessions', 'end_session'],
        ...['list_members', 'update_member', 'remove_member'],
        ...['list_invitations', 'invite_member', 'revoke_invitation'],
        ...['get_second_factor', 'update_second_factor', 'verify_second_factor', 'renew_recovery_codes'],
        ...['start_totp', 'confirm_totp', 'disable_totp', 'start_passkey', 'add_passkey', 'remove_passkey'],
      ].sort(),
    )
    for (const target of which) {
      const { status, body } = await ask(control, target, headers)
      expect([target.id, status, body.code]).toEqual([target.id, 403, 'insufficient_scope'])
    }
  })

  test('lets no tool do so, either', async () => {
    const { headers } = await keyOf(['read', 'write'])
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const answer = await request(control.app, {
      method: 'POST',
      url: '/mcp',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      payload,
    })
    const { tools } = (
      typeof answer.body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(answer.body)![1]!) : answer.body
    ).result
    const names = new Set(tools.map(({ name }: { name: string }) => name))
    expect(names.size).toBeGreaterThan(40)
    for (const { id } of walk.targets.filter(({ reach }) => reach === 'session' || reach === 'anybody'))
      expect([id, names.has(id)]).toEqual([id, false])
  })

  test('exposes no operator functions', async () => {
    const words = /top.?up|subscription|price|admin|operator|account|tariff|backup|migrat/i
    const open = walk.targets.filter(({ path }) => path.startsWith('/v1/'))
    expect(open.filter(({ path, id }) => words.test(path) || words.test(id)).map(({ id }) => id)).toEqual([])
    const paths = [
      '/admin',
      '/v1/admin',
      '/v1/public/accounts',
      '/v1/public/top-up',
      '/v1/public/subscription',
      '/metrics',
      '/debug',
    ]
    for (const url of paths) {
      for (const method of ['GET', 'POST'] as const)
        expect([url, (await request(control.app, { method, url, headers: session })).status]).toEqual([url, 404])
    }
  })
})
