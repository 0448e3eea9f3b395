/** A process that searches, for tests that kill it: it says on standard output how far it is, and then hangs there. */
import { connect } from '../../../control/db/connect.ts'
import type { Deps } from '../../../control/deps.ts'
import { createBoss, startWorkers } from '../../../control/jobs.ts'
import { createSearcher } from '../../../control/leads/job.ts'
import { systemClock } from '../../../infra/clock.ts'
import { candidates, fakeEnricher, fakeLeads, fakeSource } from '../../fakes/leads.ts'
import { quietLog } from '../../support/world.ts'
import { onlySearches } from './rig.ts'

export interface SearchProcess {
  databaseUrl: string
  /** Companies of the source. */
  companies: number
  /** So many are looked at; the next ones hang. */
  done: number
}

const { databaseUrl, companies, done } = JSON.parse(process.argv[2]!) as SearchProcess
const boss = createBoss({ url: databaseUrl, max: 2, log: quietLog, supervise: false })
await boss.start()
const sql = connect({ url: databaseUrl, max: 8 })
let looked = 0
const enricher = fakeEnricher(async () => {
  if (looked++ < done) return {}
  // With what came before in the database, and as much under way as there can be.
  const count = async () => (await sql`select 1 from leads where status = 'enriched'`).length
  while ((await count()) < done) await new Promise(resolve => setTimeout(resolve, 10))
  if (looked >= done + 6) process.stdout.write('hangs\n')
  return new Promise(() => {})
})
const leads = fakeLeads({ sources: [fakeSource(candidates(companies))], enricher })
const deps = { sql, boss, clock: systemClock, log: quietLog, leads } as unknown as Deps
const searcher = createSearcher(deps)
await startWorkers(
  deps,
  onlySearches(job => searcher.run(job)),
)
