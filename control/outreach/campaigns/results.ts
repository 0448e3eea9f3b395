/** Results of a campaign as CSV: a line for each contact, in the order of upload. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { presentProject } from '../../agents/projects/service.ts'
import { selectProjectEver } from '../../agents/projects/sql.ts'
import type { Deps } from '../../platform/deps.ts'
import { time } from '../../platform/http/shapes.ts'
import { exportTurn } from '../../platform/jobs/export-turns.ts'
import { BOM, type Cell, guarded, toCsv } from './csv.ts'
import { findCampaign } from './service.ts'
import { type CountedCampaign, type ResultRow, selectResultNames, selectResults } from './sql.ts'

/** Rows of one statement: a slow reader holds no database connection. */
const ROWS_AT_ONCE = 1000
/** Maximum number of columns for vars, and for extracted fields. */
const MOST_NAMES = 200

/** Name and value of each column. */
type Columns = [name: string, of: (row: ResultRow) => Cell][]

const fixed: Columns = [
  ['phone', row => row.phone],
  ['name', row => guarded(row.name)],
  ['status', row => row.status],
  ['goal_reached', row => row.goal_reached],
  ['attempts', row => row.attempts],
  ['skip_reason', row => guarded(row.skip_reason)],
  ['last_call_id', row => row.last_call_id],
  ['last_call_ended_at', row => time(row.ended_at)],
  ['last_call_ended_reason', row => row.ended_reason],
  ['answered_by', row => row.answered_by],
  ['duration_seconds', row => (row.talked_ms === null ? null : Math.round(row.talked_ms / 1000))],
  ['summary', row => guarded(row.summary)],
]

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') return value
  return guarded(typeof value === 'string' ? value : JSON.stringify(value))
}

async function columnsOf(deps: Pick<Deps, 'sql'>, campaign: CountedCampaign): Promise<Columns> {
  const { owner_id, id, project_id } = campaign
  const [project, seen] = await Promise.all([
    selectProjectEver(deps.sql, owner_id, project_id),
    selectResultNames(deps.sql, owner_id, id, { limit: MOST_NAMES }),
  ])
  const schema = project ? presentProject(project).extraction : null
  const asked = Object.keys((schema?.['properties'] as object | undefined) ?? {})
  const extracted = [...new Set([...asked, ...seen.extracted])]
  return [
    ...fixed,
    ...seen.vars.map(name => [`vars.${name}`, row => cellOf(row.vars[name])] as Columns[number]),
    ...extracted.map(name => [guarded(`extracted.${name}`)!, row => cellOf(row.extracted?.[name])] as Columns[number]),
  ]
}

async function* linesOf(deps: Pick<Deps, 'sql'>, campaign: CountedCampaign, columns: Columns): AsyncGenerator<string> {
  yield BOM + toCsv([columns.map(([name]) => name)])
  for (let after = 0; ; ) {
    const page = { after, limit: ROWS_AT_ONCE }
    const { lines, last } = await exportTurn(deps, campaign.owner_id, async () => {
      const rows = await selectResults(deps.sql, campaign.owner_id, campaign.id, page)
      return { lines: toCsv(rows.map(row => columns.map(([, of]) => of(row)))), last: rows.at(-1)?.seq }
    })
    if (last === undefined) return
    yield lines
    after = last
  }
}

export async function sendResults(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  id: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const campaign = await findCampaign(deps, ownerId, id)
  const columns = await exportTurn(deps, ownerId, () => columnsOf(deps, campaign))
  reply.headers({
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="campaign-${id}.csv"`,
  })
  return reply.send(Readable.from(linesOf(deps, campaign, columns)))
}
