import { z } from 'zod'
import { Money } from '../http/money-schema.ts'

export const BalanceView = z
  .object({
    balance: Money.describe('What can be spent; money held for live calls is not in it'),
    held: Money,
    minute_price: Money,
    subscription: z.object({ status: z.enum(['active', 'inactive']), ends_at: z.string().nullable() }),
  })
  .meta({ id: 'Balance' })
