/** Reports the spend of an owner by days of a time zone. */
import type { Deps } from '../../platform/deps.ts'
import { invalidField } from '../../platform/http/problem.ts'
import { presentMoney } from '../money-schema.ts'
import { countDays, daysBetween, daysFrom, daysUpTo, today } from './days.ts'
import { MOST_DAYS, type SpendFilters, USUAL_DAYS } from './schema.ts'
import { type SpendKind, type SpentRow, selectSpent, spendKinds } from './sql.ts'

export async function spendOf(deps: Pick<Deps, 'sql' | 'clock' | 'config'>, ownerId: string, filters: SpendFilters) {
  const { timezone } = filters
  const { from, to } = periodOf(filters, today(timezone, deps.clock.wall()))
  const { dates, bounds } = daysBetween(from, to, timezone)
  const rows = await selectSpent(deps.sql, ownerId, bounds)
  const byDay = Map.groupBy(rows, row => row.day)
  const present = (units: bigint) => presentMoney(units, deps.config.currency)
  const items = dates.map((date, index) => {
    const spent = byDay.get(index + 1) ?? []
    const of = (kind: SpendKind) => present(sumOf(spent.filter(row => row.kind === kind)))
    return {
      date,
      spent: present(sumOf(spent)),
      by_kind: Object.fromEntries(spendKinds.map(kind => [kind, of(kind)])) as Record<SpendKind, ReturnType<typeof of>>,
    }
  })
  return { from, to, timezone, total: present(sumOf(rows)), items }
}

const sumOf = (rows: readonly SpentRow[]): bigint => rows.reduce((sum, { spent }) => sum + spent, 0n)

/** Derives a missing end from the other one; without both, the period ends today. */
function periodOf({ from, to }: SpendFilters, now: string): { from: string; to: string } {
  if (from === undefined) return { from: daysUpTo(to ?? now, USUAL_DAYS), to: to ?? now }
  const last = to ?? daysFrom(from, USUAL_DAYS)
  const count = countDays(from, last)
  if (count < 1) throw invalidField('/to', 'before_from', 'must not be before `from`')
  if (count > MOST_DAYS) throw invalidField('/to', 'too_many_days', `must be at most ${MOST_DAYS} days from \`from\``)
  return { from, to: last }
}
