/**
 * Checks the conditions of a paid search, in the published order: subscription, moderation, terms, daily limit, another
 * active search, sources, money. They are checked first without a lock, so that the error names the first reason, and
 * again under the lock of the owner's balance, so that concurrent starts are counted one after the other.
 */

import { passModeration } from '../../agents/moderation/moderation.ts'
import { lockBalance, openJobHold, toUnits } from '../../billing/money.ts'
import { stoppedProblem } from '../../billing/unusual/service.ts'
import type { Db } from '../../platform/db/connect.ts'
import { type ControlConfig, wallDate } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { standingOf } from '../../telephony/gates/service.ts'
import { type LeadDeps, sourcesFor } from './parts.ts'
import { presentJob } from './present.ts'
import type { SearchInput } from './schema.ts'
import { insertAcceptance, insertJob, type StartFacts, selectStartFacts } from './sql.ts'
import { acceptanceOf, TERMS_PATH, TERMS_VERSION } from './terms.ts'
import type { Brief } from './vocabulary/types.ts'

const DAY_MS = 24 * 3600 * 1000

type Save = (db: Db, answer: unknown) => Promise<void>

export const priceOfLead = ({ lead_price }: Pick<ControlConfig, 'lead_price'>) => toUnits(lead_price)

export async function startSearch(
  deps: LeadDeps,
  { ownerId, caller }: { ownerId: string; caller: Caller },
  input: SearchInput,
  save: Save = async () => {},
) {
  const { brief_raw, brief_parsed: brief } = input
  const accepts = input.accept_terms === true
  const price = priceOfLead(deps.config)
  const amount = price * BigInt(brief.target_leads)
  const at = wallDate(deps)
  const standing = await standingOf(deps, ownerId, 'out')
  if (standing.stopped) throw stoppedProblem()
  if (!standing.subscribed) throw new Problem('subscription_inactive')
  await passModeration(deps, textsOf(input))
  const facts = (db: Db) => selectStartFacts(db, ownerId, { version: TERMS_VERSION, since: startOfDay(at) })
  passFacts(deps.config, await facts(deps.sql), accepts, at)
  const sources = (await sourcesFor(deps, ownerId)).map(source => source.id)
  if (sources.length === 0) throw new Problem('no_lead_sources')
  if (standing.available < amount) throw tooExpensive()
  if (standing.spendable < amount) throw new Problem('daily_limit_reached')
  return withJobs(deps, async tx => {
    await lockBalance(tx, ownerId)
    const now = await facts(tx)
    passFacts(deps.config, now, accepts, at)
    if (!now.accepted) await insertAcceptance(tx, ownerId, acceptanceOf(caller, at))
    const id = uuidv7(at.getTime())
    const target = brief.target_leads
    const job = await insertJob(tx, ownerId, {
      id,
      owner_id: ownerId,
      brief_raw,
      brief,
      sources,
      price,
      target,
      created_at: at,
    })
    if (!(await openJobHold(tx, ownerId, { id, amount }, at))) {
      throw standing.available < amount ? tooExpensive() : new Problem('daily_limit_reached')
    }
    await enqueue(deps, tx, 'leads.search', { owner_id: ownerId, job_id: id })
    const answer = presentJob(deps.config, job)
    await save(tx, answer)
    return answer
  })
}

function passFacts(
  { base_url, lead_searches_per_day: most }: ControlConfig,
  { accepted, started, active }: StartFacts,
  accepts: boolean,
  at: Date,
): void {
  if (!accepted && !accepts) {
    const message = `must be true once; read the terms at ${base_url}${TERMS_PATH}`
    throw new Problem('terms_not_accepted', { errors: [{ pointer: '/accept_terms', code: 'terms', message }] })
  }
  if (started >= most) {
    const detail = `An account may start ${most} searches per day (UTC).`
    const left = startOfDay(at).getTime() + DAY_MS - at.getTime()
    throw new Problem('lead_search_limit', { detail, retryAfterSeconds: Math.ceil(left / 1000) })
  }
  if (active !== null) throw new Problem('lead_search_active', { detail: `The search ${active} has not ended.` })
}

const tooExpensive = () =>
  new Problem('insufficient_balance', {
    detail: 'The balance does not cover the estimate. Request fewer leads, or top up.',
  })

/** UTC, because an account has no time zone of its own. */
const startOfDay = (at: Date) => new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS)

/** Texts for moderation, by JSON Pointer into the body. */
function textsOf({ brief_raw, brief_parsed }: SearchInput): Record<string, string> {
  const { niche, geo, signals, exclusions, queries }: Brief = brief_parsed
  const lists = Object.entries({ signals, exclusions, queries }).flatMap(([name, texts]) =>
    texts.map((text, index) => [`/brief_parsed/${name}/${index}`, text] as const),
  )
  const fields = { '/brief_raw': brief_raw, '/brief_parsed/niche': niche, '/brief_parsed/geo': geo }
  return { ...fields, ...Object.fromEntries(lists) }
}
