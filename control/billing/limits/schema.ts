import { z } from 'zod'
import { Money } from '../money-schema.ts'
import { stopReasons } from '../unusual/machine.ts'

const MOST_DESTINATIONS = 100

const Prefix = z
  .string()
  .regex(/^\+[1-9]\d{0,13}$/, 'must be a plus sign and the first digits of a number')
  .describe('Prefix of E.164 numbers, such as `+7` or `+1415`')
const Destinations = z
  .array(Prefix)
  .max(MOST_DESTINATIONS)
  .transform(prefixes => [...new Set(prefixes)].sort())
const Amount = z
  .string()
  .regex(/^\d{1,12}(?:\.\d{1,4})?$/, 'must be a decimal number with up to 4 places')
  .describe("Amount in the account's currency")

export const LimitsView = z
  .object({
    destinations: z
      .array(z.string())
      .describe('Only numbers with one of these prefixes are called. Empty: no restriction'),
    max_spend_a_day: Money.nullable().describe(
      'Spending limit per day (UTC) for calls and lead searches together. Null: no limit',
    ),
    spent_today: Money.describe('Amount charged since midnight UTC'),
    stop_unusual_activity: z
      .boolean()
      .describe(
        'Whether outgoing calls stop when the account suddenly calls new countries or spends many times its usual hour',
      ),
    stopped: z
      .object({
        at: z.string(),
        reason: z.enum(stopReasons),
        countries: z.array(z.string()).nullable().describe('Countries called for the first time (ISO 3166)'),
        spent: z.string().nullable().describe('Amount of the last hour'),
        usual: z.string().nullable().describe('Amount of the usual hour'),
      })
      .nullable()
      .describe('Why outgoing calls are stopped; `resume_calls` resumes them. Null: they are not stopped'),
    held: Money.describe(
      'Amount held for calls and lead searches in progress; counts towards the limit until they end',
    ),
  })
  .meta({ id: 'Limits' })

export const LimitsPatch = z.strictObject({
  destinations: Destinations.optional(),
  max_spend_a_day: Amount.nullable().optional(),
  stop_unusual_activity: z
    .boolean()
    .optional()
    .describe('False switches the automatic stop off. It does not resume calls that are stopped'),
})
