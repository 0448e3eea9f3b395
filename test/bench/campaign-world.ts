/** Control with accounts that place calls, and campaigns inserted as if uploaded. */
import { createAccount, topUp } from '../../control/access/accounts/service.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import type { Deps } from '../../control/deps.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createTrunk } from '../../control/telephony/trunks/service.ts'
import { fillCalls } from '../support/calls.ts'
import { type ControlWorld, openControlWorld } from './control-world.ts'

export { SECRET } from './control-world.ts'

const PAST = 20_000

export async function openCampaignWorld(
  report: (text: string) => void,
  config: Partial<Deps['config']> = {},
): Promise<ControlWorld> {
  const world = await openControlWorld(report, config)
  await fillPast(world.deps)
  return world
}

/**
 * Inserts call history: on empty tables Postgres plans sequential scans, until autovacuum analyses them within a
 * minute.
 */
async function fillPast(deps: Deps): Promise<void> {
  const past = await createAccount(deps, { name: 'Past' })
  await deps.sql`
    insert into contacts (id, owner_id, phone, search, created_at)
    select gen_random_uuid(), ${past.id}, '+1' || (2130000000 + n), '+1' || (2130000000 + n), now()
    from generate_series(1, ${PAST}::int) n`
  await fillCalls(deps.sql, past.id, past.project_id, { rows: PAST })
  await deps.sql`analyze`
}

export interface CampaignWish {
  /** Makes owners and numbers distinct. */
  index: number
  contacts: number
  concurrency: number
  status: 'draft' | 'running'
  /** Top-up of the owner. */
  money?: string
  max_cps?: number
  max_calls?: number
}

/** Creates an owner with a campaign; returns the id of its trunk. */
export async function fillCampaign(
  deps: Deps,
  { index, contacts, concurrency, status, money = '100000', max_cps, max_calls }: CampaignWish,
): Promise<string> {
  const { sql } = deps
  const { id: owner } = await createAccount(deps, { name: `Owner ${index}` })
  await topUp(deps, owner, money)
  const project = await createProject(deps, owner, { name: 'Agent', language: 'en', prompt: 'You call {{name}}.' })
  const number = `+1${2_020_000_000 + index}`
  const limits = { ...(max_cps ? { max_cps } : {}), ...(max_calls ? { max_calls } : {}) }
  const trunk = await createTrunk(deps, owner, {
    name: 'T',
    mode: 'ip',
    host: '127.0.0.1',
    numbers: [number],
    ...limits,
  })
  await bindNumber(deps, owner, project.id, { number, direction: 'out' })
  const [campaign] = await sql<{ id: string }[]>`
    insert into campaigns (id, owner_id, project_id, name, task, status, timezone, window_start, window_end, concurrency,
      retries, retry_interval_min, resume_on_top_up, consent, created_at, updated_at)
    values (gen_random_uuid(), ${owner}, ${project.id}, 'Bench', 'Say hello.', 'draft', 'UTC', '00:00', '00:00',
      ${concurrency}, 2, 30, false, '{}', now(), now()) returning id`
  const { id } = campaign!
  await sql`
    insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, name, next_attempt_at, created_at)
    select gen_random_uuid(), ${id}, ${owner}, n, '+1' || (2120000000 + n), 'Somebody', now(), now()
    from generate_series(1, ${contacts}::int) n`
  await sql`
    insert into campaign_counters (campaign_id, owner_id, total, pending) values (${id}, ${owner}, ${contacts}, ${contacts})`
  await sql`update campaigns set status = ${status} where id = ${id}`
  return trunk.id
}

/** Starts all draft campaigns. */
export async function startCampaigns({ sql }: Pick<Deps, 'sql'>): Promise<void> {
  await sql`analyze`
  await sql`update campaigns set status = 'running', consent = '{}', updated_at = now()`
}
