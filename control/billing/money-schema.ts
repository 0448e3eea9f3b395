import { z } from 'zod'
import { fromUnits } from './money.ts'

export const Money = z
  .object({
    amount: z
      .string()
      .regex(/^-?\d+\.\d{4}$/)
      .describe('Decimal with 4 decimal places'),
    currency: z.string(),
  })
  .meta({ id: 'Money' })

export const presentMoney = (units: bigint, currency: string) => ({ amount: fromUnits(units), currency })
