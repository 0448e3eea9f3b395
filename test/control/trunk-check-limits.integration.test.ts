/** Rate limits of trunk checks, and addresses that a transfer may not have. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transferBlocked } from '../../control/agents/projects/transfers.ts'
import { createControl, createTenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

test('limits trunk checks per owner and minute', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const engine = control.engine(`examiner-${randomUUID()}`)
  let looks = 0
  engine.onTrunkCheck(async () => {
    looks++
    return { ok: true, checks: [], messages: [], omitted: 0, diagnosis: null }
  })
  const reader = engine.onCommand(() => {})
  await engine.heartbeat({ calls: 0, capacity: 5, stt_ready: true, rooms: false })
  const check = (who: typeof owner) => who.call('POST', `/trunks/${who.trunkId}/check`)
  const answers = await Promise.all(Array.from({ length: 30 }, () => check(owner)))
  const refused = answers.filter(({ status }) => status === 429)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(refused).toHaveLength(20)
  expect(refused[0]!.body.code).toBe('rate_limited')
  expect(Number(refused[0]!.headers['retry-after'])).toBeGreaterThan(0)
  expect(looks).toBe(10)
  expect((await check(other)).status).toBe(200)
  await reader.stop()
})

const rules = { blocked_prefixes: ['+882'], allowed_prefixes: [] }
test.each([
  'sip:+882-123-45678@carrier.example',
  'sip:+882.123.45678@carrier.example',
  'sip:%2B88212345678@carrier.example',
  'sip:+%38%382123456%378@carrier.example',
  'sip:0088212345678@carrier.example',
  'sip:01188212345678@carrier.example',
  'sip:+(882)12345678;npdi@carrier.example',
])('blocks %s', address => {
  expect(transferBlocked(address, rules)).toBe('blocked_prefix')
})

test.each(['sip:112@carrier.example', 'sip:911@carrier.example', 'sips:911;phone-context=+1@carrier.example'])(
  'blocks the emergency number written as %s',
  address => expect(transferBlocked(address, rules)).toBe('emergency'),
)

test.each([
  'sip:desk@pbx.example',
  'sips:200@10.0.0.1',
  'sip:+4930123456@pbx.example',
  'sip:%zz@pbx.example',
  'browser',
])('allows %s', address => expect(transferBlocked(address, rules)).toBeNull())
