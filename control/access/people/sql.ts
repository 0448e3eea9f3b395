/** People of an account: the one who signed up, who is in `accounts`, and its members. */
import type { Db, Tx } from '../../platform/db/connect.ts'
import type { Role } from '../../platform/http/caller.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface PersonRow {
  /** The person who signed up has the id of the account. */
  id: string
  owner_id: string
  name: string
  email: string | null
  role: Role
  password_hash: string | null
  created_at: Date
  /** When the account was closed. */
  closed_at: Date | null
}

const columns = (db: Db) => db`id, owner_id, name, email, role, password_hash, created_at, closed_at`

/** Has no owner parameter: this query finds the owner. */
export async function selectPersonByEmail(db: Db, email: string): Promise<PersonRow | undefined> {
  const [row] = await db<PersonRow[]>`select ${columns(db)} from people where lower(email) = ${email.toLowerCase()}`
  return row
}

export async function selectPerson(db: Db, ownerId: string, id: string): Promise<PersonRow | undefined> {
  const [row] = await db<PersonRow[]>`select ${columns(db)} from people where owner_id = ${ownerId} and id = ${id}`
  return row
}

/** The person who signed up comes first. */
export async function selectPeople(db: Db, ownerId: string, page: Page): Promise<PersonRow[]> {
  return db<PersonRow[]>`
    select ${columns(db)} from people where owner_id = ${ownerId}
    order by created_at, id limit ${page.limit} offset ${page.offset}`
}

export async function countPeople(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from people where owner_id = ${ownerId}`
  return row!.total
}

export async function insertMember(
  db: Db,
  member: Omit<PersonRow, 'closed_at' | 'email'> & { email: string },
): Promise<void> {
  await db`
    insert into members ${db(member, 'id', 'owner_id', 'email', 'name', 'role', 'password_hash', 'created_at')}`
}

export async function updateRole(db: Db, ownerId: string, id: string, role: Role): Promise<void> {
  await db`update members set role = ${role} where owner_id = ${ownerId} and id = ${id} and left_at is null`
}

export async function updatePersonPassword(
  db: Db,
  { id, owner_id }: Pick<PersonRow, 'id' | 'owner_id'>,
  passwordHash: string,
): Promise<void> {
  if (id === owner_id) {
    await db`update accounts set password_hash = ${passwordHash} where id = ${id} and deleted_at is null`
  } else {
    await db`
      update members set password_hash = ${passwordHash}
      where owner_id = ${owner_id} and id = ${id} and left_at is null`
  }
}

/** Takes away everything that lets the person in. Keys stay in the list, revoked; the row stays for the audit log. */
export async function dismissMember(tx: Tx, ownerId: string, id: string, now: Date): Promise<void> {
  await tx`
    update api_keys set revoked_at = coalesce(revoked_at, ${now}) where owner_id = ${ownerId} and person_id = ${id}`
  await tx`delete from sessions where owner_id = ${ownerId} and person_id = ${id}`
  await tx`delete from password_resets where owner_id = ${ownerId} and person_id = ${id}`
  await tx`delete from second_factors where owner_id = ${ownerId} and person_id = ${id}`
  await tx`delete from recovery_codes where owner_id = ${ownerId} and person_id = ${id}`
  await tx`delete from passkeys where owner_id = ${ownerId} and person_id = ${id}`
  await deleteInvitationsBy(tx, ownerId, id)
  await tx`
    update members set left_at = ${now}, password_hash = null where owner_id = ${ownerId} and id = ${id}`
}

// ---- Invitations ----

export interface InvitationRow {
  id: string
  owner_id: string
  email: string
  role: Role
  /** The person. */
  invited_by: string
  /** E-mail of that person. */
  inviter: string | null
  created_at: Date
  expires_at: Date
}

const invitation = (db: Db) => db`
  invitations.id, invitations.owner_id, invitations.email, invitations.role, invited_by, people.email as inviter,
  invitations.created_at, invitations.expires_at`

/** Replaces an earlier invitation of the same e-mail, whose code then no longer works. */
export async function upsertInvitation(db: Db, row: Omit<InvitationRow, 'inviter'> & { hash: Buffer }): Promise<void> {
  const fields = ['id', 'owner_id', 'email', 'role', 'hash', 'invited_by', 'created_at', 'expires_at'] as const
  await db`
    insert into invitations ${db(row, ...fields)}
    on conflict (owner_id, lower(email)) do update set id = excluded.id, email = excluded.email, role = excluded.role,
      hash = excluded.hash, invited_by = excluded.invited_by, created_at = excluded.created_at,
      expires_at = excluded.expires_at`
}

export async function selectInvitations(db: Db, ownerId: string, now: Date, page: Page): Promise<InvitationRow[]> {
  return db<InvitationRow[]>`
    select ${invitation(db)} from invitations left join people on people.id = invited_by
    where invitations.owner_id = ${ownerId} and expires_at > ${now}
    order by invitations.created_at desc, invitations.id desc limit ${page.limit} offset ${page.offset}`
}

export async function countInvitations(db: Db, ownerId: string, now: Date): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from invitations where owner_id = ${ownerId} and expires_at > ${now}`
  return row!.total
}

/** Undefined when the owner has no such invitation. */
export async function selectInvitation(db: Db, ownerId: string, id: string): Promise<InvitationRow | undefined> {
  const [row] = await db<InvitationRow[]>`
    select ${invitation(db)} from invitations left join people on people.id = invited_by
    where invitations.owner_id = ${ownerId} and invitations.id = ${id}`
  return row
}

export async function deleteInvitation(db: Db, ownerId: string, id: string): Promise<void> {
  await db`delete from invitations where owner_id = ${ownerId} and id = ${id}`
}

export async function deleteInvitationsBy(db: Db, ownerId: string, personId: string): Promise<void> {
  await db`delete from invitations where owner_id = ${ownerId} and invited_by = ${personId}`
}

/** Has no owner parameter: the code names the account. Undefined when another request has used it. */
export async function spendInvitation(db: Db, hash: Buffer, now: Date): Promise<Omit<InvitationRow, 'inviter'> | null> {
  const [row] = await db<Omit<InvitationRow, 'inviter'>[]>`
    delete from invitations using accounts
    where hash = ${hash} and expires_at > ${now} and accounts.id = owner_id and closed_at is null
    returning invitations.id, owner_id, invitations.email, role, invited_by, invitations.created_at, expires_at`
  return row ?? null
}
