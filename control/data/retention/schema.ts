import { z } from 'zod'

const MOST_DAYS = 3650
const kept = 'null: until you delete them'
const Days = z.int().min(1).max(MOST_DAYS).nullable()

export const RetentionView = z
  .object({
    recordings_days: Days.describe(`Days to keep recordings; ${kept}`),
    transcripts_days: Days.describe(
      `Days to keep what was said: transcripts, summaries, extracted data, tool calls with their arguments, webhook deliveries; ${kept}`,
    ),
    phones_days: Days.describe(
      `Days to keep who was called: the other party's number, the link to the contact, task and vars, SIP traces, webhook deliveries; ${kept}`,
    ),
  })
  .meta({ id: 'Retention' })

export const RetentionPatch = z.strictObject({
  recordings_days: Days.optional(),
  transcripts_days: Days.optional(),
  phones_days: Days.optional(),
})
export type RetentionPatch = z.output<typeof RetentionPatch>
