/** The owner's own lists of companies: imports a CSV and stores its rows; sources/directory.ts searches them. */

import { readFile } from 'node:fs/promises'
import type { Upload } from '../../knowledge/upload.ts'
import type { Db } from '../../platform/db/connect.ts'
import { wallDate } from '../../platform/deps.ts'
import type { Page } from '../../platform/http/paging.ts'
import { invalidField, limitReached, notFound } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import {
  countDirectories,
  type DirectoryHead,
  deleteDirectory,
  insertDirectory,
  insertRows,
  lockDirectories,
  renameDirectory,
  selectDirectories,
  selectDirectory,
} from './directories-sql.ts'
import type { LeadDeps } from './parts.ts'
import { DirectoryError, type DirectoryReading, readDirectory } from './sources/directory.ts'

const MOST_DIRECTORIES = 20
/** Invalid rows that are listed; further ones are only counted. */
const MOST_TOLD = 100

type Save = (db: Db, answer: unknown) => Promise<void>

const present = ({ id, name, companies, created_at }: DirectoryHead) => ({
  id,
  name,
  companies,
  created_at: created_at.toISOString(),
})

export async function listDirectories(deps: Pick<LeadDeps, 'sql'>, ownerId: string, page: Page) {
  const [rows, total] = await Promise.all([
    selectDirectories(deps.sql, ownerId, page),
    countDirectories(deps.sql, ownerId),
  ])
  return { items: rows.map(present), total, limit: page.limit, offset: page.offset }
}

export async function getDirectory(deps: Pick<LeadDeps, 'sql'>, ownerId: string, id: string) {
  const row = await selectDirectory(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return present(row)
}

export async function patchDirectory(deps: Pick<LeadDeps, 'sql'>, ownerId: string, id: string, name: string) {
  const row = await renameDirectory(deps.sql, ownerId, id, name)
  if (!row) throw notFound()
  return present(row)
}

export async function removeDirectory(deps: Pick<LeadDeps, 'sql'>, ownerId: string, id: string): Promise<void> {
  if (!(await deleteDirectory(deps.sql, ownerId, id))) throw notFound()
}

export async function addDirectory(
  deps: Pick<LeadDeps, 'sql' | 'clock'>,
  ownerId: string,
  upload: Upload,
  save: Save = async () => {},
) {
  const { entries, invalid, columns } = await readUpload(upload)
  if (entries.length === 0)
    throw invalidField('/file', 'empty', 'must have at least one row with a company and a phone, e-mail or website')
  const created_at = wallDate(deps)
  const row = { id: uuidv7(created_at.getTime()), name: upload.name, companies: entries.length, created_at }
  const made = { ...present({ ...row, owner_id: ownerId }), columns }
  const answer = { ...made, invalid: invalid.slice(0, MOST_TOLD), invalid_total: invalid.length }
  return deps.sql.begin(async tx => {
    await lockDirectories(tx, ownerId)
    if ((await countDirectories(tx, ownerId)) >= MOST_DIRECTORIES) throw limitReached(MOST_DIRECTORIES, 'directories')
    await insertDirectory(tx, ownerId, row)
    const rows = entries.map(({ index: _index, ...entry }) => entry)
    await insertRows(tx, ownerId, row.id, rows)
    await save(tx, answer)
    return answer
  })
}

async function readUpload({ file }: Upload): Promise<DirectoryReading> {
  try {
    return await readDirectory(await readFile(file))
  } catch (error) {
    if (error instanceof DirectoryError) throw invalidField('/file', error.code, error.message)
    throw error
  }
}
