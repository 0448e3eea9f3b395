import { type Db, json } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { ProjectSettings } from './schema.ts'

export interface ProjectRow {
  id: string
  owner_id: string
  name: string
  language: string
  settings: ProjectSettings
  created_at: Date
  updated_at: Date
  deleted_at: Date | null
}

export async function insertProject(db: Db, ownerId: string, project: Omit<ProjectRow, 'owner_id' | 'deleted_at'>) {
  await db`
    insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
    values (${project.id}, ${ownerId}, ${project.name}, ${project.language}, ${json(db, project.settings)},
            ${project.created_at}, ${project.updated_at})`
}

export async function countProjects(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from projects where owner_id = ${ownerId} and deleted_at is null`
  return row!.total
}

/** `visible`: only these; null: all. */
export async function selectProjects(db: Db, ownerId: string, visible: readonly string[] | null = null) {
  return db<{ id: string; name: string; language: string }[]>`
    select id, name, language from projects
    where owner_id = ${ownerId} and deleted_at is null
      ${visible === null ? db`` : db`and id = any(${visible as string[]})`} order by created_at desc, id desc`
}

/** Owner of a project that the operator's settings name; undefined when it is gone. */
export async function selectProjectOwner(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db<{ owner_id: string }[]>`
    select owner_id from projects where id = ${id} and deleted_at is null`
  return row?.owner_id
}

export async function selectProject(
  db: Db,
  ownerId: string,
  id: string,
  lock = false,
): Promise<ProjectRow | undefined> {
  const [row] = await db<ProjectRow[]>`
    select * from projects where owner_id = ${ownerId} and id = ${id} and deleted_at is null
    ${lock ? db`for update` : db``}`
  return row
}

/** Includes deleted projects: a call that was accepted before the deletion is still placed. */
export async function selectProjectEver(db: Db, ownerId: string, id: string): Promise<ProjectRow | undefined> {
  const [row] = await db<ProjectRow[]>`select * from projects where owner_id = ${ownerId} and id = ${id}`
  return row
}

/** Undefined fields stay; each given setting replaces its old value. */
export async function updateProject(
  db: Db,
  ownerId: string,
  id: string,
  patch: { name?: string | undefined; language?: string | undefined; settings: Partial<ProjectSettings>; at: Date },
): Promise<ProjectRow | undefined> {
  const { name = null, language = null, settings, at } = patch
  const [row] = await db<ProjectRow[]>`
    update projects set name = coalesce(${name}, name), language = coalesce(${language}, language),
      settings = settings || ${json(db, settings)}, updated_at = ${at}
    where owner_id = ${ownerId} and id = ${id} and deleted_at is null returning *`
  return row
}

export async function markDeleted(db: Db, ownerId: string, id: string, at: Date): Promise<boolean> {
  const rows = await db`
    update projects set deleted_at = ${at}
    where owner_id = ${ownerId} and id = ${id} and deleted_at is null returning 1`
  await db`delete from number_bindings where owner_id = ${ownerId} and project_id = ${id}`
  return rows.length > 0
}

export async function upsertSecret(db: Db, ownerId: string, secret: { name: string; sealed: string; at: Date }) {
  await db`
    insert into secrets (owner_id, name, sealed, updated_at)
    values (${ownerId}, ${secret.name}, ${secret.sealed}, ${secret.at})
    on conflict (owner_id, name) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`
}

export async function selectSecrets(
  db: Db,
  ownerId: string,
  names: string[],
): Promise<{ name: string; sealed: string }[]> {
  return db<{ name: string; sealed: string }[]>`
    select name, sealed from secrets where owner_id = ${ownerId} and name = any(${names})`
}

export async function selectSecretNames(db: Db, ownerId: string, page: Page) {
  return db<{ name: string; updated_at: Date }[]>`
    select name, updated_at from secrets where owner_id = ${ownerId}
    order by name limit ${page.limit} offset ${page.offset}`
}

export async function countSecrets(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`select count(*)::int as total from secrets where owner_id = ${ownerId}`
  return row!.total
}

export async function deleteSecret(db: Db, ownerId: string, name: string): Promise<boolean> {
  return (await db`delete from secrets where owner_id = ${ownerId} and name = ${name} returning 1`).length > 0
}
