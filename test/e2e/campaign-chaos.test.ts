/**
 * Campaigns whose processes are killed repeatedly. The phones alone are the evidence: sipp records every INVITE. One
 * phone answers, one is busy, one rings until the caller gives up.
 */
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { contradictions } from '../control/campaigns/dialing.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { expectSettled } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { answer, canceled, refusing, ringing, type Sipp, startSipp, taken } from '../support/stack-sipp.ts'
import { until } from '../support/world.ts'

const { it } = needs('sipp')

const full = inject('full')
const CONTACTS = full ? 40 : 4
const ROUNDS = full ? 8 : 1
const RETRIES = 1
const LIMIT_MS = full ? 1_800_000 : 170_000

const sinks = {
  answers: taken([], [answer('180 Ringing')]),
  busy: refusing('486 Busy Here'),
  rings: [...ringing, ...canceled],
}
type Kind = keyof typeof sinks

interface Side {
  kind: Kind
  sipp: Sipp
  owner: Owner
  /** Ids of its campaigns: one that dials, and one whose window is closed. */
  ids: string[]
  phones: Set<string>
  forbidden: Set<string>
}

let stack: Stack
const sides: Side[] = []
beforeAll(async () => {
  stack = await startStack()
  for (const [index, kind] of (Object.keys(sinks) as Kind[]).entries()) sides.push(await prepare(kind, index))
}, 120_000)
afterAll(() => stack?.stop())

const hhmm = (ms: number) => new Date(ms).toISOString().slice(11, 16)
const HOUR_MS = 3_600_000

async function prepare(kind: Kind, index: number): Promise<Side> {
  const sipp = await startSipp(stack, sinks[kind], { times: 100_000, seconds: LIMIT_MS / 1000 })
  const owner = await stack.owner({
    money: '10000',
    trunk: { port: sipp.port, max_cps: 20 },
    project: { ring_timeout_seconds: 5, greeting: 'Hello.' },
  })
  const side: Side = { kind, sipp, owner, ids: [], phones: new Set(), forbidden: new Set() }
  const always = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
  const closed = { ...always, window_start: hhmm(Date.now() + 6 * HOUR_MS), window_end: hhmm(Date.now() + 7 * HOUR_MS) }
  const numbers = (from: number) =>
    Array.from({ length: CONTACTS }, (_, n) => `+1212${2_000_000 + index * 10_000 + from + n}`)
  const wishes = [
    [always, numbers(0), side.phones],
    [closed, numbers(5000), side.forbidden],
  ] as const
  for (const [window, phones, known] of wishes) {
    const params = { ...window, concurrency: 8, retries: RETRIES, retry_interval_min: 1 }
    const made = await owner.rest('POST', '/campaigns', { name: kind, project_id: owner.projectId, task: null, params })
    expect(made.status).toBe(201)
    const { id } = made.body
    const entries = phones.map(phone => ({ phone }))
    expect((await owner.rest('POST', `/campaigns/${id}/contacts`, entries)).body.accepted).toBe(CONTACTS)
    expect((await owner.rest('POST', `/campaigns/${id}/start`, { consent: true })).body.status).toBe('running')
    side.ids.push(id)
    for (const phone of phones) known.add(phone)
  }
  return side
}

/** Call-IDs of INVITEs that reached a sink, by the number called. */
function rung({ sipp }: Side): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const block of sipp.messages().split(/^-{20,}.*$/m)) {
    if (!/message received/.test(block)) continue
    const phone = /^INVITE sip:(\+\d+)@/m.exec(block)?.[1]
    const callId = /^Call-ID:\s*(\S+)/im.exec(block)?.[1]
    if (phone && callId) found.set(phone, (found.get(phone) ?? new Set()).add(callId))
  }
  return found
}

/** Skips the minute between two attempts, and hangs up live calls as soon as control answers. */
async function getOn(): Promise<void> {
  await stack.parts.sql`
    update campaign_contacts set next_attempt_at = now() where status = 'pending' and attempts > 0 and next_attempt_at > now()`
  for (const { kind, owner } of sides) {
    if (kind !== 'answers') continue
    const talking = await owner.rest('GET', '/calls?status=in_progress').catch(() => null)
    for (const { id } of talking?.body.items ?? []) await owner.rest('POST', `/calls/${id}/hangup`).catch(() => {})
  }
}

/** Excludes calls that a killed engine had claimed but not reported: their leases expire only after minutes. */
async function open(): Promise<number> {
  const [row] = await stack.parts.sql<{ open: number }[]>`
    select count(*)::int as open from campaign_contacts c left join calls on calls.id = c.last_call_id
    where c.campaign_id = any(${sides.map(side => side.ids[0]!)}::uuid[])
      and (c.status = 'pending' or (c.status in ('dialing', 'in_progress') and not (
        calls.status = 'queued' and calls.engine is null and calls.created_at < now() - interval '20 s')))`
  return row!.open
}

const told = (text: string) => until(() => stack.told.includes(text), text, 60_000)
async function kill(name: string, child: { pid: number }): Promise<void> {
  stack.told.length = 0
  process.kill(child.pid, 'SIGKILL')
  await told(`${name} is back.`)
}

it('dials each attempt once and loses no contact when any process is killed', {
  timeout: LIMIT_MS,
}, async () => {
  let over = false
  const going = (async () => {
    while (!over) {
      await getOn().catch(() => {})
      await new Promise(resolve => setTimeout(resolve, 1000)) // a key may ask 120 times a minute
    }
  })()
  try {
    await until(() => sides.every(side => rung(side).size > 0), 'the first calls', 60_000)
    for (let round = 0; round < ROUNDS; round++) {
      for (const { title, child } of [...stack.controls, ...stack.engines]) await kill(title, child)
      await kill('SIP server', stack.children.sipServer)
    }
    await until(async () => (await open()) === 0, 'the end of all campaigns', LIMIT_MS - 60_000)
  } finally {
    over = true
    await going
  }
  const { sql } = stack.parts
  for (const side of sides) {
    const calls = rung(side)
    const contacts = await sql<{ phone: string; attempts: number; made: number }[]>`
      select phone, attempts, (select count(*)::int from calls where campaign_contact_id = c.id) as made
      from campaign_contacts c where campaign_id = ${side.ids[0]!}`
    expect(contacts).toHaveLength(CONTACTS)
    for (const { phone, attempts } of contacts) {
      const times = calls.get(phone)?.size ?? 0
      // Not every attempt reaches the telephone; none reaches it twice.
      expect([side.kind, phone, times <= attempts && attempts <= 1 + RETRIES]).toEqual([side.kind, phone, true])
    }
    expect([...calls.keys()].filter(phone => !side.phones.has(phone))).toEqual([])
    expect([...calls.keys()].filter(phone => side.forbidden.has(phone))).toEqual([])
    const rungAtAll = contacts.filter(({ phone }) => calls.has(phone)).length
    expect(rungAtAll).toBeGreaterThan(0)
  }
  expect(await contradictions({ deps: stack.parts as never })).toEqual([])
  const stuck = await sql`select 1 from calls where ended_at is null`
  if (stuck.length === 0) for (const { owner } of sides) await expectSettled(stack, owner)
})
