import type { Db } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface NumberRow {
  id: string
  number: string
  trunk_id: string
  trunk_name: string
  verified_at: Date | null
  bindings: { project_id: string; direction: 'in' | 'out' }[]
}

/** `visible`: only bindings of these projects; null: all. */
const selection = (db: Db, visible: readonly string[] | null = null) => db`
  select numbers.id, numbers.number, numbers.trunk_id, trunks.name as trunk_name, numbers.verified_at, coalesce(
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

export async function updateVerified(db: Db, ownerId: string, id: string, at: Date): Promise<void> {
  await db`update numbers set verified_at = ${at} where owner_id = ${ownerId} and id = ${id}`
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

/** `trunkId`: the trunk that the call came over, which must have the number; null for calls of softphones. */
export async function selectInboundProject(
  db: Db,
  ownerId: string,
  number: string,
  trunkId: string | null,
): Promise<string | undefined> {
  const [row] = await db<{ project_id: string }[]>`
    select number_bindings.project_id from number_bindings
    join numbers on numbers.id = number_bindings.number_id
    where numbers.owner_id = ${ownerId} and numbers.number = ${number} and direction = 'in'
      and (${trunkId}::uuid is null or numbers.trunk_id = ${trunkId})`
  return row?.project_id
}

/** Sources remembered per number; a carrier calls from fewer. */
const MOST_SOURCES = 64

/**
 * Records that a call to the number came from `source`. Returns true for the first one of a number that other accounts
 * list, too.
 */
export async function insertNumberCall(
  db: Db,
  ownerId: string,
  call: { number: string; trunkId: string; source: string; at: Date },
): Promise<boolean> {
  const [row] = await db<{ contested: boolean }[]>`
    with first as (
      insert into number_calls (number_id, owner_id, source, first_at)
      select id, owner_id, ${call.source}, ${call.at} from numbers
      where owner_id = ${ownerId} and number = ${call.number} and trunk_id = ${call.trunkId}
        and (select count(*) from number_calls where number_id = numbers.id) < ${MOST_SOURCES}
      on conflict do nothing returning number_id
    )
    select exists (select 1 from numbers where number = ${call.number} and owner_id <> ${ownerId}) as contested from first`
  return row?.contested ?? false
}
