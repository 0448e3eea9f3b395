import { z } from 'zod'
import { ProjectSettings } from '../../agents/projects/schema.ts'
import { Money } from '../../billing/money-schema.ts'
import { paging } from '../../platform/http/paging.ts'
import { CallInput } from '../../telephony/call-setup/schema.ts'
import { campaignStatuses, contactStatuses, pauseReasons } from './types.ts'

export const CampaignStatus = z.enum(campaignStatuses)
export const ContactStatus = z.enum(contactStatuses)

const time = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be HH:MM from 00:00 to 23:59')
  .meta({ format: 'hh-mm' })
const QuietHours = z.strictObject({ start: time, end: time })

const params = {
  timezone: ProjectSettings.shape.timezone.describe(
    "IANA time zone of the window and the days. Default: the project's time zone",
  ),
  window_start: time.describe('Start of the daily calling window, `HH:MM`. Default: 09:00'),
  window_end: time.describe(
    'End of the daily calling window, `HH:MM`, exclusive. An end before the start is on the next day; an equal end means all day. Default: 20:00',
  ),
  days: z
    .array(z.int().min(1).max(7))
    .min(1)
    .max(7)
    .refine(days => new Set(days).size === days.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true })
    .nullable()
    .describe(
      'ISO weekdays; 1 is Monday. A window across midnight belongs to the day it starts on. Null, the default: every day',
    ),
  concurrency: z.int().min(1).max(100).describe('Maximum number of concurrent calls. Default: 5'),
  retries: z.int().min(0).max(5).describe('Attempts after the first, until there is a conversation. Default: 2'),
  retry_interval_min: z.int().min(1).max(1440).describe('Minutes between two attempts. Default: 30'),
  quiet_hours: QuietHours.nullable().describe(
    "Hours in the callee's local time, if the number reveals it, in which nobody is dialled. Null: none. Default: 21:00 to 08:00",
  ),
  scheduled_start_at: z.iso
    .datetime({ offset: true })
    .nullable()
    .describe('A started campaign is `scheduled` until then. Null, the default, or a past time: start at once'),
  max_spend: z
    .string()
    .regex(/^(?!0+(?:\.0+)?$)\d{1,9}(?:\.\d{1,4})?$/, 'must be a decimal above 0 with up to 4 places')
    .nullable()
    .describe(
      'Spending limit in the currency of the balance. The campaign pauses before it would exceed the limit. Null, the default: no limit',
    ),
  resume_on_top_up: z
    .boolean()
    .describe('Resume automatically after a top-up when the campaign was paused for lack of money. Default: false'),
}
const Params = z.strictObject(params).meta({ id: 'CampaignParams' })
export const ParamsInput = z.strictObject(params).partial()
export type ParamsInput = z.output<typeof ParamsInput>

const fields = {
  name: z.string().trim().min(1).max(200),
  project_id: z.uuid(),
  task: z
    .string()
    .max(8000)
    .nullable()
    .describe('Task of the agent in these calls. `{{var}}` is filled from the vars of the contact'),
}
export const CampaignInput = z.strictObject({
  ...fields,
  task: fields.task.optional(),
  params: ParamsInput.optional(),
})
export type CampaignInput = z.output<typeof CampaignInput>
export const CampaignPatch = z.strictObject({ ...fields, params: ParamsInput }).partial()
export type CampaignPatch = z.output<typeof CampaignPatch>

export const CampaignFilters = z.strictObject({
  project_id: z.uuid().optional(),
  status: CampaignStatus.optional(),
  ...paging,
})
export type CampaignFilters = z.output<typeof CampaignFilters>

const CountersView = z
  .object({
    total: z.int(),
    pending: z.int().describe('Waiting for the first or the next attempt'),
    dialing: z.int(),
    in_progress: z.int().describe('In a conversation'),
    completed: z.int().describe('Ended with a conversation or a left message'),
    no_answer: z.int(),
    busy: z.int(),
    failed: z.int(),
    skipped: z.int().describe('Never dialled; see `skip_reason`'),
    canceled: z.int().describe('Not dialled because the campaign was stopped'),
    goal_reached: z.int().describe('Completed contacts that reached the goal'),
  })
  .meta({ id: 'CampaignCounters' })

export const CampaignView = z
  .object({
    id: z.uuid(),
    project_id: z.uuid(),
    name: z.string(),
    task: z.string().nullable(),
    status: CampaignStatus,
    pause_reason: z
      .enum(pauseReasons)
      .nullable()
      .describe('`owner`: paused on request. Other values: the reason of an automatic pause'),
    params: Params,
    counters: CountersView.describe('Number of contacts by status'),
    minute_price: Money,
    spend: Money.describe('Cost of the calls so far'),
    consent: z
      .object({
        confirmed_at: z.string(),
        text: z.string(),
        key_id: z.uuid().nullable(),
        session_id: z.uuid().nullable(),
      })
      .nullable()
      .describe("Evidence of the subscribers' consent: who confirmed it, when, and in which words"),
    created_at: z.string(),
    updated_at: z.string(),
    started_at: z.string().nullable(),
    completed_at: z.string().nullable().describe('When the campaign was completed or stopped'),
  })
  .meta({ id: 'Campaign' })

/** Must be `true`: without it, nobody is called. */
export const StartInput = z.strictObject({
  consent: z
    .boolean()
    .refine(value => value, { error: 'must be true: confirm that the subscribers agreed', params: { code: 'consent' } })
    .meta({ const: true })
    .describe('You confirm that every subscriber on the list has consented to these calls'),
})

// ---- Contacts ----

export const MOST_ENTRIES = 10_000

/** Checked row by row: an invalid row never stops the others. */
export const ContactEntry = z.strictObject({
  phone: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .describe('Phone number in any format. Without a country code, it is read in the region of your line'),
  name: z.string().trim().max(200).nullish(),
  vars: CallInput.shape.vars,
})

/** Published schema of a row; `upload.ts` checks the rows. */
const { $schema: _schema, ...entrySchema } = z.toJSONSchema(ContactEntry, { io: 'input' })
export const ContactEntries = z
  .array(z.unknown().meta(entrySchema as Record<string, unknown>))
  .max(MOST_ENTRIES)
  .meta({ id: 'CampaignContactEntries' })

export const UploadMode = z.strictObject({
  mode: z.enum(['append', 'replace']).default('append').describe('`replace` deletes earlier uploads in the same step'),
})
export type UploadMode = z.output<typeof UploadMode>['mode']

export const invalidCodes = [
  'not_an_object',
  'unknown_field',
  'phone',
  'name',
  'vars',
  'emergency',
  'premium_rate',
  'satellite',
  'blocked_prefix',
  'destination_not_allowed',
  'moderation_rejected',
] as const
export type InvalidCode = (typeof invalidCodes)[number]

export const UploadResult = z
  .object({
    accepted: z.int(),
    duplicates: z.int().describe('Numbers that are already in this upload or in the campaign'),
    invalid: z.array(z.object({ index: z.int().describe('Index of the row, from 0'), code: z.enum(invalidCodes) })),
    total: z.int().describe('Contacts of the campaign after the upload'),
  })
  .meta({ id: 'CampaignUpload' })

export const ContactFilters = z.strictObject({
  status: ContactStatus.optional(),
  goal: z
    .enum(['reached', 'not_reached'])
    .optional()
    .describe('Return only contacts with a conversation that reached, or did not reach, the goal'),
  ...paging,
})
export type ContactFilters = z.output<typeof ContactFilters>

export const CampaignContactView = z
  .object({
    id: z.uuid(),
    phone: z.string().describe('E.164'),
    name: z.string().nullable(),
    vars: z.record(z.string(), z.string()),
    contact_id: z.uuid().nullable().describe('Id in `/contacts`; null until the contact is dialled'),
    status: ContactStatus,
    attempts: z.int().describe('Attempts since the start or the last requeue'),
    next_attempt_at: z.string().nullable().describe('Null: no attempt is planned, or the next one is due now'),
    last_call_id: z.uuid().nullable(),
    skip_reason: z.string().nullable(),
    goal_reached: z.boolean().nullable().describe('Null when there was no conversation'),
    created_at: z.string(),
  })
  .meta({ id: 'CampaignContact' })

export const WhyView = z
  .object({
    would_dial: z.boolean().describe('True when the contact is dialled as soon as a call slot is free'),
    decision: z.enum(['dial', 'wait', 'skip', 'none']).describe('`none`: no further attempt is due'),
    reasons: z
      .array(z.object({ code: z.string(), message: z.string() }))
      .describe('All reasons why the contact is not dialled now'),
    until: z.string().nullable().describe('Earliest time of the next attempt'),
    status: ContactStatus,
    campaign_status: CampaignStatus,
    attempts: z.int(),
    attempts_left: z.int(),
  })
  .meta({ id: 'CampaignContactWhy' })

/** One server-sent event. */
export const CampaignEvent = z
  .object({
    event: z.enum(['campaign.progress', 'campaign.ended']),
    data: z.string().describe('JSON with `status`, `pause_reason`, `counters` and `spend` of the campaign'),
  })
  .meta({ id: 'CampaignEvent' })

export const CampaignPath = z.object({ campaign_id: z.uuid() })
export const CampaignContactPath = z.object({ ...CampaignPath.shape, campaign_contact_id: z.uuid() })
