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
        '`fund`: a top-up; `hold`: money held when a call is placed or a lead search starts; `extend`: more money held for ' +
          'a longer call; `settle`: the call or search has ended, and the unused part of the hold is released',
      ),
    amount: Money.describe('Change of the available balance'),
    balance_after: Money.describe('Available balance after the entry'),
    call_id: z.uuid().nullable(),
    job_id: z.uuid().nullable().describe('Lead search of the entry'),
    description: z.string(),
    created_at: z.string(),
  })
  .meta({ id: 'BalanceEntry' })

export const MOST_DAYS = 366
export const USUAL_DAYS = 30

/** Years that the calendar and the database both write without a sign. */
const date = z.iso
  .date()
  .refine(day => day >= '1970-01-01' && day < '9999-01-01', { error: 'must be 1970-01-01 or later' })

export const SpendFilters = z.strictObject({
  from: date.optional().describe(`First day. Default: ${USUAL_DAYS} days that end with \`to\``),
  to: date.optional().describe('Last day, included; left out: today, or as many days from `from` on'),
  timezone: Timezone.default('UTC').describe('Time zone of the days, an IANA name'),
})
export type SpendFilters = z.output<typeof SpendFilters>

const SpendDay = z.object({
  date: z.iso.date(),
  spent: Money,
  by_kind: z
    .object(
      Object.fromEntries(spendKinds.map(kind => [kind, Money])) as Record<(typeof spendKinds)[number], typeof Money>,
    )
    .describe('`calls`: phone calls; `web`: calls in a browser or an app; `leads`: lead searches'),
})

export const SpendView = z
  .object({
    from: z.iso.date(),
    to: z.iso.date(),
    timezone: z.string(),
    total: Money,
    items: z.array(SpendDay).describe('Every day, oldest first, including days without spending'),
  })
  .meta({ id: 'Spend' })
