import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { admitCall, extendCall } from '../../control/telephony/calls/admit.ts'
import type { CallEvent, CallEventBody, Turn } from '../../media/contract/messages.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
})
afterAll(() => control?.close())

const turn = (text: string): Turn => ({
  role: 'agent',
  text,
  heard_text: text,
  started_ms: 0,
  ended_ms: 10,
  interrupted: false,
})
const engine = { engine: 'e1', boot: 'b1' }
const ended = record({
  talked_ms: 7200,
  summary: 'All said',
  extracted: { size: 'L' },
  goal_reached: true,
  transcript: [turn('Hello'), turn('Bye')],
})
const life: CallEventBody[] = [
  { type: 'call.dialing', ...engine },
  { type: 'call.ringing' },
  { type: 'call.started', ...engine },
  { type: 'turn.finished', turn: turn('Hello'), latency: null },
  { type: 'dtmf.received', digit: '4' },
  { type: 'call.progress', talked_ms: 5000 },
  { type: 'turn.finished', turn: turn('Bye'), latency: null },
  { type: 'call.ended', record: ended },
]

const eventsOf = (owner: Tenant, call_id: string, bodies = life): CallEvent[] =>
  bodies.map((body, index) => ({ v: 1, at: Date.now(), call_id, owner_id: owner.ownerId, seq: index + 1, ...body }))

async function placed(owner: Tenant): Promise<string> {
  return (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
}
const detail = async (owner: Tenant, id: string) => (await owner.call('GET', `/calls/${id}`)).body
const take = async (events: CallEvent[]) => {
  for (const event of events) await handleEvent(control.deps, event)
}

test('updates status and transcript from events in order', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  const seen = []
  for (const event of eventsOf(owner, id)) {
    await handleEvent(control.deps, event)
    const { status, transcript } = await detail(owner, id)
    seen.push(`${status} ${transcript.length}`)
  }
  expect(seen).toEqual([
    'dialing 0',
    'ringing 0',
    'in_progress 0',
    'in_progress 1',
    'in_progress 1',
    'in_progress 1',
    'in_progress 2',
    'completed 2',
  ])
  const keys = await control.deps.sql`select * from call_events where call_id = ${id} and type like 'dtmf%'`
  expect(keys).toHaveLength(0)
})

test('reaches the same end and charges once for any order of events', async () => {
  const owner = await createTenant(control)
  let paid = 0n
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...life.keys(), ...life.keys()], { minLength: life.length * 2 }),
      fc.boolean(),
      async (order, together) => {
        const id = await placed(owner)
        const events = eventsOf(owner, id)
        if (together) await Promise.all(order.map(index => handleEvent(control.deps, events[index]!)))
        else await take(order.map(index => events[index]!))
        paid += 6667n // 8 s at 5.00
        expect(await detail(owner, id)).toMatchObject({
          status: 'completed',
          ended_reason: 'caller_hangup',
          billed_seconds: 8,
          duration_seconds: 7,
          cost: { amount: '0.6667' },
          summary: 'All said',
          extracted: { size: 'L' },
          goal_reached: true,
          transcript: ended.transcript,
        })
        const [balance] = await control.deps.sql`select * from balances where owner_id = ${owner.ownerId}`
        expect(balance).toMatchObject({ available: 10_000_000n - paid, held: 0n })
      },
    ),
    { numRuns: 25 },
  )
  const list = (await owner.call('GET', '/calls?status=completed&limit=200')).body
  expect(list.total).toBe(list.items.length)
  expect((await owner.call('GET', '/calls')).body.total).toBe(list.total)
})

test('never moves a live call back to an earlier status', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  const [dialing, ringing, started] = eventsOf(owner, id)
  for (const [event, status] of [
    [ringing, 'ringing'],
    [dialing, 'ringing'],
    [started, 'in_progress'],
    [ringing, 'in_progress'],
    [dialing, 'in_progress'],
  ] as const) {
    await handleEvent(control.deps, event!)
    expect([event!.type, (await detail(owner, id)).status]).toEqual([event!.type, status])
  }
})

test('keeps answered_at when call.started is repeated', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  const start: CallEventBody = { type: 'call.started', ...engine }
  const at = Date.UTC(2026, 0, 1)
  await take(eventsOf(owner, id, [start]).map(event => ({ ...event, at })))
  await take(eventsOf(owner, id, [start]).map(event => ({ ...event, at: at + 5000, seq: 2 })))
  expect((await detail(owner, id)).answered_at).toBe('2026-01-01T00:00:00.000Z')
})

describe('more time', () => {
  const more = (owner: Tenant, id: string) =>
    extendCall(control.deps, { call_id: id, owner_id: owner.ownerId, talked_ms: 50_000 })

  test('extends a call by a minute, then by the rest of the balance', async () => {
    const owner = await createTenant(control)
    const id = await placed(owner)
    await control.deps.sql`update balances set available = 75000 where owner_id = ${owner.ownerId}` // 90 s
    const paid = []
    for (let i = 0; i < 3; i++) paid.push((await more(owner, id)).paid_ms)
    expect(paid).toEqual([120_000, 150_000, 150_000])
  })

  test('grants nothing to an ended, unknown or foreign call', async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    const id = await placed(owner)
    expect(await more(other, id)).toEqual({ paid_ms: 0 })
    expect(await more(owner, owner.projectId)).toEqual({ paid_ms: 0 })
    await take(eventsOf(owner, id))
    expect(await more(owner, id)).toEqual({ paid_ms: 0 })
    expect((await owner.call('GET', '/balance')).body.held.amount).toBe('0.0000')
  })
})

test('ignores events after the end', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  const look = async () => [
    await control.deps.sql`select * from calls where id = ${id}`,
    await control.deps.sql`select * from call_events where call_id = ${id} order by seq`,
    await control.deps.sql`select * from call_counters where owner_id = ${owner.ownerId} order by status`,
  ]
  await take(eventsOf(owner, id))
  const before = await look()
  const late: CallEventBody[] = [
    { type: 'call.started', engine: 'e7', boot: 'b7' },
    { type: 'call.progress', talked_ms: 99_000 },
    { type: 'turn.finished', turn: turn('Late'), latency: null },
    { type: 'call.ended', record: record({ status: 'failed', talked_ms: 50_000 }) },
  ]
  await take(eventsOf(owner, id, late).map(event => ({ ...event, seq: event.seq + 100 })))
  expect(await look()).toEqual(before)
})

test('ends a call whose text contains NUL or lone surrogates', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  const odd = 'a\0b\ud800'
  const end = record({ summary: odd, extracted: { [odd]: [odd] }, transcript: [turn(odd)] })
  await take(
    eventsOf(owner, id, [
      { type: 'turn.finished', turn: turn(odd), latency: null },
      { type: 'call.ended', record: end },
    ]),
  )
  const clean = 'ab\ufffd'
  expect(await detail(owner, id)).toMatchObject({
    status: 'completed',
    summary: clean,
    extracted: { [clean]: [clean] },
    transcript: [turn(clean)],
  })
})

test('are ignored for an unknown call or owner', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const id = await placed(owner)
  await take(eventsOf(other, id, life.slice(0, 7)))
  expect(await detail(owner, id)).toMatchObject({ status: 'queued', transcript: [] })
  await take(eventsOf(owner, '00000000-0000-7000-8000-000000000000'))
})

describe('an engine that starts again', () => {
  const started = (boot: string, name = 'e1') =>
    handleEvent(control.deps, { v: 1, type: 'engine.started', engine: name, boot, at: Date.now() })

  test('closes calls of an earlier boot as lost, paid until the last progress', async () => {
    const owner = await createTenant(control)
    const hook = await owner.call('POST', '/webhooks', { url: 'http://127.0.0.1:9', events: ['call.failed'] })
    const id = await placed(owner)
    await take(eventsOf(owner, id, life.slice(0, 6)))
    await started('b1')
    expect((await detail(owner, id)).status).toBe('in_progress')
    await started('b2', 'another')
    expect((await detail(owner, id)).status).toBe('in_progress')
    await started('b2')
    expect(await detail(owner, id)).toMatchObject({
      status: 'failed',
      ended_reason: 'engine_lost',
      billed_seconds: 5,
      cost: { amount: '0.4167' },
      transcript: [turn('Hello')],
    })
    const log = (await owner.call('GET', `/webhooks/${hook.body.id}/deliveries`)).body
    expect(log.items).toMatchObject([{ event: 'call.failed', status: 'pending' }])
    const [delivery] = await control.deps.sql`select body from webhook_deliveries where webhook_id = ${hook.body.id}`
    expect(JSON.parse(delivery!['body'])).toMatchObject({
      event: 'call.failed',
      call_id: id,
      data: { status: 'failed', ended_reason: 'engine_lost', sip_code: null },
    })
  })

  test('keeps the calls of the current boot', async () => {
    const owner = await createTenant(control)
    const id = await placed(owner)
    await take(eventsOf(owner, id, [{ type: 'call.dialing', engine: 'e1', boot: 'b9' }]))
    await started('b9')
    expect((await detail(owner, id)).status).toBe('dialing')
  })
})

describe('admission', () => {
  const ask = (owner: Tenant, part: object = {}) =>
    admitCall(control.deps, {
      engine: 'e1',
      boot: 'b1',
      trunk_id: owner.trunkId,
      called: owner.number,
      caller: nextPhone(),
      source: '127.0.0.1',
      ...part,
    })
  const refusal = async (owner: Tenant, part: object = {}) => {
    const answer = await ask(owner, part)
    return answer.admitted ? 'admitted' : answer.refusal
  }

  test('rejects with a reason and writes nothing', async () => {
    const owner = await createTenant(control, { bound: 'in' })
    const [outOnly, other] = [await createTenant(control, { bound: 'out' }), await createTenant(control)]
    const { sql } = control.deps
    expect(await refusal(owner, { trunk_id: null })).toBe('unknown_number')
    expect(await refusal(owner, { trunk_id: owner.projectId })).toBe('unknown_source')
    expect(await refusal(owner, { trunk_id: other.trunkId })).toBe('unknown_number')
    expect(await refusal(owner, { called: '+14155559999' })).toBe('unknown_number')
    expect(await refusal(owner, { called: 'alice' })).toBe('unknown_number')
    expect(await refusal(outOnly)).toBe('unknown_number')
    await sql`update balances set available = 49999 where owner_id = ${owner.ownerId}`
    expect(await refusal(owner)).toBe('insufficient_balance')
    await sql`update subscriptions set status = 'inactive' where owner_id = ${owner.ownerId}`
    expect(await refusal(owner)).toBe('subscription_inactive')
    expect((await owner.call('GET', '/calls')).body.total).toBe(0)
  })

  test('counts the live calls of a trunk', async () => {
    const owner = await createTenant(control)
    await control.deps.sql`update trunks set max_calls = 1 where id = ${owner.trunkId}`
    expect(await refusal(owner)).toBe('admitted')
    expect(await refusal(owner)).toBe('too_many_calls')
  })

  test('accepts a caller without a number', async () => {
    const owner = await createTenant(control)
    const answer = await ask(owner, { caller: 'anonymous' })
    if (!answer.admitted) throw new Error(answer.refusal)
    expect(await detail(owner, answer.plan.call_id)).toMatchObject({
      from: 'anonymous',
      contact_id: null,
      status: 'ringing',
    })
  })

  test('admits 2 of 20 concurrent calls when the balance covers two minutes', async () => {
    const owner = await createTenant(control)
    await control.deps.sql`update balances set available = 120000 where owner_id = ${owner.ownerId}`
    const answers = await Promise.all(Array.from({ length: 20 }, () => refusal(owner)))
    expect(answers.filter(answer => answer === 'admitted')).toHaveLength(2)
    expect(answers.filter(answer => answer === 'insufficient_balance')).toHaveLength(18)
  })
})
