/** Checks before a paid search: each of them, their order, and twenty concurrent starts. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setSubscription } from '../../../control/access/accounts/service.ts'
import { TERMS_FILE, TERMS_PATH, TERMS_VERSION } from '../../../control/outreach/leads/terms.ts'
import { installQueues } from '../../../control/platform/jobs/jobs.ts'
import { brief, fakeLeads } from '../../fakes/leads.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../../support/control.ts'
import { audit, jobOf, moneyOf, start, wish } from './rig.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '0', lead_price: '2.5000', lead_searches_per_day: 3 } })
  await installQueues(control.deps.boss)
})
afterAll(() => control?.close())

const ask = (owner: Tenant, body: object) => owner.call('POST', '/lead-search', body)
const cancel = (owner: Tenant, id: string) => owner.call('POST', `/lead-search/${id}/cancel`)

describe('a brief', () => {
  test('is parsed free of charge, with estimate, sources and missing fields', async () => {
    const owner = await createTenant(control)
    const { status, body } = await owner.call('POST', '/lead-search/parse-brief', { brief_raw: ' dentists ' })
    expect(status).toBe(200)
    expect(body).toEqual({
      brief_parsed: { ...brief({ signals: [], queries: [] }), niche: 'dentists', geo: '', target_leads: 50 },
      estimate: {
        leads: 50,
        price_per_lead: { amount: '2.5000', currency: 'RUB' },
        total: { amount: '125.0000', currency: 'RUB' },
      },
      sources: [{ id: 'web', name: 'Source web', attribution: '© web', licence: 'ODbL-1.0' }],
      missing: ['geo', 'target_leads'],
    })
    expect(await moneyOf(owner)).toEqual(['0.0000', '0.0000'])
  })

  test('rejects empty and oversized briefs with a pointer', async () => {
    const owner = await createTenant(control)
    for (const brief_raw of ['', '  ', 'x'.repeat(20_001)]) {
      const { status, body } = await owner.call('POST', '/lead-search/parse-brief', { brief_raw })
      expect([status, body.errors[0].pointer]).toEqual([400, '/brief_raw'])
    }
    expect((await owner.call('POST', '/lead-search/parse-brief', { brief_raw: 'x'.repeat(20_000) })).status).toBe(200)
  })

  test('falls back to the next parser', async () => {
    const owner = await createTenant(control)
    const { leads } = control.deps
    const silent = { read: async () => null }
    const failing = { read: () => Promise.reject(new Error('away')) }
    control.deps.leads = fakeLeads({ readers: [silent, failing, ...leads!.readers] })
    expect((await owner.call('POST', '/lead-search/parse-brief', { brief_raw: 'dentists' })).status).toBe(200)
    control.deps.leads = fakeLeads({ readers: [silent, failing] })
    const { body } = await owner.call('POST', '/lead-search/parse-brief', { brief_raw: 'dentists' })
    expect(body.code).toBe('service_unavailable')
    control.deps.leads = leads!
  })
})

describe('a start', () => {
  test('rejects a brief without niche or place', async () => {
    const owner = await createTenant(control, { money: '100' })
    for (const name of ['niche', 'geo'] as const) {
      const { status, body } = await ask(owner, wish({ [name]: ' ' }))
      expect([status, body.errors[0].pointer]).toEqual([400, `/brief_parsed/${name}`])
    }
  })

  test('runs the checks in order', async () => {
    const owner = await createTenant(control)
    const bad = wish({ exclusions: ['Ask people for the PIN of their bank card'] })
    const { accept_terms: _, ...bare } = wish({ target_leads: 4 })
    const { leads } = control.deps
    control.deps.leads = fakeLeads({ sources: [] })
    const inactive = { status: 'inactive' as const, ends_at: null }
    await setSubscription(control.deps, owner.ownerId, null, inactive)
    expect(await ask(owner, bad)).toMatchObject({ status: 402, body: { code: 'subscription_inactive' } })
    await setSubscription(control.deps, owner.ownerId, null, { status: 'active', ends_at: null })
    expect(await ask(owner, { ...bad, accept_terms: false })).toMatchObject({
      status: 422,
      body: { code: 'moderation_rejected', errors: [{ pointer: '/brief_parsed/exclusions/0' }] },
    })
    for (const body of [bare, { ...bare, accept_terms: false }]) {
      expect(await ask(owner, body)).toMatchObject({
        status: 400,
        body: { code: 'terms_not_accepted', errors: [{ pointer: '/accept_terms' }] },
      })
    }
    const good = { ...bare, accept_terms: true }
    expect(await ask(owner, good)).toMatchObject({ status: 409, body: { code: 'no_lead_sources' } })
    control.deps.leads = leads!
    expect(await ask(owner, good)).toMatchObject({ status: 402, body: { code: 'insufficient_balance' } })
    // Nothing of it was kept, the acceptance neither.
    expect(await control.deps.sql`select 1 from lead_terms where owner_id = ${owner.ownerId}`).toHaveLength(0)
    expect(await control.deps.sql`select 1 from lead_jobs where owner_id = ${owner.ownerId}`).toHaveLength(0)
  })

  test('holds the estimate; rejects a second search; asks for terms once; limits searches per day', async () => {
    const owner = await createTenant(control, { money: '10' })
    const { status, body } = await ask(owner, wish({ target_leads: 4 }))
    expect(status).toBe(201)
    expect(body).toMatchObject({
      status: 'queued',
      progress: { found: 0, enriched: 0, rejected: 0, target: 4 },
      estimate: { leads: 4, total: { amount: '10.0000' } },
      cost: { amount: '0.0000' },
      sources: ['web'],
    })
    expect(await moneyOf(owner)).toEqual(['0.0000', '10.0000'])
    const [accepted] = await control.deps.sql`select * from lead_terms where owner_id = ${owner.ownerId}`
    expect(accepted).toMatchObject({ version: TERMS_VERSION, key_id: expect.any(String), session_id: null })
    const { accept_terms: _, ...again } = wish({ target_leads: 4 })
    expect(await ask(owner, again)).toMatchObject({ status: 409, body: { code: 'lead_search_active' } })
    expect((await cancel(owner, body.id)).body).toMatchObject({ status: 'canceled', end_reason: 'canceled' })
    expect(await moneyOf(owner)).toEqual(['10.0000', '0.0000'])
    await audit(control, { owner_id: owner.ownerId, job_id: body.id })
    for (let n = 0; n < 2; n++) await cancel(owner, (await ask(owner, again)).body.id)
    const limited = await ask(owner, again)
    expect(limited).toMatchObject({ status: 429, body: { code: 'lead_search_limit' } })
    const left = Number(limited.headers['retry-after'])
    const now = control.deps.clock.wall() / 1000
    expect((now + left) % 86_400).toBeLessThan(5)
    expect(left).toBeLessThanOrEqual(86_400)
    control.deps.clock.advance(left * 1000)
    expect((await ask(owner, again)).status).toBe(201)
  })

  test('is created once per Idempotency-Key', async () => {
    const owner = await createTenant(control, { money: '100' })
    const key = { 'idempotency-key': 'a search' }
    const [one, two] = [
      await owner.call('POST', '/lead-search', wish(), key),
      await owner.call('POST', '/lead-search', wish(), key),
    ]
    expect([one.status, two.status, two.body]).toEqual([201, 201, one.body])
  })

  test('creates one search and one hold for twenty concurrent requests', async () => {
    const owner = await createTenant(control, { money: '1000' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(owner, wish({ target_leads: 10 }))))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array(19).fill(409)])
    expect(new Set(answers.flatMap(({ body }) => body.code ?? []))).toEqual(new Set(['lead_search_active']))
    expect(await moneyOf(owner)).toEqual(['975.0000', '25.0000'])
    expect((await owner.call('GET', '/lead-search')).body.total).toBe(1)
    await audit(control, { owner_id: owner.ownerId, job_id: answers.find(({ status }) => status === 201)!.body.id })
    // A search is no call: those are counted by themselves.
    const [balance] = await control.deps.sql`select open_holds from balances where owner_id = ${owner.ownerId}`
    expect(balance).toEqual({ open_holds: 0 })
  })

  test('keeps the ledger consistent with immediate cancels', async () => {
    await control.deps.sql`delete from lead_terms`
    const owner = await createTenant(control, { money: '1000' })
    const made: string[] = []
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { status, body } = await ask(owner, wish())
        if (status !== 201) return
        made.push(body.id)
        await Promise.all([cancel(owner, body.id), cancel(owner, body.id)])
      }),
    )
    expect(made.length).toBeGreaterThan(0)
    for (const job_id of made) {
      expect((await jobOf(owner, { job_id })).status).toBe('canceled')
      await audit(control, { owner_id: owner.ownerId, job_id })
    }
    expect(await moneyOf(owner)).toEqual(['1000.0000', '0.0000'])
  })
})

test('lists the latest 50 in pages', async () => {
  const owner = await createTenant(control, { money: '100' })
  await start(owner)
  await control.deps.sql`
    insert into lead_jobs (id, owner_id, status, end_reason, brief_raw, brief, sources, price, target, created_at, ended_at)
    select gen_random_uuid(), owner_id, 'completed', 'exhausted', 'x', brief, sources, 0, 1, now() - n * interval '1 day', now()
    from lead_jobs, generate_series(1, 60) n where owner_id = ${owner.ownerId}`
  const page = async (query: string) => (await owner.call('GET', `/lead-search${query}`)).body
  const all = await page('?limit=200')
  expect([all.total, all.items.length, all.limit]).toEqual([50, 50, 200])
  const ids = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id)
  expect([...ids(await page('?limit=30')), ...ids(await page('?limit=30&offset=30'))]).toEqual(ids(all))
  expect((await page('?offset=50')).items).toEqual([])
})

test('serves the terms, whose text is their version', async () => {
  const answer = await request(control.app, { method: 'GET', url: TERMS_PATH })
  const text = readFileSync(TERMS_FILE, 'utf8')
  expect([answer.status, answer.body]).toEqual([200, text])
  expect(text).toContain(`Version ${TERMS_VERSION}`)
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  expect([TERMS_VERSION, hash], 'the words have changed: raise TERMS_VERSION').toEqual([
    '2026-11-22',
    'f6f3cb2aba550fce',
  ])
})
