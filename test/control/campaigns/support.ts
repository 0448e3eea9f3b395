/** Helpers shared by the tests of campaigns. */
import { expect } from 'vitest'
import type { Tenant, TestControl } from '../../support/control.ts'

let numbers = 0
/** `+1 212 …`, valid ones, another each time. */
export const nextCallee = () => `+1212${2_000_000 + numbers++}`

/** A campaign with these parameters may dial at any time. */
export const ALWAYS = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
/** Milliseconds after its start until all slots of a campaign are open. */
export const RAMPED_MS = 6000

export async function createDraft(owner: Tenant, input: object = {}) {
  const { status, body } = await owner.call('POST', '/campaigns', {
    name: 'Spring',
    project_id: owner.projectId,
    task: 'Say hello.',
    params: ALWAYS,
    ...input,
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body as { id: string } & Record<string, unknown>
}

export const upload = (owner: Tenant, id: string, entries: unknown, mode = 'append') =>
  owner.call('POST', `/campaigns/${id}/contacts?mode=${mode}`, entries)

export const step = (owner: Tenant, id: string, action: string, body?: object) =>
  owner.call('POST', `/campaigns/${id}/${action}`, action === 'start' ? (body ?? { consent: true }) : body)

/** A draft with so many contacts. */
export async function createFilled(owner: Tenant, contacts: number, input: object = {}) {
  const campaign = await createDraft(owner, input)
  const { body } = await upload(
    owner,
    campaign.id,
    Array.from({ length: contacts }, () => ({ phone: nextCallee() })),
  )
  if (body.accepted !== contacts) throw new Error(JSON.stringify(body))
  return campaign
}

/** Starts a campaign with so many contacts, and opens all its slots. */
export async function startFilled({ deps }: TestControl, owner: Tenant, contacts: number, params: object = {}) {
  const { id } = await createFilled(owner, contacts, { params: { ...ALWAYS, ...params } })
  expect((await step(owner, id, 'start')).body.status).toBe('running')
  deps.clock.advance(RAMPED_MS)
  return id
}

/** As if its calls had ended so: by order of upload, each with its counters. */
export async function settle({ deps: { sql } }: TestControl, id: string, statuses: Record<number, string>) {
  for (const [seq, status] of Object.entries(statuses)) {
    const [row] = await sql<{ before: string }[]>`
      select status as before from campaign_contacts where campaign_id = ${id} and seq = ${Number(seq)}`
    const goal = status === 'completed' ? Number(seq) % 2 === 0 : null
    await sql`
      update campaign_contacts set status = ${status}, attempts = 3, goal_reached = ${goal},
        skip_reason = ${status === 'skipped' ? 'do_not_call' : null}
      where campaign_id = ${id} and seq = ${Number(seq)}`
    await sql`
      update campaign_counters set ${sql(row!.before)} = ${sql(row!.before)} - 1, ${sql(status)} = ${sql(status)} + 1,
        goal_reached = goal_reached + ${goal ? 1 : 0}
      where campaign_id = ${id}`
  }
}

/** Counters that the rows say. */
export async function countedRows({ deps: { sql } }: TestControl, id: string): Promise<Record<string, number>> {
  const rows = await sql<{ status: string; n: number }[]>`
    select status, count(*)::int as n from campaign_contacts where campaign_id = ${id} group by status`
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
}
