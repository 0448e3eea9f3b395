/** The reference for each route: the same rows by one SQL statement, without anything else that a public API needs. */
import type { FastifyInstance } from 'fastify'
import type { Sql } from '../../control/platform/db/connect.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import type { LiveKit } from '../../control/telephony/realtime/livekit.ts'
import { newCaller, newTalkRoom } from '../../control/telephony/realtime/names.ts'

type Query = Record<string, string>

export function bareRoutes(app: FastifyInstance, sql: Sql, livekit: LiveKit): void {
  const get = (path: string, read: (query: Query) => Promise<unknown>) =>
    app.get(path, request => read({ ...(request.query as Query), ...(request.params as Query) }))
  get('/calls', async ({ owner }) => ({ items: await page(sql, owner!) }))
  get('/calls/:id', ({ owner, id }) => call(sql, owner!, id!))
  get('/projects', async ({ owner }) => ({ projects: await projects(sql, owner!) }))
  get('/campaigns/:id', ({ owner, id }) => campaign(sql, owner!, id!))
  get('/balance', ({ owner }) => balance(sql, owner!))
  get('/contacts', async ({ owner, q }) => ({ items: await search(sql, owner!, q!) }))
  get('/spend', async ({ owner }) => ({ items: await spend(sql, owner!) }))
  app.post('/mcp', async request => {
    const { id, params } = request.body as { id: number; params: { arguments: { owner: string } } }
    const answer = await balance(sql, params.arguments.owner)
    const content = [{ type: 'text', text: JSON.stringify(answer) }]
    return { jsonrpc: '2.0', id, result: { content, structuredContent: answer } }
  })
  app.post('/calls', (request, reply) => {
    reply.code(201)
    return placed(sql, request.body as CallWish)
  })
  app.patch('/projects/:id', request => patched(sql, (request.params as Query)['id']!, request.body as ProjectWish))
  app.post('/realtime/session', (request, reply) => {
    reply.code(201)
    return session(sql, livekit, request.body as SessionWish)
  })
}

/** The newest fifty calls of an owner with the columns of a list, and their total. */
const page = (db: Sql, owner: string) => db`
  select id, project_id, direction, status, from_phone, to_phone, contact_id, campaign_id, created_at, answered_at,
    ended_at, talked_ms, billed_seconds, cost::text, goal_reached, ended_reason, answered_by, sip_code,
    (select sum(calls)::int from call_counters where owner_id = ${owner}) as total
  from calls where owner_id = ${owner} order by created_at desc, id desc limit 50`

const first = async (rows: Promise<readonly unknown[]>) => (await rows)[0]

const call = (db: Sql, owner: string, id: string) =>
  first(db`
    select id, project_id, direction, status, from_phone, to_phone, contact_id, campaign_id, task, vars, created_at,
      answered_at, ended_at, talked_ms, billed_seconds, cost::text, goal_reached, goal_evidence, ended_reason, answered_by,
      sip_code, summary, extracted, extraction_problem, transcript, tool_calls, latency, recording, missing_vars
    from calls where owner_id = ${owner} and id = ${id}`)

const projects = (db: Sql, owner: string) => db`
  select id, name, language from projects where owner_id = ${owner} and deleted_at is null
  order by created_at desc, id desc`

const campaign = (db: Sql, owner: string, id: string) =>
  first(db`
    select campaigns.id, project_id, name, task, status, pause_reason, timezone, window_start, window_end, concurrency,
      retries, retry_interval_min, started_at, completed_at, created_at, updated_at, campaign_counters.*
    from campaigns join campaign_counters on campaign_counters.campaign_id = campaigns.id
    where campaigns.owner_id = ${owner} and campaigns.id = ${id}`)

const balance = (db: Sql, owner: string) =>
  first(db`
    select available::text as balance, held::text, minute_price::text, status, ends_at
    from balances join accounts on accounts.id = balances.owner_id
      left join subscriptions on subscriptions.owner_id = accounts.id
    where balances.owner_id = ${owner}`)

const search = (db: Sql, owner: string, q: string) => db`
  select id, phone, name, notes, tags, lead_status, channel, last_call_at, created_at, count(*) over ()::int as total
  from contacts where owner_id = ${owner} and search like ${`%${q}%`} order by created_at desc, id desc limit 50`

const spend = (db: Sql, owner: string) => db`
  select created_at::date as date, sum(amount)::text as spent from ledger_entries
  where owner_id = ${owner} and account = 'revenue' and created_at >= now() - interval '30 days' group by 1 order by 1`

interface ProjectWish {
  owner_id: string
  greeting: string
}

const patched = (db: Sql, id: string, { owner_id, greeting }: ProjectWish) =>
  first(db`
    update projects set settings = settings || ${{ greeting } as never}::jsonb, updated_at = now()
    where owner_id = ${owner_id} and id = ${id} and deleted_at is null
    returning id, name, language, settings, created_at, updated_at`)

interface SessionWish {
  owner_id: string
  project_id: string
}

async function session(db: Sql, livekit: LiveKit, { owner_id, project_id }: SessionWish) {
  const at = Date.now()
  const seat = { room: newTalkRoom(livekit), identity: newCaller() }
  const token = await livekit.token({ ...seat, ttlSeconds: 3600, publish: 'all', data: true, maxParticipants: 3 })
  await db`
    insert into realtime_sessions (id, owner_id, project_id, room, identity, vars, created_at, expires_at)
    values (${uuidv7(at)}, ${owner_id}, ${project_id}, ${seat.room}, ${seat.identity}, '{}', ${new Date(at)},
      ${new Date(at + 3_600_000)})`
  return { url: livekit.publicUrl, token, expires_in: 3600 }
}

interface CallWish {
  owner_id: string
  project_id: string
  trunk_id: string
  from: string
  phone: string
}

const PRICE = 50_000n

async function placed(db: Sql, input: CallWish) {
  const at = new Date()
  const [id, contact, transaction, first, second] = Array.from({ length: 5 }, () => uuidv7(at.getTime()))
  const { owner_id, project_id, trunk_id, from, phone } = input
  const [row] = await db`
    with contact as (
      insert into contacts (id, owner_id, phone, search, created_at)
      values (${contact!}, ${owner_id}, ${phone}, ${phone}, ${at})
      on conflict (owner_id, phone) do update set phone = excluded.phone returning id
    ), linked as (
      insert into contact_projects (contact_id, project_id) select id, ${project_id} from contact on conflict do nothing
    ), reserved as (
      update balances set available = available - ${PRICE}, held = held + ${PRICE}, entries = entries + 1,
        open_holds = open_holds + 1
      where owner_id = ${owner_id} and available >= ${PRICE} returning available, entries
    ), held as (
      insert into holds (call_id, owner_id, amount, paid_seconds) values (${id!}, ${owner_id}, ${PRICE}, 60)
    ), ledger as (
      insert into ledger_entries
        (id, transaction_id, owner_id, account, kind, amount, call_id, created_at, seq, balance_after)
      select ${first!}::uuid, ${transaction!}::uuid, ${owner_id}::uuid, 'balance', 'hold', ${-PRICE}::bigint, ${id!}::uuid,
        ${at}::timestamptz, entries, available from reserved
      union all
      select ${second!}::uuid, ${transaction!}::uuid, ${owner_id}::uuid, 'held', 'hold', ${PRICE}::bigint, ${id!}::uuid,
        ${at}::timestamptz, null, null from reserved
    ), counted as (
      insert into call_counters (owner_id, project_id, direction, status, calls)
      values (${owner_id}, ${project_id}, 'out', 'queued', 1)
      on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + 1
    ), job as (
      insert into parley_jobs.job (name, data) values ('call.place', ${{ call_id: id } as never})
    )
    insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, contact_id, trunk_id, vars,
      price, factor_percent, created_at, deadline_at)
    select ${id!}, ${owner_id}, ${project_id}, 'out', 'queued', ${from}, ${phone}, contact.id, ${trunk_id}, '{}',
      ${PRICE}, 100, ${at}, ${at} from contact, reserved
    returning id, status`
  return row
}
