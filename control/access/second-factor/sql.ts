import type { Db, Tx } from '../../platform/db/connect.ts'
import type { PersonRow } from '../people/sql.ts'
import type { Whose } from '../sessions/sessions.ts'

type Person = Pick<PersonRow, 'id' | 'owner_id'>

export interface TotpRow {
  totp_sealed: string
  totp_confirmed_at: Date | null
  totp_step: bigint | number | null
}

export async function selectTotp(db: Db, { id, owner_id }: Person): Promise<TotpRow | undefined> {
  const [row] = await db<TotpRow[]>`
    select totp_sealed, totp_confirmed_at, totp_step from second_factors
    where owner_id = ${owner_id} and person_id = ${id}`
  return row
}

/** Starts the enrolment again; a confirmed secret is not replaced. False when there is one. */
export async function upsertTotp(db: Db, { id, owner_id }: Person, sealed: string): Promise<boolean> {
  const rows = await db`
    insert into second_factors (person_id, owner_id, totp_sealed) values (${id}, ${owner_id}, ${sealed})
    on conflict (person_id) do update set totp_sealed = excluded.totp_sealed, totp_step = null
      where second_factors.totp_confirmed_at is null and second_factors.owner_id = excluded.owner_id
    returning 1`
  return rows.length > 0
}

/** False when another request has accepted this code or a later one. */
export async function spendStep(db: Db, { id, owner_id }: Person, step: number): Promise<boolean> {
  const rows = await db`
    update second_factors set totp_step = ${step}
    where owner_id = ${owner_id} and person_id = ${id} and (totp_step is null or totp_step < ${step}) returning 1`
  return rows.length > 0
}

export async function confirmTotp(db: Db, { id, owner_id }: Person, now: Date): Promise<void> {
  await db`
    update second_factors set totp_confirmed_at = ${now} where owner_id = ${owner_id} and person_id = ${id}`
}

export async function deleteTotp(db: Db, { id, owner_id }: Person): Promise<void> {
  await db`delete from second_factors where owner_id = ${owner_id} and person_id = ${id}`
}

// ---- Recovery codes ----

export async function replaceRecoveryCodes(
  tx: Tx,
  { id, owner_id }: Person,
  hashes: readonly Buffer[],
  now: Date,
): Promise<void> {
  await deleteRecoveryCodes(tx, { id, owner_id })
  const rows = hashes.map(hash => ({ hash, owner_id, person_id: id, created_at: now }))
  await tx`insert into recovery_codes ${tx(rows, 'hash', 'owner_id', 'person_id', 'created_at')}`
}

export async function deleteRecoveryCodes(db: Db, { id, owner_id }: Person): Promise<void> {
  await db`delete from recovery_codes where owner_id = ${owner_id} and person_id = ${id}`
}

/** False when there is no such code, or another request has used it. */
export async function spendRecoveryCode(db: Db, { id, owner_id }: Person, hash: Buffer): Promise<boolean> {
  const rows = await db`
    delete from recovery_codes where owner_id = ${owner_id} and person_id = ${id} and hash = ${hash} returning 1`
  return rows.length > 0
}

export async function countRecoveryCodes(db: Db, { id, owner_id }: Person): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from recovery_codes where owner_id = ${owner_id} and person_id = ${id}`
  return row!.total
}

// ---- Passkeys ----

export interface PasskeyRow {
  id: string
  owner_id: string
  person_id: string
  credential_id: string
  public_key: Buffer
  counter: bigint | number
  transports: string[]
  name: string
  created_at: Date
  last_used_at: Date | null
}

export async function insertPasskey(db: Db, row: Omit<PasskeyRow, 'last_used_at'>): Promise<void> {
  const { id, owner_id, person_id, credential_id, public_key, counter, transports, name, created_at } = row
  await db`
    insert into passkeys (id, owner_id, person_id, credential_id, public_key, counter, transports, name, created_at)
    values (${id}, ${owner_id}, ${person_id}, ${credential_id}, ${public_key}, ${counter}, ${transports}, ${name},
            ${created_at})`
}

export async function selectPasskeys(db: Db, { id, owner_id }: Person): Promise<PasskeyRow[]> {
  return db<PasskeyRow[]>`
    select * from passkeys where owner_id = ${owner_id} and person_id = ${id} order by created_at, id`
}

/** Has no owner parameter: the credential names the person. */
export async function selectPasskeyByCredential(db: Db, credentialId: string): Promise<PasskeyRow | undefined> {
  const [row] = await db<PasskeyRow[]>`select * from passkeys where credential_id = ${credentialId}`
  return row
}

/** False when another request has used a later signature of a passkey that counts. */
export async function touchPasskey(db: Db, { id, owner_id }: PasskeyRow, counter: number, now: Date): Promise<boolean> {
  const rows = await db`
    update passkeys set counter = ${counter}, last_used_at = ${now}
    where owner_id = ${owner_id} and id = ${id} and (counter < ${counter} or ${counter} = 0) returning 1`
  return rows.length > 0
}

/** False when the person has no such passkey. */
export async function deletePasskey(db: Db, { id, owner_id }: Person, passkeyId: string): Promise<boolean> {
  const rows = await db`
    delete from passkeys where owner_id = ${owner_id} and person_id = ${id} and id = ${passkeyId} returning 1`
  return rows.length > 0
}

// ---- Of the person, the session and the account ----

export async function hasSecondFactor(db: Db, { id, owner_id }: Person): Promise<boolean> {
  const [row] = await db<{ has: boolean }[]>`
    select exists (
      select 1 from second_factors
      where owner_id = ${owner_id} and person_id = ${id} and totp_confirmed_at is not null
    ) or exists (select 1 from passkeys where owner_id = ${owner_id} and person_id = ${id}) as has`
  return row!.has
}

/** Removes every factor of a person who has lost them all. */
export async function deleteSecondFactor(db: Db, person: Person): Promise<void> {
  await deleteTotp(db, person)
  await deleteRecoveryCodes(db, person)
  await db`delete from passkeys where owner_id = ${person.owner_id} and person_id = ${person.id}`
}

export async function updateProof(
  db: Db,
  { owner_id }: Whose,
  sessionId: string,
  proof: { proved_at: Date; stepped_up_at?: Date },
): Promise<void> {
  await db`
    update sessions set proved_at = ${proof.proved_at}, stepped_up_at = coalesce(${proof.stepped_up_at ?? null}, stepped_up_at)
    where owner_id = ${owner_id} and id = ${sessionId}`
}

export async function selectRequired(db: Db, ownerId: string): Promise<boolean> {
  const [row] = await db<{ required: boolean }[]>`
    select require_second_factor as required from accounts where id = ${ownerId}`
  return row?.required ?? false
}

export async function updateRequired(db: Db, ownerId: string, required: boolean): Promise<void> {
  await db`update accounts set require_second_factor = ${required} where id = ${ownerId}`
}
