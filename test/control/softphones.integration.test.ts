import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, deleteProject } from '../../control/agents/projects/service.ts'
import { type Control, startControl } from '../../control/app.ts'
import { askHandlers } from '../../control/background/engine.ts'
import { publishSoftphones } from '../../control/telephony/softphones/service.ts'
import type { CallPlan } from '../../media/contract/plan.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../support/control.ts'
import { until } from '../support/world.ts'

let control: TestControl
let running: Control
beforeAll(async () => {
  control = await createControl({ config: { sip: { host: 'sip.test', port: 5080, transports: ['udp', 'tcp'] } } })
  running = await startControl(control.deps)
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
})

const create = async (owner: Awaited<ReturnType<typeof createTenant>>, headers = {}) =>
  owner.call('POST', '/softphones', { name: 'Desk', project_id: owner.projectId }, headers)

test('generates credentials, shows the password once, and never stores it', async () => {
  const owner = await createTenant(control)
  const made = await create(owner, { 'idempotency-key': 'one' })
  expect(made.status).toBe(201)
  const { id, username, password } = made.body
  expect(username).toMatch(/^phone-[a-z2-9]{8}$/)
  expect(password).toMatch(/^(?:[a-z2-9]{4}-){3}[a-z2-9]{4}$/)
  expect(made.body).toMatchObject({
    name: 'Desk',
    project_id: owner.projectId,
    settings: { server: 'sip.test', port: 5080, transports: ['udp', 'tcp'], realm: 'parley', dial: 'agent' },
    status: { registered: false, contacts: [], last_seen_at: null },
  })
  expect((await create(owner, { 'idempotency-key': 'one' })).body).toEqual(
    Object.fromEntries(Object.entries(made.body).filter(([name]) => name !== 'password')),
  )
  expect((await owner.call('GET', `/softphones/${id}`)).body).not.toHaveProperty('password')

  const softphones = await control.engine().softphones()
  const known = await until(() => softphones.find(username), 'the engine to know')
  const text = `${username}:parley:${password}`
  expect(known!.ha1).toEqual({
    md5: createHash('md5').update(text).digest('hex'),
    sha256: createHash('sha256').update(text).digest('hex'),
  })
  const stored = JSON.stringify([
    await control.deps.sql`select * from softphones`,
    await control.deps.redis.hgetall(`${control.deps.config.redis_prefix}:softphones`),
  ])
  for (const secret of [password, known!.ha1.md5, known!.ha1.sha256]) expect(stored).not.toContain(secret)
  await softphones.stop()
})

test('shows registrations; a new password and a deletion remove them', async () => {
  const owner = await createTenant(control)
  const { id, username } = (await create(owner)).body
  const engine = control.engine()
  const softphones = await engine.softphones()
  const before = await until(() => softphones.find(username), 'the engine to know')
  const contact = {
    uri: 'sip:p@10.0.0.4',
    instance: null,
    host: '203.0.113.9',
    port: 40_111,
    transport: 'udp',
  } as const
  const at = control.deps.clock.wall()
  const more = { user_agent: 'Linphone', call_id: 'c', cseq: 1, expires_at: at + 60_000 }
  await softphones.change(id, () => ({ seen_at: at, contacts: [{ ...contact, ...more }] }))
  expect((await owner.call('GET', `/softphones/${id}`)).body.status).toMatchObject({
    registered: true,
    contacts: [{ address: '203.0.113.9:40111', transport: 'udp', user_agent: 'Linphone' }],
    last_seen_at: new Date(at).toISOString(),
  })
  const renewed = await owner.call('POST', `/softphones/${id}/password`)
  expect(renewed).toMatchObject({ status: 200, body: { id, username, password: expect.any(String) } })
  const changed = async () => (await softphones.find(username))!.ha1.md5 !== before!.ha1.md5
  await until(changed, 'the new password at the engine')
  await until(async () => (await softphones.state(id)) === null, 'the registration to be forgotten')
  expect(await owner.call('DELETE', `/softphones/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } })
  await until(async () => (await softphones.find(username)) === null, 'the engine to forget')
  await softphones.stop()
})

test('repairs Redis at start', async () => {
  const owner = await createTenant(control)
  const { username } = (await create(owner)).body
  const key = `${control.deps.config.redis_prefix}:softphones`
  await until(() => control.deps.redis.hexists(key, username), 'the softphone in Redis')
  await control.deps.redis.del(key)
  await control.deps.redis.hset(key, 'phone-22222222', 'of an account that is gone')
  await publishSoftphones(control.deps)
  expect(await control.deps.redis.hexists(key, username)).toBe(1)
  expect(await control.deps.redis.hexists(key, 'phone-22222222')).toBe(0)
})

test('rejects a project of another owner', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const wrong = { name: 'Desk', project_id: other.projectId }
  expect((await owner.call('POST', '/softphones', wrong)).status).toBe(404)
  const { id } = (await create(owner)).body
  expect((await owner.call('PATCH', `/softphones/${id}`, { project_id: other.projectId })).status).toBe(404)
  expect((await owner.call('PATCH', `/softphones/${id}`, { username: 'mine' })).status).toBe(400)
  expect((await other.call('PATCH', `/softphones/${id}`, { name: 'Mine' })).status).toBe(404)
  expect((await owner.call('PATCH', `/softphones/${id}`, { name: 'Kitchen' })).body.name).toBe('Kitchen')
})

test('connects a softphone to agents of its account only', async () => {
  const [owner, other] = [await createTenant(control, { money: '100' }), await createTenant(control)]
  const second = await createProject(control.deps, owner.ownerId, { name: 'Table Reservations', language: 'en' })
  const { id, username } = (await create(owner)).body
  const admit = (called: string, softphone_id = id) =>
    askHandlers(control.deps)['call.admit']({
      engine: 'e',
      boot: 'b',
      trunk_id: null,
      softphone_id,
      called,
      caller: username,
      source: '203.0.113.9',
    })
  const projectOf = async (called: string) => {
    const answer = await admit(called)
    return answer.admitted ? answer.plan.project_id : answer.refusal
  }
  for (const called of ['agent', 'AGENT', '1', '100', '*9']) expect(await projectOf(called)).toBe(owner.projectId)
  for (const called of ['Table Reservations', 'table-reservations']) expect(await projectOf(called)).toBe(second.id)
  for (const called of [owner.number, owner.number.slice(1)]) expect(await projectOf(called)).toBe(owner.projectId)
  for (const called of [other.number, nextPhone(), '0012025550100', '', 'nobody', "'; drop table projects"]) {
    expect(await projectOf(called)).toBe('unknown_number')
  }
  const admitted = await admit('agent')
  const plan = (admitted as { plan: CallPlan }).plan
  expect(plan).toMatchObject({ direction: 'in', from: username, to: 'agent', trunk_id: null, softphone_id: null })
  expect((await owner.call('GET', `/calls/${plan.call_id}`)).body).toMatchObject({ from: username, to: 'agent' })
  expect(await admit('agent', other.projectId)).toEqual({ admitted: false, refusal: 'unknown_source' })
  await deleteProject(control.deps, owner.ownerId, owner.projectId)
  expect(await projectOf('agent')).toBe('unknown_number')
})

test('dials a softphone without a trunk line, and only of the same owner', async () => {
  const [owner, other] = [await createTenant(control, { bound: null }), await createTenant(control)]
  const { id, username } = (await create(owner)).body
  const placed: CallPlan[] = []
  const reader = control.engine().onPlace(
    () => 1,
    plan => placed.push(plan),
  )
  const call = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: username })
  expect(call).toMatchObject({ status: 201, body: { from: 'agent', to: username, contact_id: null } })
  const plan = await until(() => placed.find(one => one.call_id === call.body.id), 'the call at the engine')
  expect(plan).toMatchObject({ to: username, trunk_id: null, softphone_id: id })
  await reader.stop()
  const stolen = await other.call('POST', '/calls', { project_id: other.projectId, phone: username })
  expect(stolen.status).toBe(404)
  expect((await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.code).toBe(
    'no_outbound_line',
  )
  for (const phone of ['phone-abcdefg1', 'phone-', 'sip:a@b', `${username}@b`]) {
    const refused = await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/phone'])
  }
})

test('limits an account to fifty', async () => {
  const owner = await createTenant(control)
  for (let i = 0; i < 50; i++) expect((await create(owner)).status).toBe(201)
  expect(await create(owner)).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
})
