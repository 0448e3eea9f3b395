/**
 * One server of the control benchmark, in a process of its own: `ours` is the whole app, `bare` a Fastify without anything,
 * whose two routes run one SQL statement each that reads or writes the same rows. Arguments come as JSON.
 */
import { tmpdir } from 'node:os'
import Fastify, { type FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'
import { buildApp } from '../../control/app.ts'
import { connect, type Sql } from '../../control/db/connect.ts'
import { type Deps, defaultConfig } from '../../control/deps.ts'
import { uuidv7 } from '../../control/ids.ts'
import { createBoss } from '../../control/jobs.ts'
import { createFolderBlobs } from '../../infra/blobs.ts'
import { systemClock } from '../../infra/clock.ts'
import { createControlBus } from '../../media/contract/bus-control.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { quietLog } from '../support/world.ts'

export interface ServerArguments {
  kind: 'ours' | 'bare'
  databaseUrl: string
  redisUrl: string
}

const POOL = 10

const { kind, databaseUrl, redisUrl } = JSON.parse(process.argv[2]!) as ServerArguments
const sql = connect({ url: databaseUrl, max: POOL })
const app = kind === 'ours' ? await ours() : bare()
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as { port: number }
process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`)
process.on('SIGTERM', () => process.exit(0))

async function ours(): Promise<FastifyInstance> {
  const redis = new Redis(redisUrl)
  const boss = createBoss({ url: databaseUrl, max: 2, log: quietLog, supervise: false })
  await boss.start()
  const sealer = createSealer('the bench has no secrets')
  const bus = createControlBus({ redis, sealer, consumer: 'bench', log: quietLog, prefix: 'bench' })
  const deps: Deps = {
    ...{ sql, redis, bus, sealer, boss, clock: systemClock, log: quietLog },
    config: { ...defaultConfig, redis_prefix: 'bench', max_calls_per_owner: 1_000_000, max_event_loop_delay_ms: 0 },
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    blobs: createFolderBlobs(tmpdir()),
    mail: { send: async () => {} },
  }
  return buildApp(deps)
}

function bare(): FastifyInstance {
  const plain = Fastify()
  plain.setErrorHandler((error, _, reply) => {
    console.error((error as Error).message)
    return reply.code(500).send()
  })
  plain.get('/calls', async request => ({
    items: await page(sql, (request.query as { owner: string }).owner),
  }))
  plain.post('/calls', async (request, reply) => {
    reply.code(201)
    return write(sql, request.body as WriteInput)
  })
  return plain
}

/** The columns of a listed call, the newest fifty of an owner, and how many there are. */
const page = (db: Sql, owner: string) => db`
  select id, project_id, direction, status, from_phone, to_phone, contact_id, campaign_id, created_at, answered_at,
    ended_at, talked_ms, billed_seconds, cost::text, goal_reached, ended_reason, answered_by, sip_code,
    (select sum(calls)::int from call_counters where owner_id = ${owner}) as total
  from calls where owner_id = ${owner} order by created_at desc, id desc limit 50`

export interface WriteInput {
  owner_id: string
  project_id: string
  trunk_id: string
  from: string
  phone: string
}

const PRICE = 50_000n

async function write(db: Sql, input: WriteInput) {
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
