import type { Db, Tx } from '../../platform/db/connect.ts'
import { ERASED } from './calls.ts'

export interface OneCall {
  id: string
  ended_at: Date | null
}

const like = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

export async function lockOne(tx: Tx, ownerId: string, id: string): Promise<OneCall | undefined> {
  const [row] = await tx<OneCall[]>`
    select id, ended_at from calls where owner_id = ${ownerId} and id = ${id} for update`
  return row
}

/** Finds calls with this person by the number, and by the contact that has it. */
export async function lockCallsWith(tx: Tx, ownerId: string, phone: string): Promise<OneCall[]> {
  return tx<OneCall[]>`
    select id, ended_at from calls
    where owner_id = ${ownerId} and (
      to_phone = ${phone} or from_phone = ${phone}
      or contact_id in (select id from contacts where owner_id = ${ownerId} and phone = ${phone})
      or id in (select call_id from realtime_sessions where owner_id = ${ownerId} and contact_phone = ${phone})
    ) order by id for update`
}

/** Includes invitations that are not used yet. */
export async function forgetSessions(tx: Tx, ownerId: string, phone: string): Promise<void> {
  await tx`
    update realtime_sessions set contact_name = null, contact_phone = null, task = null, vars = '{}'
    where owner_id = ${ownerId} and contact_phone = ${phone}`
}

/** Deletes deliveries whose body contains any of these texts, with the receivers' responses. */
export async function deleteDeliveriesOf(tx: Tx, ownerId: string, texts: readonly string[]): Promise<void> {
  await tx`delete from webhook_deliveries where owner_id = ${ownerId} and body like any(${texts.map(like)})`
}

/** Replaces stored responses that contain any of these texts. The requests still do not run twice. */
export async function forgetAnswers(
  tx: Tx,
  ownerId: string,
  texts: readonly string[],
  gone: { status: number; body: string },
) {
  await tx`
    update idempotency set status = ${gone.status}, body = ${gone.body}
    where owner_id = ${ownerId} and body like any(${texts.map(like)})`
}

// ---- Campaigns ----

/** The caller must update the campaign counters: contacts that were not dialled yet become skipped. */
export async function forgetDialled(
  tx: Tx,
  ownerId: string,
  phone: string,
): Promise<{ campaign_id: string; status: string }[]> {
  const rows = await tx<{ id: string; campaign_id: string; status: string; seq: number }[]>`
    select id, campaign_id, status from campaign_contacts
    where owner_id = ${ownerId} and phone = ${phone} order by campaign_id, id for update`
  // Keeps `seq`: the rows of an upload are numbered without gaps.
  await tx`
    update campaign_contacts set phone = ${ERASED} || ':' || id, name = null, vars = '{}', contact_id = null
    where owner_id = ${ownerId} and id = any(${rows.map(row => row.id)})`
  await tx`
    update campaign_contacts set status = 'skipped', skip_reason = ${ERASED}
    where owner_id = ${ownerId} and id = any(${rows.map(row => row.id)})
      and status in ('pending', 'no_answer', 'busy', 'failed')`
  return rows
}

// ---- Leads ----

/** Anonymises the companies that have this number; their cost stays counted. */
export async function forgetLeads(tx: Tx, ownerId: string, phone: string): Promise<number> {
  const gone = await tx<{ id: string; company: string }[]>`
    select id, company from leads
    where owner_id = ${ownerId} and (
      phones @> array[${phone}]::text[]
      or id in (select lead_id from lead_identities where identity like ${like(phone)})
    ) for update`
  const ids = gone.map(lead => lead.id)
  await tx`
    update leads set company = ${ERASED}, source_key = ${ERASED} || ':' || id, phones = '{}', emails = '{}', website = null,
      address = null, lat = null, lon = null, signals = '[]', reasons = '[]', rejected_text = null, site_problem = null,
      attribution = null, contact_id = null, search = ''
    where owner_id = ${ownerId} and id = any(${ids})`
  await tx`delete from lead_identities where lead_id = any(${ids})`
  // Other leads may mention it, by name or number, as the reason for their rejection.
  const names = [phone, ...gone.map(lead => lead.company).filter(name => name !== '' && name !== ERASED)].map(like)
  await tx`update leads set rejected_text = null where owner_id = ${ownerId} and rejected_text like any(${names})`
  return ids.length
}

/** Compares the last 10 digits, the length of a national number, because the owner's spelling may differ. */
const NATIONAL_DIGITS = 10

export async function deleteDirectoryRows(tx: Tx, ownerId: string, phone: string): Promise<void> {
  const digits = phone.replace(/\D/g, '').slice(-NATIONAL_DIGITS)
  await tx`
    with gone as (
      delete from lead_directory_rows
      where owner_id = ${ownerId} and (row::text like ${like(phone)} or exists (
        select from jsonb_array_elements_text(case when jsonb_typeof(row -> 'phones') = 'array' then row -> 'phones' else '[]' end) one
        where right(regexp_replace(one, '\\D', '', 'g'), ${NATIONAL_DIGITS}) = ${digits}
      )) returning directory_id
    ), lost as (select directory_id, count(*)::int as rows from gone group by 1)
    update lead_directories set companies = companies - lost.rows from lost where id = lost.directory_id`
}

// ---- The person ----

export async function lockContactOf(tx: Tx, ownerId: string, phone: string): Promise<string | null> {
  const [row] = await tx<{ id: string }[]>`
    select id from contacts where owner_id = ${ownerId} and phone = ${phone} for update`
  return row?.id ?? null
}

/** Keeps the number and the date on the list, and deletes the note. */
export async function bareDoNotCall(tx: Tx, ownerId: string, phone: string): Promise<boolean> {
  const rows = await tx`
    update do_not_call set note = null where owner_id = ${ownerId} and phone = ${phone} returning 1`
  return rows.length > 0
}

export interface Mention {
  kind: 'project' | 'knowledge_source' | 'campaign' | 'lead_search' | 'contact' | 'call'
  id: string
}

/**
 * Finds texts of the owner and transcripts that contain the number: software cannot decide what else in them is
 * personal.
 */
export async function selectMentions(db: Db, ownerId: string, phone: string, limit: number): Promise<Mention[]> {
  const text = like(phone)
  return db<Mention[]>`
    select 'project' as kind, id from projects
      where owner_id = ${ownerId} and deleted_at is null and settings::text like ${text}
    union all select distinct 'knowledge_source', source_id from knowledge_chunks
      where owner_id = ${ownerId} and text like ${text}
    union all select 'campaign', id from campaigns where owner_id = ${ownerId} and (name like ${text} or task like ${text})
    union all select 'lead_search', id from lead_jobs
      where owner_id = ${ownerId} and (brief_raw like ${text} or brief::text like ${text})
    union all select 'contact', id from contacts where owner_id = ${ownerId} and search like ${text}
    union all select 'call', id from calls
      where owner_id = ${ownerId} and (transcript::text like ${text} or tool_calls::text like ${text} or summary like ${text}
        or extracted::text like ${text} or task like ${text} or vars::text like ${text})
    order by kind, id limit ${limit}`
}
