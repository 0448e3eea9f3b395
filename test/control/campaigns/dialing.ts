/** Dialling without an engine: the bus records the commands, and tests end the calls. */

import type { Deps } from '../../../control/deps.ts'
import { newPacerState, paceOnce } from '../../../control/outreach/campaigns/pacer.ts'
import { finish } from '../../../control/telephony/calls/finish.ts'
import type { CallRecord, PlaceCommand } from '../../../media/contract/messages.ts'
import type { TestControl } from '../../support/control.ts'
import { record, unanswered } from '../../support/records.ts'

export interface Placed {
  id: string
  phone: string
  at: number
}

/** An engine with so many places, and what it was given. */
export function stubEngine(deps: Deps, { capacity = 10_000, onPlace = (_: PlaceCommand) => {} } = {}) {
  const placed: Placed[] = []
  const stub: Deps = {
    ...deps,
    bus: {
      ...deps.bus,
      engines: async () => [
        { engine: 'stub', boot: '1', at: deps.clock.wall(), calls: 0, capacity, stt_ready: true, rooms: false },
      ],
      async place(command) {
        placed.push({ id: command.plan.call_id, phone: command.plan.to, at: performance.now() })
        onPlace(command)
      },
    },
  }
  return { deps: stub, placed }
}

/** Rounds of one pacer until there is nothing to do at once. */
export async function pace(deps: Deps, state = newPacerState()): Promise<void> {
  while (await paceOnce(deps, state)) {}
}

export interface LiveCall {
  id: string
  to_phone: string
  campaign_id: string
}

export const liveCalls = ({ deps: { sql } }: Pick<TestControl, 'deps'>, ...campaigns: string[]) => sql<LiveCall[]>`
  select id, to_phone, campaign_id from calls where ended_at is null and campaign_id = any(${campaigns}::uuid[])
  order by created_at, id`

/** Ends at the time of the test's clock. */
export const end = (deps: Deps, callId: string, part: Partial<CallRecord> = {}) => {
  const ended_at = deps.clock.wall()
  return finish(
    deps,
    callId,
    part.status === 'completed' ? record({ ended_at, ...part }) : unanswered({ ended_at, ...part }),
  )
}

/** Checks invariants: counters match the rows, no contact has two live attempts, and the money adds up. */
export async function contradictions({ deps: { sql } }: Pick<TestControl, 'deps'>): Promise<string[]> {
  const found: string[] = []
  const counters = await sql<{ campaign_id: string; counted: object; rows: object }[]>`
    select campaign_id, to_jsonb(c) - 'campaign_id' - 'owner_id' as counted, (
      select jsonb_build_object('total', count(*), 'pending', count(*) filter (where status = 'pending'),
        'dialing', count(*) filter (where status = 'dialing'),
        'in_progress', count(*) filter (where status = 'in_progress'),
        'completed', count(*) filter (where status = 'completed'),
        'no_answer', count(*) filter (where status = 'no_answer'), 'busy', count(*) filter (where status = 'busy'),
        'failed', count(*) filter (where status = 'failed'), 'skipped', count(*) filter (where status = 'skipped'),
        'canceled', count(*) filter (where status = 'canceled'), 'goal_reached', count(*) filter (where goal_reached))
      from campaign_contacts r where r.campaign_id = c.campaign_id) as rows
    from campaign_counters c`
  for (const one of counters) {
    const [counted, rows] = [sorted(one.counted), sorted(one.rows)]
    if (counted !== rows) found.push(`counters ${counted} but rows ${rows}`)
  }
  const wrong = await sql<{ what: string }[]>`
    select 'live contact without its call ' || c.id as what from campaign_contacts c
      where status in ('dialing', 'in_progress')
        and not exists(select 1 from calls where id = c.last_call_id and ended_at is null)
    union all select 'live call without its contact ' || calls.id from calls
      where ended_at is null and campaign_contact_id is not null and not exists(
        select 1 from campaign_contacts c where c.last_call_id = calls.id and status in ('dialing', 'in_progress'))
    union all select 'too many attempts ' || c.id from campaign_contacts c join campaigns on campaigns.id = campaign_id
      where attempts > retries + 1
    union all select 'ledger of ' || owner_id from ledger_entries group by owner_id having sum(amount) <> 0
    union all select 'balance of ' || b.owner_id from balances b where available + held <> (
      select coalesce(sum(amount), 0) from ledger_entries e where e.owner_id = b.owner_id and account in ('balance', 'held'))
    union all select 'holds of ' || b.owner_id from balances b where open_holds <> (
      select count(*) from calls where calls.owner_id = b.owner_id and ended_at is null)
    union all select 'ledger numbers of ' || b.owner_id from balances b where entries <> (
      select coalesce(max(seq), 0) from ledger_entries e where e.owner_id = b.owner_id)
    union all select 'call counters of ' || k.owner_id || ' ' || k.status from call_counters k where calls <> (
      select count(*) from calls c where c.owner_id = k.owner_id and c.project_id = k.project_id
        and c.direction = k.direction and c.status = k.status)
    union all select 'spend of ' || campaigns.id from campaigns where spend <> (
      select coalesce(sum(cost), 0) from calls where campaign_id = campaigns.id)`
  return [...found, ...wrong.map(row => row.what)]
}

const sorted = (value: object) => JSON.stringify(Object.entries(value).sort())
