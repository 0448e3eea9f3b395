/** Progress of a campaign: reasons, results.csv, events; and its export and erasure. */
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { revoke } from '../../../control/access/keys/service.ts'
import { exportAccount } from '../../../control/data/accounts/export.ts'
import { eraseAccount } from '../../../control/data/accounts/operator.ts'
import { claim } from '../../../control/outreach/campaigns/claim.ts'
import { guarded } from '../../../control/outreach/campaigns/csv.ts'
import { selectWork } from '../../../control/outreach/campaigns/pacer-sql.ts'
import { uuidv7 } from '../../../control/platform/ids.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'
import { createDraft, createFilled, nextCallee, settle, step, upload } from './support.ts'

let control: TestControl
let owner: Tenant
let address: string
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control, { money: '1000' })
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => control?.close())

const firstContact = async (tenant: Tenant, id: string) =>
  (await tenant.call('GET', `/campaigns/${id}/contacts?limit=200`)).body.items.at(-1)

/** A call of a contact that has ended, as the engine's record would have made it. */
async function callOf(campaignId: string, seq: number, result: object, tenant = owner) {
  const { sql } = control.deps
  const id = uuidv7(Date.now())
  await sql`
    insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, campaign_id, vars, price,
      factor_percent, created_at, deadline_at, ended_at, ended_reason, answered_by, talked_ms, summary, extracted)
    select ${id}, ${tenant.ownerId}, ${tenant.projectId}, 'out', 'completed', '+1', phone, ${campaignId}, '{}', 1, 100,
      now(), now(), now(), 'caller_hangup', 'human', 61400, result.summary, result.extracted
    from campaign_contacts, jsonb_to_record(${sql.json(result as never)}) as result (summary text, extracted jsonb)
    where campaign_contacts.campaign_id = ${campaignId} and seq = ${seq}`
  await sql`update campaign_contacts set last_call_id = ${id} where campaign_id = ${campaignId} and seq = ${seq}`
  return id
}

describe('why', () => {
  const why = async (id: string) => {
    const contact = await firstContact(owner, id)
    return (await owner.call('GET', `/campaigns/${id}/contacts/${contact.id}/why`)).body
  }
  const reasons = (answer: { reasons: { code: string }[] }) => answer.reasons.map(one => one.code)

  test('reports the blockers of a draft, and dial for a running campaign', async () => {
    const { id } = await createFilled(owner, 1)
    const before = await why(id)
    expect(before).toMatchObject({ would_dial: false, decision: 'wait', status: 'pending', campaign_status: 'draft' })
    expect(reasons(before)).toEqual(['not_running', 'no_consent'])
    await step(owner, id, 'start')
    expect(await why(id)).toEqual({
      would_dial: true,
      decision: 'dial',
      reasons: [],
      until: null,
      status: 'pending',
      campaign_status: 'running',
      attempts: 0,
      attempts_left: 3,
    })
  })

  test('reports the closed window and when it opens', async () => {
    // An hour that is over, in the zone of the campaign.
    const hour = (shift: number) => `${String((new Date().getUTCHours() + 24 + shift) % 24).padStart(2, '0')}:00`
    const opens = hour(-3)
    const params = { timezone: 'UTC', window_start: opens, window_end: hour(-2), quiet_hours: null }
    const { id } = await createFilled(owner, 1, { params })
    await step(owner, id, 'start')
    const answer = await why(id)
    expect(reasons(answer)).toEqual(['outside_window'])
    expect(answer.until).toMatch(new RegExp(`T${opens}:00\\.000Z$`))
    expect(Date.parse(answer.until)).toBeGreaterThan(Date.now())
  })

  test('reports do-not-call, rejected tasks and final statuses', async () => {
    const { id } = await createDraft(owner, { task: 'Ask for the {{what}} of the bank card.' })
    const phone = nextCallee()
    await upload(owner, id, [{ phone, vars: { what: 'colour' } }])
    await step(owner, id, 'start')
    expect((await why(id)).would_dial).toBe(true)
    await owner.call('POST', '/do-not-call', { phone })
    const unwanted = await why(id)
    expect([unwanted.decision, reasons(unwanted)]).toEqual(['skip', ['do_not_call']])
    await owner.call('DELETE', `/do-not-call/${phone}`)
    await control.deps.sql`update campaign_contacts set vars = '{"what": "PIN"}' where campaign_id = ${id}`
    const worded = await why(id)
    expect([worded.decision, reasons(worded)]).toEqual(['skip', ['moderation_rejected']])
    await settle(control, id, { 1: 'skipped' })
    const over = await why(id)
    expect([over.decision, reasons(over)]).toEqual(['none', ['skipped', 'do_not_call']])
  })

  test('reports an insufficient balance', async () => {
    const tenant = await createTenant(control)
    const { id } = await createFilled(tenant, 1, {
      params: { quiet_hours: null, window_start: '00:00', window_end: '00:00' },
    })
    await step(tenant, id, 'start')
    await control.deps.sql`update accounts set minute_price = 99999999 where id = ${tenant.ownerId}`
    const contact = await firstContact(tenant, id)
    const { body } = await tenant.call('GET', `/campaigns/${id}/contacts/${contact.id}/why`)
    expect(reasons(body)).toEqual(['insufficient_balance'])
  })
})

describe('results.csv', () => {
  test('has a row for each contact, with variables and extracted data as columns', async () => {
    const extraction = { type: 'object', properties: { guests: { type: 'integer' }, time: { type: 'string' } } }
    await owner.call('PATCH', `/projects/${owner.projectId}`, { extraction })
    const { id } = await createDraft(owner)
    const phones = [nextCallee(), nextCallee(), nextCallee()]
    await upload(owner, id, [
      { phone: phones[0], name: 'Anna "A"; Б', vars: { city: 'Köln' } },
      { phone: phones[1], name: '=HYPERLINK("http://evil")', vars: { city: '@sum', size: -5 } },
      { phone: phones[2] },
    ])
    await step(owner, id, 'start')
    await settle(control, id, { 1: 'busy', 2: 'completed' })
    const extracted = { guests: -4, note: '+1 and, more', list: ['a'] }
    const call = await callOf(id, 2, { summary: '-- two\nlines', extracted })
    const answer = await owner.call('GET', `/campaigns/${id}/results.csv`)
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': `attachment; filename="campaign-${id}.csv"`,
      'cache-control': 'no-store',
    })
    expect(answer.body.startsWith('\uFEFFphone,name,status,')).toBe(true)
    expect(answer.body.endsWith('\r\n')).toBe(true)
    const rows: Record<string, string>[] = parse(answer.body, { bom: true, columns: true })
    const [first, second, third] = rows
    expect(rows).toHaveLength(3)
    expect(first).toMatchObject({
      phone: phones[0],
      name: 'Anna "A"; Б',
      status: 'busy',
      attempts: '3',
      goal_reached: '',
    })
    expect(first).toMatchObject({ 'vars.city': 'Köln', 'vars.size': '', 'extracted.guests': '', last_call_id: '' })
    expect(second).toMatchObject({
      phone: phones[1],
      name: `'=HYPERLINK("http://evil")`,
      status: 'completed',
      goal_reached: 'true',
      last_call_id: call,
      last_call_ended_reason: 'caller_hangup',
      answered_by: 'human',
      duration_seconds: '61',
      summary: "'-- two\nlines",
      'vars.city': "'@sum",
      'vars.size': '-5',
      'extracted.guests': '-4',
      'extracted.time': '',
      'extracted.note': "'+1 and, more",
      'extracted.list': '["a"]',
    })
    expect(third).toMatchObject({ phone: phones[2], name: '', status: 'pending', attempts: '0' })
  })

  test('streams all rows', async () => {
    const { id } = await createDraft(owner)
    const phones = Array.from({ length: 1100 }, nextCallee)
    await upload(
      owner,
      id,
      phones.map(phone => ({ phone })),
    )
    const { body } = await owner.call('GET', `/campaigns/${id}/results.csv`)
    const rows: Record<string, string>[] = parse(body, { bom: true, columns: true })
    expect(rows.map(row => row['phone'])).toEqual(phones)
  })

  test.each([
    ['=1+1', "'=1+1"],
    ['  =1', "'  =1"],
    ['+7 916', "'+7 916"],
    ['-12,5', '-12,5'],
    ['-12', '-12'],
    ['-12+3', "'-12+3"],
    ['@a', "'@a"],
    ['\t=x', "'\t=x"],
    ['\rx', "'\rx"],
    ['＝1', "'＝1"],
    ['a=1', 'a=1'],
    ['', ''],
    [null, null],
  ])('%j becomes %j', (text, expected) => expect(guarded(text)).toBe(expected))
})

describe('events', () => {
  async function open(tenant: Tenant, id: string) {
    const response = await fetch(`${address}/v1/public/campaigns/${id}/events`, {
      headers: { 'x-api-key': tenant.key },
    })
    const stream = { response, text: '', ended: Promise.resolve() }
    stream.ended = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) stream.text += chunk
    })()
    return stream
  }
  const told = (text: string) =>
    [...text.matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, event, data]) => ({ event, ...JSON.parse(data!) }))

  test('send the counters at once, at each change, and at the end', async () => {
    const { id } = await createFilled(owner, 2)
    await step(owner, id, 'start')
    const stream = await open(owner, id)
    expect(stream.response.headers.get('content-type')).toMatch('text/event-stream')
    await until(() => told(stream.text).length === 1, 'the first look')
    await settle(control, id, { 2: 'completed' })
    await until(() => told(stream.text).length === 2, 'a change')
    await step(owner, id, 'stop')
    await stream.ended
    const spend = { amount: '0.0000', currency: 'RUB' }
    expect(told(stream.text)).toMatchObject([
      { event: 'campaign.progress', status: 'running', counters: { total: 2, pending: 2 }, pause_reason: null, spend },
      { event: 'campaign.progress', status: 'running', counters: { pending: 1, completed: 1, goal_reached: 1 } },
      { event: 'campaign.progress', status: 'stopped', counters: { pending: 0, canceled: 1 } },
      { event: 'campaign.ended', status: 'stopped', counters: { total: 2 } },
    ])
  })

  test('close when the key is revoked; at most twenty at a time', async () => {
    const tenant = await createTenant(control)
    const { id } = await createFilled(tenant, 1)
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(tenant, id)))
    expect(streams.map(one => one.response.status)).toEqual(Array(20).fill(200))
    const url = `${address}/v1/public/campaigns/${id}/events`
    expect((await fetch(url, { headers: { 'x-api-key': tenant.key } })).status).toBe(429)
    const [key] = await control.deps.sql<{ id: string }[]>`select id from api_keys where owner_id = ${tenant.ownerId}`
    await revoke(control.deps, tenant.ownerId, key!.id)
    control.deps.clock.advance(10_000)
    await Promise.all(streams.map(one => one.ended))
  })
})

test('skips a contact whose variables make the task fail moderation', async () => {
  const tenant = await createTenant(control, { money: '100' })
  const { id } = await createDraft(tenant, { task: 'Ask for the {{what}} of the bank card.' })
  const words = ['colour', 'PIN', 'name']
  const { body } = await upload(
    tenant,
    id,
    words.map(what => ({ phone: nextCallee(), vars: { what } })),
  )
  expect(body.accepted).toBe(3)
  await step(tenant, id, 'start')
  const work = (await selectWork(control.deps.sql, [], new Date(control.deps.clock.wall()))).find(row => row.id === id)!
  expect(await claim(control.deps, { work, most: 3, trunks: new Map() })).toMatchObject({ calls: 2 })
  const { items } = (await tenant.call('GET', `/campaigns/${id}/contacts`)).body
  expect(items.map((one: Record<string, unknown>) => [one['status'], one['skip_reason']])).toEqual([
    ['dialing', null],
    ['skipped', 'moderation_rejected'],
    ['dialing', null],
  ])
  expect((await tenant.call('GET', `/campaigns/${id}`)).body.counters).toMatchObject({
    dialing: 2,
    skipped: 1,
    pending: 0,
  })
  // No engine has claimed them yet: a stop withdraws them.
  const stopped = await step(tenant, id, 'stop')
  expect(stopped.body.counters).toMatchObject({ total: 3, dialing: 0, canceled: 2, skipped: 1 })
  const calls = (await tenant.call('GET', `/calls?campaign_id=${id}`)).body
  expect(calls).toMatchObject({
    total: 2,
    items: [{ status: 'canceled', campaign_id: id }, { ended_reason: 'canceled_by_api' }],
  })
})

test('lists calls by campaign', async () => {
  const { id } = await createFilled(owner, 2)
  const call = await callOf(id, 1, { summary: null, extracted: null })
  const { body } = await owner.call('GET', `/calls?campaign_id=${id}`)
  expect(body).toMatchObject({ total: 1, items: [{ id: call, campaign_id: id }] })
  expect((await owner.call('GET', `/calls?campaign_id=${id}&status=failed`)).body).toMatchObject({
    total: 0,
    items: [],
  })
  expect((await owner.call('GET', `/calls?campaign_id=${id}&offset=1`)).body).toMatchObject({ total: 1, items: [] })
})

test('exports campaigns and contacts, and erases them', async () => {
  const tenant = await createTenant(control)
  const { id } = await createFilled(tenant, 3)
  await step(tenant, id, 'start')
  const pieces: string[] = []
  await exportAccount(control.deps, tenant.ownerId, async piece => void pieces.push(piece))
  const all = JSON.parse(pieces.join(''))
  expect(all.campaigns).toMatchObject([
    { id, status: 'running', spend: '0.0000', consent: { text: expect.any(String) } },
  ])
  expect(all.campaign_contacts.map((one: { seq: number }) => one.seq)).toEqual([1, 2, 3])
  const { clock } = control.deps
  // No key is used meanwhile, so that nothing is waited for.
  const hasty = { ...clock, after: (_: number, run: () => void) => clock.after(0, run) }
  await eraseAccount({ ...control.deps, clock: hasty }, tenant.ownerId)
  const [left] = await control.deps.sql<{ rows: number }[]>`
    select (select count(*) from campaigns where owner_id = ${tenant.ownerId})::int
      + (select count(*) from campaign_contacts where owner_id = ${tenant.ownerId})::int
      + (select count(*) from campaign_counters where owner_id = ${tenant.ownerId})::int as rows`
  expect(left!.rows).toBe(0)
})
