/** The search job: its results, its outcomes, its cost, and that a kill at any point changes none of them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eraseAccount } from '../../../control/data/accounts/operator.ts'
import { type Enricher, LeadSourceError } from '../../../control/outreach/leads/vocabulary/types.ts'
import { installQueues, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { brokenSource, candidate, candidates, enriched, fakeEnricher, fakeSource, phoneOf } from '../../fakes/leads.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'
import { audit, jobOf, leadsOf, moneyOf, onlySearches, searcher, start } from './rig.ts'

let control: TestControl
let owner: Tenant
const closers: (() => unknown)[] = []
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '0', lead_price: '10.0000', lead_searches_per_day: 100 } })
  await installQueues(control.deps.boss)
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
afterAll(() => control?.close())

async function newOwner(money = '100'): Promise<Tenant> {
  owner = await createTenant(control, { money })
  await owner.call('POST', '/webhooks', { url: 'https://example.com/hook', events: ['lead.created'] })
  return owner
}

/** A promise, and what settles it. */
function gate(): { open(): void; opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>(resolve => (open = resolve))
  return { open, opened }
}
const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('a search', () => {
  test('reads sources in turn, stops at the target, and charges the found leads', async () => {
    await newOwner()
    const job = await start(owner, { target_leads: 5 })
    const sources = [
      fakeSource(candidates(20), { id: 'web' }),
      fakeSource(
        candidates(20).map((_, n) => candidate(100 + n)),
        { id: 'openstreetmap' },
      ),
    ]
    await control.deps.sql`update lead_jobs set sources = '{web,openstreetmap}' where id = ${job.job_id}`
    await searcher(control, { sources }).run(job)
    const body = await jobOf(owner, job)
    expect(body).toMatchObject({
      status: 'completed',
      end_reason: 'target_reached',
      error: null,
      problems: [],
      progress: { enriched: 5, rejected: 0, target: 5 },
      cost: { amount: '50.0000' },
    })
    expect(await moneyOf(owner)).toEqual(['50.0000', '0.0000'])
    const { items } = await leadsOf(owner, job, '?status=enriched')
    expect(new Set(items.map((lead: { source: string }) => lead.source))).toEqual(new Set(['web', 'openstreetmap']))
    expect(items[0]).toMatchObject({ score: 70, attribution: expect.any(String), licence: 'ODbL-1.0', rejection: null })
    // Those that were on their way are not given away.
    const { items: others } = await leadsOf(owner, job, '?status=found')
    for (const lead of others) expect(lead).toMatchObject({ phone: null, phones: [], email: null, score: null })
    expect(body.progress.found).toBe(5 + others.length)
    const { told } = await audit(control, job)
    expect(told).toHaveLength(5)
    expect(told[0]).toMatchObject({ job_id: job.job_id, phone: expect.stringMatching(/^\+1510/), score: 70 })
  })

  test('releases the rest of the hold when it finds less', async () => {
    await newOwner()
    const job = await start(owner, { target_leads: 10 })
    await searcher(control, { sources: [fakeSource(candidates(3))] }).run(job)
    expect(await jobOf(owner, job)).toMatchObject({ status: 'completed', end_reason: 'exhausted' })
    expect(await moneyOf(owner)).toEqual(['70.0000', '0.0000'])
    // A job that is delivered twice finds nothing to do.
    await searcher(control, { sources: [fakeSource(candidates(9))] }).run(job)
    expect((await audit(control, job)).enriched).toBe(3)
    const [left, held] = (await owner.call('GET', '/balance/entries')).body.items
    expect(left).toMatchObject({ description: 'Hold released after a lead search', job_id: job.job_id, call_id: null })
    expect(held).toMatchObject({ description: 'Hold for a lead search', job_id: job.job_id })
  })

  test('creates contacts for leads with a phone, once', async () => {
    await newOwner()
    const [known] = await control.deps.sql<{ id: string }[]>`
      insert into contacts (id, owner_id, phone, name, created_at)
      values (gen_random_uuid(), ${owner.ownerId}, ${phoneOf(1)}, 'Anna', now()) returning id`
    const job = await start(owner, { target_leads: 3 })
    const found = [candidate(0), candidate(1), candidate(2, { phones: [] })]
    await searcher(control, { sources: [fakeSource(found)] }).run(job)
    const { items } = await leadsOf(owner, job)
    const of = (n: number) => items.find((lead: { company: string }) => lead.company === `Clinic ${n}`)
    expect(of(1).contact_id).toBe(known!.id)
    expect(of(2)).toMatchObject({ contact_id: null, phone: null, status: 'enriched' })
    expect((await owner.call('GET', `/contacts/${known!.id}`)).body).toMatchObject({ name: 'Anna', channel: 'phone' })
    const { body } = await owner.call('GET', '/contacts?channel=lead&lead=new')
    expect(body.items).toMatchObject([{ id: of(0).contact_id, name: 'Clinic 0', phone: phoneOf(0) }])
    const { told } = await audit(control, job)
    expect(told.map(one => one.phone).sort()).toEqual([phoneOf(0), phoneOf(1), null].sort())
  })

  test('merges a company from several sources, and skips do-not-call phones', async () => {
    await newOwner()
    await owner.call('POST', '/do-not-call', { phone: phoneOf(7) })
    const job = await start(owner, { target_leads: 10 })
    const same = candidate(50, { phones: [phoneOf(0)], website: null, address: null })
    const other = candidate(51, { website: 'https://www.clinic-0.example/contacts', address: null })
    // Another number of a listed company, from another source.
    const unwanted = candidate(7)
    const again = candidate(8, { website: unwanted.website, address: null })
    // Candidates are enriched concurrently: these wait for the one that they resemble.
    const first: Record<string, string> = { 'Clinic 50': 'Clinic 0', 'Clinic 51': 'Clinic 0', 'Clinic 8': 'Clinic 7' }
    const isDone = async (company: string) =>
      (await leadsOf(owner, job)).items.some(
        (lead: { company: string; status: string }) => lead.company === company && lead.status !== 'found',
      )
    const rejecting = fakeEnricher(async ({ company }) => {
      if (first[company]) await until(() => isDone(first[company]!), 'the first of two')
      return company === 'Clinic 3' ? { rejected: { code: 'excluded' as const, text: 'A chain' } } : {}
    })
    const found = [candidate(0), same, other, unwanted, again, candidate(3), candidate(4)]
    await searcher(control, { sources: [fakeSource(found)], enricher: rejecting }).run(job)
    const { items } = await leadsOf(owner, job)
    const codes = Object.fromEntries(
      items.map((lead: { company: string; rejection: { code: string } | null }) => [
        lead.company,
        lead.rejection?.code ?? null,
      ]),
    )
    expect(codes).toEqual({
      'Clinic 0': null,
      'Clinic 50': 'duplicate',
      'Clinic 51': 'duplicate',
      'Clinic 7': 'do_not_call',
      'Clinic 8': 'duplicate',
      'Clinic 3': 'excluded',
      'Clinic 4': null,
    })
    expect((await audit(control, job)).enriched).toBe(2)
    expect((await jobOf(owner, job)).progress).toMatchObject({ found: 7, enriched: 2, rejected: 5 })
  })

  test('continues when a source fails, and reports it; fails when all do, and charges what it got', async () => {
    await newOwner()
    const one = await start(owner, { target_leads: 5 })
    await control.deps.sql`update lead_jobs set sources = '{web,openstreetmap}' where id = ${one.job_id}`
    const sources = [brokenSource('openstreetmap', 'overloaded'), fakeSource(candidates(2))]
    await searcher(control, { sources }).run(one)
    expect(await jobOf(owner, one)).toMatchObject({
      status: 'completed',
      end_reason: 'exhausted',
      error: null,
      problems: [{ source: 'openstreetmap', code: 'overloaded', message: 'openstreetmap is away.' }],
    })
    const two = await start(owner, { target_leads: 5 })
    const others = candidates(9).map((_, n) => candidate(n + 100))
    const breaking = fakeSource(others, {
      before: n => {
        if (n === 2) throw new LeadSourceError('unreachable', 'The web is away.')
      },
    })
    await searcher(control, { sources: [breaking] }).run(two)
    expect(await jobOf(owner, two)).toMatchObject({
      status: 'failed',
      end_reason: 'failed',
      error: { code: 'unreachable', message: 'The web is away.' },
      progress: { enriched: 2 },
      cost: { amount: '20.0000' },
    })
    expect(await moneyOf(owner)).toEqual(['60.0000', '0.0000'])
    for (const job of [one, two]) await audit(control, job)
  })

  test('is retried after internal errors, and fails in the end', async () => {
    await newOwner()
    const job = await start(owner, { target_leads: 5 })
    let trouble = true
    const enricher = fakeEnricher(one => {
      if (trouble && one.company === 'Clinic 2') throw new Error('a bug')
      return {}
    })
    const parts = { sources: [fakeSource(candidates(4))], enricher }
    await expect(searcher(control, parts).run(job)).rejects.toThrow('a bug')
    expect(await jobOf(owner, job)).toMatchObject({ status: 'running', end_reason: null })
    await control.deps.sql`update lead_jobs set tries = 11 where id = ${job.job_id}`
    await searcher(control, parts).run(job)
    expect(await jobOf(owner, job)).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    await audit(control, job)
    trouble = false
    // Killed each time, it never comes as far as to say what is wrong.
    const deadly = await start(owner, { target_leads: 1 })
    await control.deps.sql`update lead_jobs set tries = 12 where id = ${deadly.job_id}`
    await searcher(control, parts).run(deadly)
    expect(await jobOf(owner, deadly)).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect((await audit(control, deadly)).enriched).toBe(0)
  })

  test('is limited to two hours in all runs', async () => {
    await newOwner()
    const job = await start(owner, { target_leads: 5 })
    await control.deps.sql`
      update lead_jobs set started_at = now() - interval '2 hours' + interval '1 second' where id = ${job.job_id}`
    const source = fakeSource(candidates(9), { before: (n, signal) => (n < 2 ? null : hang(signal)) })
    await searcher(control, { sources: [source] }).run(job)
    expect(await jobOf(owner, job)).toMatchObject({ status: 'completed', end_reason: 'time_limit' })
    expect((await audit(control, job)).enriched).toBe(2)
  })
})

describe('a search under way', () => {
  /** Two leads are stored, and the third hangs. */
  async function underWay(target = 5) {
    const job = await start(owner, { target_leads: target })
    const there = gate()
    const source = fakeSource(candidates(9), {
      async before(n, signal) {
        if (n < 2) return
        await until(async () => (await jobOf(owner, job)).progress.enriched === 2, 'two leads')
        there.open()
        await hang(signal)
      },
    })
    const search = searcher(control, { sources: [source] })
    const run = search.run(job)
    await Promise.race([there.opened, run])
    return { job, search, run }
  }

  test('keeps and charges found leads when canceled', async () => {
    await newOwner()
    const { job, run } = await underWay()
    const canceled = await owner.call('POST', `/lead-search/${job.job_id}/cancel`)
    expect(canceled).toMatchObject({ status: 200, body: { status: 'canceling', end_reason: null } })
    expect((await owner.call('POST', `/lead-search/${job.job_id}/cancel`)).body.status).toMatch(/^cancel/)
    await run
    expect(await jobOf(owner, job)).toMatchObject({ status: 'canceled', end_reason: 'canceled' })
    expect((await owner.call('POST', `/lead-search/${job.job_id}/cancel`)).body.status).toBe('canceled')
    expect(await moneyOf(owner)).toEqual(['80.0000', '0.0000'])
    expect((await audit(control, job)).enriched).toBe(2)
    const over = await start(owner, { target_leads: 1 })
    await searcher(control).run(over)
    const late = await owner.call('POST', `/lead-search/${over.job_id}/cancel`)
    expect(late).toMatchObject({ status: 409, body: { code: 'invalid_transition' } })
  })

  test('ends at its next run when it was canceled between runs', async () => {
    await newOwner()
    const { job, search, run } = await underWay()
    search.stop()
    await expect(run).rejects.toThrow('the process is shutting down')
    await owner.call('POST', `/lead-search/${job.job_id}/cancel`)
    await searcher(control, { sources: [fakeSource(candidates(9))] }).run(job)
    expect(await jobOf(owner, job)).toMatchObject({ status: 'canceled', progress: { enriched: 2 } })
    await audit(control, job)
  })

  test('resumes after a shutdown without duplicate leads', async () => {
    await newOwner()
    const { job, search, run } = await underWay()
    search.stop()
    await expect(run).rejects.toThrow('the process is shutting down')
    await expect(search.run(job)).rejects.toThrow('the process is shutting down')
    const [row] = await control.deps.sql`select status, tries from lead_jobs where id = ${job.job_id}`
    expect(row).toEqual({ status: 'running', tries: 0 })
    const looked: string[] = []
    const enricher = fakeEnricher(one => {
      looked.push(one.company)
      return {}
    })
    await searcher(control, { sources: [fakeSource(candidates(4))], enricher }).run(job)
    expect(looked.sort()).toEqual(['Clinic 2', 'Clinic 3'])
    expect(await jobOf(owner, job)).toMatchObject({ status: 'completed', progress: { found: 4, enriched: 4 } })
    await audit(control, job)
  })

  test('of a newcomer is not behind twenty owners whose sites never answer', async () => {
    const heavy = await Promise.all(Array.from({ length: 20 }, () => createTenant(control, { money: '100' })))
    const theirs = new Set(heavy.map(({ ownerId }) => ownerId))
    const visits = new Map<string, number>()
    const enricher: Enricher = {
      async enrich(one, { ownerId }, _, signal) {
        visits.set(ownerId, (visits.get(ownerId) ?? 0) + 1)
        if (!theirs.has(ownerId)) return enriched(one)
        // A site may take half a minute.
        await Promise.race([hang(signal), new Promise(resolve => setTimeout(resolve, 2000))])
        return enriched(one, { phones: [], emails: [] })
      },
    }
    const search = searcher(control, { sources: [fakeSource(candidates(40))], enricher })
    for (const tenant of heavy) await start(tenant)
    const workers = await startWorkers(
      control.deps,
      onlySearches(job => search.run(job)),
    )
    closers.push(async () => {
      search.stop()
      await workers.stop()
      await control.deps.sql`delete from parley_jobs.job`
    })
    await until(() => visits.size >= 16, 'the searches to begin', 60_000)
    const newcomer = await newOwner()
    const startMs = performance.now()
    const job = await start(newcomer, { target_leads: 1 })
    await until(async () => (await jobOf(newcomer, job)).status === 'completed', 'the newcomer', 60_000)
    expect(performance.now() - startMs).toBeLessThan(15_000)
  }, 180_000)

  test('writes nothing after losing its claim', async () => {
    await newOwner()
    const job = await start(owner, { target_leads: 5 })
    const [arrived, wake] = [gate(), gate()]
    const sttUnavailable = fakeEnricher(async () => {
      arrived.open()
      await wake.opened // without speech-to-text to its signal, as a process is that was stopped and wakes up
      return { company: 'Of the zombie' }
    })
    const zombie = searcher(control, { sources: [fakeSource(candidates(2))], enricher: sttUnavailable }).run(job)
    await arrived.opened
    await searcher(control, { sources: [fakeSource(candidates(2))] }).run(job)
    wake.open()
    await zombie
    const { items } = await leadsOf(owner, job)
    expect(items.map((lead: { company: string }) => lead.company).sort()).toEqual(['Clinic 0', 'Clinic 1'])
    expect((await audit(control, job)).enriched).toBe(2)
  })

  test('ends with its account, and is charged', async () => {
    await newOwner()
    const { job, run } = await underWay()
    const { balance } = await eraseAccount(control.deps, owner.ownerId)
    await run
    expect(balance).toBe(800_000n)
    const { sql } = control.deps
    for (const table of ['lead_jobs', 'leads', 'lead_terms']) {
      expect(await sql`select 1 from ${sql(table)} where owner_id = ${owner.ownerId}`).toHaveLength(0)
    }
    const [left] = await sql`select held from balances where owner_id = ${owner.ownerId}`
    expect([left, (await sql`select captured from holds where job_id = ${job.job_id}`)[0]]).toEqual([
      { held: 0n },
      { captured: 200_000n },
    ])
  })
})
