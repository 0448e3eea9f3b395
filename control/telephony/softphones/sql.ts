import type { ProjectRow } from '../../agents/projects/sql.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface SoftphoneRow {
  id: string
  owner_id: string
  project_id: string
  name: string
  username: string
  credentials_sealed: string
  created_at: Date
}

/** False when the user name is taken. */
export async function insertSoftphone(db: Db, row: SoftphoneRow): Promise<boolean> {
  return (await db`insert into softphones ${db(row as never)} on conflict (username) do nothing returning 1`).length > 0
}

export async function selectSoftphones(db: Db, ownerId: string, page: Page): Promise<SoftphoneRow[]> {
  return db<SoftphoneRow[]>`
    select * from softphones where owner_id = ${ownerId}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** Serialises the creation of an owner's softphones. */
export async function lockSoftphones(tx: Tx, ownerId: string): Promise<void> {
  await tx`select 1 from accounts where id = ${ownerId} for no key update`
}

/** An owner has only a few. */
export async function countSoftphones(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`select count(*)::int as total from softphones where owner_id = ${ownerId}`
  return row!.total
}

export async function selectSoftphone(db: Db, ownerId: string, id: string): Promise<SoftphoneRow | undefined> {
  const [row] = await db<SoftphoneRow[]>`select * from softphones where owner_id = ${ownerId} and id = ${id}`
  return row
}

export async function lockSoftphone(tx: Tx, ownerId: string, id: string): Promise<SoftphoneRow | undefined> {
  const [row] = await tx<SoftphoneRow[]>`select * from softphones where owner_id = ${ownerId} and id = ${id} for update`
  return row
}

/** Has no owner parameter: engines are trusted and name only authenticated softphones. */
export async function selectSoftphoneById(db: Db, id: string): Promise<SoftphoneRow | undefined> {
  const [row] = await db<SoftphoneRow[]>`select * from softphones where id = ${id}`
  return row
}

export async function selectSoftphoneId(db: Db, ownerId: string, username: string): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from softphones where owner_id = ${ownerId} and username = ${username}`
  return row?.id ?? null
}

export async function updateSoftphone(db: Db, ownerId: string, row: SoftphoneRow): Promise<void> {
  await db`
    update softphones set ${db(row, 'name', 'project_id', 'credentials_sealed')}
    where owner_id = ${ownerId} and id = ${row.id}`
}

export async function deleteSoftphone(db: Db, ownerId: string, id: string): Promise<string | undefined> {
  const [row] = await db<{ username: string }[]>`
    delete from softphones where owner_id = ${ownerId} and id = ${id} returning username`
  return row?.username
}

export async function selectAllSoftphones(db: Db): Promise<SoftphoneRow[]> {
  return db<SoftphoneRow[]>`select * from softphones`
}

export async function selectSoftphonesOf(db: Db, ownerId: string): Promise<Pick<SoftphoneRow, 'id' | 'username'>[]> {
  return db<SoftphoneRow[]>`select id, username from softphones where owner_id = ${ownerId}`
}

const PUBLISH_LOCK = 7_281_114

/** Serialises publishing, so that older data cannot overwrite newer data. */
export async function lockPublishing(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${PUBLISH_LOCK})`
}

/** Returns the oldest project of that name, as written or in a form that can be dialled: `table-reservations`. */
export async function selectProjectByName(db: Db, ownerId: string, name: string): Promise<ProjectRow | undefined> {
  const [row] = await db<ProjectRow[]>`
    select * from projects where owner_id = ${ownerId} and deleted_at is null and (
      lower(name) = lower(${name}) or regexp_replace(lower(name), '[^[:alnum:]]+', '-', 'g') = lower(${name}))
    order by created_at, id limit 1`
  return row
}
