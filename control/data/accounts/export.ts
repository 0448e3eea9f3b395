import { fromUnits } from '../../billing/money.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { type OwnedTable, ownedTables } from './owned-tables.ts'

const ROWS_AT_ONCE = 200

/**
 * Writes all data of an account as one JSON object, `{exported_at, currency, account, <table>: [rows]}`, in pieces,
 * because it may be larger than memory. All data is from one snapshot. Money is a decimal string. Secrets, passwords
 * and hashes are excluded.
 */
export async function exportAccount(
  deps: Pick<Deps, 'sql' | 'clock' | 'config'>,
  ownerId: string,
  write: (piece: string) => Promise<void>,
): Promise<void> {
  await deps.sql.begin('isolation level repeatable read read only', async tx => {
    const [account] = await tx`
      select id, name, email, minute_price, created_at, deleted_at from accounts where id = ${ownerId}`
    const { currency } = deps.config
    const head = { exported_at: wallDate(deps), currency, account }
    await write(toJson(head).slice(0, -1))
    for (const table of ownedTables) if (table.exported) await writeTable(tx, ownerId, table, table.exported, write)
    await write('\n}\n')
  })
}

async function writeTable(
  tx: Tx,
  ownerId: string,
  table: OwnedTable,
  { without, order }: Exclude<OwnedTable['exported'], false>,
  write: (piece: string) => Promise<void>,
): Promise<void> {
  await write(`,\n${JSON.stringify(table.name)}: [`)
  let separator = '\n  '
  const rows = tx`select * from ${tx(table.name)} where ${isOwned(tx, ownerId, table)} order by ${tx(order)}`
  for await (const batch of rows.cursor(ROWS_AT_ONCE)) {
    const lines = batch.map(row =>
      toJson(Object.fromEntries(Object.entries(row).filter(([key]) => !without.includes(key)))),
    )
    await write(separator + lines.join(',\n  '))
    separator = ',\n  '
  }
  await write(']')
}

/** SQL condition that a row of this table belongs to the owner. */
export function isOwned(db: Db, ownerId: string, { through }: OwnedTable) {
  if (!through) return db`owner_id = ${ownerId}`
  return db`${db(through.column)} in (select id from ${db(through.table)} where owner_id = ${ownerId})`
}

/** Every bigint of the schema is money. */
const toJson = (value: unknown) =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? fromUnits(inner) : inner))
