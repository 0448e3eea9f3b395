import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../control/access/accounts/service.ts'
import {
  balanceOf,
  costOf,
  extendHold,
  fromUnits,
  fund,
  openHold,
  secondsFor,
  settleHold,
  toUnits,
} from '../../control/billing/money.ts'
import { defaultConfig } from '../../control/deps.ts'
import { connect, type Sql } from '../../control/platform/db/connect.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { testClock } from '../support/world.ts'

describe('arithmetic', () => {
  test.each([
    ['5', 50_000n],
    ['5.1', 51_000n],
    ['0.0001', 1n],
    ['123.4567', 1_234_567n],
  ])('%s is %s units', (text, units) => expect(toUnits(text)).toBe(units))

  test.each(['', '-1', '1.23456', '1e3', '1,5', ' 1'])('%j is not money', text => expect(() => toUnits(text)).toThrow())

  test('formats what it parsed', () => {
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), units => toUnits(fromUnits(units)) === units))
    expect(fromUnits(-5n)).toBe('-0.0005')
  })

  test.each([
    [50_000n, 100, 60, 50_000n],
    [50_000n, 100, 1, 833n], // 833.33
    [50_000n, 100, 62, 51_667n], // 51666.67
    [50_000n, 50, 61, 25_417n], // 25416.67
    [30n, 100, 1, 1n], // 0.5 rounds up
    [29n, 100, 1, 0n],
    [0n, 100, 100, 0n],
  ])('%s a minute at %s%% for %s s costs %s', (price, factorPercent, seconds, cost) =>
    expect(costOf({ price, factorPercent }, seconds)).toBe(cost),
  )

  test('rounds seconds for an amount down', () => {
    const tariff = fc.record({ price: fc.bigInt({ min: 1n, max: 10n ** 6n }), factorPercent: fc.constantFrom(50, 100) })
    fc.assert(
      fc.property(
        tariff,
        fc.bigInt({ min: 0n, max: 10n ** 6n }),
        fc.integer({ min: 0, max: 7200 }),
        (t, money, most) => {
          const seconds = secondsFor(t, money, most)
          expect(costOf(t, seconds)).toBeLessThanOrEqual(money)
          if (seconds < most) expect(costOf(t, seconds + 1)).toBeGreaterThan(money)
        },
      ),
    )
    expect(secondsFor({ price: 0n, factorPercent: 100 }, 0n, 60)).toBe(60)
  })
})

describe('the ledger', () => {
  let database: TestDatabase
  let sql: Sql
  const tariff = { price: 50_000n, factorPercent: 100 }
  const clock = testClock()
  const at = new Date()
  beforeAll(async () => {
    database = await createDatabase()
    sql = connect({ url: database.url, max: 20 })
  })
  afterAll(async () => {
    await sql?.end()
    await database?.drop()
  })

  const account = async (trial_balance: string) =>
    (await createAccount({ sql, clock, config: { ...defaultConfig, trial_balance } }, { name: 'T' })).id
  const hold = (owner: string, id: string, seconds = 60) =>
    sql.begin(tx => openHold(tx, owner, { id, tariff, seconds }, at))
  const extend = (owner: string, id: string, seconds = 60, most: bigint | null = null) =>
    sql.begin(tx => extendHold(tx, owner, { id, tariff, seconds, most }, at))
  const settle = (owner: string, id: string, seconds: number) =>
    sql.begin(tx => settleHold(tx, owner, { id, tariff, seconds }, at))
  const call = () => uuidv7(Date.now())

  /** The books agree with themselves: zero in all, and running totals equal to the entries. */
  async function audit(owner: string): Promise<void> {
    const rows = await sql<{ account: string; sum: string }[]>`
      select account, sum(amount)::text as sum from ledger_entries where owner_id = ${owner} group by account`
    const sums = new Map(rows.map(row => [row.account, BigInt(row.sum)]))
    const balance = await balanceOf(sql, owner)
    expect([...sums.values()].reduce((a, b) => a + b, 0n)).toBe(0n)
    expect(balance).toMatchObject({ available: sums.get('balance') ?? 0n, held: sums.get('held') ?? 0n })
    const [open] = await sql<{ held: string; count: number }[]>`
      select coalesce(sum(amount), 0)::text as held, count(*)::int from holds where owner_id = ${owner} and captured is null`
    expect(balance.held).toBe(BigInt(open!.held))
    expect(balance.open_holds).toBe(open!.count)
    expect(balance.available).toBeGreaterThanOrEqual(0n)
  }

  test('settles a whole call', async () => {
    const owner = await account('9.0000')
    const id = call()
    expect(await hold(owner, id)).toBe(1)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 40_000n, held: 50_000n })
    expect(await extend(owner, id)).toBe(108) // 4.00 pays for 48 s more
    expect(await extend(owner, id)).toBe(108)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 0n, held: 90_000n })
    expect(await settle(owner, id, 70)).toEqual({ seconds: 70, captured: 58_333n })
    expect(await settle(owner, id, 70)).toEqual({ seconds: 0, captured: 0n })
    expect(await extend(owner, id)).toBe(0)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 31_667n, held: 0n })
    await audit(owner)
  })

  test('never captures more than the hold', async () => {
    const owner = await account('100.0000')
    const id = call()
    await hold(owner, id)
    expect(await settle(owner, id, 3600)).toEqual({ seconds: 60, captured: 50_000n })
    await audit(owner)
  })

  test('grants 3 of 20 concurrent holds when the balance covers three', async () => {
    const owner = await account('17.0000')
    const taken = await Promise.all(Array.from({ length: 20 }, () => hold(owner, call())))
    expect(taken.filter(Boolean)).toHaveLength(3)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 20_000n, held: 150_000n })
    await audit(owner)
  })

  test('stops concurrent extensions of one hold at the balance', async () => {
    const owner = await account('20.0000')
    const id = call()
    await hold(owner, id)
    const paid = await Promise.all(Array.from({ length: 20 }, () => extend(owner, id)))
    expect(Math.max(...paid)).toBe(240)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 0n, held: 200_000n })
    await audit(owner)
  })

  test('never extends a hold beyond its maximum', async () => {
    const owner = await account('100.0000')
    const id = call()
    await hold(owner, id)
    expect(await extend(owner, id, 60, 70_000n)).toBe(84) // 7.00
    expect(await extend(owner, id, 60, 70_000n)).toBe(84)
    expect(await balanceOf(sql, owner)).toMatchObject({ available: 930_000n, held: 70_000n })
    await audit(owner)
  })

  test('any sequence sums to zero and stays above it', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('hold' as const), seconds: fc.integer({ min: 1, max: 120 }) }),
      fc.record({ do: fc.constant('extend' as const), which: fc.nat(5), seconds: fc.integer({ min: 1, max: 120 }) }),
      fc.record({ do: fc.constant('settle' as const), which: fc.nat(5), seconds: fc.integer({ min: 0, max: 400 }) }),
      fc.record({ do: fc.constant('fund' as const), amount: fc.bigInt({ min: 0n, max: 100_000n }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), fc.boolean(), async (steps, together) => {
        const owner = await account('15.0000')
        const calls = Array.from({ length: 6 }, call)
        let next = 0
        const run = async (one: (typeof steps)[number]) => {
          if (one.do === 'hold') await hold(owner, calls[next++] ?? call(), one.seconds)
          else if (one.do === 'extend') await extend(owner, calls[one.which]!, one.seconds)
          else if (one.do === 'settle') await settle(owner, calls[one.which]!, one.seconds)
          else await sql.begin(tx => fund(tx, owner, one.amount, at))
        }
        if (together) await Promise.all(steps.map(run))
        else for (const one of steps) await run(one)
        await audit(owner)
      }),
      { numRuns: 40 },
    )
  })

  test('rejects invalid entries in the database', async () => {
    const owner = await account('1.0000')
    await expect(sql`update balances set available = -1 where owner_id = ${owner}`).rejects.toThrow(/check/)
    await expect(sql`delete from ledger_entries where owner_id = ${owner}`).rejects.toThrow('append-only')
    await expect(sql`update ledger_entries set amount = 2 where owner_id = ${owner}`).rejects.toThrow('append-only')
    await expect(
      sql`insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, created_at, seq, balance_after)
          values (${call()}, ${call()}, ${owner}, 'balance', 'fund', 5, ${at}, 9, 5)`,
    ).rejects.toThrow('sum to zero')
    await expect(
      sql`insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, created_at)
          values (${call()}, ${call()}, ${owner}, 'balance', 'fund', 5, ${at})`,
    ).rejects.toThrow('numbered')
  })
})
