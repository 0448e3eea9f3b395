/**
 * Growth of response times with an owner's history: each route measured alone, ours and the bare statement alternately.
 */
import type { Sql } from '../../control/platform/db/connect.ts'
import { fillCalls } from '../support/calls.ts'
import type { Reader, Server } from './control-world.ts'
import type { Series } from './report.ts'
import { percentile } from './rpc.ts'

/** Calls of the owner: 1, 4 and 16 times. */
export const SIZES = [62_500, 250_000, 1_000_000]
const CALLS_A_CONTACT = 4
const SURNAMES = 1000

/** Inserts calls `from` … `to`, their cost, and a contact for every fourth. */
export async function fillPast(sql: Sql, { ownerId, projectId }: Reader, from: number, to: number): Promise<void> {
  await withoutIndexes(sql, async () => {
    await fillCalls(sql, ownerId, projectId, { rows: to - from, from })
    await sql.begin(async tx => {
      // Triggers keep counters and sums row by row, which would take minutes for this bulk insert.
      await tx`set local session_replication_role = replica`
      await tx`
        insert into ledger_entries (id, transaction_id, owner_id, account, kind, amount, call_id, created_at)
        select gen_random_uuid(), id, owner_id, account, 'settle', sign * cost, id, ended_at
        from calls, (values ('held', -1), ('revenue', 1)) as sides (account, sign)
        where owner_id = ${ownerId} and not exists(select 1 from ledger_entries where call_id = calls.id)`
      await tx`
        insert into contacts (id, owner_id, phone, name, search, created_at)
        select gen_random_uuid(), ${ownerId}, phone, name, lower(name) || ' ' || phone, at
        from (
          select '+1415' || (5000000 + n) as phone, 'Ada Surname' || n % ${SURNAMES} || 'x' as name,
            now() - make_interval(secs => ${to} - n) as at
          from generate_series(${from / CALLS_A_CONTACT + 1}::int, ${to / CALLS_A_CONTACT}::int) n
        ) as made`
      await tx`
        insert into contact_counters (owner_id, project_id, channel, lead_status, contacts)
        values (${ownerId}, '00000000-0000-0000-0000-000000000000', 'phone', '', ${to / CALLS_A_CONTACT})
        on conflict (owner_id, project_id, channel, lead_status) do update set contacts = excluded.contacts`
    })
  })
  // As autovacuum would within minutes: statistics, and the visibility map for index-only scans.
  for (const table of TABLES) await sql`vacuum (analyze) ${sql(table)}`
}

const TABLES = ['calls', 'ledger_entries', 'contacts']

/**
 * Drops the indexes during a bulk insert and rebuilds them by sorting: row by row, this would take most of the bench.
 */
async function withoutIndexes(sql: Sql, work: () => Promise<void>): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid::regclass::text = any(${TABLES})
      and not exists(select 1 from pg_constraint where conindid = indexrelid)`
  for (const { name } of indexes) await sql`drop index ${sql(name)}`
  await work()
  for (const { definition } of indexes) await sql.unsafe(definition)
}

const questions = [
  { name: 'page of calls', ours: '/calls?limit=50', bare: '/calls?' },
  { name: 'search of contacts, one found', ours: '/contacts?q=5015624', bare: '/contacts?q=5015624&' },
  {
    name: `search of contacts, one in ${SURNAMES} found`,
    ours: '/contacts?q=surname77x',
    bare: '/contacts?q=surname77x&',
  },
  { name: 'spend of thirty days', ours: '/balance/spend', bare: '/spend?' },
]

/** Most and fewest requests per question, whatever the time. */
const ASKED = { most: 200, least: 10 }

export interface Sized {
  calls: number
  /** Times by question and kind, in ms. */
  times: Record<'ours' | 'bare', number[]>[]
}

/** Measures each question for `seconds`. */
export async function askAt(
  calls: number,
  servers: Record<'ours' | 'bare', Server>,
  reader: Reader,
  forMs: number,
): Promise<Sized> {
  const times: Sized['times'] = []
  let asked = 0
  for (const { name, ours, bare } of questions) {
    const taken = { ours: [] as number[], bare: [] as number[] }
    const began = performance.now()
    for (let n = 0; n < ASKED.most && (n < ASKED.least || performance.now() - began < forMs); n++) {
      const key = reader.keys[asked++ % reader.keys.length]!
      const mine = await timed(`${servers.ours.url}/v1/public${ours}`, key)
      if (n === 0 && name.includes('found') && mine.total === 0) throw new Error(`${name}: nothing was found`)
      taken.ours.push(mine.ms)
      taken.bare.push((await timed(`${servers.bare.url}${bare}owner=${reader.ownerId}`, key)).ms)
    }
    times.push(taken)
  }
  return { calls, times }
}

async function timed(url: string, key: string): Promise<{ ms: number; total: number | undefined }> {
  const began = performance.now()
  const response = await fetch(url, { headers: { 'x-api-key': key } })
  const { total } = (await response.json()) as { total?: number }
  if (!response.ok) throw new Error(`${new URL(url).pathname}: ${response.status}`)
  return { ms: performance.now() - began, total }
}

export function growthSeries(sized: Sized[]): Series[] {
  return questions.flatMap(({ name }, index) =>
    (['ours', 'bare'] as const).flatMap(kind =>
      [50, 95].map(at => ({
        ...{ figure: `control: ${name}, p${at}`, unit: 'ms', load: 'calls of the owner' },
        system: kind === 'ours' ? 'parley' : 'bare Fastify, one statement',
        points: sized.map(({ calls, times }) => ({
          ...{ load: calls, value: percentile(times[index]![kind], at), valid: true },
        })),
      })),
    ),
  )
}
