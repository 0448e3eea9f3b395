/**
 * A search process is killed with SIGKILL: another one continues, and no lead is lost, or found, reported or paid for
 * twice.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createBoss, installQueues, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { candidates, fakeEnricher, fakeSource } from '../../fakes/leads.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { quietLog, until } from '../../support/world.ts'
import { audit, jobOf, leadsOf, moneyOf, onlySearches, searcher, start, withLeads } from './rig.ts'
import type { Instant, SearchProcess } from './search-process.ts'

let control: TestControl
let owner: Tenant
const closers: (() => unknown)[] = []
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '0', lead_price: '10.0000', lead_searches_per_day: 100 } })
  await installQueues(control.deps.boss)
})
beforeEach(async () => {
  owner = await createTenant(control, { money: '1000' })
  await owner.call('POST', '/webhooks', { url: 'https://example.com/hook', events: ['lead.created'] })
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  const { sql } = control.deps
  // Nothing of one test is there for the process of the next.
  await sql`delete from parley_jobs.job where name = 'leads.search'`
  await sql`delete from lead_identities`
  await sql`delete from leads`
})
afterAll(() => control?.close())

function startProcess(task: Omit<SearchProcess, 'databaseUrl'>): { child: ChildProcess; gone: Promise<unknown> } {
  const given: SearchProcess = { databaseUrl: control.databaseUrl, ...task }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'search-process.ts'), JSON.stringify(given)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  closers.push(() => child.kill('SIGKILL'))
  return { child, gone: new Promise(resolve => child.once('exit', (_, signal) => resolve(signal))) }
}

async function hangs(child: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: child.stdout! })) if (line === 'hangs') return
}

test.each<[Instant, { found: number; enriched: number }, string]>([
  ['finding', { found: 0, enriched: 0 }, 'running'],
  ['found', { found: 1, enriched: 0 }, 'running'],
  ['storing', { found: 1, enriched: 0 }, 'running'],
  ['stored', { found: 1, enriched: 1 }, 'running'],
  ['ending', { found: 4, enriched: 4 }, 'running'],
  ['ended', { found: 4, enriched: 4 }, 'completed'],
])('resumes after a kill when it was %s', async (kill, least, status) => {
  const job = await start(owner, { target_leads: 6 })
  const { gone } = startProcess({ companies: 4, done: 4, kill })
  expect(await gone).toBe('SIGKILL')
  const before = await jobOf(owner, job)
  expect(before.status).toBe(status)
  expect(before.progress.found).toBeGreaterThanOrEqual(least.found)
  expect(before.progress.enriched).toBeGreaterThanOrEqual(least.enriched)
  if (kill.endsWith('ing') && kill !== 'ending') expect(before.progress.enriched).toBe(0)
  await audit(control, job)
  expect(await moneyOf(owner)).toEqual(status === 'completed' ? ['960.0000', '0.0000'] : ['940.0000', '60.0000'])

  // As the job queue gives it to another process, whether it was over or not.
  await searcher(control, { sources: [fakeSource(candidates(4))] }).run(job)
  expect(await jobOf(owner, job)).toMatchObject({
    status: 'completed',
    end_reason: 'exhausted',
    progress: { found: 4, enriched: 4, rejected: 0 },
  })
  expect((await audit(control, job)).told).toHaveLength(4)
  expect(await moneyOf(owner)).toEqual(['960.0000', '0.0000'])
})

test('is canceled after a kill during the cancel', async () => {
  const job = await start(owner, { target_leads: 20 })
  const { child, gone } = startProcess({ companies: 30, done: 3, kill: 'ending' })
  await hangs(child)
  expect((await owner.call('POST', `/lead-search/${job.job_id}/cancel`)).body.status).toBe('canceling')
  expect(await gone).toBe('SIGKILL')
  expect((await jobOf(owner, job)).status).toBe('canceling')
  expect(await moneyOf(owner)).toEqual(['800.0000', '200.0000'])
  await searcher(control, { sources: [fakeSource(candidates(30))] }).run(job)
  expect(await jobOf(owner, job)).toMatchObject({ status: 'canceled', progress: { enriched: 3 } })
  expect((await audit(control, job)).told).toHaveLength(3)
  expect(await moneyOf(owner)).toEqual(['970.0000', '0.0000'])
})

test('is taken over by another process after a kill', async () => {
  const { sql } = control.deps
  const job = await start(owner, { target_leads: 20 })
  const { child, gone } = startProcess({ companies: 30, done: 7 })
  await hangs(child)
  child.kill('SIGKILL')
  await gone
  expect(await jobOf(owner, job)).toMatchObject({ status: 'running', progress: { enriched: 7 } })
  const before = (await leadsOf(owner, job, '?status=enriched')).items

  // Another process takes over when the dead one has been silent for long enough, which is not waited for here.
  const silent = await sql`
    update parley_jobs.job set heartbeat_on = heartbeat_on - interval '11 seconds'
    where name = 'leads.search' and state = 'active' and heartbeat_seconds = 10 returning 1`
  expect(silent).toHaveLength(1)
  const boss = createBoss({ url: control.databaseUrl, max: 3, log: quietLog, supervise: false })
  await boss.start()
  closers.push(() => boss.stop({ graceful: false }))
  await sql`update parley_jobs.queue set monitor_claim_on = null`
  await boss.supervise('leads.search')
  const looked: string[] = []
  const enricher = fakeEnricher(one => {
    looked.push(one.company)
    return {}
  })
  const next = searcher(control, { sources: [fakeSource(candidates(30))], enricher })
  const deps = { ...withLeads(control, {}), boss }
  const workers = await startWorkers(
    deps,
    onlySearches(one => next.run(one)),
  )
  closers.push(async () => {
    next.stop()
    await workers.stop()
  })
  await until(async () => (await jobOf(owner, job)).status === 'completed', 'the search to go on', 30_000)
  expect(await jobOf(owner, job)).toMatchObject({ end_reason: 'target_reached', progress: { enriched: 20 } })
  const after = (await leadsOf(owner, job, '?status=enriched')).items
  expect(after.filter((lead: { id: string }) => before.some((one: { id: string }) => one.id === lead.id))).toEqual(
    before,
  )
  for (const { company } of before) expect(looked).not.toContain(company)
  const { told, enriched } = await audit(control, job)
  expect([told.length, enriched]).toEqual([20, 20])
  expect(await moneyOf(owner)).toEqual(['800.0000', '0.0000'])
}, 180_000)
