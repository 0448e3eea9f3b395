/** Random histories of a campaign, with simulated time and the real database, compared with a plain model. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { topUp } from '../../../control/access/accounts/service.ts'
import { handleEvent } from '../../../control/background/engine.ts'
import type { Deps } from '../../../control/deps.ts'
import { newPacerState, paceOnce } from '../../../control/outreach/campaigns/pacer.ts'
import { createCampaign, stepCampaign } from '../../../control/outreach/campaigns/service.ts'
import { uploadContacts } from '../../../control/outreach/campaigns/upload.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { contradictions, end, pace, stubEngine } from './dialing.ts'
import { Model, type ModelEnd } from './plain-model.ts'
import { MOVES, ZONES } from './wall.ts'

const HISTORIES = inject('full') ? 3000 : 40
const LIMIT_MS = inject('full') ? 3_600_000 : 120_000

let control: TestControl
let owner: Tenant
let deps: Deps
let nowMs = 0
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
  const clock = { ...control.deps.clock, wall: () => nowMs }
  deps = stubEngine({ ...control.deps, clock }).deps
  owner = await createTenant(control)
  await topUp(control.deps, owner.ownerId, '9000000')
  await control.deps.sql`update subscriptions set ends_at = null`
})
afterAll(async () => {
  await control?.close()
})

const people = [
  { phone: '+12122345671', zone: 'America/New_York' },
  { phone: '+12122345672', zone: 'America/New_York' },
  { phone: '+493012345673', zone: 'Europe/Berlin' },
  { phone: '+982112345674', zone: 'Asia/Tehran' },
  { phone: '+18002345675', zone: null },
]
const ENDS: ModelEnd[] = [
  { status: 'completed', reason: 'caller_hangup', goal: false },
  { status: 'completed', reason: 'agent_hangup', goal: true },
  { status: 'no_answer', reason: 'no_answer', goal: false },
  { status: 'busy', reason: 'busy', goal: false },
  { status: 'failed', reason: 'engine_lost', goal: false },
  { status: 'failed', reason: 'engine_lost', goal: true },
  { status: 'failed', reason: 'number_unknown', goal: false },
  { status: 'failed', reason: 'queue_expired', goal: false },
  { status: 'failed', reason: 'no_capacity', goal: false },
  { status: 'canceled', reason: 'canceled_by_api', goal: false },
  { status: 'canceled', reason: 'do_not_call', goal: false },
]

type Command =
  | { kind: 'look' | 'crash' | 'pause' | 'resume' | 'stop' | 'requeue' }
  | { kind: 'wait'; minutes: number }
  | { kind: 'unwant'; who: number }
  | { kind: 'answer'; who: number }
  | { kind: 'end'; who: number; how: ModelEnd; twice: boolean }
const who = fc.nat(people.length - 1)
const bare = (kind: 'look' | 'crash' | 'pause' | 'resume' | 'stop' | 'requeue', weight: number) => ({
  weight,
  arbitrary: fc.constant<Command>({ kind }),
})
const command = fc.oneof(
  ...[bare('look', 8), bare('crash', 2), bare('pause', 1), bare('resume', 2), bare('stop', 1), bare('requeue', 2)],
  {
    weight: 6,
    arbitrary: fc.record<Command>({
      kind: fc.constant('wait'),
      minutes: fc.constantFrom(1, 29, 30, 60, 61, 420, 1440),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('answer' as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unwant' as const), who }) },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      who,
      how: fc.constantFrom(...ENDS),
      twice: fc.boolean(),
    }),
  },
)
const time = fc.constantFrom('00:00', '01:30', '02:30', '08:00', '09:00', '12:00', '18:00', '22:00')
const history = fc.record({
  window: fc.record({
    timezone: fc.constantFrom(...ZONES),
    start: time,
    end: time,
    days: fc.option(
      fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 3 }).map(days => days.sort()),
      { freq: 3 },
    ),
  }),
  quiet: fc.option(fc.constant({ start: '21:00', end: '08:00' })),
  concurrency: fc.integer({ min: 1, max: 3 }),
  retries: fc.integer({ min: 0, max: 2 }),
  retryMin: fc.constantFrom(1, 30, 600),
  start: fc.tuple(fc.constantFrom(...MOVES), fc.integer({ min: -1440, max: 1440 })).map(([day, n]) => day + n * 60_000),
  commands: fc.array(command, { minLength: 10, maxLength: 40, size: 'max' }),
})
type History = typeof history extends fc.Arbitrary<infer T> ? Omit<T, 'commands'> & { commands: Command[] } : never

async function begin({ window, quiet, concurrency, retries, retryMin, start }: History): Promise<string> {
  nowMs = start
  const { timezone, start: window_start, end: window_end, days } = window
  const params = {
    timezone,
    window_start,
    window_end,
    days,
    concurrency,
    retries,
    retry_interval_min: retryMin,
    quiet_hours: quiet,
  }
  const { id } = await createCampaign(deps, owner.ownerId, { name: 'Model', project_id: owner.projectId, params })
  const entries = people.map(({ phone }) => ({ phone }))
  const { accepted } = await uploadContacts(deps, owner.ownerId, id, { entries, mode: 'append' })
  expect(accepted).toBe(people.length)
  await step(id, 'start')
  return id
}

const caller = () => ({
  ownerId: owner.ownerId,
  scopes: ['write' as const],
  keyId: null,
  sessionId: null,
  role: 'owner' as const,
  personId: owner.ownerId,
  person: null,
  projects: null,
  secondFactor: null,
})
const step = (id: string, action: 'start' | 'pause' | 'resume' | 'stop' | 'requeue') =>
  stepCampaign(deps, { ownerId: owner.ownerId, caller: caller() }, id, action)

/** The one live call of a contact. */
async function callOf(id: string, phone: string): Promise<string> {
  const rows = await deps.sql<{ id: string }[]>`
    select id from calls where campaign_id = ${id} and to_phone = ${phone} and ended_at is null`
  expect(rows).toHaveLength(1)
  return rows[0]!.id
}

let events = 0
async function run(id: string, model: Model, command: Command): Promise<void> {
  switch (command.kind) {
    case 'wait':
      nowMs += command.minutes * 60_000
      return
    case 'look':
      await pace(deps)
      return model.look(nowMs)
    case 'crash': {
      // Nothing of a claim is left when its process dies before the commit.
      const boss = Object.assign(Object.create(deps.boss), { send: () => Promise.reject(new Error('killed')) })
      const dies = paceOnce({ ...deps, boss }, newPacerState()).then(
        () => false,
        () => true,
      )
      if (!model.wouldDial(nowMs)) model.look(nowMs)
      const died = await dies
      if (!died) await pace(deps)
      return
    }
    case 'pause':
    case 'resume':
    case 'stop':
    case 'requeue': {
      const taken = await step(id, command.kind).then(
        () => true,
        () => false,
      )
      expect([command.kind, taken]).toEqual([command.kind, model.step(command.kind, nowMs)])
      return
    }
    case 'unwant': {
      const { phone } = people[command.who]!
      model.unwanted.add(phone)
      await deps.sql`
        insert into do_not_call (owner_id, phone, source, created_at) values (${owner.ownerId}, ${phone}, 'api', now())
        on conflict do nothing`
      return
    }
  }
  const contact = model.live[command.who % Math.max(1, model.live.length)]
  if (!contact) return
  const callId = await callOf(id, contact.phone)
  if (command.kind === 'answer') {
    contact.answered = true
    contact.status = 'in_progress'
    const head = { v: 1 as const, call_id: callId, owner_id: owner.ownerId, seq: ++events, at: nowMs }
    return handleEvent(deps, { ...head, type: 'call.started', engine: 'e', boot: 'b' })
  }
  const { status, reason, goal } = command.how
  const part = { status, ended_reason: reason, goal_reached: goal }
  const ends = [end(deps, callId, part), ...(command.twice ? [end(deps, callId, part)] : [])]
  expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1)
  model.ends(contact, command.how, nowMs)
}

async function seen(id: string) {
  const [campaign] = await deps.sql<{ status: string }[]>`select status from campaigns where id = ${id}`
  const rows = await deps.sql<
    { status: string; attempts: number; next: Date; skip: string | null; goal: boolean | null }[]
  >`
    select status, attempts, next_attempt_at as next, skip_reason as skip, goal_reached as goal
    from campaign_contacts where campaign_id = ${id} order by seq`
  const contacts = rows.map(({ status, attempts, next, skip, goal }) => ({
    status,
    attempts,
    skip,
    goal,
    next: status === 'pending' ? next.toISOString() : null,
  }))
  return { status: campaign!.status, contacts }
}
const told = (model: Model) => ({
  status: model.status,
  contacts: model.contacts.map(({ status, attempts, skip, goal, nextMs }) => ({
    status,
    attempts,
    skip,
    goal,
    next: status === 'pending' ? new Date(nextMs).toISOString() : null,
  })),
})

async function clean(id: string): Promise<void> {
  await deps.sql`update campaigns set status = 'stopped', pause_reason = null where id = ${id}`
  const live = await deps.sql<{ id: string }[]>`select id from calls where ended_at is null`
  for (const call of live) await end(deps, call.id)
  await deps.sql`delete from do_not_call`
}

test('agrees with a reference model after every step of random histories', { timeout: LIMIT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(history as fc.Arbitrary<History>, async one => {
      const id = await begin(one)
      const model = new Model(one, people, nowMs)
      try {
        for (const [index, some] of one.commands.entries()) {
          await run(id, model, some)
          expect({ after: [index, some], ...(await seen(id)) }).toEqual({ after: [index, some], ...told(model) })
        }
        expect(await contradictions(control)).toEqual([])
      } finally {
        await clean(id)
      }
    }),
    { numRuns: HISTORIES, endOnFailure: !inject('full') },
  )
})
