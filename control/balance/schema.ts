import { z } from 'zod'
import { Money } from '../http/money-schema.ts'
import { entryKinds } from '../money.ts'

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
