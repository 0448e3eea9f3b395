/** A database that was used at version 7 passes every later migration, and its counters are right. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

const OLD = 7
const folder = join(import.meta.dirname, '../../control/platform/db/migrations')

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ empty: true })
})
afterAll(() => database?.drop())

const ROWS = `
  insert into accounts (id, name, created_at) select gen_random_uuid(), 'Account ' || n, now() from generate_series(1, 3) n;
  insert into balances select id, 1000000, 0 from accounts;
  insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
    select gen_random_uuid(), id, 'P' || n, 'en', '{}', now(), now() from accounts, generate_series(1, 2) n;
  insert into contacts (id, owner_id, phone, channel, name, lead_status, created_at)
    select gen_random_uuid(), id, '+1415555' || (1000 + n), (array['phone', 'web', 'lead'])[1 + n % 3], 'Name ' || n,
      (array[null, 'new', 'hot'])[1 + n % 3], now() from accounts, generate_series(1, 300) n;
  insert into contact_projects select contacts.id, projects.id from contacts join projects using (owner_id);
  insert into do_not_call select id, '+1415555' || (2000 + n), 'api', now() from accounts, generate_series(1, 20) n;
  insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, contact_id, vars, price,
    factor_percent, created_at, deadline_at)
    select gen_random_uuid(), c.owner_id, p.project_id, 'out', 'queued', '+1', c.phone, c.id, '{}', 50000, 100, now(), now()
    from contacts c join lateral (select project_id from contact_projects where contact_id = c.id limit 1) p on true;
  insert into holds (call_id, owner_id, amount, paid_seconds, captured)
    select id, owner_id, 50000, 60, case when random() < 0.5 then 0 end from calls;
  -- Times of entries are when the request came: a settlement that committed before a later hold may have a later time.
  insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, created_at)
    select gen_random_uuid(), t.id, a.id, e.account, e.kind, e.amount, now() + make_interval(secs => t.n)
    from accounts a, lateral (values (gen_random_uuid(), 1), (gen_random_uuid(), 2), (gen_random_uuid(), 3),
      (gen_random_uuid(), 4)) t (id, n)
    join (values (1, 'funding', 'fund', -50000), (1, 'balance', 'fund', 50000), (2, 'balance', 'hold', -50000),
      (2, 'held', 'hold', 50000), (3, 'balance', 'hold', -50000), (3, 'held', 'hold', 50000),
      (4, 'held', 'settle', -50000), (4, 'balance', 'settle', 50000)) e (n, account, kind, amount) using (n);
  insert into webhooks (id, owner_id, url, events, enabled, secret_sealed, created_at)
    select gen_random_uuid(), id, 'https://a.test', array['call.failed'], true, 'x', now() from accounts;
  insert into webhook_deliveries (id, owner_id, webhook_id, event, body, status, created_at)
    select gen_random_uuid(), owner_id, id, 'call.failed', '{}', 'delivered', now() from webhooks;
  insert into api_keys (id, owner_id, name, hash, scopes, created_at)
    select gen_random_uuid(), id, 'k', decode(md5(id::text), 'hex'), array['read'], now() from accounts;
  insert into trunks (id, owner_id, name, mode, host, port, transport, allowed_ips, codecs, created_at)
    select gen_random_uuid(), id, 't', 'ip', 'a.test', 5060, 'udp', '{}', '{PCMU}', now() from accounts;`

test('rows of version 7 come through, and counters agree with them', async () => {
  const old = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  for (const name of (await readdir(folder)).sort().slice(0, OLD)) await cp(join(folder, name), join(old, name))
  await migrate({ url: database.url }, old)
  await rm(old, { recursive: true })
  const sql = connect({ url: database.url, max: 2 })
  await sql.unsafe(ROWS)
  await migrate({ url: database.url })
  const differences = async (counted: string, kept: string) =>
    sql.unsafe(`(${counted} except ${kept}) union all (${kept} except ${counted})`)
  const zero = `'00000000-0000-0000-0000-000000000000'::uuid`
  expect(
    await differences(
      `(select owner_id, ${zero}, channel, coalesce(lead_status, ''), count(*)::int from contacts group by 1, 2, 3, 4
        union all select owner_id, project_id, channel, coalesce(lead_status, ''), count(*)::int
        from contacts join contact_projects on contact_id = id group by 1, 2, 3, 4)`,
      '(select owner_id, project_id, channel, lead_status, contacts from contact_counters where contacts <> 0)',
    ),
  ).toEqual([])
  expect(
    await differences(
      'select owner_id, count(*)::int from do_not_call group by 1',
      'select owner_id, entries from do_not_call_counters',
    ),
  ).toEqual([])
  expect(
    await differences(
      `select owner_id, (select count(*)::int from ledger_entries l where l.owner_id = b.owner_id and account = 'balance'),
         (select count(*)::int from holds h where h.owner_id = b.owner_id and captured is null) from balances b`,
      'select owner_id, entries, open_holds from balances',
    ),
  ).toEqual([])
  const numbers = await sql`
    select owner_id, array_agg(seq order by seq) as seqs from ledger_entries where account = 'balance' group by 1`
  expect(numbers.map(row => row['seqs'])).toEqual(Array(3).fill([1, 2, 3, 4]))

  // A contact that goes takes its counts along, those of its projects too.
  await sql`delete from calls`
  await sql`delete from contacts`
  expect(await sql`select * from contact_counters where contacts <> 0`).toEqual([])
  await sql.end()
})

test('projects saved as 0.1 wrote them name their language models as llm, by provider', async () => {
  const older = await createDatabase({ empty: true })
  await migrate({ url: older.url }, undefined, { upTo: 37 })
  const sql = connect({ url: older.url, max: 1 })
  const kept = { prompt: 'Hi.', tools: [{ name: 'a', kind: 'not a model' }] }
  const [account] =
    await sql`insert into accounts (id, name, created_at) values (gen_random_uuid(), 'A', now()) returning id`
  const saved = [
    {
      ...kept,
      brain: { kind: 'anthropic', model: 'm' },
      brain_fallback: [
        { kind: 'google', model: 'g' },
        { kind: 'anthropic', model: 'b' },
      ],
    },
    { ...kept, brain: { kind: 'scripted' }, brain_fallback: [] },
    kept,
  ]
  for (const [n, settings] of saved.entries())
    await sql`insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
      values (gen_random_uuid(), ${account!['id']}, ${`P${n}`}, 'en', ${sql.json(settings)}, now(), now())`
  await migrate({ url: older.url })
  const rows = await sql`select settings from projects order by name`
  await sql.end()
  await older.drop()
  expect(rows.map(row => row['settings'])).toEqual([
    {
      ...kept,
      llm: { provider: 'anthropic', model: 'm' },
      llm_fallback: [
        { provider: 'google', model: 'g' },
        { provider: 'anthropic', model: 'b' },
      ],
    },
    { ...kept, llm: { provider: 'scripted' }, llm_fallback: [] },
    kept,
  ])
})

test('calls, events and traces stored by 0.1 have the names of the API', async () => {
  const older = await createDatabase({ empty: true })
  await migrate({ url: older.url }, undefined, { upTo: 37 })
  const sql = connect({ url: older.url, max: 1 })
  const [account] =
    await sql`insert into accounts (id, name, created_at) values (gen_random_uuid(), 'A', now()) returning id`
  const ownerId = account!['id'] as string
  const [project] = await sql`
    insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
    values (gen_random_uuid(), ${ownerId}, 'P', 'en', '{}', now(), now()) returning id`
  const insertCall = async (toolCalls: object[] | null) => {
    const [call] = await sql`
      insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, vars, price, factor_percent,
        created_at, deadline_at, tool_calls)
      values (gen_random_uuid(), ${ownerId}, ${project!['id']}, 'out', 'completed', '+1', '+2', '{}', 1, 100, now(), now(),
        ${toolCalls && sql.json(toolCalls as never)})
      returning id`
    return call!['id'] as string
  }
  const tools = (name: string) => [
    { name: 'a', [name]: 'ok', result: 'the verdict' },
    { name: 'b', [name]: 'timeout', result: '' },
  ]
  const used = await insertCall(tools('verdict'))
  const others = [await insertCall(null), await insertCall([])]
  const events = [
    { type: 'tool.finished', data: { tool: tools('verdict')[0] } },
    { type: 'transfer.settled', data: { name: 'Sales', taken: true } },
    { type: 'tool.started', data: { name: 'taken' } },
  ]
  for (const [seq, { type, data }] of events.entries())
    await sql`
      insert into call_events (call_id, seq, type, at, data)
      values (${used}, ${seq + 1}, ${type}, now(), ${sql.json(data as never)})`
  const messages = (name: string) => [
    { text: 'INVITE', [name]: false },
    { text: 'SIP/2.0 408', [name]: true },
  ]
  const diagnosis = (name: string) => ({ code: 'no_response', [name]: 'Nobody answered.', advice: null, evidence: [0] })
  const insertTrace = (callId: string, found: object | null) => sql`
    insert into call_traces (owner_id, call_id, created_at, messages, left_out, diagnosis)
    values (${ownerId}, ${callId}, now(), ${sql.json(messages('made_up') as never)}, 3, ${found && sql.json(found as never)})`
  await insertTrace(used, diagnosis('words'))
  await insertTrace(others[0]!, null)

  await migrate({ url: older.url })
  const stored = async (id: string) => (await sql`select tool_calls from calls where id = ${id}`)[0]!['tool_calls']
  const found = { used: await stored(used), none: await stored(others[0]!), empty: await stored(others[1]!) }
  const datas = (await sql`select data from call_events order by seq`).map(row => row['data'])
  const traces = await sql`select messages, omitted, diagnosis from call_traces order by diagnosis is null`
  await sql.end()
  await older.drop()
  expect(found).toEqual({ used: tools('status'), none: null, empty: [] })
  expect(datas).toEqual([{ tool: tools('status')[0] }, { name: 'Sales', accepted: true }, { name: 'taken' }])
  expect(traces.map(row => ({ ...row }))).toEqual([
    { messages: messages('generated'), omitted: 3, diagnosis: diagnosis('message') },
    { messages: messages('generated'), omitted: 3, diagnosis: null },
  ])
})
