import { z } from 'zod'

const MOST_DAYS = 3650
const kept = 'null: kept until you delete it'
const Days = z.int().min(1).max(MOST_DAYS).nullable()

export const RetentionView = z
  .object({
    recordings_days: Days.describe(`Sound of calls; ${kept}`),
    transcripts_days: Days.describe(
      `What was said in calls and what was made of it: transcript, summary, extracted data, tool calls with their arguments, webhook deliveries; ${kept}`,
    ),
    phones_days: Days.describe(
      `Who was talked to: the other side's number, the link to the contact, task and vars, SIP trace, webhook deliveries; ${kept}`,
    ),
  })
  .meta({ id: 'Retention' })

export const RetentionPatch = z.strictObject({
  recordings_days: Days.optional(),
  transcripts_days: Days.optional(),
  phones_days: Days.optional(),
})
export type RetentionPatch = z.output<typeof RetentionPatch>
