/**
 * Runs a lead search: queries its sources in parallel, then enriches and stores each company. A run may be killed at
 * any point; the next one queries the sources again and skips what is stored. Each run has a number and writes only
 * while it is the latest.
 */
import PQueue from 'p-queue'
import { wallDate } from '../../platform/deps.ts'
import { every } from '../../platform/jobs/every.ts'
import { FairTurns, OwnerUsage } from '../../platform/jobs/fair-turns.ts'
import { errorFields } from '../../platform/log.ts'
import { homeRegionOf } from '../../telephony/trunks/home.ts'
import { CANCELED, type End, endJob } from './end.ts'
import { knownAs, selectKnown } from './leads-sql.ts'
import { mergeFairly } from './merge-fairly.ts'
import { type LeadDeps, leadParts } from './parts.ts'
import { claimJob, type JobRow, type SourceProblem, selectClaimed, updateClaimed } from './sql.ts'
import { addFound, storeLead } from './store.ts'
import { type Candidate, type LeadQuestion, type LeadSource, LeadSourceError } from './vocabulary/types.ts'

/** Milliseconds from the start of the first run. */
const LONGEST_MS = 2 * 3600 * 1000
/** With pauses of up to five minutes, this covers half an hour of trouble on our side. */
const MOST_TRIES = 12
/** Companies that are enriched concurrently: six sites, one request each. */
const AT_ONCE = 6
/** Sites that this process visits at the same time, for all owners: those who visit fewest come first. */
const VISITS_AT_ONCE = 48
/** Milliseconds after which a run notices that it was canceled, or that its account is gone. */
const WATCH_MS = 1000

/** Reasons to end a run before its sources are exhausted. */
class Superseded extends Error {}
class Canceled extends Error {}
class TimeUp extends Error {}
class Enough extends Error {}
class Stopping extends Error {
  override readonly message = 'the process is shutting down'
}

/** A run takes turns at visits with those of other owners. */
interface SearchDeps extends LeadDeps {
  visits: FairTurns
}

export interface Searcher {
  /** Throws when a retry makes sense; everything else is saved in the row. */
  run(job: { owner_id: string; job_id: string }): Promise<void>
  /** Ends the current runs because the process shuts down. They continue elsewhere or later. */
  stop(): void
}

export function createSearcher(deps: LeadDeps): Searcher {
  const running = new Set<AbortController>()
  const { clock } = deps
  const visits = new FairTurns({ atOnce: VISITS_AT_ONCE, usage: new OwnerUsage(clock), clock })
  let stopped = false
  return {
    async run({ owner_id, job_id }) {
      if (stopped) throw new Stopping()
      const ending = new AbortController()
      running.add(ending)
      try {
        const job = await claimJob(deps.sql, owner_id, job_id, wallDate(deps))
        if (job) await runClaimed({ ...deps, visits }, job, ending)
      } finally {
        running.delete(ending)
      }
    },
    stop() {
      stopped = true
      for (const ending of running) ending.abort(new Stopping())
    },
  }
}

async function runClaimed(deps: SearchDeps, job: JobRow, ending: AbortController): Promise<void> {
  const watch = every(deps, WATCH_MS, 'lead search', () => watchClaim(deps, job, ending))
  const left = job.started_at!.getTime() + LONGEST_MS - deps.clock.wall()
  const cancel = deps.clock.after(Math.max(0, left), () => ending.abort(new TimeUp()))
  let end: End
  try {
    if (job.tries > MOST_TRIES) throw new Error('every previous run was killed')
    end = await search(deps, job, ending.signal)
  } catch (error) {
    const after = await endAfter(deps, job, ending.signal.aborted ? ending.signal.reason : error)
    if (!after) return
    end = after
  } finally {
    cancel()
    await watch.stop()
  }
  await finish(deps, job, end)
}

/** While the database is unreachable, nothing is written either. */
async function watchClaim(deps: LeadDeps, job: JobRow, ending: AbortController): Promise<void> {
  const now = await selectClaimed(deps.sql, job).catch(() => job)
  if (!now) ending.abort(new Superseded())
  else if (now.status === 'canceling') ending.abort(new Canceled())
}

/** Null when nothing is left to write. Throws when a retry makes sense. */
async function endAfter(deps: LeadDeps, job: JobRow, error: unknown): Promise<End | null> {
  if (error instanceof Superseded) return null
  if (error instanceof Canceled) return CANCELED
  if (error instanceof TimeUp) return { status: 'completed', end_reason: 'time_limit' }
  if (error instanceof Stopping) {
    await updateClaimed(deps.sql, job, { tries: job.tries - 1 })
    throw error
  }
  if (job.tries < MOST_TRIES) throw error
  deps.log.error({ error: errorFields(error), job_id: job.id }, 'lead search failed permanently')
  return failed('internal', 'The search failed repeatedly because of an internal error.')
}

const failed = (error_code: string, error_message: string): End => ({
  status: 'failed',
  end_reason: 'failed',
  error_code,
  error_message,
})

async function finish(deps: LeadDeps, claim: JobRow, end: End): Promise<void> {
  await deps.sql.begin(async tx => {
    const job = await selectClaimed(tx, claim, true)
    // A cancel that arrives with the last lead still counts.
    if (job) await endJob(deps, tx, job, job.status === 'canceling' ? CANCELED : end)
  })
}

// ---- Searching ----

async function search(deps: SearchDeps, job: JobRow, signal: AbortSignal): Promise<End> {
  if (job.status === 'canceling') throw new Canceled()
  const sources = leadParts(deps).sources.filter(({ id }) => job.sources.includes(id))
  const problems = new Map<string, SourceProblem>()
  if (job.enriched < job.target) await ask(deps, job, sources, problems, signal)
  const reported = [...problems.values()]
  await updateClaimed(deps.sql, job, { problems: reported })
  const now = await selectClaimed(deps.sql, job)
  if (now && now.enriched >= now.target) return { status: 'completed', end_reason: 'target_reached' }
  if (problems.size < sources.length) return { status: 'completed', end_reason: 'exhausted' }
  return failed(
    reported[0]?.code ?? 'no_sources',
    reported.map(({ message }) => message).join(' ') || 'No source is available.',
  )
}

/** Runs until the sources are exhausted, the target is reached, or `signal` aborts. */
async function ask(
  deps: SearchDeps,
  job: JobRow,
  sources: readonly LeadSource[],
  problems: Map<string, SourceProblem>,
  signal: AbortSignal,
): Promise<void> {
  const own = new AbortController()
  const all = AbortSignal.any([signal, own.signal])
  const question: LeadQuestion = {
    ownerId: job.owner_id,
    brief: job.brief,
    region: await homeRegionOf(deps.sql, job.owner_id),
  }
  const known = await selectKnown(deps.sql, job.owner_id, job.id)
  const queue = new PQueue({ concurrency: AT_ONCE })
  const streams = sources.map(source => ({ source, items: source.find(question, all) }))
  const note = (source: LeadSource, error: unknown) => void problems.set(source.id, problemOf(deps, source, error))
  try {
    for await (const { source, item } of mergeFairly(streams, note, all)) {
      const key = knownAs(source.id, item.key)
      const before = known.get(key)
      if (before === null) continue
      const id = before ?? (await addFound(deps, job, source, item))
      if (id === null) throw new Superseded()
      known.set(key, null)
      queue
        .add(() => enrichOne(deps, job, { id, source, item }, question, all))
        .then(
          stored => stored === 'full' && own.abort(new Enough()),
          error => own.abort(error),
        )
      await queue.onSizeLessThan(1)
    }
  } catch (error) {
    own.abort(error)
  } finally {
    await queue.onIdle()
  }
  signal.throwIfAborted()
  if (own.signal.aborted && !(own.signal.reason instanceof Enough)) throw own.signal.reason
}

async function enrichOne(
  deps: SearchDeps,
  job: JobRow,
  { id, source, item }: { id: string; source: LeadSource; item: Candidate },
  question: LeadQuestion,
  signal: AbortSignal,
): Promise<'stored' | 'full'> {
  if (signal.aborted) return 'stored'
  try {
    const { enricher } = leadParts(deps)
    const visit = () => enricher.enrich(item, question, source, signal)
    const enriched = await deps.visits.run({ owner: job.owner_id }, signal, visit)
    if (signal.aborted) return 'stored'
    const stored = await storeLead(deps, job, id, enriched)
    // If the claim is lost, the watch ends the run.
    return stored === 'lost' ? 'stored' : stored
  } catch (error) {
    if (signal.aborted) return 'stored'
    throw error
  }
}

function problemOf(deps: LeadDeps, source: LeadSource, error: unknown): SourceProblem {
  if (error instanceof LeadSourceError) return { source: source.id, code: error.code, message: error.message }
  deps.log.error({ error: errorFields(error), source: source.id }, 'lead source failed')
  return { source: source.id, code: 'internal', message: `${source.name} failed because of an internal error.` }
}
