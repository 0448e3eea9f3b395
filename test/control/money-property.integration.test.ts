/** Money of calls under concurrency: the real functions, real Postgres, many connections. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { setMinutePrice } from '../../control/access/accounts/service.ts'
import { handleEvent } from '../../control/background/engine.ts'
import { fund } from '../../control/billing/money.ts'
import type { Deps } from '../../control/deps.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { Problem } from '../../control/platform/http/problem.ts'
import { admitCall, extendCall } from '../../control/telephony/calls/admit.ts'
import { finish, finishLost } from '../../control/telephony/calls/finish.ts'
import { hangUp, placeCall } from '../../control/telephony/calls/service.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record, unanswered } from '../support/records.ts'

const CONNECTIONS = 14
const LANES = 12
const RUNS = inject('full') ? 700 : 60
const MOST_MS = inject('full') ? 600_000 : 45_000

let control: TestControl
let deps: Deps
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '9', max_calls_per_owner: 4 } })
  deps = { ...control.deps, sql: connect({ url: control.databaseUrl, max: CONNECTIONS }) }
})
afterAll(async () => {
  await deps?.sql.end()
  await control?.close()
})

/** Objects over which two lanes compete: a few owners, a few phones, all calls. */
interface World {
  owners: Tenant[]
  phones: string[]
  calls: { id: string; owner: Tenant }[]
}

const nth = fc.nat(30)
const seconds = fc.integer({ min: 0, max: 200 })
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fund' as const), who: nth, amount: fc.bigInt(0n, 150_000n) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('place' as const),
      who: nth,
      phone: nth,
      maxCost: fc.option(fc.bigInt(0n, 200_000n)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('admit' as const), who: nth, phone: nth }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('extend' as const), which: nth }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('talk' as const), which: nth, seconds }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish' as const), which: nth, seconds }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), which: nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: nth }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function take(world: World, one: Step): Promise<void> {
  const pick = <T>(list: T[], n: number) => list[n % list.length]
  if ('who' in one) {
    const owner = pick(world.owners, one.who)!
    if (one.do === 'fund') return deps.sql.begin(tx => fund(tx, owner.ownerId, one.amount, new Date()))
    const phone = pick(world.phones, one.phone)!
    if (one.do === 'place') {
      const input = { project_id: owner.projectId, phone }
      const { id } = await placeCall(deps, owner.ownerId, input, { maxCost: one.maxCost })
      world.calls.push({ id, owner })
      return
    }
    const ask = { engine: 'e', boot: 'b', trunk_id: owner.trunkId, called: owner.number, caller: phone, source: '' }
    const answer = await admitCall(deps, ask)
    if (answer.admitted) world.calls.push({ id: answer.plan.call_id, owner })
    return
  }
  const call = pick(world.calls, one.which)
  if (!call) return
  const { id, owner } = call
  const head = { v: 1, call_id: id, owner_id: owner.ownerId, at: Date.now() } as const
  if (one.do === 'extend') await extendCall(deps, { call_id: id, owner_id: owner.ownerId, talked_ms: 0 })
  else if (one.do === 'cancel') await hangUp(deps, owner.ownerId, id)
  else if (one.do === 'crash') await finishLost(deps, id)
  else if (one.do === 'finish') {
    const talked_ms = one.seconds * 1000
    await finish(deps, id, talked_ms === 0 ? unanswered() : record({ talked_ms, goal_reached: one.seconds % 2 === 0 }))
  } else {
    await handleEvent(deps, { ...head, seq: 1, type: 'call.started', engine: 'e', boot: 'b' })
    await handleEvent(deps, { ...head, seq: 2 + one.seconds, type: 'call.progress', talked_ms: one.seconds * 1000 })
  }
}

/** A gate may refuse, and there is no engine to hang up; anything else (a deadlock, a violated CHECK) is a failure. */
async function takeAll(world: World, steps: Step[]): Promise<void> {
  for (const one of steps) {
    await take(world, one).catch(error => {
      if (!(error instanceof Problem)) throw error
    })
  }
}

async function audit(owner: Tenant): Promise<void> {
  const { sql } = deps
  const { ownerId } = owner
  const [balance] = await sql`select available, held, entries, open_holds from balances where owner_id = ${ownerId}`
  const sums = await sql<{ account: string; sum: bigint }[]>`
    select account, sum(amount)::bigint as sum from ledger_entries where owner_id = ${ownerId} group by account`
  const sum = (account: string) => sums.find(row => row.account === account)?.sum ?? 0n
  expect(balance).toMatchObject({ available: sum('balance'), held: sum('held') })
  expect(sum('balance') + sum('held') + sum('revenue') + sum('funding')).toBe(0n)
  const crooked = await sql`
    select 1 from ledger_entries where owner_id = ${ownerId} group by transaction_id having sum(amount) <> 0`
  expect(crooked).toHaveLength(0)

  const [holds] = await sql`
    select coalesce(sum(amount) filter (where captured is null), 0)::bigint as held,
      coalesce(sum(captured), 0)::bigint as captured,
      count(*) filter (where captured is null) as open from holds where owner_id = ${ownerId}`
  const [calls] = await sql`
    select coalesce(sum(cost), 0)::bigint as cost, count(*) filter (where ended_at is null) as live,
      count(*) filter (where cost > max_cost) as dearer from calls where owner_id = ${ownerId}`
  expect(holds!['held']).toBe(balance!['held'])
  expect([BigInt(balance!['open_holds']), calls!['live']]).toEqual([holds!['open'], holds!['open']])
  expect([holds!['captured'], calls!['cost']]).toEqual([sum('revenue'), sum('revenue')])
  expect(calls!['dearer']).toBe(0n)

  const chain = await sql<{ seq: number; amount: bigint; balance_after: bigint }[]>`
    select seq, amount, balance_after from ledger_entries where owner_id = ${ownerId} and account = 'balance' order by seq`
  expect(chain).toHaveLength(balance!['entries'])
  let running = 0n
  for (const [index, entry] of chain.entries()) {
    running += entry.amount
    expect(entry).toMatchObject({ seq: index + 1, balance_after: running })
    expect(running).toBeGreaterThanOrEqual(0n)
  }

  const [counted, rows] = [
    await sql`select status, sum(calls)::int as n from call_counters where owner_id = ${ownerId} and calls > 0 group by 1 order by 1`,
    await sql`select status, count(*)::int as n from calls where owner_id = ${ownerId} group by 1 order by 1`,
  ]
  expect(counted).toEqual(rows)
}

const prices = ['5', '0', '0.0001', '3.3333', '7.0001']

test(
  'money is never lost, made, or below zero, and every hold ends with its call',
  async () => {
    let [moved, made] = [0, 0]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 8 }), { minLength: LANES, maxLength: LANES }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.constantFrom(...prices), { minLength: 3, maxLength: 3 }),
        async (lanes, count, price) => {
          const owners: Tenant[] = []
          for (let i = 0; i < count; i++) {
            owners.push(await createTenant(control))
            await setMinutePrice(deps, owners[i]!.ownerId, price[i]!)
          }
          const world: World = { owners, phones: [nextPhone(), nextPhone()], calls: [] }
          const first: Step[] = owners.map((_, who) => ({ do: 'place', who, phone: 0, maxCost: null }))
          await takeAll(world, first)
          await Promise.all(lanes.map(steps => takeAll(world, steps)))
          for (const owner of owners) await audit(owner)
          // Nothing stays open: what is left is lost or finished, each by several at once.
          await Promise.all(
            world.calls.flatMap(({ id }, i) => [
              finishLost(deps, id),
              finish(deps, id, record({ talked_ms: i * 9000 })),
              finishLost(deps, id),
            ]),
          )
          for (const owner of owners) {
            await audit(owner)
            const [balance] = await deps.sql`select held from balances where owner_id = ${owner.ownerId}`
            expect(balance).toEqual({ held: 0n })
          }
          made += world.calls.length
          moved += lanes.flat().length
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS, endOnFailure: true },
    )
    // A property over worlds where nothing happens would hold too.
    expect(made).toBeGreaterThan(20)
    expect(moved).toBeGreaterThan(100)
  },
  MOST_MS + 45_000,
)
