/** Transfer destinations of an agent: the allowed settings, and the part that reaches an engine. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultSettings, ProjectSettings } from '../../control/agents/projects/schema.ts'
import { makePlan } from '../../control/telephony/call-setup/plan.ts'
import { plan } from '../fakes/plan.ts'
import { createControl, createTenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const to = (address: string, more: object = {}) => ({ transfers: [{ name: 'Sales', to: address, ...more }] })

test('accepts phones, SIP addresses and browser; returns defaults', async () => {
  const owner = await createTenant(control)
  const path = `/projects/${owner.projectId}`
  for (const address of [
    '+4930123456',
    'sip:desk@pbx.example',
    'sips:200@10.0.0.1:5061;transport=tcp',
    'sip:a@[::1]',
  ]) {
    const { status, body } = await owner.call('PATCH', path, to(address, { announce: 'For {{name}}: {{about}}' }))
    expect(status, address).toBe(200)
    expect(body.transfers).toEqual([
      { name: 'Sales', to: address, description: '', announce: 'For {{name}}: {{about}}' },
    ])
  }
  expect((await owner.call('PATCH', path, to('browser'))).body.transfers[0].announce).toBeNull()
})

test.each([
  ['somebody', {}],
  ['4930123456', {}],
  ['http://pbx.example', {}],
  ['sip:pbx.example', {}],
  ['sip:a@b?Replaces=x', {}],
  ['sip:a@b>\r\nX: y', {}],
  ['sip:{{who}}@b', {}],
  ['tel:+4930123456', {}],
  ['+4930123456', { announce: ' ' }],
  ['+4930123456', { extra: 1 }],
  ['browser', { announce: 'Hello' }],
])('rejects %j with %j and a message', async (address, more) => {
  const owner = await createTenant(control)
  const { status, body } = await owner.call('PATCH', `/projects/${owner.projectId}`, to(address, more))
  expect(status).toBe(400)
  expect(body.errors[0].pointer).toMatch(/^\/transfers\/0/)
})

test.each(['+88212345678', 'sip:+88212345678@carrier.example', 'sip:88212345678@carrier.example;x=y'])(
  'transfers to %s neither by REFER nor by dialling',
  async address => {
    const owner = await createTenant(control)
    const answer = await owner.call('PATCH', `/projects/${owner.projectId}`, to(address))
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/transfers/0/to', code: 'blocked_prefix' }] },
    })
  },
)

test('sends targets with variables filled, without blocked numbers', () => {
  const settings = ProjectSettings.parse({
    ...defaultSettings,
    transfers: [
      { name: 'A', to: '+4930123456', announce: 'For {{name}}{{nobody}}: {{about}}' },
      { name: 'B', to: 'sip:+4940123456@pbx.example' },
      { name: 'C', to: 'browser' },
    ],
  })
  const { call_id: id, from: from_phone, to: to_phone, ...made } = plan({ vars: { name: '{{about}} Anna' } })
  const call = { ...made, price: 1n, factor_percent: 100, max_cost: null, id, from_phone, to_phone }
  const dialingLimits = { blocked_prefixes: ['+4940'], allowed_prefixes: [] }
  const input = { call, language: 'en', settings, secrets: new Map<string, string>(), paidSeconds: 60, dialingLimits }
  expect(makePlan(control.deps.sealer, input).transfers).toEqual([
    { name: 'A', to: '+4930123456', description: '', announce: 'For {{about}} Anna: {{about}}' },
    { name: 'C', to: 'browser', description: '', announce: null },
  ])
})

test("sends the trunk's transfer mode to engines", async () => {
  const owner = await createTenant(control)
  const trunk = { name: 'T', mode: 'ip', host: '127.0.0.9' }
  const made = await owner.call('POST', '/trunks', trunk)
  expect(made.body.transfer).toBe('refer')
  const changed = await owner.call('PATCH', `/trunks/${made.body.id}`, { transfer: 'bridge' })
  expect(changed.body.transfer).toBe('bridge')
  expect((await owner.call('PATCH', `/trunks/${made.body.id}`, { transfer: 'never' })).status).toBe(400)
})
