/** Inserts many ended calls with their counters. */
import type { Sql } from '../../control/platform/db/connect.ts'

interface Filling {
  rows: number
  /** Number of the first call: ids and times grow with it. */
  from?: number
  status?: string
  direction?: string
}

/** One call per second, the last one now; mostly completed, a fifth of them inbound. */
export async function fillCalls(sql: Sql, ownerId: string, projectId: string, filling: Filling): Promise<void> {
  const { rows, from = 0, status = null, direction = null } = filling
  await sql.begin(async tx => {
    await tx`
      with made as (
        insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, vars, price, factor_percent,
          created_at, deadline_at, answered_at, ended_at, talked_ms, billed_seconds, cost, goal_reached, ended_reason,
          answered_by, sip_code, summary, transcript, tool_calls, latency)
        select (lpad(to_hex(n), 12, '0') || '70008000' || substr(md5(${projectId} || n), 1, 12))::uuid, ${ownerId},
          ${projectId}, coalesce(${direction}, case when n % 5 = 0 then 'in' else 'out' end),
          coalesce(${status}, case when n % 7 = 0 then 'no_answer' else 'completed' end),
          '+14155550100', '+1415' || (5000000 + n % 1000000), '{}', 50000, 100, at, at, at, at, 61000, 61, 50833,
          n % 3 = 0, 'caller_hangup', 'human', 200, 'They talked about a table for four.',
          ${tx.json([{ role: 'agent', text: 'Hello! How can I help you today?' }] as never)}, '[]', '{}'
        from (
          select n, now() - make_interval(secs => ${from + rows} - n) as at
          from generate_series(${from + 1}::int, ${from + rows}::int) n
        ) as series
        returning direction, status
      )
      insert into call_counters (owner_id, project_id, direction, status, calls)
      select ${ownerId}, ${projectId}, direction, status, count(*) from made group by direction, status
      on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + excluded.calls`
  })
  await sql`analyze calls`
}
