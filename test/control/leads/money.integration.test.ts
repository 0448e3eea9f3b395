/** Money held for searches together with money held for calls: the ledger is consistent under concurrency. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../../control/access/accounts/service.ts'
import { balanceOf, openHold, openJobHold, settleHold, settleJobHold } from '../../../control/billing/money.ts'
import { defaultConfig } from '../../../control/deps.ts'
import { connect, type Sql } from '../../../control/platform/db/connect.ts'
import { uuidv7 } from '../../../control/platform/ids.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { testClock } from '../../support/world.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createDatabase()
  sql = connect({ url: database.url, max: 12 })
})
afterAll(async () => {
  await sql?.end()
  await database?.drop()
})

const tariff = { price: 50_000n, factorPercent: 100 }
const at = new Date()
const account = async (trial_balance: string) =>
  (await createAccount({ sql, clock: testClock(), config: { ...defaultConfig, trial_balance } }, { name: 'T' })).id

async function audit(owner: string): Promise<void> {
  const rows = await sql<{ account: string; sum: bigint }[]>`
    select account, sum(amount)::bigint as sum from ledger_entries where owner_id = ${owner} group by account`
  const sums = new Map(rows.map(row => [row.account, row.sum]))
  expect(rows.reduce((all, { sum }) => all + sum, 0n)).toBe(0n)
  const [holds] = await sql<{ held: bigint; captured: bigint; calls: number }[]>`
    select coalesce(sum(amount) filter (where captured is null), 0)::bigint as held,
      coalesce(sum(captured), 0)::bigint as captured,
      (count(*) filter (where captured is null and call_id is not null))::int as calls
    from holds where owner_id = ${owner}`
  const balance = await balanceOf(sql, owner)
  expect(balance).toEqual({ available: sums.get('balance') ?? 0n, held: holds!.held, open_holds: holds!.calls })
  expect([sums.get('held') ?? 0n, sums.get('revenue') ?? 0n]).toEqual([holds!.held, holds!.captured])
  expect(balance.available).toBeGreaterThanOrEqual(0n)
}

test('captures the cost once, within the hold', async () => {
  const owner = await account('10.0000')
  const [dear, cheap] = [uuidv7(Date.now()), uuidv7(Date.now())]
  const hold = (id: string, amount: bigint) => sql.begin(tx => openJobHold(tx, owner, { id, amount }, at))
  const settle = (id: string, cost: bigint) => sql.begin(tx => settleJobHold(tx, owner, { id, cost }, at))
  expect([await hold(dear, 60_000n), await hold(cheap, 40_001n), await hold(cheap, 40_000n)]).toEqual([
    true,
    false,
    true,
  ])
  expect(await balanceOf(sql, owner)).toEqual({ available: 0n, held: 100_000n, open_holds: 0 })
  const captured = [await settle(dear, 70_000n), await settle(dear, 70_000n), await settle(cheap, 0n)]
  expect(captured).toEqual([60_000n, 0n, 0n])
  expect(await balanceOf(sql, owner)).toEqual({ available: 40_000n, held: 0n, open_holds: 0 })
  await audit(owner)
})

test('keeps the ledger at zero sum in any sequence with calls', async () => {
  const which = fc.nat(3)
  const amount = fc.bigInt(0n, 90_000n)
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('hold' as const, 'settle' as const), which, amount }),
    fc.record({ do: fc.constantFrom('call' as const, 'end' as const), which, seconds: fc.nat(100) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), fc.boolean(), async (steps, together) => {
      const owner = await account('15.0000')
      const ids = Array.from({ length: 4 }, () => uuidv7(Date.now()))
      const run = async (one: (typeof steps)[number]) => {
        const id = ids[one.which]!
        const take = () =>
          sql.begin<unknown>(tx => {
            if ('amount' in one) {
              const { amount } = one
              if (one.do === 'hold') return openJobHold(tx, owner, { id, amount }, at)
              return settleJobHold(tx, owner, { id, cost: amount }, at)
            }
            const call = { id, tariff, seconds: one.seconds }
            return one.do === 'call' ? openHold(tx, owner, call, at) : settleHold(tx, owner, call, at)
          })
        // A second hold for the same is refused by the database, and nothing of it stays.
        await take().catch(error => expect(error.code).toBe('23505'))
      }
      if (together) await Promise.all(steps.map(run))
      else for (const one of steps) await run(one)
      await audit(owner)
    }),
    { numRuns: 25 },
  )
})
