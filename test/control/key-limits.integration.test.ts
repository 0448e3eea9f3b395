/** Keys that are limited to addresses and to projects, over REST, MCP and event streams. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isWithin, readNetwork } from '../../control/access/keys/addresses.ts'
import { createKey } from '../../control/access/keys/service.ts'
import { concernsProjects } from '../../control/access/permissions/projects.ts'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { ask, type Walk, walkDocument } from './owasp/walk.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

let control: TestControl
let walk: Walk
let owner: Tenant
let session: Record<string, string>
/** Another project of the same account, with a call, a campaign and a contact. */
const other: Record<'project' | 'call' | 'campaign' | 'contact', string> = {
  project: '',
  call: '',
  campaign: '',
  contact: '',
}
beforeAll(async () => {
  control = await createControl()
  walk = await walkDocument(control)
  owner = await createTenant(control, { money: '1000' })
  session = {
    cookie: `parley_session=${(await openSession(control.deps, owner.ownerId)).token}`,
    origin: 'http://control.test',
  }
  const project = await createProject(control.deps, owner.ownerId, { name: 'Other', language: 'en', prompt: 'Hi.' })
  const trunk = await owner.call('POST', '/trunks', {
    name: 'Second',
    mode: 'ip',
    host: '127.0.0.1',
    numbers: [nextPhone()],
  })
  await bindNumber(control.deps, owner.ownerId, project.id, { number: trunk.body.numbers[0], direction: 'both' })
  other.project = project.id
  const call = await owner.call('POST', '/calls', { project_id: project.id, phone: nextPhone() })
  other.call = call.body.id
  other.contact = (await owner.call('GET', `/calls/${other.call}`)).body.contact_id
  other.campaign = (await owner.call('POST', '/campaigns', { name: 'Other', project_id: project.id })).body.id
})
afterAll(() => control?.close())

const create = (body: object) =>
  request(control.app, {
    method: 'POST',
    url: '/v1/public/keys',
    headers: session,
    payload: { name: 'Limited', scopes: ['read', 'write'], ...body },
  })
const use = (key: string, method: Method, path: string, body?: object, remoteAddress = '127.0.0.1') =>
  request(control.app, {
    method,
    url: `/v1/public${path}`,
    headers: { 'x-api-key': key },
    remoteAddress,
    ...(body ? { payload: body } : {}),
  })
const mcp = async (key: string, method: string, params: object, remoteAddress = '127.0.0.1') =>
  request(control.app, {
    method: 'POST',
    url: '/mcp',
    remoteAddress,
    headers: { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' },
    payload: { jsonrpc: '2.0', id: 1, method, params },
  })

describe('addresses', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7/32', '192.0.2.7'],
    ['192.0.2.7/24', '192.0.2.0/24'],
    ['192.0.2.255/25', '192.0.2.128/25'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:db8:1:2:3::/48', '2001:db8:1::/48'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7/120', '192.0.2.0/24'],
  ])('%s is read as %s', (text, network) => {
    expect(readNetwork(text)).toBe(network)
  })

  test.each([
    ...['0.0.0.0/0', '::/0', '::ffff:0:0/96', '192.0.2.7/33', '2001:db8::/129', '192.0.2.7/-1', '192.0.2.7/2 4'],
    ...['192.0.2', '127.1', '0x7f000001', '010.0.0.1', 'fe80::1%eth0', 'example.com', '', ' 192.0.2.7', '1.2.3.4/8/8'],
  ])('%j is no network', text => {
    expect(readNetwork(text)).toBeNull()
  })

  test.each([
    [['192.0.2.0/24'], '192.0.2.9', true],
    [['192.0.2.0/24'], '::ffff:192.0.2.9', true],
    [['192.0.2.0/24'], '192.0.3.9', false],
    [['192.0.2.0/24'], '2001:db8::1', false],
    [['2001:db8:1::/48'], '2001:db8:1:2::3', true],
    [['2001:db8:1::/48'], '2001:db8:2::3', false],
    [['198.51.100.1', '192.0.2.0/25'], '192.0.2.200', false],
    [['192.0.2.0/24'], 'unknown', false],
  ])('%j holds %s: %s', (networks, address, expected) => {
    expect(isWithin(networks, address)).toBe(expected)
  })

  test('of a key are shown, and the key is refused from elsewhere, over REST, MCP and for uploads', async () => {
    const { status, body } = await create({ addresses: ['192.0.2.7/24', '192.0.2.0/24', '2001:db8::/32'] })
    expect([status, body.addresses]).toEqual([201, ['192.0.2.0/24', '2001:db8::/32']])
    const key = body.value
    expect((await use(key, 'GET', '/calls', undefined, '192.0.2.200')).status).toBe(200)
    expect((await use(key, 'GET', '/calls', undefined, '2001:db8:5::1')).status).toBe(200)
    for (const address of ['127.0.0.1', '192.0.3.1', '2001:db9::1', '::ffff:198.51.100.1']) {
      const refused = { status: 403, body: { code: 'address_not_allowed' } }
      expect(await use(key, 'GET', '/calls', undefined, address)).toMatchObject(refused)
      expect(await mcp(key, 'tools/list', {}, address)).toMatchObject(refused)
    }
    expect((await mcp(key, 'tools/list', {}, '192.0.2.1')).status).toBe(200)
  })

  test('that do not fit are no use of the key, and do not take its requests', async () => {
    const { body } = await create({ addresses: ['192.0.2.7'] })
    for (let i = 0; i < 5; i++) await use(body.value, 'GET', '/calls')
    const listed = await request(control.app, { method: 'GET', url: '/v1/public/keys', headers: session })
    const key = listed.body.items.find((one: { id: string }) => one.id === body.id)
    expect(key.last_used_at).toBeNull()
    const answer = await use(body.value, 'GET', '/calls', undefined, '192.0.2.7')
    expect(String(answer.headers['ratelimit'])).toContain(`r=${control.deps.config.rate_limit.per_key - 1};`)
  })

  test.each([[[]], [['0.0.0.0/0']], [['nowhere']], ['192.0.2.1']])('%j is a bad request', async addresses => {
    const answer = await create({ addresses })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors[0].pointer).toMatch(/^\/addresses/)
  })
})

describe('projects', () => {
  let key: string
  beforeAll(async () => {
    const { status, body } = await create({ project_ids: [owner.projectId.toUpperCase()] })
    expect([status, body.project_ids]).toEqual([201, [owner.projectId]])
    key = body.value
  })

  test('limit what the key sees: lists have its own, and totals count them', async () => {
    const own = await use(key, 'POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
    expect(own.status).toBe(201)
    const campaign = await use(key, 'POST', '/campaigns', { name: 'Own', project_id: owner.projectId })
    expect(campaign.status).toBe(201)
    const list = async (path: string) => (await use(key, 'GET', path)).body
    expect((await list('/projects')).projects.map(({ id }: { id: string }) => id)).toEqual([owner.projectId])
    expect(await list('/calls')).toMatchObject({ total: 1, items: [{ id: own.body.id }] })
    expect(await list(`/calls?project_id=${other.project}`)).toMatchObject({ total: 0, items: [] })
    expect(await list(`/calls?campaign_id=${other.campaign}`)).toMatchObject({ total: 0, items: [] })
    expect(await list('/campaigns')).toMatchObject({ total: 1, items: [{ id: campaign.body.id }] })
    expect(await list('/contacts')).toMatchObject({ total: 1, items: [{ project_ids: [owner.projectId] }] })
    expect(await list('/contacts?q=1415')).toMatchObject({ total: 1 })
    const numbers = await list('/numbers')
    expect(numbers).toMatchObject({ total: 1, items: [{ number: owner.number }] })
    expect(JSON.stringify([numbers, await list('/contacts'), await list('/calls')])).not.toContain(other.project)
    expect((await owner.call('GET', '/numbers')).body.total).toBe(2)
  })

  test.each<[Method, () => string, (() => object)?]>([
    ['GET', () => `/projects/${other.project}`],
    ['GET', () => `/projects/${other.project.toUpperCase()}`],
    ['PATCH', () => `/projects/${other.project}`, () => ({ name: 'x' })],
    ['DELETE', () => `/projects/${other.project}`],
    ['GET', () => `/projects/${other.project}/knowledge`],
    ['POST', () => `/projects/${other.project}/knowledge`, () => ({ type: 'text', content: 'x' })],
    ['POST', () => `/projects/${other.project}/knowledge/search`, () => ({ query: 'x' })],
    ['POST', () => `/projects/${other.project}/numbers`, () => ({ number: owner.number, direction: 'in' })],
    ['POST', () => '/calls', () => ({ project_id: other.project, phone: nextPhone() })],
    ['POST', () => '/realtime/session', () => ({ project_id: other.project })],
    ['POST', () => '/campaigns', () => ({ name: 'x', project_id: other.project })],
    ['GET', () => `/calls/${other.call}`],
    ['GET', () => `/calls/${other.call}/events`],
    ['GET', () => `/calls/${other.call}/recording`],
    ['GET', () => `/calls/${other.call}/trace`],
    ['POST', () => `/calls/${other.call}/hangup`],
    ['POST', () => `/calls/${other.call}/monitor`, () => ({ mode: 'listen' })],
    ['DELETE', () => `/calls/${other.call}`],
    ['GET', () => `/campaigns/${other.campaign}`],
    ['GET', () => `/campaigns/${other.campaign}/events`],
    ['GET', () => `/campaigns/${other.campaign}/results.csv`],
    ['PATCH', () => `/campaigns/${other.campaign}`, () => ({ name: 'x' })],
    ['PATCH', () => `/campaigns/${other.campaign}`, () => ({ project_id: owner.projectId })],
    ['POST', () => `/campaigns/${other.campaign}/start`, () => ({ consent: true })],
    ['POST', () => `/campaigns/${other.campaign}/contacts`, () => [{ phone: nextPhone() }]],
    ['DELETE', () => `/campaigns/${other.campaign}`],
    ['GET', () => `/contacts/${other.contact}`],
    ['PATCH', () => `/contacts/${other.contact}`, () => ({ name: 'x' })],
    ['DELETE', () => `/contacts/${other.contact}`],
  ])('of the account that the key does not have answer 404: %s %s', async (method, path, body) => {
    expect(await use(key, method, path(), body?.())).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('of a campaign cannot be changed to another one', async () => {
    const own = await use(key, 'POST', '/campaigns', { name: 'Moving', project_id: owner.projectId })
    const moved = await use(key, 'PATCH', `/campaigns/${own.body.id}`, { project_id: other.project })
    expect(moved).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('share a contact: it is shown without the other project, and not changed', async () => {
    const phone = nextPhone()
    for (const project_id of [owner.projectId, other.project]) await owner.call('POST', '/calls', { project_id, phone })
    const { items } = (await owner.call('GET', `/contacts?q=${phone.slice(1)}`)).body
    const [{ id }] = items
    expect((await use(key, 'GET', `/contacts/${id}`)).body.project_ids).toEqual([owner.projectId])
    expect((await use(key, 'PATCH', `/contacts/${id}`, { name: 'x' })).status).toBe(404)
    expect((await use(key, 'DELETE', `/contacts/${id}`)).status).toBe(404)
  })

  test('keep a number of another project from being bound', async () => {
    const all = (await owner.call('GET', '/numbers')).body.items
    const theirs = all.find(
      (one: { bindings: { project_id: string }[] }) => one.bindings[0]!.project_id === other.project,
    )
    const answer = await use(key, 'POST', `/projects/${owner.projectId}/numbers`, {
      number: theirs.number,
      direction: 'in',
    })
    expect(answer.status).toBe(404)
  })

  test('leave nothing of the whole account: every such operation is 403, over REST and MCP', async () => {
    const account = walk.targets.filter(({ id, reach }) => /read|write/.test(reach) && !concernsProjects(id))
    expect(account.map(({ id }) => id)).toContain('get_balance')
    expect(account.length).toBeGreaterThan(40)
    for (const target of account) {
      const { status, body } = await ask(control, target, { 'x-api-key': key })
      expect([target.id, status, body.code]).toEqual([target.id, 403, 'insufficient_scope'])
    }
    const { tools } = (await mcp(key, 'tools/list', {})).body.result
    const names = tools.map(({ name }: { name: string }) => name)
    expect(names.filter((name: string) => !concernsProjects(name))).toEqual([])
    expect(names).toContain('place_call')
    const balance = (await mcp(key, 'tools/call', { name: 'get_balance', arguments: {} })).body.result
    expect(JSON.parse(balance.content[0].text).code).toBe('insufficient_scope')
    const call = { name: 'place_call', arguments: { project_id: other.project, phone: nextPhone() } }
    expect(JSON.parse((await mcp(key, 'tools/call', call)).body.result.content[0].text).code).toBe('not_found')
    const projects = (await mcp(key, 'tools/call', { name: 'list_projects', arguments: {} })).body.result
    expect(projects.structuredContent.projects).toHaveLength(1)
  })

  test('that are deleted leave the key nothing, and not everything', async () => {
    const gone = await createProject(control.deps, owner.ownerId, { name: 'Gone', language: 'en', prompt: 'Hi.' })
    const { value } = (await create({ project_ids: [gone.id] })).body
    expect((await owner.call('DELETE', `/projects/${gone.id}`)).status).toBe(200)
    expect((await use(value, 'GET', '/projects')).body.projects).toEqual([])
    expect((await use(value, 'GET', '/calls')).body.total).toBe(0)
  })

  test.each([[[]], [['not-an-id']], [['0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01']]])(
    '%j is a bad request',
    async project_ids => {
      const answer = await create({ project_ids })
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
      expect(answer.body.errors[0].pointer).toMatch(/^\/project_ids/)
    },
  )

  test('of another account are a bad request', async () => {
    const stranger = await createTenant(control)
    const answer = await create({ project_ids: [stranger.projectId] })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ code: 'unknown_project' }] } })
  })

  test('do not come by the idempotent replay of another key', async () => {
    const headers = { 'idempotency-key': 'shared-by-two-keys' }
    const payload = { project_id: other.project, phone: nextPhone() }
    expect((await owner.call('POST', '/calls', payload, headers)).status).toBe(201)
    const replay = await request(control.app, {
      method: 'POST',
      url: '/v1/public/calls',
      headers: { 'x-api-key': key, ...headers },
      payload,
    })
    expect(replay.status).toBe(404)
  })
})

test('a key without limits and a key of a person have what they had before', async () => {
  const { value } = await createKey(control.deps, owner.ownerId, { name: 'All', scopes: ['read', 'write'] })
  for (const address of ['192.0.2.1', '2001:db8::9', '127.0.0.1']) {
    expect((await use(value, 'GET', '/balance', undefined, address)).status).toBe(200)
  }
})
