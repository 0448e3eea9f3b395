import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject } from '../../control/agents/projects/service.ts'
import { type Control, startControl } from '../../control/app.ts'
import { handleEvent } from '../../control/background/engine.ts'
import { Problem } from '../../control/platform/http/problem.ts'
import { dialingRules, regionOf } from '../../control/platform/phone.ts'
import { createTrunk, patchTrunk, publishTrunks, removeTrunk } from '../../control/telephony/trunks/service.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../support/control.ts'
import { until } from '../support/world.ts'

let control: TestControl
let running: Control
beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
})

const line = { name: 'Line', mode: 'register' as const, host: 'sip.example.com', username: 'u', password: 'p4ss' }

test('sends sealed trunks to engines at start and at every change', async () => {
  const owner = await createTenant(control)
  const directory = await control.engine().trunks()
  const mine = () => directory.all().filter(trunk => trunk.owner_id === owner.ownerId)
  await until(() => mine().length === 1, 'the first snapshot')
  const number = nextPhone()
  const { id } = await createTrunk(control.deps, owner.ownerId, { ...line, numbers: [number] })
  const seen = await until(() => mine().find(trunk => trunk.id === id), 'the new trunk')
  expect(seen).toMatchObject({ name: 'Line', port: 5060, transport: 'udp', password: 'p4ss', numbers: [number] })
  await patchTrunk(control.deps, owner.ownerId, id, { name: 'Renamed', numbers: [] })
  const renamed = await until(() => mine().find(trunk => trunk.name === 'Renamed'), 'the change')
  expect(renamed).toMatchObject({ password: 'p4ss', numbers: [] })
  await removeTrunk(control.deps, owner.ownerId, id)
  await until(() => mine().every(trunk => trunk.id !== id), 'the removal')
  await directory.stop()

  const stored = await control.deps.redis.get(`${control.deps.config.redis_prefix}:trunks`)
  expect(stored).not.toContain('p4ss')
  const rows = await control.deps.sql`select * from trunks`
  expect(JSON.stringify(rows)).not.toContain('p4ss')
})

test('increments the version; an old snapshot never replaces a newer one', async () => {
  const owner = await createTenant(control)
  const versions: number[] = []
  const slow = Promise.withResolvers<void>()
  let first = true
  const publish = async (snapshot: { version: number }) => {
    if (first) {
      first = false
      slow.resolve()
      await new Promise(resolve => setTimeout(resolve, 200)) // long enough for the second to overtake, if it could
    }
    versions.push(snapshot.version)
  }
  const deps = { ...control.deps, bus: { ...control.deps.bus, publishTrunks: publish } }
  const one = publishTrunks(deps)
  await slow.promise
  await createTrunk(deps, owner.ownerId, { name: 'T', mode: 'ip', host: '127.0.0.1' }) // a change does not wait
  expect(versions).toEqual([])
  await Promise.all([one, publishTrunks(deps)])
  expect(versions).toHaveLength(2)
  expect(versions[1]).toBeGreaterThan(versions[0]!)
})

test('rejects an invalid trunk', async () => {
  const owner = await createTenant(control)
  const other = await createTenant(control)
  await expect(createTrunk(control.deps, owner.ownerId, { ...line, password: null })).rejects.toThrow(Problem)
  await expect(createTrunk(control.deps, owner.ownerId, { ...line, numbers: [owner.number] })).rejects.toThrow(Problem)
  await expect(createTrunk(control.deps, owner.ownerId, { ...line, allowed_ips: ['10.0.0.0/99'] })).rejects.toThrow()
  // Another account's trunk may list it, which `number-owners` tests.
  await expect(createTrunk(control.deps, other.ownerId, { ...line, numbers: [owner.number] })).resolves.toBeDefined()
  await expect(removeTrunk(control.deps, owner.ownerId, other.trunkId)).rejects.toThrow(Problem)
  await expect(patchTrunk(control.deps, owner.ownerId, other.trunkId, line)).rejects.toThrow(Problem)
})

test('keeps the newest registration status', async () => {
  const owner = await createTenant(control)
  const status = (registration: 'registered' | 'failed', at: number, last_error: string | null = null) =>
    handleEvent(control.deps, {
      v: 1,
      type: 'trunk.status',
      trunk_id: owner.trunkId,
      owner_id: owner.ownerId,
      registration,
      last_error,
      hosts: [],
      at,
    })
  await status('failed', 2000, '403')
  await status('registered', 1000)
  const [row] = await control.deps.sql`select registration, last_error from trunks where id = ${owner.trunkId}`
  expect(row).toEqual({ registration: 'failed', last_error: '403' })
})

test('lists, binds and unbinds numbers, with or without the plus', async () => {
  const owner = await createTenant(control, { bound: null })
  const number = owner.number
  const second = await createProject(control.deps, owner.ownerId, { name: 'B', language: 'en' })
  const bind = (project: string, direction: string, what = number) =>
    owner.call('POST', `/projects/${project}/numbers`, { number: what, direction })
  const view = { number, trunk_id: owner.trunkId, trunk_name: 'Carrier', verified: false }
  expect((await owner.call('GET', '/numbers')).body).toEqual({
    items: [{ ...view, status: 'unbound', bindings: [] }],
    total: 1,
    limit: 50,
    offset: 0,
  })
  expect(await bind(owner.projectId, 'both')).toMatchObject({
    status: 200,
    body: { ...view, status: 'bound', bindings: [{ project_id: owner.projectId, direction: 'both' }] },
  })
  expect((await bind(owner.projectId, 'in', number.slice(1))).status).toBe(200)
  expect(await bind(second.id, 'in')).toMatchObject({ status: 409, body: { code: 'number_bound' } })
  expect(await bind(second.id, 'both')).toMatchObject({ status: 409 })
  const gone = await owner.call('DELETE', `/projects/${owner.projectId}/numbers/${number.slice(1)}?direction=in`)
  expect(gone).toMatchObject({ status: 200, body: { id: number, deleted: true } })
  expect((await bind(second.id, 'in')).body.bindings).toEqual(
    expect.arrayContaining([
      { project_id: owner.projectId, direction: 'out' },
      { project_id: second.id, direction: 'in' },
    ]),
  )
  const unbind = `/projects/${owner.projectId}/numbers/${encodeURIComponent(number)}`
  expect((await owner.call('DELETE', `${unbind}?direction=in`)).status).toBe(404)
  expect((await owner.call('DELETE', unbind)).status).toBe(200)
  expect((await owner.call('DELETE', unbind)).status).toBe(404)
  expect((await bind(second.id, 'sideways')).body.errors[0].pointer).toBe('/direction')
  expect((await bind(second.id, 'in', nextPhone())).body.code).toBe('not_found')
})

test('binds a number to one of two concurrent projects', async () => {
  const owner = await createTenant(control, { bound: null })
  const second = await createProject(control.deps, owner.ownerId, { name: 'B', language: 'en' })
  const answers = await Promise.all(
    [owner.projectId, second.id].map(project =>
      owner.call('POST', `/projects/${project}/numbers`, { number: owner.number, direction: 'both' }),
    ),
  )
  expect(answers.map(answer => answer.status).sort()).toEqual([200, 409])
})

test('creates, reads, updates and deletes trunks; never returns the password', async () => {
  const owner = await createTenant(control)
  const numbers = [nextPhone(), nextPhone()]
  const made = await owner.call('POST', '/trunks', { ...line, numbers, allowed_ips: ['192.0.2.0/24'] })
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'Line', port: 5060, numbers, status: { registration: 'none', last_error: null, changed_at: null } },
  })
  const path = `/trunks/${made.body.id}`
  expect((await owner.call('GET', path)).body).toEqual(made.body)
  await owner.call('POST', `/projects/${owner.projectId}/numbers`, { number: numbers[1], direction: 'in' })
  const changed = await owner.call('PATCH', path, { numbers: [numbers[0]], max_calls: 3 })
  expect(changed.body).toEqual({ ...made.body, numbers: [numbers[0]], max_calls: 3 })
  expect((await owner.call('GET', '/numbers')).body.items.map((one: { number: string }) => one.number).sort()).toEqual(
    [owner.number, numbers[0]].sort(),
  )
  expect(await owner.call('PATCH', path, { password: null })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/username' }] },
  })
  const list = await owner.call('GET', '/trunks')
  expect(list.body).toMatchObject({ total: 2, items: [{ id: made.body.id }, { id: owner.trunkId }] })
  expect(JSON.stringify([made.body, changed.body, list.body])).not.toMatch(/p4ss|password/)
  const other = await createTenant(control)
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    expect((await other.call(method, path, method === 'PATCH' ? {} : undefined)).status).toBe(404)
  }
  expect((await owner.call('DELETE', path)).body).toEqual({ id: made.body.id, deleted: true })
  expect((await owner.call('GET', path)).status).toBe(404)
})

test('stores srtp and max_cps and sends them to engines', async () => {
  const owner = await createTenant(control)
  const trunk = { name: 'T', mode: 'ip', host: '127.0.0.1' }
  const make = (part: object) => owner.call('POST', '/trunks', { ...trunk, ...part })
  for (const srtp of ['optional', 'required']) {
    expect((await make({ srtp })).body).toMatchObject({ srtp })
    expect((await owner.call('PATCH', `/trunks/${owner.trunkId}`, { srtp })).body).toMatchObject({ srtp })
  }
  expect((await make({ srtp: 'maybe' })).body.errors[0].code).toBe('invalid_value')
  for (const max_cps of [0, -1, 1.5, 1001, '3']) {
    expect((await make({ max_cps })).body.errors[0].pointer).toBe('/max_cps')
  }
  expect((await make({})).body).toMatchObject({ srtp: 'off', max_cps: null, status: { last_options_ms: null } })
  const { body } = await make({ srtp: 'off', max_cps: 3 })
  expect(body).toMatchObject({ srtp: 'off', max_cps: 3 })
  expect((await owner.call('PATCH', `/trunks/${body.id}`, { name: 'U' })).body.max_cps).toBe(3)
  expect((await owner.call('PATCH', `/trunks/${body.id}`, { max_cps: null })).body.max_cps).toBeNull()
})

test('stores caller ID settings and sends them to engines', async () => {
  const owner = await createTenant(control)
  const path = `/trunks/${owner.trunkId}`
  const settings = {
    hosts: [{ host: 'b.example.com', port: 5080, transport: 'tcp' }],
    options_interval_seconds: 30,
    from_user: 'acct',
    from_domain: 'carrier.example',
    pai: 'always',
    privacy: 'id',
    number_format: 'national',
    region: 'DE',
    fallback_number: '+493012345678',
  }
  const made = await owner.call('PATCH', path, settings)
  expect(made).toMatchObject({ status: 200, body: settings })
  expect((await owner.call('GET', path)).body).toEqual(made.body)
  const directory = await control.engine().trunks()
  const seen = await until(() => directory.all().find(trunk => trunk.from_user === 'acct'), 'it')
  const { region: _region, ...plain } = settings
  expect(seen).toMatchObject({
    ...plain,
    dialing: { calling_code: '49', national_prefix: '0', international_prefix: '00' },
  })
  await directory.stop()
  for (const [part, pointer] of [
    [{ region: 'XX' }, '/region'],
    [{ region: 'de' }, '/region'],
    [{ from_user: 'a b' }, '/from_user'],
    [{ from_user: 'a@b' }, '/from_user'],
    [{ from_domain: 'a b' }, '/from_domain'],
    [{ options_interval_seconds: 1 }, '/options_interval_seconds'],
    [{ hosts: [{ host: 'a>b' }] }, '/hosts/0/host'],
    [{ fallback_number: owner.number }, '/fallback_number'],
    [{ fallback_number: '110' }, '/fallback_number'],
    [{ pai: 'sometimes' }, '/pai'],
  ] as const) {
    const refused = await owner.call('PATCH', path, part)
    expect(refused.status).toBe(400)
    expect(refused.body.errors[0].pointer).toBe(pointer)
  }
  const bare = await owner.call('PATCH', path, { hosts: [{ host: 'c.example.com' }] })
  expect(bare.body.hosts).toEqual([{ host: 'c.example.com', port: 5060, transport: 'udp' }])
})

test('stores the rejection announcement and sends it to engines', async () => {
  const owner = await createTenant(control)
  const path = `/trunks/${owner.trunkId}`
  expect((await owner.call('GET', path)).body).toMatchObject({ refusal_announcement: null, refusal_language: 'en' })
  const said = { refusal_announcement: 'Мы закрыты.', refusal_language: 'ru' }
  expect(await owner.call('PATCH', path, said)).toMatchObject({ status: 200, body: said })
  const directory = await control.engine().trunks()
  const ofTrunk = () => directory.all().find(trunk => trunk.id === owner.trunkId)
  await until(() => ofTrunk()?.refusal_announcement, 'the words')
  expect(ofTrunk()).toMatchObject(said)
  for (const [part, pointer] of [
    [{ refusal_announcement: '' }, '/refusal_announcement'],
    [{ refusal_announcement: 'a'.repeat(301) }, '/refusal_announcement'],
    [{ refusal_language: 'english!' }, '/refusal_language'],
  ] as const) {
    const refused = await owner.call('PATCH', path, part)
    expect(refused.status).toBe(400)
    expect(refused.body.errors[0].pointer).toBe(pointer)
  }
  expect((await owner.call('PATCH', path, { name: 'U' })).body).toMatchObject(said)
  await owner.call('PATCH', path, { refusal_announcement: null })
  await until(() => ofTrunk()?.refusal_announcement === null, 'silence')
  await directory.stop()
})

test('leaves the port to DNS, and reports the hosts that engines find', async () => {
  const owner = await createTenant(control)
  const path = `/trunks/${owner.trunkId}`
  expect((await owner.call('GET', path)).body.port).toBe(5060)
  const hosts = [{ host: 'backup.example.com', port: null, transport: 'tls' }]
  const changed = await owner.call('PATCH', path, { host: 'carrier.example.com', port: null, hosts })
  expect(changed).toMatchObject({ status: 200, body: { port: null, hosts } })
  const directory = await control.engine().trunks()
  const ofTrunk = () => directory.all().find(trunk => trunk.id === owner.trunkId)
  await until(() => ofTrunk()?.port === null, 'the change')
  expect(ofTrunk()).toMatchObject({ host: 'carrier.example.com', port: null, hosts })
  await directory.stop()
  const target = { host: '192.0.2.1', port: 5070, transport: 'udp', alive: true, options_ms: 12 } as const
  const host = { host: 'carrier.example.com', port: null, transport: 'udp', alive: true, options_ms: 12 } as const
  await handleEvent(control.deps, {
    v: 1,
    type: 'trunk.status',
    trunk_id: owner.trunkId,
    owner_id: owner.ownerId,
    at: Date.now(),
    registration: 'none',
    last_error: null,
    hosts: [{ ...host, targets: [target] }],
  })
  expect((await owner.call('GET', path)).body.status).toMatchObject({
    last_options_ms: 12,
    hosts: [
      { ...host, targets: [target] },
      { ...hosts[0], alive: null, options_ms: null, targets: [] },
    ],
  })
  expect((await owner.call('PATCH', path, { port: 5061 })).body.port).toBe(5061)
})

test('derives the country of a trunk from its numbers', async () => {
  expect(regionOf('+4930123456')).toBe('DE')
  expect(dialingRules('US')).toEqual({ calling_code: '1', national_prefix: null, international_prefix: '011' })
  expect(dialingRules('RU')).toEqual({ calling_code: '7', national_prefix: '8', international_prefix: '810' })
  expect(dialingRules('IT')).toEqual({ calling_code: '39', national_prefix: null, international_prefix: '00' })
  // The library has 0 for the prefix of their own choice.
  for (const region of ['GB', 'RO', 'TW']) expect(dialingRules(region)).toMatchObject({ international_prefix: '00' })
  expect(dialingRules('XX')).toBeNull()
  const owner = await createTenant(control)
  const directory = await control.engine().trunks()
  const seen = await until(() => directory.all().find(trunk => trunk.id === owner.trunkId), 'the trunk')
  expect(seen.dialing?.calling_code).toBe('1')
  await directory.stop()
})
