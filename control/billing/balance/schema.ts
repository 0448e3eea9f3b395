import { z } from 'zod'
import { Timezone } from '../../platform/timezone.ts'
import { entryKinds } from '../money.ts'
import { Money } from '../money-schema.ts'
import { spendKinds } from './sql.ts'

export const EntryView = z
  .object({
    id: z.uuid(),
    kind: z
      .enum(entryKinds)
      .describe(
        '`fund`: money came in; `hold`: set aside when a call or a lead search was made; `extend`: set aside for more of ' +
          'a call; `settle`: it has ended, and what it did not cost comes back',
      ),
    amount: Money.describe('How it changed what can be spent'),
    balance_after: Money.describe('What could be spent then'),
    call_id: z.uuid().nullable(),
    job_id: z.uuid().nullable().describe('The lead search that it was for'),
    description: z.string(),
    created_at: z.string(),
  })
  .meta({ id: 'BalanceEntry' })

export const MOST_DAYS = 366
export const USUAL_DAYS = 30

/** Years that both the calendar and the database know without a sign. */
const date = z.iso.date().refine(day => day >= '1970-01-01' && day < '9999-01-01', { error: 'must be from 1970 on' })

export const SpendFilters = z.strictObject({
  from: date.optional().describe(`First day; left out: ${USUAL_DAYS} days up to \`to\``),
  to: date.optional().describe('Last day, included; left out: today, or as many days from `from` on'),
  timezone: Timezone.default('UTC').describe('Whose days they are, an IANA name'),
})
export type SpendFilters = z.output<typeof SpendFilters>

const SpendDay = z.object({
  date: z.iso.date(),
  spent: Money,
  by_kind: z
    .object(
      Object.fromEntries(spendKinds.map(kind => [kind, Money])) as Record<(typeof spendKinds)[number], typeof Money>,
    )
    .describe('`calls`: over the telephone; `web`: in the browser or an app; `leads`: lead searches'),
})

export const SpendView = z
  .object({
    from: z.iso.date(),
    to: z.iso.date(),
    timezone: z.string(),
    total: Money,
    items: z.array(SpendDay).describe('Every day, oldest first, those without any spend too'),
  })
  .meta({ id: 'Spend' })
