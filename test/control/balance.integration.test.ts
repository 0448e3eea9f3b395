import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { daysBetween } from '../../control/billing/balance/days.ts'
import { selectSpent } from '../../control/billing/balance/sql.ts'
import { fund, openJobHold, settleHold, settleJobHold, toUnits } from '../../control/billing/money.ts'
import { connect, type Db } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { extendCall } from '../../control/telephony/calls/admit.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { fillCalls } from '../support/calls.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { createDatabase } from '../support/database.ts'
import { record } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '100' } })
})
afterAll(() => control?.close())

interface Entry {
  id: string
  kind: string
  amount: { amount: string }
  balance_after: { amount: string }
  call_id: string | null
  description: string
}
const entries = async (owner: Tenant, query = '') => (await owner.call('GET', `/balance/entries${query}`)).body
const line = (entry: Entry) => `${entry.kind} ${entry.amount.amount} ${entry.balance_after.amount}`
const place = async (owner: Tenant): Promise<string> =>
  (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id

test('lists every change of the balance with its cause, newest first', async () => {
  const owner = await createTenant(control)
  const id = await place(owner)
  await extendCall(control.deps, { call_id: id, owner_id: owner.ownerId, talked_ms: 40_000 })
  await finish(control.deps, id, record({ talked_ms: 66_000 }))
  const at = new Date()
  await control.deps.sql.begin(tx => fund(tx, owner.ownerId, 12_500n, at, 'Invoice 17'))
  const list = await entries(owner)
  expect(list).toMatchObject({ total: 5, limit: 50, offset: 0 })
  expect(list.items.map(line)).toEqual([
    'fund 1.2500 95.7500',
    'settle 4.5000 94.5000',
    'extend -5.0000 90.0000',
    'hold -5.0000 95.0000',
    'fund 100.0000 100.0000',
  ])
  expect(list.items.map((entry: Entry) => entry.call_id)).toEqual([null, id, id, id, null])
  expect(list.items[0]).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    kind: 'fund',
    amount: { amount: '1.2500', currency: 'RUB' },
    balance_after: { amount: '95.7500', currency: 'RUB' },
    call_id: null,
    job_id: null,
    description: 'Invoice 17',
    created_at: at.toISOString(),
  })
  expect((await owner.call('GET', '/balance')).body.balance.amount).toBe('95.7500')
})

test('writes no entry for an amount of zero', async () => {
  const owner = await createTenant(control)
  const id = await place(owner)
  await finish(control.deps, id, record({ talked_ms: 60_000 }))
  await control.deps.sql`update accounts set minute_price = 0 where id = ${owner.ownerId}`
  await finish(control.deps, await place(owner), record())
  expect((await entries(owner)).items.map(line)).toEqual(['hold -5.0000 95.0000', 'fund 100.0000 100.0000'])
})

test('pages without gaps or duplicates, for one owner only', async () => {
  const owner = await createTenant(control)
  const other = await createTenant(control)
  for (let i = 0; i < 6; i++) await finish(control.deps, await place(owner), record())
  const all = await entries(owner)
  expect(all.total).toBe(13)
  const paged = []
  for (let offset = 0; offset < 15; offset += 4) {
    const page = await entries(owner, `?limit=4&offset=${offset}`)
    expect(page).toMatchObject({ total: 13, limit: 4, offset })
    paged.push(...page.items)
  }
  expect(paged).toEqual(all.items)
  expect(await entries(owner, '?offset=2147483647')).toMatchObject({ total: 13, items: [] })
  expect((await entries(other)).total).toBe(1)
  expect((await owner.call('GET', '/balance/entries?kind=fund')).status).toBe(400)
})

test('keeps running balances correct under concurrent changes', async () => {
  const owner = await createTenant(control, { money: '500' })
  await Promise.all(
    Array.from({ length: 15 }, async (_, i) => {
      const id = await place(owner)
      await extendCall(control.deps, { call_id: id, owner_id: owner.ownerId, talked_ms: 0 })
      await finish(control.deps, id, record({ talked_ms: i * 7000 }))
    }),
  )
  const { items, total } = await entries(owner, '?limit=200')
  expect(items).toHaveLength(total)
  let balance = 0
  for (const entry of items.toReversed() as Entry[]) {
    balance += Math.round(Number(entry.amount.amount) * 10_000)
    expect(Math.round(Number(entry.balance_after.amount) * 10_000)).toBe(balance)
  }
  expect((await owner.call('GET', '/balance')).body.balance.amount).toBe((balance / 10_000).toFixed(4))
})

test('is numbered by the migration where older entries had no numbers', async () => {
  const database = await createDatabase({ empty: true })
  const folder = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  const source = join(import.meta.dirname, '../../control/platform/db/migrations')
  for (const name of await readdir(source)) {
    if (name < '0009') await cp(join(source, name), join(folder, name))
  }
  await migrate({ url: database.url }, folder)
  const sql = connect({ url: database.url, max: 1 })
  const [owner, other, at] = [uuidv7(1), uuidv7(1), Date.UTC(2026, 0, 1)]
  for (const id of [owner, other]) {
    await sql`insert into accounts (id, name, created_at) values (${id}, 'Old', now())`
    await sql`insert into balances (owner_id, available, held) values (${id}, 80, 20)`
    await sql.begin(async tx => {
      for (const [n, account, kind, amount] of [
        ...([
          [1, 'funding', 'fund', -100],
          [1, 'balance', 'fund', 100],
        ] as const),
        ...([
          [2, 'balance', 'hold', -20],
          [2, 'held', 'hold', 20],
        ] as const),
      ]) {
        const created_at = new Date(at + n * 1000)
        const transaction_id = `${id.slice(0, -1)}${n}`
        await tx`insert into ledger_entries
          ${tx({ id: uuidv7(at), transaction_id, owner_id: id, account, kind, amount, created_at })}`
      }
    })
  }
  await sql`insert into holds (call_id, owner_id, amount, paid_seconds) values (${other}, ${owner}, 20, 60)`
  expect(await migrate({ url: database.url })).toContain('0009_calling.sql')
  const rows = await sql`
    select kind, seq, balance_after from ledger_entries where owner_id = ${owner} and account = 'balance' order by seq`
  expect(rows).toEqual([
    { kind: 'fund', seq: 1, balance_after: 100n },
    { kind: 'hold', seq: 2, balance_after: 80n },
  ])
  expect(await sql`select entries, open_holds from balances order by open_holds`).toEqual([
    { entries: 2, open_holds: 0 },
    { entries: 2, open_holds: 1 },
  ])
  await expect(sql`delete from ledger_entries`).rejects.toThrow('append-only')
  await sql.end()
  await database.drop()
  await rm(folder, { recursive: true })
})

describe('what was spent', () => {
  const spend = async (owner: Tenant, query = '') => (await owner.call('GET', `/balance/spend${query}`)).body
  const spentOn = ({ items }: { items: { date: string; spent: { amount: string } }[] }) =>
    Object.fromEntries(items.flatMap(({ date, spent }) => (spent.amount === '0.0000' ? [] : [[date, spent.amount]])))

  /** Charged then: an ended call of so many seconds. */
  async function charge(owner: Tenant, at: string, seconds = 60, direction = 'out') {
    const id = await place(owner)
    await control.deps.sql`update calls set direction = ${direction} where id = ${id}`
    const tariff = { price: 50_000n, factorPercent: direction === 'web' ? 50 : 100 }
    await control.deps.sql.begin(tx => settleHold(tx, owner.ownerId, { id, tariff, seconds }, new Date(at)))
  }
  async function search(owner: Tenant, at: string, cost: string) {
    const id = uuidv7(Date.parse(at))
    await control.deps.sql.begin(async tx => {
      await openJobHold(tx, owner.ownerId, { id, amount: toUnits('40') }, new Date(at))
      await settleJobHold(tx, owner.ownerId, { id, cost: toUnits(cost) }, new Date(at))
    })
  }

  test('sums charges by day and kind, without holds or other owners', async () => {
    const owner = await createTenant(control, { money: '100' })
    await charge(owner, '2026-03-02T10:00:00Z')
    await charge(owner, '2026-03-02T11:00:00Z', 20)
    await charge(owner, '2026-03-02T12:00:00Z', 60, 'web')
    await search(owner, '2026-03-04T09:00:00Z', '30.0001')
    await place(owner)
    const other = await createTenant(control)
    await charge(other, '2026-03-02T10:00:00Z')
    const money = (amount: string) => ({ amount, currency: 'RUB' })
    expect(await spend(owner, '?from=2026-03-02&to=2026-03-04')).toEqual({
      from: '2026-03-02',
      to: '2026-03-04',
      timezone: 'UTC',
      total: money('39.1668'),
      items: [
        {
          date: '2026-03-02',
          spent: money('9.1667'),
          by_kind: { calls: money('6.6667'), web: money('2.5000'), leads: money('0.0000') },
        },
        {
          date: '2026-03-03',
          spent: money('0.0000'),
          by_kind: { calls: money('0.0000'), web: money('0.0000'), leads: money('0.0000') },
        },
        {
          date: '2026-03-04',
          spent: money('30.0001'),
          by_kind: { calls: money('0.0000'), web: money('0.0000'), leads: money('30.0001') },
        },
      ],
    })
    expect(spentOn(await spend(other, '?from=2026-03-01&to=2026-03-31'))).toEqual({ '2026-03-02': '5.0000' })
  })

  test('uses the days of the time zone, also with daylight saving time', async () => {
    const owner = await createTenant(control)
    await charge(owner, '2026-03-01T20:59:59.999Z', 60)
    await charge(owner, '2026-03-01T21:00:00.000Z', 120)
    const moscow = await spend(owner, '?from=2026-03-01&to=2026-03-02&timezone=Europe/Moscow')
    expect(spentOn(moscow)).toEqual({ '2026-03-01': '5.0000', '2026-03-02': '5.0000' })
    expect(spentOn(await spend(owner, '?from=2026-03-01&to=2026-03-02'))).toEqual({ '2026-03-01': '10.0000' })
    expect(spentOn(await spend(owner, '?from=2026-03-01&to=2026-03-01&timezone=Europe/Moscow'))).toEqual({
      '2026-03-01': '5.0000',
    })
    const hours = (from: string, to: string, timezone: string) => {
      const { bounds } = daysBetween(from, to, timezone)
      return bounds.slice(1).map((bound, index) => (bound.getTime() - bounds[index]!.getTime()) / 3_600_000)
    }
    expect(hours('2026-03-28', '2026-03-30', 'Europe/Berlin')).toEqual([24, 23, 24])
    expect(hours('2026-10-24', '2026-10-26', 'Europe/Berlin')).toEqual([24, 25, 24])
    expect(hours('2011-12-29', '2011-12-31', 'Pacific/Apia')).toEqual([24, 0, 24])
    // Its summer time begins at midnight: that day begins at one o'clock.
    expect(daysBetween('2026-04-24', '2026-04-24', 'Africa/Cairo').bounds[0]!.toISOString()).toBe(
      '2026-04-23T22:00:00.000Z',
    )
  })

  test('covers 30 days by default and 366 at most, and rejects a reversed period', async () => {
    const owner = await createTenant(control)
    const today = new Date(control.deps.clock.wall())
    const day = (offset: number) => new Date(today.getTime() + offset * 86_400_000).toISOString().slice(0, 10)
    expect(await spend(owner)).toMatchObject({ from: day(-29), to: day(0), timezone: 'UTC' })
    expect((await spend(owner)).items).toHaveLength(30)
    expect(await spend(owner, '?to=2026-03-30')).toMatchObject({ from: '2026-03-01', to: '2026-03-30' })
    expect(await spend(owner, '?from=2026-03-01')).toMatchObject({ from: '2026-03-01', to: '2026-03-30' })
    expect((await spend(owner, '?from=2024-01-01&to=2024-12-31')).items).toHaveLength(366)
    const refused = async (query: string) => {
      const { status, body } = await owner.call('GET', `/balance/spend?${query}`)
      return [status, body.errors?.[0].pointer, body.errors?.[0].code]
    }
    expect(await refused('from=2024-01-01&to=2025-01-01')).toEqual([400, '/to', 'too_many_days'])
    expect(await refused('from=2026-03-02&to=2026-03-01')).toEqual([400, '/to', 'before_from'])
    expect(await refused('from=2026-02-30')).toEqual([400, '/from', 'invalid_format'])
    expect(await refused('from=0001-01-01')).toEqual([400, '/from', 'custom'])
    expect(await refused('timezone=Mars/Olympus')).toEqual([400, '/timezone', 'custom'])
    expect(await refused('days=3')).toEqual([400, '/days', 'unknown_field'])
  })

  test('reads only index entries of the period and owner', async () => {
    const [busy, calm] = [await createTenant(control), await createTenant(control)]
    await fillSpend(busy, 100_000)
    await charge(calm, '2026-03-02T10:00:00Z')
    const month = await explain(busy, '2026-03-01', '2026-03-31')
    const year = await explain(calm, '2026-01-01', '2026-12-31')
    console.log(`a month of 100,000 captures a year: ${month.ms} ms, ${month.blocks} blocks: ${month.nodes.join(', ')}`)
    for (const { nodes } of [month, year]) {
      expect(nodes.join()).toMatch(/Scan ledger_entries_spent/)
      expect(nodes.join()).not.toMatch(/Seq Scan/)
    }
    expect(month.spent).toBe(8493n * 50_833n)
    expect(month.blocks).toBeLessThan(5000)
    expect(year.blocks).toBeLessThan(50)
  }, 180_000)

  /** Ended calls of a whole year, with what they were charged. */
  async function fillSpend({ ownerId, projectId }: Tenant, rows: number) {
    const { sql } = control.deps
    await fillCalls(sql, ownerId, projectId, { rows })
    await sql`
      insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, call_id, created_at)
      select gen_random_uuid(), id, ${ownerId}, account, 'settle', case account when 'held' then -50833 else 50833 end, id,
        timestamptz '2026-01-01' + (row_number() over (partition by account order by id) - 1) * interval '365 days' / ${rows}
      from calls, (values ('held'), ('revenue')) as accounts (account) where calls.owner_id = ${ownerId}`
    await sql`vacuum analyze ledger_entries`
  }

  interface Plan {
    'Node Type': string
    'Index Name'?: string
    'Relation Name'?: string
    'Shared Hit Blocks': number
    'Shared Read Blocks': number
    Plans?: Plan[]
  }
  /** The statement as it really runs, explained. */
  async function explain(owner: Tenant, from: string, to: string) {
    const explaining = ((first: TemplateStringsArray, ...rest: never[]) => {
      const texts = [`explain (analyze, buffers, format json) ${first[0]}`, ...first.slice(1)]
      return (control.deps.sql as never as (...args: unknown[]) => unknown)(
        Object.assign(texts, { raw: texts }),
        ...rest,
      )
    }) as never as Db
    const { bounds } = daysBetween(from, to, 'UTC')
    const rows = await selectSpent(control.deps.sql, owner.ownerId, bounds)
    const answer = (await selectSpent(explaining, owner.ownerId, bounds)) as never as [
      { 'QUERY PLAN': [{ Plan: Plan; 'Execution Time': number }] },
    ]
    const [{ Plan: top, 'Execution Time': ms }] = answer[0]['QUERY PLAN']
    const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)]
    return {
      nodes: all(top).map(plan => `${plan['Node Type']} ${plan['Index Name'] ?? plan['Relation Name'] ?? ''}`.trim()),
      blocks: top['Shared Hit Blocks'] + top['Shared Read Blocks'],
      ms: Math.round(ms),
      spent: rows.reduce((sum, row) => sum + row.spent, 0n),
    }
  }
})
