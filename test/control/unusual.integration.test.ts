/** The automatic stop of an account: new countries, spending, notices, the switch and the resumption. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { openHold, toUnits } from '../../control/billing/money.ts'
import { watchSpending } from '../../control/billing/unusual/service.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { bridgeCall } from '../../control/telephony/calls/bridge.ts'
import { tellStopped } from '../../control/webhooks/stopped.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '100000' } })
})
afterAll(() => control?.close())

/** One number each of a dozen countries. */
const ABROAD = [
  ...['+2250123456789', '+37061234567', '+9607712345', '+2482712345', '+6767712345', '+23279123456'],
  ...['+385911234567', '+593991234567', '+8801712345678', '+263712345678', '+50498123456', '+94771234567'],
]
const HOUR_MS = 3_600_000
const stopped = { status: 403, body: { code: 'calls_stopped' } }

const place = (owner: Tenant, phone: string) => owner.call('POST', '/calls', { project_id: owner.projectId, phone })
async function statuses(owner: Tenant, phones: readonly string[]) {
  const found: number[] = []
  for (const phone of phones) found.push((await place(owner, phone)).status)
  return found
}
async function dashboard(owner: Tenant, method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) {
  const { token } = await openSession(control.deps, owner.ownerId)
  return request(control.app, {
    method,
    url: `/v1/public${path}`,
    headers: { cookie: `parley_session=${token}`, 'sec-fetch-site': 'same-origin' },
    ...(body ? { payload: body } : {}),
  })
}
const limitsOf = async (owner: Tenant) => (await dashboard(owner, 'GET', '/limits')).body
async function jobsOf(owner: Tenant) {
  const rows = await control.deps.sql<{ data: Parameters<typeof tellStopped>[1] }[]>`
    select data from parley_jobs.job where name = 'account.stopped' and data ->> 'owner_id' = ${owner.ownerId}`
  return rows.map(({ data }) => data)
}

describe('new countries', () => {
  test('stop an account at the sixth within an hour, for every destination, and once', async () => {
    const owner = await createTenant(control)
    expect(await statuses(owner, ABROAD.slice(0, 6))).toEqual([201, 201, 201, 201, 201, 403])
    expect(await place(owner, ABROAD[0]!)).toMatchObject(stopped)
    expect(await place(owner, nextPhone())).toMatchObject(stopped)
    expect(await limitsOf(owner)).toMatchObject({
      stop_unusual_activity: true,
      stopped: { reason: 'new_countries', countries: ['CI', 'LT', 'MV', 'SC', 'SL', 'TO'], spent: null, usual: null },
    })
    expect(await jobsOf(owner)).toHaveLength(1)
    const { sql } = control.deps
    const [row] = await sql`select count(*)::int as calls from calls where owner_id = ${owner.ownerId}`
    expect(row!['calls']).toBe(5)
    const [holds] = await sql`select open_holds from balances where owner_id = ${owner.ownerId}`
    expect(holds!['open_holds']).toBe(5)
  })

  test('stop it when all calls come at the same time', async () => {
    const owner = await createTenant(control)
    const answers = await Promise.all(ABROAD.map(phone => place(owner, phone)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(await jobsOf(owner)).toHaveLength(1)
  })

  test('are no alarm when they come slowly, or again', async () => {
    const owner = await createTenant(control)
    for (const phone of ABROAD.slice(0, 8)) {
      expect((await place(owner, phone)).status).toBe(201)
      control.deps.clock.advance(20 * 60_000)
    }
    expect(await statuses(owner, ABROAD.slice(0, 8))).toEqual(Array(8).fill(201))
    expect((await limitsOf(owner)).stopped).toBeNull()
  })

  test('that an account called before the list was kept are not new', async () => {
    const owner = await createTenant(control)
    await statuses(owner, ABROAD.slice(0, 5))
    const { sql } = control.deps
    const before = new Date(control.deps.clock.wall() - 40 * 24 * HOUR_MS)
    await sql`update calls set created_at = ${before} where owner_id = ${owner.ownerId}`
    await sql`delete from called_countries where owner_id = ${owner.ownerId}`
    expect(await statuses(owner, ABROAD.slice(0, 10))).toEqual(Array(10).fill(201))
    expect(await statuses(owner, ABROAD.slice(10, 11))).toEqual([403])
  })

  test('of one account say nothing about another', async () => {
    const [one, two] = [await createTenant(control), await createTenant(control)]
    await statuses(one, ABROAD.slice(0, 6))
    expect(await statuses(two, ABROAD.slice(0, 4))).toEqual([201, 201, 201, 201])
  })

  test('are not forgotten by a repeated request: its stop is not replayed as a call', async () => {
    const owner = await createTenant(control)
    await statuses(owner, ABROAD.slice(0, 5))
    const body = { project_id: owner.projectId, phone: ABROAD[5] }
    const ask = () => owner.call('POST', '/calls', body, { 'idempotency-key': 'sixth' })
    expect([(await ask()).status, (await ask()).status]).toEqual([403, 403])
  })
})

describe('a stopped account', () => {
  async function createStopped() {
    const owner = await createTenant(control)
    await statuses(owner, ABROAD.slice(0, 6))
    return owner
  }

  test('starts no realtime session, lead search, campaign or transfer', async () => {
    const owner = await createStopped()
    const lead = {
      brief_raw: 'Dentists',
      brief_parsed: { niche: 'Dentists', geo: 'Oakland', signals: [], exclusions: [], target_leads: 1, queries: [] },
      accept_terms: true,
    }
    expect(await owner.call('POST', '/lead-search', lead)).toMatchObject(stopped)
    const campaign = (await owner.call('POST', '/campaigns', { name: 'C', project_id: owner.projectId })).body
    await owner.call('POST', `/campaigns/${campaign.id}/contacts`, [{ phone: nextPhone() }])
    const start = await owner.call('POST', `/campaigns/${campaign.id}/start`, { consent: true })
    expect(start).toMatchObject(stopped)
    const [call] = await control.deps.sql`select id from calls where owner_id = ${owner.ownerId} limit 1`
    const wish = { call_id: call!['id'], owner_id: owner.ownerId, trunk_id: owner.trunkId, attempt: 1 }
    expect(await bridgeCall(control.deps, wish as never)).toEqual({ granted: false })
  })

  test('tells owners and admins by mail, and the webhook', async () => {
    const owner = await createStopped()
    const { sql, mail } = control.deps
    const email = `stopped-${owner.ownerId}@example.com`
    await sql`update accounts set email = ${email} where id = ${owner.ownerId}`
    const hook = await owner.call('POST', '/webhooks', { url: 'https://example.com/hook', events: ['account.stopped'] })
    expect(hook.status).toBe(201)
    const [job] = await jobsOf(owner)
    await tellStopped(control.deps, job!)
    const message = mail.sent.find(({ to }) => to === email)!
    expect(message.subject).toBe('Calls of your Parley account were stopped')
    expect(message.text).toContain('countries that it had not called before: CI, LT, MV, SC, SL, TO.')
    const [delivery] = await sql`select event, body from webhook_deliveries where owner_id = ${owner.ownerId}`
    expect(JSON.parse(delivery!['body'])).toMatchObject({
      event: 'account.stopped',
      data: { reason: 'new_countries', countries: ['CI', 'LT', 'MV', 'SC', 'SL', 'TO'] },
    })
  })

  test('goes on only when a person resumes it; a key cannot', async () => {
    const owner = await createStopped()
    expect((await owner.call('POST', '/limits/resume')).body.code).toBe('insufficient_scope')
    control.deps.clock.advance(48 * HOUR_MS)
    expect(await place(owner, nextPhone())).toMatchObject(stopped)
    const resumed = await dashboard(owner, 'POST', '/limits/resume')
    expect(resumed).toMatchObject({ status: 200, body: { stopped: null } })
    expect(await statuses(owner, ABROAD.slice(0, 10))).toEqual([...Array(10).fill(201)])
    expect(await statuses(owner, ABROAD.slice(10, 11))).toEqual([403])
    const log = await dashboard(owner, 'GET', '/audit?operation=resume_calls')
    expect(log.body.items).toMatchObject([{ operation: 'resume_calls', outcome: 'done' }])
  })

  test('stays stopped when the switch is turned off; without the switch nothing stops', async () => {
    const owner = await createStopped()
    const off = await dashboard(owner, 'PATCH', '/limits', { stop_unusual_activity: false })
    expect(off.body).toMatchObject({ stop_unusual_activity: false, stopped: { reason: 'new_countries' } })
    expect(await place(owner, nextPhone())).toMatchObject(stopped)
    await dashboard(owner, 'POST', '/limits/resume')
    expect(await statuses(owner, ABROAD)).toEqual(Array(12).fill(201))
    expect((await owner.call('PATCH', '/limits', { stop_unusual_activity: true })).body.code).toBe('insufficient_scope')
  })
})

describe('spending', () => {
  /** Captured amounts, as calls would leave them. */
  async function spend(owner: Tenant, amounts: readonly { hoursAgo: number; amount: string }[]) {
    const now = control.deps.clock.wall()
    for (const { hoursAgo, amount } of amounts) {
      const at = new Date(now - hoursAgo * HOUR_MS)
      const [first, second, transaction] = [uuidv7(now), uuidv7(now), uuidv7(now)]
      const units = toUnits(amount)
      await control.deps.sql`
        insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, created_at)
        values (${first}, ${transaction}, ${owner.ownerId}, 'revenue', 'settle', ${units}, ${at}),
          (${second}, ${transaction}, ${owner.ownerId}, 'held', 'settle', ${-units}, ${at})`
    }
  }
  const usual = Array.from({ length: 30 }, (_, index) => ({ hoursAgo: 24 + 5 * index, amount: '40' }))
  /** The sweep looks at owners with something on hold. */
  async function hold(owner: Tenant) {
    const { sql, clock } = control.deps
    const call = { id: uuidv7(clock.wall()), tariff: { price: toUnits('5'), factorPercent: 100 }, seconds: 60 }
    await sql.begin(tx => openHold(tx, owner.ownerId, call as never, new Date(clock.wall())))
  }

  test('of more than ten usual hours within an hour stops an account', async () => {
    const owner = await createTenant(control)
    await spend(owner, [...usual, { hoursAgo: 0.5, amount: '395' }])
    await hold(owner)
    await watchSpending(control.deps)
    expect((await limitsOf(owner)).stopped).toBeNull()
    await spend(owner, [{ hoursAgo: 0.1, amount: '1' }])
    await watchSpending(control.deps)
    expect((await limitsOf(owner)).stopped).toMatchObject({ reason: 'spending', spent: '401.0000', usual: '40.0000' })
    expect(await place(owner, nextPhone())).toMatchObject(stopped)
    expect(await jobsOf(owner)).toHaveLength(1)
    await dashboard(owner, 'POST', '/limits/resume')
    await watchSpending(control.deps)
    expect((await limitsOf(owner)).stopped).toBeNull()
  })

  test('of a new account, or with the switch off, stops nothing', async () => {
    const [young, off] = [await createTenant(control), await createTenant(control)]
    await spend(young, [{ hoursAgo: 0.5, amount: '5000' }])
    await spend(off, [...usual, { hoursAgo: 0.5, amount: '5000' }])
    await dashboard(off, 'PATCH', '/limits', { stop_unusual_activity: false })
    for (const owner of [young, off]) await hold(owner)
    await watchSpending(control.deps)
    for (const owner of [young, off]) expect((await limitsOf(owner)).stopped).toBeNull()
  })
})
