import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { listOf, paging } from '../../platform/http/paging.ts'
import { route } from '../../platform/http/route.ts'
import type { EntryKind } from '../money.ts'
import { presentMoney } from '../money-schema.ts'
import { EntryView, SpendFilters, SpendView } from './schema.ts'
import { spendOf } from './spend.ts'
import { countEntries, type EntryRow, selectEntries } from './sql.ts'

function describe({ kind, job_id }: Pick<EntryRow, 'kind' | 'job_id'>): string {
  const what = job_id === null ? 'a call' : 'a lead search'
  const words: Record<EntryKind, string> = {
    fund: 'Top-up',
    hold: `Hold for ${what}`,
    extend: `Additional hold for ${what}`,
    settle: `Hold released after ${what}`,
  }
  return words[kind]
}

function presentEntry(currency: string, row: EntryRow) {
  return {
    id: row.id,
    kind: row.kind,
    amount: presentMoney(row.amount, currency),
    balance_after: presentMoney(row.balance_after, currency),
    call_id: row.call_id,
    job_id: row.job_id,
    description: row.reference ?? describe(row),
    created_at: row.created_at.toISOString(),
  }
}

export function balanceRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_balance_entries',
    method: 'GET',
    path: '/balance/entries',
    scope: 'read',
    tag: 'Account',
    summary: 'List balance entries, most recent first',
    description: 'Returns every change of the balance. The sum of all entries is the balance.',
    query: z.strictObject(paging),
    answer: listOf(EntryView),
    async handle({ ownerId, query }) {
      const total = await countEntries(deps.sql, ownerId)
      const rows = await selectEntries(deps.sql, ownerId, { ...query, total })
      return { items: rows.map(row => presentEntry(deps.config.currency, row)), total, ...query }
    },
  })
  route(app, deps, {
    id: 'get_spend',
    method: 'GET',
    path: '/balance/spend',
    scope: 'read',
    tag: 'Account',
    summary: 'Retrieve spending by day',
    description:
      'Returns the cost of calls and lead searches by calendar day of a time zone. A call or lead search is charged on the day it ends. Money on hold is not included. At most 366 days.',
    query: SpendFilters,
    answer: SpendView,
    handle: ({ ownerId, query }) => spendOf(deps, ownerId, query),
  })
}
