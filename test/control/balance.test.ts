import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { extendCall } from '../../control/calls/admit.ts'
import { finish } from '../../control/calls/finish.ts'
import { connect } from '../../control/db/connect.ts'
import { migrate } from '../../control/db/migrate.ts'
import { uuidv7 } from '../../control/ids.ts'
import { fund } from '../../control/money.ts'
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

test('every change of the balance is listed, newest first, with what it was for', async () => {
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

test('what moves nothing is no entry: a call that used its hold up, a call without a price', async () => {
  const owner = await createTenant(control)
  const id = await place(owner)
  await finish(control.deps, id, record({ talked_ms: 60_000 }))
  await control.deps.sql`update accounts set minute_price = 0 where id = ${owner.ownerId}`
  await finish(control.deps, await place(owner), record())
  expect((await entries(owner)).items.map(line)).toEqual(['hold -5.0000 95.0000', 'fund 100.0000 100.0000'])
})

test('pages join without gap or repeat, and nobody sees another’s', async () => {
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

test('under many at once each balance follows from the one before', async () => {
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

test('a ledger from before entries were numbered is numbered by the migration', async () => {
  const database = await createDatabase({ empty: true })
  const folder = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  const source = join(import.meta.dirname, '../../control/db/migrations')
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
