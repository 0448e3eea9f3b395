/**
 * A process that searches, for tests that kill it: it hangs at a given step and reports it, or kills itself at a given
 * time.
 */

import type { Deps } from '../../../control/deps.ts'
import { createSearcher } from '../../../control/outreach/leads/job.ts'
import { connect } from '../../../control/platform/db/connect.ts'
import { createBoss, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { candidates, fakeEnricher, fakeLeads, fakeSource } from '../../fakes/leads.ts'
import { quietLog } from '../../support/world.ts'
import { onlySearches } from './rig.ts'

/** `…ing`: all is written and nothing is committed; otherwise right behind the commit. */
export type Instant = 'finding' | 'found' | 'storing' | 'stored' | 'ending' | 'ended'

export interface SearchProcess {
  databaseUrl: string
  /** Companies of the source. */
  companies: number
  /** Number of candidates that are enriched; the next ones hang. */
  done: number
  kill?: Instant
}

const { databaseUrl, companies, done, kill } = JSON.parse(process.argv[2]!) as SearchProcess
const boss = createBoss({ url: databaseUrl, max: 2, log: quietLog, supervise: false })
await boss.start()
const plain = connect({ url: databaseUrl, max: 8 })
type Sql = typeof plain

/** Steps that the latest search has reached, as this transaction sees it. */
async function reached(db: Pick<Sql, 'unsafe'>): Promise<readonly string[]> {
  const [row] = await db.unsafe('select found, enriched, ended_at from lead_jobs order by created_at desc limit 1')
  return [
    ...(row!['found'] > 0 ? ['find'] : []),
    ...(row!['enriched'] > 0 ? ['stor'] : []),
    ...(row!['ended_at'] !== null ? ['end'] : []),
  ]
}
const OF_INSTANT: Record<Instant, { step: string; committed: boolean }> = {
  finding: { step: 'find', committed: false },
  found: { step: 'find', committed: true },
  storing: { step: 'stor', committed: false },
  stored: { step: 'stor', committed: true },
  ending: { step: 'end', committed: false },
  ended: { step: 'end', committed: true },
}
async function dieIfThere(db: Pick<Sql, 'unsafe'>, committed: boolean): Promise<void> {
  if (!kill || OF_INSTANT[kill].committed !== committed) return
  if ((await reached(db)).includes(OF_INSTANT[kill].step)) process.kill(process.pid, 'SIGKILL')
}
const begin = async (work: (tx: Parameters<Parameters<Sql['begin']>[1]>[0]) => unknown) => {
  const result = await plain.begin(async tx => {
    const made = await work(tx)
    await dieIfThere(tx, false)
    return made
  })
  await dieIfThere(plain, true)
  return result
}
const sql = new Proxy(plain, { get: (target, name) => (name === 'begin' ? begin : Reflect.get(target, name)) })

let looked = 0
const enricher = fakeEnricher(async (_, signal) => {
  if (looked++ < done) return {}
  // With what came before in the database, and as much under way as there can be.
  const count = async () => (await sql`select enriched from lead_jobs order by created_at desc limit 1`)[0]!['enriched']
  while ((await count()) < done) await new Promise(resolve => setTimeout(resolve, 10))
  if (looked >= done + 6) process.stdout.write('hangs\n')
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
})
const leads = fakeLeads({ sources: [fakeSource(candidates(companies))], enricher })
const deps = { sql, boss, clock: systemClock, log: quietLog, leads } as unknown as Deps
const searcher = createSearcher(deps)
await startWorkers(
  deps,
  onlySearches(job => searcher.run(job)),
)
