/** Idempotency, races between requests, and the limits that keep one client from exhausting shared resources. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { revoke } from '../../control/access/keys/service.ts'
import { createProject, deleteProject } from '../../control/agents/projects/service.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { fillVars } from '../../control/telephony/call-setup/plan.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { effortUntil, longestWork } from '../support/effort.ts'
import { record } from '../support/records.ts'
import { until } from '../support/world.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const body = (owner: Tenant, phone = nextPhone()) => ({ project_id: owner.projectId, phone })
const place = async (owner: Tenant, phone = nextPhone()): Promise<string> =>
  (await owner.call('POST', '/calls', body(owner, phone))).body.id
const callsOf = async (owner: Tenant) => (await owner.call('GET', '/calls')).body.total as number
const mcp = (owner: Tenant, message: unknown) =>
  request(control.app, {
    method: 'POST',
    url: '/mcp',
    headers: {
      authorization: `Bearer ${owner.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    payload: message as object,
  })

// ---- money ----

test('does not place a second call when a request outlives its idempotency claim', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  const call = body(owner)
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const blocker = deps.sql.begin(async tx => {
    await tx`select 1 from balances where owner_id = ${owner.ownerId} for update`
    locked.resolve()
    await held.promise
  })
  await locked.promise
  const first = owner.call('POST', '/calls', call, { 'idempotency-key': 'stuck' })
  await until(async () => (await deps.sql`select 1 from idempotency where key = 'stuck'`).length > 0)
  deps.clock.advance(61_000)
  const second = owner.call('POST', '/calls', call, { 'idempotency-key': 'stuck' })
  await sleep(300)
  held.resolve()
  await blocker
  const answers = await Promise.all([first, second])
  expect(answers.map(answer => answer.status).sort()).toEqual([201, 409])
  expect(await callsOf(owner)).toBe(1)
  const made = answers.find(answer => answer.status === 201)!
  const again = await owner.call('POST', '/calls', call, { 'idempotency-key': 'stuck' })
  expect(again.body).toEqual(made.body)
})

test('fills a long variable that a task repeats thousands of times in bounded time', async () => {
  const owner = await createTenant(control)
  const task = '{{x}}'.repeat(1600)
  const placed = owner.call('POST', '/calls', { ...body(owner), task, vars: { x: 'спроси '.repeat(571) } })
  const worst = await longestWork(placed)
  expect((await placed).status).toBe(201)
  expect(worst).toBeLessThan(300)
  expect(fillVars('a {{x}} b', { x: '$& {{x}}' })).toBe('a $& {{x}} b')
  expect(fillVars('{{x}}'.repeat(6000), { x: 'y'.repeat(4000) })).toHaveLength(64_000)
})

test('survives concurrent updates of one contact without deadlock or wrong counters', async () => {
  const { deps } = control
  const owner = await createTenant(control, { money: '100000' })
  const second = (await createProject(deps, owner.ownerId, { name: 'Two', language: 'en' })).id
  await bindNumber(deps, owner.ownerId, owner.projectId, { number: owner.number, direction: 'both' })
  const phones = Array.from({ length: 3 }, nextPhone)
  for (const phone of phones) await finish(deps, await place(owner, phone), record())
  const contacts: string[] = (await owner.call('GET', '/contacts')).body.items.map((one: { id: string }) => one.id)
  for (const id of contacts) {
    await deps.sql`insert into contact_projects (contact_id, project_id) values (${id}, ${second})`
  }
  const leads = ['', 'new', 'hot', 'won', 'lost']
  const pick = <T>(from: T[]) => from[Math.floor(Math.random() * from.length)]!
  const failures: unknown[] = []
  const lanes = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 25; i++) {
      const answers = await Promise.all([
        owner.call('PATCH', `/contacts/${pick(contacts)}`, { lead_status: pick(leads) }),
        owner.call('POST', '/calls', body(owner, pick(phones))),
      ])
      for (const { status, body } of answers) if (status >= 500) failures.push(body)
      const id = answers[1].body.id
      if (answers[1].status !== 201) continue
      if (Math.random() < 0.3) await owner.call('POST', `/calls/${id}/hangup`)
      else
        await finish(deps, id, record({ goal_reached: Math.random() < 0.7, talked_ms: 5000 })).catch(e =>
          failures.push(e),
        )
    }
  })
  await Promise.all(lanes)
  expect(failures).toEqual([])
  const [drift] = await deps.sql`
    select
      (select count(*) from (
        select project_id, channel, lead_status, contacts from contact_counters
          where owner_id = ${owner.ownerId} and contacts <> 0 and project_id <> '00000000-0000-0000-0000-000000000000'
        except select project_id, channel, coalesce(lead_status, ''), count(*)::int from contacts
          join contact_projects on contact_id = id where owner_id = ${owner.ownerId} group by 1, 2, 3) a)::int as contacts,
      (select count(*) from (
        select project_id, direction, status, calls from call_counters where owner_id = ${owner.ownerId} and calls <> 0
        except select project_id, direction, status, count(*)::int from calls where owner_id = ${owner.ownerId}
          group by 1, 2, 3) b)::int as calls,
      (select open_holds from balances where owner_id = ${owner.ownerId}) as open_holds,
      (select count(*)::int from holds where owner_id = ${owner.ownerId} and captured is null) as holds,
      (select entries from balances where owner_id = ${owner.ownerId}) as entries,
      (select max(seq) from ledger_entries where owner_id = ${owner.ownerId}) as seq,
      (select held from balances where owner_id = ${owner.ownerId})::int as held`
  expect(drift).toMatchObject({ contacts: 0, calls: 0, open_holds: 0, holds: 0, held: 0 })
  expect(drift!['entries']).toBe(drift!['seq'])
}, 180_000)

test('shares an Idempotency-Key between REST and MCP', async () => {
  const owner = await createTenant(control)
  const call = body(owner)
  const first = await owner.call('POST', '/calls', call, { 'idempotency-key': 'both' })
  const second = await mcp(owner, {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'place_call', arguments: { ...call, idempotency_key: 'both' } },
  })
  expect(second.body.result.structuredContent).toEqual(first.body)
  expect(first.headers['cache-control']).toBe('no-store')
  expect(await callsOf(owner)).toBe(1)
})

// ---- reputation ----

test('does not dial queued calls to a phone that joins the do-not-call list', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  const phone = nextPhone()
  const [first, queued] = [await place(owner, phone), await place(owner, phone)]
  await finish(deps, first, record({ do_not_call: true }))
  const offered: string[] = []
  const bus = { ...deps.bus, place: async ({ plan }: { plan: { call_id: string } }) => void offered.push(plan.call_id) }
  await createDialer({ ...deps, bus: bus as never }).offer(queued)
  expect(offered).toEqual([])
  expect((await owner.call('GET', `/calls/${queued}`)).body).toMatchObject({ status: 'canceled' })
  expect((await owner.call('GET', '/balance')).body.held.amount).toBe('0.0000')
})

test('adds no permanent do-not-call entry for a caller without a number', async () => {
  const owner = await createTenant(control)
  const ask = { source: '127.0.0.1', trunk_id: owner.trunkId, called: owner.number, caller: 'anonymous' }
  const admitted = await admitCall(control.deps, ask as never)
  if (!admitted.admitted) throw new Error('not admitted')
  await finish(control.deps, admitted.plan.call_id, record({ do_not_call: true }))
  expect((await owner.call('GET', '/do-not-call')).body).toMatchObject({ total: 0, items: [] })
})

test('leaves no number bound to a project that is deleted concurrently', async () => {
  const { deps } = control
  const owner = await createTenant(control, { bound: null })
  const project = await createProject(deps, owner.ownerId, { name: 'Gone', language: 'en' })
  const entered = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const save = async () => {
    entered.resolve()
    await go.promise
  }
  const binding = bindNumber(deps, owner.ownerId, project.id, { number: owner.number, direction: 'both' }, save)
  await entered.promise
  const deleting = deleteProject(deps, owner.ownerId, project.id)
  await sleep(100)
  go.resolve()
  await Promise.allSettled([binding, deleting])
  const { body } = await owner.call('GET', '/numbers')
  expect(body.items[0]).toMatchObject({ status: 'unbound', bindings: [] })
})

// ---- other customers on the same machine ----

test('counts each message of an MCP batch against the rate limit', async () => {
  const limited = await createControl({
    config: { rate_limit: { per_key: 10, per_session: 10, per_address: 1000, window_ms: 60_000 } },
  })
  try {
    const owner = await createTenant(limited)
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'list_projects', arguments: {} },
    })
    const answer = await request(limited.app, {
      method: 'POST',
      url: '/mcp',
      headers: { authorization: `Bearer ${owner.key}`, accept: 'application/json, text/event-stream' },
      payload: Array.from({ length: 50 }, (_, id) => call(id)),
    })
    expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  } finally {
    await limited.close()
  }
})

test('survives a tool schema that doubles at each level', async () => {
  const $defs: Record<string, unknown> = { a0: { type: 'string' } }
  for (let i = 1; i < 24; i++) {
    const inner = { $ref: `#/$defs/a${i - 1}` }
    $defs[`a${i}`] = { anyOf: [inner, inner] }
  }
  const parameters = { type: 'object', properties: { x: { $ref: '#/$defs/a23' } }, $defs }
  const tool = { name: 'bomb', method: 'POST', url: 'http://127.0.0.1:9/x', parameters }
  const owner = await createTenant(control, { project: { tools: [tool] } })
  const tried = owner.call('POST', `/projects/${owner.projectId}/tools/bomb/test`, { arguments: { x: 1 } })
  expect(await effortUntil(tried)).toBeLessThan(2000)
  expect((await tried).status).toBe(200)
})

test('bounds the webhook deliveries that the end of one call creates', async () => {
  const owner = await createTenant(control)
  const make = () => owner.call('POST', '/webhooks', { url: 'https://a.test', events: ['call.failed'] })
  const answers = await Promise.all(Array.from({ length: 60 }, make))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
  expect(answers.find(({ status }) => status !== 201)).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
})

test('closes an event stream within 5 s of the revocation of its key', async () => {
  const owner = await createTenant(control)
  const id = await place(owner)
  const address = await control.app.listen({ host: '127.0.0.1', port: 0 })
  const { items } = await (async () => {
    const rows = await control.deps.sql<{ id: string }[]>`select id from api_keys where owner_id = ${owner.ownerId}`
    return { items: rows }
  })()
  const response = await fetch(`${address}/v1/public/calls/${id}/events`, { headers: { 'x-api-key': owner.key } })
  expect(response.status).toBe(200)
  const ended = (async () => {
    for await (const _ of response.body!);
  })()
  await revoke(control.deps, owner.ownerId, items[0]!.id)
  expect(await Promise.race([ended.then(() => 'ended'), sleep(5000).then(() => 'still open')])).toBe('ended')
}, 180_000)

test('limits the call event streams of one owner', async () => {
  const owner = await createTenant(control)
  const id = await place(owner)
  const address = control.app.server.address() as { port: number } | null
  const base = address ? `http://127.0.0.1:${address.port}` : await control.app.listen({ host: '127.0.0.1', port: 0 })
  const aborts: AbortController[] = []
  const statuses: number[] = []
  for (let i = 0; i < 25; i++) {
    const abort = new AbortController()
    aborts.push(abort)
    const { status } = await fetch(`${base}/v1/public/calls/${id}/events`, {
      headers: { 'x-api-key': owner.key },
      signal: abort.signal,
    })
    statuses.push(status)
  }
  for (const abort of aborts) abort.abort()
  expect(statuses.filter(status => status === 200)).toHaveLength(20)
  expect(statuses.at(-1)).toBe(429)
}, 180_000)

test.each([
  ['fields', { vars: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, null])) }],
  ['entries', { tags: Array.from({ length: 400_000 }, () => 1) }],
])('does not block other requests while it parses 1 MB of invalid %s', async (_, payload) => {
  const owner = await createTenant(control)
  const text = JSON.stringify(payload)
  const asked = request(control.app, {
    method: 'POST',
    url: '/v1/public/calls',
    headers: { 'x-api-key': owner.key, 'content-type': 'application/json' },
    payload: text,
  })
  expect(await longestWork(asked)).toBeLessThan(400)
  expect((await asked).status).toBe(400)
})

// ---- people ----

const auth = (path: string, payload: object, remoteAddress = '203.0.113.7') =>
  request(control.app, { method: 'POST', url: `/auth${path}`, payload, remoteAddress })

test('sends at most three password reset codes an hour', async () => {
  const email = 'flood@example.test'
  await auth('/sign-up', { email, password: 'correct horse battery' })
  await Promise.all(Array.from({ length: 20 }, () => auth('/password-reset', { email })))
  await backgroundDone(control.deps)
  expect(control.deps.mail.sent.filter(({ to }) => to === email)).toHaveLength(3)
})

test('does not lock an account out because of guesses from another address', async () => {
  const email = 'victim@example.test'
  const password = 'correct horse battery'
  await auth('/sign-up', { email, password })
  for (let i = 0; i < 5; i++)
    expect((await auth('/log-in', { email, password: 'wrong guess' }, '198.51.100.9')).status).toBe(401)
  expect((await auth('/log-in', { email, password: 'wrong guess' }, '198.51.100.9')).status).toBe(429)
  expect((await auth('/log-in', { email, password }, '203.0.113.8')).status).toBe(200)
})

test('limits log-in attempts that come from many addresses', async () => {
  const email = 'spread@example.test'
  await auth('/sign-up', { email, password: 'correct horse battery' })
  const statuses: number[] = []
  for (let i = 0; i < 24; i++) {
    statuses.push((await auth('/log-in', { email, password: 'wrong guess' }, `198.51.100.${100 + i}`)).status)
  }
  expect(statuses.at(-1)).toBe(429)
})

test('counts an IPv6 network as one address', async () => {
  const limited = await createControl({
    config: { rate_limit: { per_key: 10, per_session: 10, per_address: 5, window_ms: 60_000 } },
  })
  try {
    const ask = (remoteAddress: string) =>
      request(limited.app, { method: 'GET', url: '/v1/public/projects', remoteAddress }).then(({ status }) => status)
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push(await ask(`2001:db8:1:2::${i + 1}`))
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    expect(await ask('2001:db8:1:3::1')).toBe(401)
    expect(await ask('::ffff:203.0.113.1')).toBe(401)
  } finally {
    await limited.close()
  }
})

test.each(['username', 'realm', 'outbound_proxy', 'password'])(
  'rejects line breaks in %s of a trunk (no SIP header injection)',
  async field => {
    const owner = await createTenant(control)
    const trunk = { name: 'T', mode: 'register', host: 'a.test', username: 'u', password: 'p' }
    const answer = await owner.call('POST', '/trunks', { ...trunk, [field]: 'x\r\nContact: <sip:evil@evil.test>' })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: `/${field}` }] } })
  },
)

test('unseals only the secrets that the project uses', async () => {
  const { deps } = control
  const owner = await createTenant(control, {
    project: {
      tools: [{ name: 't', method: 'POST', url: 'https://a.test', headers: { a: '{{secret:MINE}}' } }],
      llm: { provider: 'openai_compatible', base_url: 'https://b.test', model: 'm', api_key_secret: 'LLM' },
    },
  })
  for (const name of ['MINE', 'LLM', 'OTHER']) await owner.call('POST', '/secrets', { name, value: `value of ${name}` })
  await deps.sql`update secrets set sealed = 'broken' where owner_id = ${owner.ownerId} and name = 'OTHER'`
  const plans: { sealed: string | null; call_id: string }[] = []
  const bus = { ...deps.bus, place: async ({ plan }: { plan: (typeof plans)[number] }) => void plans.push(plan) }
  await createDialer({ ...deps, bus: bus as never }).offer(await place(owner))
  expect(deps.sealer.open(plans[0]!.sealed!, plans[0]!.call_id)).toEqual({
    tool_headers: { t: { a: 'value of MINE' } },
    llm_api_key: 'value of LLM',
    vendor_keys: {},
  })
  expect((await owner.call('GET', '/secrets?limit=2&offset=1')).body).toMatchObject({
    total: 3,
    items: [{ name: 'MINE' }, { name: 'OTHER' }],
  })
})

test('answers an unknown MCP batch without an internal error', async () => {
  const owner = await createTenant(control)
  for (const message of [
    [],
    {},
    [1],
    'x',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'constructor' } },
  ]) {
    const { status } = await mcp(owner, message)
    expect([message, status < 500]).toEqual([message, true])
  }
})
