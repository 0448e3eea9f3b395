/** Leads of a search as CSV, in the order in which they were found. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { time } from '../../platform/http/shapes.ts'
import { exportTurn } from '../../platform/jobs/export-turns.ts'
import { BOM, type Cell, guarded, toCsv } from '../campaigns/csv.ts'
import { type LeadRow, selectLeadsAfter } from './leads-sql.ts'
import type { LeadSelection } from './schema.ts'
import { findJob } from './service.ts'

/** Rows of one statement: a slow reader holds no database connection. */
const ROWS_AT_ONCE = 500

/** Name and value of each column. */
type Columns = [name: string, of: (row: LeadRow) => Cell][]

const fixed: Columns = [
  ['company', row => guarded(row.company)],
  ['status', row => row.status],
  ['score', row => row.score],
  ['phone', row => row.phones[0]],
  // Joined by a space: with plus signs between them, a spreadsheet would add them up.
  ['other_phones', row => guarded(row.phones.slice(1).join(' '))],
  ['email', row => guarded(row.emails[0] ?? null)],
  ['other_emails', row => guarded(row.emails.slice(1).join(' '))],
  ['website', row => guarded(row.website)],
  ['address', row => guarded(row.address)],
  ['lat', row => row.lat],
  ['lon', row => row.lon],
  ['rejection', row => row.rejected_code],
  ['source', row => row.source],
  ['attribution', row => guarded(row.attribution)],
  ['licence', row => guarded(row.licence)],
  ['contact_id', row => row.contact_id],
  ['enriched_at', row => time(row.enriched_at)],
]

/** A column for each requested signal: its evidence, or `no`. */
const signalColumns = (signals: readonly string[]): Columns =>
  signals.map(name => [
    guarded(`signal: ${name}`)!,
    row => {
      const found = row.signals.find(({ signal }) => signal === name)
      return found && (found.present ? guarded(found.evidence ?? 'yes') : 'no')
    },
  ])

async function* linesOf(
  deps: Pick<Deps, 'sql'>,
  { ownerId, jobId, selection }: { ownerId: string; jobId: string; selection: LeadSelection },
  columns: Columns,
): AsyncGenerator<string> {
  yield BOM + toCsv([columns.map(([name]) => name)])
  for (let after: string | null = null; ; ) {
    const page = { after, limit: ROWS_AT_ONCE }
    const { lines, last } = await exportTurn(deps, ownerId, async () => {
      const rows = await selectLeadsAfter(deps.sql, ownerId, jobId, selection, page)
      return { lines: toCsv(rows.map(row => columns.map(([, of]) => of(row)))), last: rows.at(-1)?.id }
    })
    if (last === undefined) return
    yield lines
    after = last
  }
}

export async function sendLeads(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  jobId: string,
  selection: LeadSelection,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const job = await findJob(deps, ownerId, jobId)
  const columns = [...fixed, ...signalColumns(job.brief.signals)]
  reply.headers({
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="leads-${jobId}.csv"`,
  })
  return reply.send(Readable.from(linesOf(deps, { ownerId, jobId, selection }, columns)))
}
