import type { Db, Tx } from '../../platform/db/connect.ts'
import { cleanText } from '../../platform/db/text.ts'
import type { ContactFilters, LeadStatus } from './schema.ts'

export interface ContactRow {
  id: string
  owner_id: string
  phone: string
  channel: 'phone' | 'web' | 'lead'
  name: string | null
  notes: string | null
  tags: string[]
  lead_status: LeadStatus | null
  last_call_at: Date | null
  consent: Record<string, unknown> | null
  created_at: Date
  project_ids: string[]
  do_not_call: boolean
}

/** Text that `q` is searched in. */
export const searchText = (contact: Pick<ContactRow, 'phone' | 'name' | 'notes' | 'tags'>) =>
  [contact.name, contact.phone, contact.notes, ...contact.tags].filter(Boolean).join(' ').toLowerCase()

/** Returns the contact of a phone; creates it at the first call. */
export async function upsertContact(
  db: Db,
  ownerId: string,
  contact: { id: string; phone: string; project_id: string; at: Date },
): Promise<string> {
  // The update changes nothing; without it, a conflict would return no row.
  const [row] = await db<{ id: string }[]>`
    with contact as (
      insert into contacts (id, owner_id, phone, search, created_at)
      values (${contact.id}, ${ownerId}, ${contact.phone}, ${contact.phone}, ${contact.at})
      on conflict (owner_id, phone) do update set phone = excluded.phone returning id
    ), linked as (
      insert into contact_projects (contact_id, project_id) select id, ${contact.project_id} from contact
      on conflict do nothing
    )
    select id from contact`
  return row!.id
}

/** Returns the contact of a lead; creates it unless the phone has one, which stays unchanged. */
export async function insertLeadContact(
  db: Db,
  ownerId: string,
  { id, phone, name, at }: { id: string; phone: string; name: string; at: Date },
): Promise<string> {
  const search = searchText({ phone, name, notes: null, tags: [] })
  const [row] = await db<{ id: string }[]>`
    insert into contacts (id, owner_id, phone, channel, name, lead_status, search, created_at)
    values (${id}, ${ownerId}, ${phone}, 'lead', ${name || null}, 'new', ${search}, ${at})
    on conflict (owner_id, phone) do update set phone = excluded.phone returning id`
  return row!.id
}

const columns = (db: Db) => db`
  contacts.*,
  array(select project_id from contact_projects where contact_id = contacts.id order by project_id) as project_ids,
  exists(select 1 from do_not_call d where d.owner_id = contacts.owner_id and d.phone = contacts.phone) as do_not_call`

const like = (q: string) => `%${q.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`

interface VisibleContacts extends ContactFilters {
  /** Only contacts of these projects; null: all. */
  visible: readonly string[] | null
}

const where = (db: Db, ownerId: string, { q, project_id, channel, lead, visible }: VisibleContacts) => db`
  owner_id = ${ownerId}
  ${
    visible
      ? db`and exists(
          select 1 from contact_projects v where v.contact_id = contacts.id and v.project_id = any(${visible as string[]}))`
      : db``
  }
  ${q ? db`and search like ${like(q)}` : db``}
  ${channel ? db`and channel = ${channel}` : db``}
  ${lead ? db`and lead_status = ${lead}` : db``}
  ${
    project_id
      ? db`and exists(select 1 from contact_projects p where p.contact_id = contacts.id and p.project_id = ${project_id})`
      : db``
  }`

export async function selectContacts(db: Db, ownerId: string, filters: VisibleContacts): Promise<ContactRow[]> {
  return db<ContactRow[]>`
    select ${columns(db)} from contacts where ${where(db, ownerId, filters)}
    order by created_at desc, id desc limit ${filters.limit} offset ${filters.offset}`
}

/** Row of the counters for all projects together. */
const ALL = '00000000-0000-0000-0000-000000000000'

/** Counts rows only for a search and for a limited key; otherwise reads the counters. */
export async function totalContacts(db: Db, ownerId: string, filters: VisibleContacts): Promise<number> {
  const { q, project_id, channel, lead, visible } = filters
  const [row] =
    q || visible
      ? await db<{ total: number }[]>`select count(*)::int as total from contacts where ${where(db, ownerId, filters)}`
      : await db<{ total: number }[]>`
        select coalesce(sum(contacts), 0)::int as total from contact_counters
        where owner_id = ${ownerId} and project_id = ${project_id ?? ALL}
          ${channel ? db`and channel = ${channel}` : db``}
          ${lead ? db`and lead_status = ${lead}` : db``}`
  return row!.total
}

export async function selectContact(db: Db, ownerId: string, id: string): Promise<ContactRow | undefined> {
  const [row] = await db<ContactRow[]>`
    select ${columns(db)} from contacts where owner_id = ${ownerId} and id = ${id}`
  return row
}

export async function lockContact(tx: Tx, ownerId: string, id: string): Promise<ContactRow | undefined> {
  const [row] = await tx<ContactRow[]>`
    select ${columns(tx)} from contacts where owner_id = ${ownerId} and id = ${id} for update of contacts`
  return row
}

export async function updateContact(db: Db, ownerId: string, row: ContactRow): Promise<void> {
  const change = { ...row, search: searchText(row) }
  await db`
    update contacts set ${db(change, 'name', 'notes', 'tags', 'lead_status', 'search')}
    where owner_id = ${ownerId} and id = ${row.id}`
}

/** Call under its lock. Calls and campaigns keep their rows without the contact. */
export async function deleteContact(tx: Tx, ownerId: string, id: string): Promise<void> {
  await tx`update calls set contact_id = null where owner_id = ${ownerId} and contact_id = ${id}`
  await tx`update campaign_contacts set contact_id = null where owner_id = ${ownerId} and contact_id = ${id}`
  await tx`delete from contacts where owner_id = ${ownerId} and id = ${id}`
}

export async function touchContact(db: Db, ownerId: string, id: string, at: Date): Promise<void> {
  await db`
    update contacts set last_call_at = greatest(last_call_at, ${at}) where owner_id = ${ownerId} and id = ${id}`
}

/** Stores the name given in a call, unless the contact already has one. */
export async function nameContact(db: Db, ownerId: string, id: string, name: string): Promise<void> {
  const given = cleanText(name).trim().slice(0, 200)
  await db`
    update contacts set name = ${given}, search = lower(${given}) || ' ' || search
    where owner_id = ${ownerId} and id = ${id} and name is null and ${given !== ''}`
}

/** Makes a caller a lead, once. Returns the phone if it became one now. */
export async function becomeLead(db: Db, ownerId: string, id: string): Promise<string | null> {
  const [row] = await db<{ phone: string }[]>`
    update contacts set lead_status = 'new'
    where owner_id = ${ownerId} and id = ${id} and lead_status is null returning phone`
  return row?.phone ?? null
}
