import { type Db, json, type Sql, type Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { DirectoryEntry, DirectoryRows } from './sources/directory.ts'

export interface DirectoryHead {
  id: string
  owner_id: string
  name: string
  companies: number
  created_at: Date
}

export async function insertDirectory(tx: Tx, ownerId: string, directory: Omit<DirectoryHead, 'owner_id'>) {
  await tx`insert into lead_directories ${tx({ ...directory, owner_id: ownerId })}`
}

const ROWS_AT_ONCE = 1000

/** In order, numbered from 0. */
export async function insertRows(
  tx: Tx,
  ownerId: string,
  directoryId: string,
  entries: readonly DirectoryEntry[],
): Promise<void> {
  for (let from = 0; from < entries.length; from += ROWS_AT_ONCE) {
    await tx`
      insert into lead_directory_rows (directory_id, owner_id, seq, row)
      select ${directoryId}, ${ownerId}, ${from}::int + n - 1, entry
      from jsonb_array_elements(${json(tx, entries.slice(from, from + ROWS_AT_ONCE))}::jsonb)
        with ordinality as given (entry, n)`
  }
}

/** Serialises uploads, so that two cannot both take the last free directory. */
export async function lockDirectories(tx: Tx, ownerId: string): Promise<void> {
  await tx`select 1 from accounts where id = ${ownerId} for no key update`
}

export async function selectDirectories(db: Db, ownerId: string, { limit, offset }: Page): Promise<DirectoryHead[]> {
  return db<DirectoryHead[]>`
    select * from lead_directories where owner_id = ${ownerId}
    order by created_at desc, id desc limit ${limit} offset ${offset}`
}

/** An owner has only a few. */
export async function countDirectories(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from lead_directories where owner_id = ${ownerId}`
  return row!.total
}

export async function hasDirectories(db: Db, ownerId: string): Promise<boolean> {
  return (await db`select 1 from lead_directories where owner_id = ${ownerId} limit 1`).length > 0
}

export async function selectDirectory(db: Db, ownerId: string, id: string): Promise<DirectoryHead | undefined> {
  const [row] = await db<DirectoryHead[]>`
    select * from lead_directories where owner_id = ${ownerId} and id = ${id}`
  return row
}

export async function renameDirectory(
  db: Db,
  ownerId: string,
  id: string,
  name: string,
): Promise<DirectoryHead | undefined> {
  const [row] = await db<DirectoryHead[]>`
    update lead_directories set name = ${name} where owner_id = ${ownerId} and id = ${id} returning *`
  return row
}

/** Also deletes its rows. */
export async function deleteDirectory(db: Db, ownerId: string, id: string): Promise<boolean> {
  return (await db`delete from lead_directories where owner_id = ${ownerId} and id = ${id} returning 1`).length > 0
}

/** Reads each page with its own statement, so that a search of two hours holds no connection. */
export const createDirectoryRows = (sql: Sql): DirectoryRows => ({
  async *rows({ ownerId }) {
    let after: { id: string; seq: number } | null = null
    for (;;) {
      const page: { directory_id: string; seq: number; row: DirectoryEntry }[] = await sql`
        select directory_id, seq, row from lead_directory_rows where owner_id = ${ownerId}
        ${after ? sql`and (directory_id, seq) > (${after.id}, ${after.seq})` : sql``}
        order by directory_id, seq limit ${ROWS_AT_ONCE}`
      for (const { directory_id, seq, row } of page) {
        after = { id: directory_id, seq }
        yield { ...row, key: `${directory_id}/${seq}` }
      }
      if (page.length < ROWS_AT_ONCE) return
    }
  },
})
