import type { Db } from '../db/connect.ts'

/** The contact of a phone, made at its first call. */
export async function upsertContact(
  db: Db,
  ownerId: string,
  contact: { id: string; phone: string; project_id: string; at: Date },
): Promise<string> {
  // The update changes nothing; without it a conflict would return no row.
  const [row] = await db<{ id: string }[]>`
    insert into contacts (id, owner_id, phone, created_at)
    values (${contact.id}, ${ownerId}, ${contact.phone}, ${contact.at})
    on conflict (owner_id, phone) do update set phone = excluded.phone returning id`
  await db`
    insert into contact_projects (contact_id, project_id) values (${row!.id}, ${contact.project_id})
    on conflict do nothing`
  return row!.id
}

export async function touchContact(db: Db, ownerId: string, id: string, at: Date): Promise<void> {
  await db`
    update contacts set last_call_at = greatest(last_call_at, ${at}) where owner_id = ${ownerId} and id = ${id}`
}

export async function insertDoNotCall(
  db: Db,
  ownerId: string,
  entry: { phone: string; source: string; at: Date },
): Promise<void> {
  await db`
    insert into do_not_call (owner_id, phone, source, created_at)
    values (${ownerId}, ${entry.phone}, ${entry.source}, ${entry.at}) on conflict do nothing`
}

export async function isDoNotCall(db: Db, ownerId: string, phone: string): Promise<boolean> {
  return (await db`select 1 from do_not_call where owner_id = ${ownerId} and phone = ${phone}`).length > 0
}
