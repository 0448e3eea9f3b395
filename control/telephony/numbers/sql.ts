import type { Db } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface NumberRow {
  id: string
  number: string
  trunk_id: string
  trunk_name: string
  bindings: { project_id: string; direction: 'in' | 'out' }[]
}

/** `visible`: only bindings of these projects; null: all. */
const selection = (db: Db, visible: readonly string[] | null = null) => db`
  select numbers.id, numbers.number, numbers.trunk_id, trunks.name as trunk_name, coalesce(
    (select json_agg(json_build_object('project_id', project_id, 'direction', direction)
                     order by number_bindings.created_at, project_id, direction)
     from number_bindings where number_id = numbers.id ${ofProjects(db, visible)}), '[]') as bindings
  from numbers join trunks on trunks.id = numbers.trunk_id`

const ofProjects = (db: Db, visible: readonly string[] | null) =>
  visible === null ? db`` : db`and project_id = any(${visible as string[]})`

/** A limited key sees the numbers that are bound to its projects. */
const bound = (db: Db, visible: readonly string[] | null) =>
  visible === null
    ? db``
    : db`and exists(select 1 from number_bindings where number_id = numbers.id ${ofProjects(db, visible)})`

export async function selectNumbers(
  db: Db,
  ownerId: string,
  page: Page,
  visible: readonly string[] | null,
): Promise<NumberRow[]> {
  return db<NumberRow[]>`
    ${selection(db, visible)} where numbers.owner_id = ${ownerId} ${bound(db, visible)}
    order by numbers.created_at desc, numbers.id desc limit ${page.limit} offset ${page.offset}`
}

/** One index scan, because an owner has few numbers. */
export async function countNumbers(db: Db, ownerId: string, visible: readonly string[] | null): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from numbers where owner_id = ${ownerId} ${bound(db, visible)}`
  return row!.total
}

export async function selectNumber(db: Db, ownerId: string, number: string): Promise<NumberRow | undefined> {
  const [row] = await db<NumberRow[]>`
    ${selection(db)} where numbers.owner_id = ${ownerId} and numbers.number = ${number}`
  return row
}

/** Keeps an existing binding; the caller checks its project. */
export async function insertBinding(
  db: Db,
  ownerId: string,
  binding: { number_id: string; project_id: string; direction: 'in' | 'out'; at: Date },
): Promise<void> {
  await db`
    insert into number_bindings (number_id, direction, owner_id, project_id, created_at)
    values (${binding.number_id}, ${binding.direction}, ${ownerId}, ${binding.project_id}, ${binding.at})
    on conflict (number_id, direction) do nothing`
}

export async function deleteBindings(
  db: Db,
  ownerId: string,
  binding: { number_id: string; project_id: string; directions: string[] },
): Promise<number> {
  const rows = await db`
    delete from number_bindings
    where owner_id = ${ownerId} and number_id = ${binding.number_id} and project_id = ${binding.project_id}
      and direction = any(${binding.directions}) returning 1`
  return rows.length
}

export async function selectInboundProject(db: Db, ownerId: string, number: string): Promise<string | undefined> {
  const [row] = await db<{ project_id: string }[]>`
    select number_bindings.project_id from number_bindings
    join numbers on numbers.id = number_bindings.number_id
    where numbers.owner_id = ${ownerId} and numbers.number = ${number} and direction = 'in'`
  return row?.project_id
}
