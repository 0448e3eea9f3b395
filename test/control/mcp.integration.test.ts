import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../control/access/keys/service.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let owner: Tenant
let address: string
beforeAll(async () => {
  control = await createControl()
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  owner = await createTenant(control, { money: '500' })
})
afterAll(() => control?.close())

async function connect(key = owner.key): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const headers = { Authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }))
  return client
}
interface Result {
  isError?: boolean
  structuredContent?: Record<string, unknown>
  content: { type: string; text: string }[]
}
const call = async (client: Client, name: string, args: object = {}) =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as unknown as Result
const problemOf = ({ isError, content }: Result) => (isError ? JSON.parse(content[0]!.text) : null)

describe('tools', () => {
  test('lists the seven named tools first, with schemas', async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.slice(0, 7).map(tool => tool.name)).toEqual([
      'list_projects',
      'list_calls',
      'get_call',
      'list_contacts',
      'get_balance',
      'place_call',
      'create_project',
    ])
    const list = tools.find(tool => tool.name === 'list_calls')!
    expect(list.inputSchema).toMatchObject({ type: 'object', additionalProperties: false, required: [] })
    expect(list.inputSchema.properties?.['limit']).toMatchObject({ type: 'integer', minimum: 1, maximum: 200 })
    const place = tools.find(tool => tool.name === 'place_call')!
    expect(place.inputSchema.required).toEqual(['project_id', 'phone'])
    expect(Object.keys(place.inputSchema.properties!)).toEqual(
      expect.arrayContaining(['project_id', 'phone', 'task', 'vars', 'dry_run', 'max_cost', 'idempotency_key']),
    )
    for (const tool of tools) expect([tool.name, tool.outputSchema?.type]).toEqual([tool.name, 'object'])
    expect(tools.find(tool => tool.name === 'delete_project')!.annotations).toMatchObject({ destructiveHint: true })
    await client.close()
  })

  test('has a tool for every operation except those marked otherwise', async () => {
    const document = (await request(control.app, { method: 'GET', url: '/openapi.json' })).body
    const listed = Object.entries(document.paths as Record<string, Record<string, { operationId: string }>>)
      .filter(([path]) => path.startsWith('/v1/public'))
      .flatMap(([, methods]) => Object.values(methods).map(operation => operation.operationId))
    const client = await connect()
    const tools = new Set((await client.listTools()).tools.map(tool => tool.name))
    const reasons = new Map(control.app.operations.map(operation => [operation.id, operation.notATool]))
    const without = listed.filter(id => !tools.has(id))
    for (const id of without) expect([id, reasons.get(id)]).toEqual([id, expect.stringMatching(/\w+ \w+/)])
    // Operations of people, who have a session, can be no tools.
    const ofPeople = new Set(control.app.operations.filter(one => one.scope === 'session').map(({ id }) => id))
    const forKeys = listed.filter(id => !ofPeople.has(id))
    expect(forKeys.filter(id => !tools.has(id)).length).toBeLessThan(forKeys.length / 4)
    expect(new Set(listed).size).toBe(listed.length)
    await client.close()
  })

  test('lists and runs tools by the scopes of the key', async () => {
    const { value } = await createKey(control.deps, owner.ownerId, { name: 'reader', scopes: ['read'] })
    const client = await connect(value)
    const names = (await client.listTools()).tools.map(tool => tool.name)
    expect(names).toContain('list_calls')
    expect(names).not.toContain('place_call')
    const refused = await call(client, 'place_call', { project_id: owner.projectId, phone: nextPhone() })
    expect(problemOf(refused)).toMatchObject({ status: 403, code: 'insufficient_scope' })
    await client.close()
  })
})

describe('a call of a tool', () => {
  test('returns the REST body as structuredContent', async () => {
    const client = await connect()
    const phone = nextPhone()
    const placed = await call(client, 'place_call', { project_id: owner.projectId, phone, vars: { name: 'Ann' } })
    expect(placed.structuredContent).toMatchObject({ status: 'queued', to: phone })
    const pairs: [string, object, string][] = [
      ['get_call', { call_id: placed.structuredContent!['id'] }, `/calls/${placed.structuredContent!['id']}`],
      ['list_calls', { limit: 1, status: 'queued' }, '/calls?limit=1&status=queued'],
      ['list_projects', {}, '/projects'],
      ['list_contacts', { q: phone }, `/contacts?q=${encodeURIComponent(phone)}`],
      ['get_balance', {}, '/balance'],
      ['list_numbers', {}, '/numbers'],
    ]
    for (const [name, args, path] of pairs) {
      const result = await call(client, name, args)
      const rest = await owner.call('GET', path)
      expect([name, result.structuredContent]).toEqual([name, rest.body])
      expect(JSON.parse(result.content[0]!.text)).toEqual(rest.body)
    }
    const made = await call(client, 'create_project', { name: 'By AI', language: 'en', prompt: 'Be brief.' })
    const id = made.structuredContent!['id']
    expect((await owner.call('GET', `/projects/${id}`)).body).toEqual(made.structuredContent)
    const changed = await call(client, 'update_project', { project_id: id, name: 'Renamed' })
    expect(changed.structuredContent).toMatchObject({ id, name: 'Renamed', prompt: 'Be brief.' })
    expect((await call(client, 'delete_project', { project_id: id })).structuredContent).toEqual({ id, deleted: true })
    await client.close()
  })

  test('returns a problem document that points at the argument', async () => {
    const client = await connect()
    const missing = problemOf(await call(client, 'place_call', { project_id: 'x', phnoe: '1' }))
    expect(missing).toMatchObject({ status: 400, code: 'validation_failed' })
    expect(missing.errors.map((one: { pointer: string }) => one.pointer).sort()).toEqual([
      '/phnoe',
      '/phone',
      '/project_id',
    ])
    const foreign = await createTenant(control)
    const hidden = problemOf(await call(client, 'get_project', { project_id: foreign.projectId }))
    expect(hidden).toMatchObject({ status: 404, code: 'not_found' })
    await expect(client.callTool({ name: 'make_coffee', arguments: {} })).rejects.toThrow('make_coffee')
    await client.close()
  })

  test('runs every check in a dry run without dialling; accepts max_cost', async () => {
    const client = await connect()
    const before = await owner.call('GET', '/calls')
    const dry = await call(client, 'place_call', { project_id: owner.projectId, phone: nextPhone(), dry_run: true })
    expect(dry.structuredContent).toMatchObject({ would_place: true })
    expect((await owner.call('GET', '/calls')).body.total).toBe(before.body.total)
    const blocked = await call(client, 'place_call', {
      project_id: owner.projectId,
      phone: '+8816 1234 5678'.replaceAll(' ', ''),
      dry_run: true,
    })
    expect(problemOf(blocked)).toMatchObject({ code: 'destination_blocked' })
    const cheap = await call(client, 'place_call', {
      project_id: owner.projectId,
      phone: nextPhone(),
      max_cost: '0.0100',
    })
    expect(problemOf(cheap)).toMatchObject({ status: 400 })
    const bounded = await call(client, 'place_call', {
      project_id: owner.projectId,
      phone: nextPhone(),
      max_cost: '7.5000',
    })
    expect(bounded.structuredContent).toMatchObject({ status: 'queued' })
    await client.close()
  })

  test('runs once per idempotency key', async () => {
    const client = await connect()
    const args = { project_id: owner.projectId, phone: nextPhone(), idempotency_key: 'once' }
    const [first, second] = [await call(client, 'place_call', args), await call(client, 'place_call', args)]
    expect(second.structuredContent).toEqual(first.structuredContent)
    const other = await call(client, 'place_call', { ...args, phone: nextPhone() })
    expect(problemOf(other)).toMatchObject({ code: 'idempotency_mismatch' })
    await client.close()
  })
})

describe('the endpoint', () => {
  const post = (headers: Record<string, string>, payload: unknown = { jsonrpc: '2.0', id: 1, method: 'ping' }) =>
    request(control.app, {
      method: 'POST',
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
      payload: payload as object,
    })
  const bearer = () => ({ authorization: `Bearer ${owner.key}` })

  test('rejects requests without a key, from other origins and with other methods', async () => {
    expect(await post({})).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect((await post({})).headers['www-authenticate']).toMatch(/^Bearer/)
    expect(await post({ ...bearer(), origin: 'https://evil.example' })).toMatchObject({ status: 403 })
    expect((await post({ ...bearer(), origin: 'http://control.test' })).status).toBe(200)
    const get = await request(control.app, { method: 'GET', url: '/mcp', headers: bearer() })
    expect(get).toMatchObject({ status: 405, headers: { allow: 'POST' } })
  })

  test('returns the rate limit headers of REST', async () => {
    const answer = await post(bearer())
    expect(answer.body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect(answer.headers['ratelimit-policy']).toContain('"key"')
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each([
    ['no JSON', '{', 400],
    ['no JSON-RPC', { a: 1 }, 400],
    ['wrong arguments', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 5 } }, 200],
  ])('reports %s as a tool error', async (_, payload, status) => {
    expect((await post(bearer(), payload)).status).toBe(status)
    expect(control.deps.log.lines.filter(line => line.level === 'error')).toEqual([])
  })
})
