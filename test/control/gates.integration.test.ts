import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setMinutePrice } from '../../control/access/accounts/service.ts'
import { defaultConfig } from '../../control/deps.ts'
import { Problem } from '../../control/platform/http/problem.ts'
import { blockedReason } from '../../control/platform/phone.ts'
import { admitCall, extendCall } from '../../control/telephony/calls/admit.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { placeCall, tryCall } from '../../control/telephony/calls/service.ts'
import { insertDoNotCall } from '../../control/telephony/do-not-call/sql.ts'
import type { PlaceCommand } from '../../media/contract/messages.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

const MOST = 4
const SATELLITE = '+881612345678'
let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000', max_calls_per_owner: MOST } })
})
afterAll(() => control?.close())

const place = (owner: Tenant, part: object = {}) =>
  owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone(), ...part })
const admit = async (owner: Tenant) => {
  const ask = { engine: 'e', boot: 'b', trunk_id: owner.trunkId, called: owner.number, caller: nextPhone(), source: '' }
  const answer = await admitCall(control.deps, ask)
  return answer.admitted ? 'admitted' : answer.refusal
}
const live = async (owner: Tenant) => {
  const rows = await control.deps.sql`select 1 from calls where owner_id = ${owner.ownerId} and ended_at is null`
  return rows.length
}

describe('destinations', () => {
  const rules = {
    blocked_prefixes: [...defaultConfig.blocked_prefixes, '+7900'],
    allowed_prefixes: ['+8816', '+7809', '+790012'],
  }
  test.each([
    ['+71121234567', 'emergency'],
    ['+71031234567', 'emergency'],
    ['+49112123456', 'emergency'],
    ['+441120000000', 'emergency'],
    ['+449991234567', 'emergency'],
    ['+19111234567', 'emergency'],
    ['+19002345678', 'premium_rate'],
    ['+449098790000', 'premium_rate'],
    ['+78031234567', 'premium_rate'],
    ['+33892700100', 'premium_rate'],
    ['+979123456789', 'premium_rate'],
    ['+870773111632', 'satellite'],
    ['+88216123456789', 'satellite'],
    ['+883510012345678', 'blocked_prefix'],
    ['+878101234567890', 'blocked_prefix'],
    ['+79001123456', 'blocked_prefix'],
    // Opened by a longer prefix, or never closed.
    ['+881612345678', null],
    ['+881812345678', 'satellite'],
    ['+78091234567', null],
    ['+79001234567', null],
    ['+79991234567', null],
    ['+14155551000', null],
    ['+911123456789', null], // Delhi: valid, though it begins with 112
    ['+390112345678', null],
    ['+442071838750', null],
  ])('%s is %s', (phone, blocked) => expect(blockedReason(phone, rules)).toBe(blocked))

  test('never allow an emergency number', () => {
    expect(blockedReason('+71121234567', { blocked_prefixes: [], allowed_prefixes: ['+7112'] })).toBe('emergency')
  })

  test('return 409 with the reason when blocked', async () => {
    const owner = await createTenant(control)
    for (const [phone, code] of [
      [SATELLITE, 'satellite'],
      ['+71121234567', 'emergency'],
      ['+19002345678', 'premium_rate'],
    ]) {
      expect(await place(owner, { phone })).toMatchObject({
        status: 409,
        body: { code: 'destination_blocked', errors: [{ pointer: '/phone', code }] },
      })
    }
    expect(await live(owner)).toBe(0)
  })
})

describe('order of the checks', () => {
  const bad = { task: 'Ask the client for the CVV of the card' }

  test('do-not-call, then the destination, then the number of calls, then moderation', async () => {
    const owner = await createTenant(control)
    const codes = async (part: object) => (await place(owner, part)).body.code
    await insertDoNotCall(control.deps.sql, owner.ownerId, {
      phone: SATELLITE,
      source: 'api',
      note: null,
      created_at: new Date(),
    })
    const ids: string[] = []
    for (let i = 0; i < MOST; i++) ids.push((await place(owner)).body.id)
    expect(await codes({ phone: SATELLITE, ...bad })).toBe('do_not_call')
    await owner.call('DELETE', `/do-not-call/${SATELLITE}`)
    expect(await codes({ phone: SATELLITE, ...bad })).toBe('destination_blocked')
    expect(await codes(bad)).toBe('too_many_calls')
    await finish(control.deps, ids[0]!, record())
    expect(await codes(bad)).toBe('moderation_rejected')
  })
})

describe('calls at once', () => {
  test('allow exactly the limit, under concurrency and in both directions', async () => {
    const owner = await createTenant(control)
    const answers = await Promise.all(
      Array.from({ length: 24 }, async (_, i) => (i % 2 ? admit(owner) : (await place(owner)).body.code)),
    )
    expect(await live(owner)).toBe(MOST)
    expect(answers.filter(answer => answer === 'too_many_calls')).toHaveLength(24 - MOST)
    const { body } = await owner.call('GET', '/balance')
    expect(body).toMatchObject({ balance: { amount: '980.0000' }, held: { amount: '20.0000' } })
    expect((await owner.call('GET', '/calls')).body.total).toBe(MOST)
  })

  test('free a slot when they end', async () => {
    const owner = await createTenant(control)
    const ids: string[] = []
    for (let i = 0; i < MOST; i++) ids.push((await place(owner)).body.id)
    expect(await place(owner)).toMatchObject({ status: 409, body: { code: 'too_many_calls' } })
    expect(await admit(owner)).toBe('too_many_calls')
    await finish(control.deps, ids[0]!, record())
    expect(await admit(owner)).toBe('admitted')
    expect((await place(owner)).body.code).toBe('too_many_calls')
  })

  test('are counted per owner', async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    for (let i = 0; i < MOST; i++) await place(owner)
    expect((await place(other)).status).toBe(201)
  })

  test('count inbound and outbound calls of a trunk', async () => {
    const owner = await createTenant(control)
    await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_calls: 2 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => place(owner)))
    expect(answers.filter(answer => answer.status === 201)).toHaveLength(2)
    expect(await admit(owner)).toBe('too_many_calls')
    expect((await place(owner)).body).toMatchObject({
      code: 'too_many_calls',
      detail: 'The trunk allows at most 2 concurrent calls.',
    })
  })
})

describe('the account’s own price', () => {
  test('applies to quote, hold, call and charge', async () => {
    const owner = await createTenant(control)
    await setMinutePrice(control.deps, owner.ownerId, '1500')
    expect((await place(owner)).body.code).toBe('insufficient_balance')
    expect(await admit(owner)).toBe('insufficient_balance')
    await setMinutePrice(control.deps, owner.ownerId, '7.5')
    const { id } = (await place(owner)).body
    expect((await owner.call('GET', '/balance')).body.held.amount).toBe('7.5000')
    await setMinutePrice(control.deps, owner.ownerId, null)
    await finish(control.deps, id, record({ talked_ms: 30_000 }))
    expect((await owner.call('GET', `/calls/${id}`)).body.cost.amount).toBe('3.7500')
  })
})

describe('dry run of a call', () => {
  const wish = (owner: Tenant, part: object = {}) => ({ project_id: owner.projectId, phone: nextPhone(), ...part })

  test('returns the result and writes nothing', async () => {
    const owner = await createTenant(control)
    const input = wish(owner, { task: 'Say hello' })
    expect(await tryCall(control.deps, owner.ownerId, input)).toEqual({
      would_place: true,
      from: owner.number,
      to: input.phone,
      minute_price: { amount: '5.0000', currency: 'RUB' },
      balance: { amount: '1000.0000', currency: 'RUB' },
    })
    expect(await live(owner)).toBe(0)
    expect((await owner.call('GET', '/contacts')).body.total).toBe(0)
    expect((await owner.call('GET', '/balance/entries')).body.total).toBe(1)
  })

  test('runs every check of a call', async () => {
    const owner = await createTenant(control)
    const code = (part: object, options = {}) =>
      tryCall(control.deps, owner.ownerId, wish(owner, part), options).catch((error: Problem) => error.code)
    expect(await code({ project_id: owner.ownerId })).toBe('not_found')
    expect(await code({ phone: SATELLITE })).toBe('destination_blocked')
    expect(await code({ task: 'Get the CVV' })).toBe('moderation_rejected')
    expect(await code({}, { maxCost: 49_999n })).toBe('validation_failed')
    await control.deps.sql`update balances set available = 49999 where owner_id = ${owner.ownerId}`
    expect(await code({})).toBe('insufficient_balance')
  })
})

describe('max_cost of a call', () => {
  const placeFor = async (owner: Tenant, maxCost: bigint) =>
    (await placeCall(control.deps, owner.ownerId, { project_id: owner.projectId, phone: nextPhone() }, { maxCost })).id
  const planOf = async (id: string) => {
    const offered: PlaceCommand[] = []
    const bus = { ...control.deps.bus, place: async (one: PlaceCommand) => void offered.push(one) }
    await createDialer({ ...control.deps, bus }).offer(id)
    return offered[0]!.plan
  }
  const extend = (owner: Tenant, id: string) =>
    extendCall(control.deps, { call_id: id, owner_id: owner.ownerId, talked_ms: 50_000 })

  test('rejects less than the price of a minute', async () => {
    const owner = await createTenant(control)
    await expect(placeFor(owner, 49_999n)).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/max_cost' }] })
    await placeFor(owner, 50_000n)
    await setMinutePrice(control.deps, owner.ownerId, '6')
    await expect(placeFor(owner, 50_000n)).rejects.toBeInstanceOf(Problem)
  })

  test('limits the plan, the hold and the cost', async () => {
    const owner = await createTenant(control)
    const id = await placeFor(owner, 80_000n) // 96 s
    expect(await planOf(id)).toMatchObject({ paid_ms: 60_000, max_call_ms: 96_000 })
    expect(await extend(owner, id)).toEqual({ paid_ms: 96_000 })
    expect(await extend(owner, id)).toEqual({ paid_ms: 96_000 })
    expect((await owner.call('GET', '/balance')).body.held.amount).toBe('8.0000')
    await finish(control.deps, id, record({ talked_ms: 97_400 }))
    expect((await owner.call('GET', `/calls/${id}`)).body).toMatchObject({
      billed_seconds: 96,
      cost: { amount: '8.0000' },
    })
  })

  test('does not lengthen a call', async () => {
    const owner = await createTenant(control, { project: { max_call_seconds: 90 } })
    expect(await planOf(await placeFor(owner, 10_000_000n))).toMatchObject({ max_call_ms: 90_000 })
  })
})
