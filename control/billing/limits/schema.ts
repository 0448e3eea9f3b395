import { z } from 'zod'
import { Money } from '../money-schema.ts'

const MOST_DESTINATIONS = 100

const Prefix = z
  .string()
  .regex(/^\+[1-9]\d{0,13}$/, 'must be a plus and the first digits of numbers')
  .describe('The beginning of numbers in E.164, as `+7` or `+1415`')
const Destinations = z
  .array(Prefix)
  .max(MOST_DESTINATIONS)
  .transform(prefixes => [...new Set(prefixes)].sort())
const Amount = z
  .string()
  .regex(/^\d{1,12}(?:\.\d{1,4})?$/, 'must be a decimal number with up to 4 places')
  .describe("In the account's currency")

export const LimitsView = z
  .object({
    destinations: z.array(z.string()).describe('Only numbers that begin like one of these are called; empty: all'),
    max_spend_a_day: Money.nullable().describe('Calls and lead searches of a day (UTC) together; null: no such limit'),
    spent_today: Money.describe('Charged since midnight (UTC)'),
    held: Money.describe('Set aside for what is under way; it counts as spent until it is over'),
  })
  .meta({ id: 'Limits' })

export const LimitsPatch = z.strictObject({
  destinations: Destinations.optional(),
  max_spend_a_day: Amount.nullable().optional(),
})
