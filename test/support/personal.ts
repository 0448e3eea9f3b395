/**
 * Inserts data of one person into every table that holds an owner's data, so that no table can be forgotten unnoticed.
 */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { contentKey } from '../../control/knowledge/storage.ts'
import type { Sql } from '../../control/platform/db/connect.ts'
import { recordingKey } from '../../media/contract/recordings.ts'
import type { Blobs } from '../../media/shared/blobs.ts'
import type { Tenant, TestControl } from './control.ts'

export interface Person {
  phone: string
  name: string
}
export const IVAN: Person = { phone: '+79991112233', name: 'Ivan' }

export async function fillPersonal(control: TestControl, tenant: Tenant, person: Person = IVAN): Promise<void> {
  const { sql } = control.deps
  const { ownerId: owner, projectId: project } = tenant
  const { phone, name } = person
  const contact = randomUUID()
  const now = new Date(control.deps.clock.wall())
  await tenant.call('POST', '/secrets', { name: 'CRM', value: 'top secret' }, { 'idempotency-key': randomUUID() })
  await tenant.call('POST', '/softphones', { name: 'Desk', project_id: project })
  await openSession(control.deps, owner)
  await sql`insert into password_resets values (${Buffer.from(randomUUID())}, ${owner}, ${now}, ${now})`
  await fillPeople(sql, owner, now)
  await sql`
    insert into contacts (id, owner_id, phone, name, notes, tags, search, created_at)
    values (${contact}, ${owner}, ${phone}, ${name}, ${`Is ${name}`}, ${[name]}, ${`${name} ${phone}`.toLowerCase()}, ${now})`
  await sql`insert into contact_projects (contact_id, project_id) values (${contact}, ${project})`
  const unwanted = { phone, note: `${name} wrote` }
  await tenant.call('POST', '/do-not-call', unwanted, { 'idempotency-key': randomUUID() })
  const call = await fillCall(control, tenant, person, contact)
  await fillKnowledge(control.deps, owner, project, person)
  const campaign = await tenant.call('POST', '/campaigns', { name: `For ${name}`, project_id: project })
  await tenant.call('POST', `/campaigns/${campaign.body.id}/contacts`, [
    { phone, name, vars: { who: `${name} ${phone}` } },
    { phone: '+79990000000' },
  ])
  await sql`update campaign_contacts set contact_id = ${contact}, last_call_id = ${call} where phone = ${phone}`
  await fillLeads(sql, owner, contact, person)
  await sql`
    insert into number_calls (number_id, owner_id, source, first_at)
    select id, owner_id, '203.0.113.7', ${now} from numbers where owner_id = ${owner} limit 1`
  await sql`insert into retention (owner_id, kind, days, due_at) values (${owner}, 'recordings', null, ${now})`
}

/** Another person of the account with a second factor, an invitation, and a country that was called. */
async function fillPeople(sql: TestControl['deps']['sql'], owner: string, now: Date): Promise<void> {
  const member = randomUUID()
  const hash = () => Buffer.from(randomUUID())
  await sql`
    insert into members (id, owner_id, email, name, role, created_at)
    values (${member}, ${owner}, ${`${member}@example.com`}, 'Member', 'operator', ${now})`
  await sql`
    insert into invitations (id, owner_id, email, role, hash, invited_by, created_at, expires_at)
    values (${randomUUID()}, ${owner}, ${`invited-${member}@example.com`}, 'billing', ${hash()}, ${owner}, ${now}, ${now})`
  await sql`insert into second_factors (person_id, owner_id, totp_sealed) values (${member}, ${owner}, 'sealed')`
  await sql`
    insert into recovery_codes (hash, owner_id, person_id, created_at) values (${hash()}, ${owner}, ${member}, ${now})`
  await sql`
    insert into passkeys (id, owner_id, person_id, credential_id, public_key, counter, transports, name, created_at)
    values (${randomUUID()}, ${owner}, ${member}, ${member}, ${hash()}, 0, '{}', 'Laptop', ${now})`
  await sql`
    insert into called_countries (owner_id, country, first_at) values (${owner}, 'CU', ${now})
    on conflict do nothing`
}

async function fillCall(
  { deps }: TestControl,
  { ownerId: owner, projectId: project, number, call: ask }: Tenant,
  { phone, name }: Person,
  contact: string,
): Promise<string> {
  const { sql } = deps
  const call = randomUUID()
  const now = new Date(deps.clock.wall())
  const said = `It is ${name}, ${phone}`
  const recording = { key: recordingKey(owner, call), duration_ms: 1000, bytes: said.length }
  await store(deps.blobs, recording.key, said)
  await sql`
    insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, contact_id, task, vars, price,
      factor_percent, created_at, deadline_at, ended_at, cost, transcript, tool_calls, summary, extracted,
      extraction_problem, goal_evidence, media, recording)
    values (${call}, ${owner}, ${project}, 'out', 'completed', ${number}, ${phone}, ${contact}, ${said}, ${sql.json({ said })},
      50000, 100, ${now}, ${now}, ${now}, 12345, ${sql.json([{ role: 'caller', text: `It is ${name}` }])},
      ${sql.json([{ name: 'book', arguments: { said } }])}, ${said}, ${sql.json({ said })}, ${said}, ${said},
      ${sql.json({ said })}, ${sql.json(recording)})`
  await sql`insert into call_counters values (${owner}, ${project}, 'out', 'completed', 1)
    on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + 1`
  await sql`insert into call_events values (${call}, 1, 'turn.finished', ${now}, ${sql.json({ text: said })})`
  await sql`insert into call_traces values (${owner}, ${call}, ${now}, ${sql.json([{ text: `INVITE sip:${phone}@x` }])}, 0)`
  await sql`
    insert into realtime_sessions (id, owner_id, project_id, room, identity, task, vars, contact_name, contact_phone,
      created_at, expires_at, call_id)
    values (${randomUUID()}, ${owner}, ${project}, ${`talk-${call}`}, 'caller-x', ${said}, ${sql.json({ said })}, ${name},
      ${phone}, ${now}, ${now}, ${call})`
  await sql`insert into holds (call_id, owner_id, amount, paid_seconds, captured) values (${call}, ${owner}, 50000, 60, 12345)`
  const webhook = await ask('POST', '/webhooks', { url: 'https://hooks.example.com/', events: ['call.completed'] })
  // One entry contains only the call id, one the number.
  for (const body of [
    JSON.stringify({ call_id: call, data: { summary: `It is ${name}` } }),
    JSON.stringify({ phone, name }),
  ]) {
    const delivery = randomUUID()
    await sql`
      insert into webhook_deliveries (id, owner_id, webhook_id, event, body, status, created_at)
      values (${delivery}, ${owner}, ${webhook.body.id}, 'call.completed', ${body}, 'delivered', ${now})`
    await sql`
      insert into webhook_attempts (delivery_id, attempt, at, ms, response) values (${delivery}, 1, ${now}, 5, ${`Thanks, ${name}`})`
  }
  return call
}

export async function store(blobs: Blobs, key: string, text: string): Promise<void> {
  const file = join(tmpdir(), randomUUID())
  await writeFile(file, text)
  await blobs.store(key, file, { contentType: 'application/octet-stream', signal: AbortSignal.timeout(10_000) })
}

async function fillKnowledge(
  { sql, blobs }: { sql: Sql; blobs: Blobs },
  owner: string,
  project: string,
  { phone, name }: Person,
): Promise<void> {
  const source = randomUUID()
  const text = `${name} has ${phone}`
  await sql`
    insert into knowledge_sources (id, owner_id, project_id, kind, name, status, content_hash, stored, created_at)
    values (${source}, ${owner}, ${project}, 'text', ${name}, 'ready', ${Buffer.from(source)}, true, now())`
  await store(blobs, contentKey({ id: source, owner_id: owner }), text)
  await sql`insert into knowledge_indexes (project_id, owner_id) values (${project}, ${owner})`
  await sql`
    insert into knowledge_chunks (source_id, ordinal, owner_id, project_id, heading, text)
    values (${source}, 0, ${owner}, ${project}, ${name}, ${text})`
  await sql`insert into knowledge_terms values (${source}, 0, to_tsvector('simple', ${text}))`
  await sql`insert into knowledge_lexemes values (${project}, ${name.toLowerCase()}, ${source}, 1)`
  await sql`insert into knowledge_models (name, dimensions) values ('some model', 1) on conflict do nothing`
  await sql`insert into knowledge_vectors select ${source}, id, 0, 'x' from knowledge_models limit 1`
  await sql`insert into knowledge_versions values (${source}, ${owner}, ${project}, 1)`
}

async function fillLeads(sql: Sql, owner: string, contact: string, { phone, name }: Person): Promise<void> {
  const [job, lead, twin, directory] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const company = `${name} & Sons`
  await sql`
    insert into lead_jobs (id, owner_id, status, end_reason, brief_raw, brief, sources, price, target, found, enriched,
      rejected, created_at, ended_at)
    values (${job}, ${owner}, 'completed', 'exhausted', 'Bakers', '{}', '{web}', 0, 1, 2, 1, 1, now(), now())`
  await sql`
    insert into leads (id, job_id, owner_id, status, source, source_key, company, phones, emails, address, signals, reasons,
      contact_id, search, created_at)
    values (${lead}, ${job}, ${owner}, 'enriched', 'web', ${`https://${name}.example`}, ${company}, ${[phone]},
      ${[`${name}@example.com`]}, ${name}, ${sql.json([{ text: name }])}, ${sql.json([{ text: name }])}, ${contact},
      ${name.toLowerCase()}, now())`
  await sql`
    insert into leads (id, job_id, owner_id, status, source, source_key, company, rejected_code, rejected_text, search, created_at)
    values (${twin}, ${job}, ${owner}, 'rejected', 'map', 'y', 'Bakery', 'duplicate', ${`Duplicate of ${company}`}, '', now())`
  await sql`insert into lead_identities values (${job}, ${`p:${phone}`}, ${lead}), (${job}, ${`n:${name}`}, ${lead})`
  await sql`insert into lead_terms values (${owner}, '1', now(), null, null)`
  await sql`insert into lead_directories values (${directory}, ${owner}, 'Bakers', 2, now())`
  const written = `8 (${phone.slice(2, 5)}) ${phone.slice(5, 8)}-${phone.slice(8)}`
  await sql`
    insert into lead_directory_rows values
      (${directory}, ${owner}, 0, ${sql.json({ company: name, phones: [written] })}),
      (${directory}, ${owner}, 1, ${sql.json({ company: 'Another', phones: ['8 (999) 000-00-00'] })})`
}
