/** A trunk gives no access to the private network of an installation. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { controlConfig } from '../../infra/wiring/parts.ts'
import { TrunkChecksBusy } from '../../media/bus/trunk-check.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let owner: Tenant
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control) // its trunk is on this machine, from before there was a rule
  control.deps.config.trunk_private_hosts = ['192.168.7.0/24']
})
afterAll(() => control?.close())

const line = { name: 'T', mode: 'ip', host: 'carrier.example' }

test.each([
  [{ host: '10.0.0.5' }, '/host'],
  [{ host: '127.1' }, '/host'],
  [{ host: '169.254.169.254' }, '/host'],
  [{ host: '::1' }, '/host'],
  [{ host: 'localhost' }, '/host'],
  [{ hosts: [{ host: '1.1.1.1' }, { host: '172.16.3.4' }] }, '/hosts/1/host'],
  [{ outbound_proxy: '10.0.0.5' }, '/outbound_proxy'],
  [{ outbound_proxy: 'sip:proxy@10.0.0.5:5080;lr' }, '/outbound_proxy'],
  [{ outbound_proxy: 'sips:[fd00::1]:5061' }, '/outbound_proxy'],
])('rejects %j as a private address', async (fields, pointer) => {
  const answer = await owner.call('POST', '/trunks', { ...line, ...fields })
  expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
  expect(answer.body.errors).toEqual([
    { pointer, code: 'private_address', message: 'must be a public internet address' },
  ])
})

test.each([{}, { host: '1.1.1.1' }, { host: '192.168.7.9' }, { outbound_proxy: 'sip:192.168.7.9:5060;transport=tcp' }])(
  'accepts %j: public, allowed by the operator, or a name that is resolved later',
  async fields => expect((await owner.call('POST', '/trunks', { ...line, ...fields })).status).toBe(201),
)

test('rejects an update to a private host', async () => {
  const { id } = (await owner.call('POST', '/trunks', line)).body
  expect((await owner.call('PATCH', `/trunks/${id}`, { host: '10.0.0.1' })).body.errors[0].code).toBe('private_address')
  expect((await owner.call('GET', `/trunks/${id}`)).body.host).toBe('carrier.example')
})

describe('sources that a trunk lists', () => {
  const own = new Set(['77.77.77.77'])
  const make = (allowed_ips: string[]) => owner.call('POST', '/trunks', { ...line, allowed_ips })
  const total = async () => (await owner.call('GET', '/trunks')).body.total
  beforeAll(() => {
    control.deps.config.own_addresses = () => own
    control.deps.config.trunk_sources = ['37.20.0.0/16']
  })

  it.each([
    [
      ['198.18.0.1', '1.1.1.0/24', '0.0.0.0/0'],
      { '/allowed_ips/0': 'private_address', '/allowed_ips/2': 'prefix_too_short' },
    ],
    [['::/0'], { '/allowed_ips/0': 'prefix_too_short' }],
    [['77.77.77.0/24'], { '/allowed_ips/0': 'private_address' }],
    [['10.0.0.0/99'], { '/allowed_ips/0': 'malformed' }],
    [['1.2'], { '/allowed_ips/0': 'malformed' }],
  ])('rejects %j, and says what is allowed', async (sources, codes) => {
    const before = await total()
    const answer = await make(sources)
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
    const errors = answer.body.errors as { pointer: string; code: string; message: string }[]
    expect(Object.fromEntries(errors.map(({ pointer, code }) => [pointer, code]))).toEqual(codes)
    for (const { code, message } of errors) if (code !== 'malformed') expect(message).toMatch(/\/24 .*\/48 /)
    expect(await total()).toBe(before)
  })

  it('accepts public networks, and those of the operator', async () => {
    expect((await make(['1.1.1.0/24', '2606:4700::/48', '37.20.0.0/17', '192.168.7.0/25'])).status).toBe(201)
  })

  it('rejects an update to one, but no other update of a trunk that has one from before there was a rule', async () => {
    const { id } = (await make(['1.1.1.1'])).body
    const patch = (fields: object) => owner.call('PATCH', `/trunks/${id}`, fields)
    expect((await patch({ allowed_ips: ['1.1.1.1', '0.0.0.0/0'] })).body.errors[0].pointer).toBe('/allowed_ips/1')
    expect((await owner.call('GET', `/trunks/${id}`)).body.allowed_ips).toEqual(['1.1.1.1'])
    await control.deps.sql`update trunks set allowed_ips = ${['0.0.0.0/0']} where id = ${id}`
    expect((await patch({ name: 'Renamed' })).status).toBe(200)
  })
})

describe('private trunk hosts', () => {
  const settings = (env: Record<string, string>) =>
    controlConfig(readConfig({ PARLEY_HOME: tmpdir(), PARLEY_SECRET: 'of sixteen letters', ...env }))
      .trunk_private_hosts
  it.each([
    [{}, 'allow'],
    [{ PUBLIC_URL: 'http://127.0.0.1:8080' }, 'allow'],
    [{ PUBLIC_URL: 'http://10.0.0.3:8080' }, 'allow'],
    [{ PUBLIC_URL: 'http://voice.lan' }, 'allow'],
    [{ PUBLIC_URL: 'https://voice.example.com', SIGN_UP: 'off' }, 'allow'],
    [{ PUBLIC_URL: 'https://voice.example.com' }, 'deny'],
    [{ PUBLIC_URL: 'https://1.1.1.1' }, 'deny'],
    [{ PUBLIC_URL: 'https://voice.example.com', TRUNK_PRIVATE_HOSTS: 'allow' }, 'allow'],
    [{ TRUNK_PRIVATE_HOSTS: 'deny' }, 'deny'],
    [{ TRUNK_PRIVATE_HOSTS: '10.0.0.0/8, fd00::1' }, ['10.0.0.0/8', 'fd00::1']],
  ])('%j: %j', (env, expected) => expect(settings(env as Record<string, string>)).toEqual(expected))

  it('rejects an invalid setting', () => {
    expect(() => settings({ TRUNK_PRIVATE_HOSTS: 'some' })).toThrow('TRUNK_PRIVATE_HOSTS')
    expect(() => settings({ TRUNK_SOURCES: '10.0.0.0/33' })).toThrow('TRUNK_SOURCES')
  })
})

test('returns 503 at once when all engines are busy with trunk checks', async () => {
  const engine = control.engine(`examiner-${randomUUID()}`)
  let own = false
  engine.onTrunkCheck(() => Promise.reject(new TrunkChecksBusy(own)))
  const reader = engine.onCommand(() => {})
  await engine.heartbeat({ calls: 0, capacity: 5, stt_ready: true, rooms: false })
  const check = () => owner.call('POST', `/trunks/${owner.trunkId}/check`)
  const busy = await check()
  expect([busy.status, busy.body.code, busy.headers['retry-after']]).toEqual([503, 'service_unavailable', '5'])
  own = true
  const many = await check()
  expect([many.status, many.body.code, many.headers['retry-after']]).toEqual([429, 'rate_limited', '5'])
  await reader.stop()
})
