import type { Db } from '../../platform/db/connect.ts'
import type { DoNotCallFilters } from './schema.ts'

export interface DoNotCallRow {
  phone: string
  source: 'api' | 'caller'
  note: string | null
  created_at: Date
}

/** False when the number is already listed; then nothing changes. */
export async function insertDoNotCall(db: Db, ownerId: string, row: DoNotCallRow): Promise<boolean> {
  const rows = await db`
    insert into do_not_call (owner_id, phone, source, note, created_at)
    values (${ownerId}, ${row.phone}, ${row.source}, ${row.note}, ${row.created_at}) on conflict do nothing returning 1`
  return rows.length > 0
}

export async function isDoNotCall(db: Db, ownerId: string, phone: string): Promise<boolean> {
  return (await db`select 1 from do_not_call where owner_id = ${ownerId} and phone = ${phone}`).length > 0
}

/** Returns one of these numbers that is on the list. */
export async function selectUnwanted(db: Db, ownerId: string, phones: readonly string[]): Promise<string | null> {
  const [row] = await db<{ phone: string }[]>`
    select phone from do_not_call where owner_id = ${ownerId} and phone = any(${[...phones]}) order by phone limit 1`
  return row?.phone ?? null
}

export async function selectDoNotCall(db: Db, ownerId: string, phone: string): Promise<DoNotCallRow | undefined> {
  const [row] = await db<DoNotCallRow[]>`
    select phone, source, note, created_at from do_not_call where owner_id = ${ownerId} and phone = ${phone}`
  return row
}

const where = (db: Db, ownerId: string, { q }: DoNotCallFilters) => db`
  owner_id = ${ownerId} ${q ? db`and phone like ${`+${q.replace('+', '')}%`}` : db``}`

export async function listDoNotCall(db: Db, ownerId: string, filters: DoNotCallFilters): Promise<DoNotCallRow[]> {
  return db<DoNotCallRow[]>`
    select phone, source, note, created_at from do_not_call where ${where(db, ownerId, filters)}
    order by created_at desc, phone desc limit ${filters.limit} offset ${filters.offset}`
}

export async function totalDoNotCall(db: Db, ownerId: string, filters: DoNotCallFilters): Promise<number> {
  const [row] = filters.q
    ? await db<{ total: number }[]>`select count(*)::int as total from do_not_call where ${where(db, ownerId, filters)}`
    : await db<{ total: number }[]>`select entries as total from do_not_call_counters where owner_id = ${ownerId}`
  return row?.total ?? 0
}

export async function deleteDoNotCall(db: Db, ownerId: string, phone: string): Promise<boolean> {
  return (await db`delete from do_not_call where owner_id = ${ownerId} and phone = ${phone} returning 1`).length > 0
}
