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
    'IANA name; the window and the days are of it. Default: that of the project',
  ),
  window_start: time.describe('`HH:MM`; nobody is dialled earlier in the day. Default 09:00'),
  window_end: time.describe(
    '`HH:MM`; nobody is dialled from then on. Earlier than the start it is on the next day; the same is all day. Default 20:00',
  ),
  days: z
    .array(z.int().min(1).max(7))
    .min(1)
    .max(7)
    .refine(days => new Set(days).size === days.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true })
    .nullable()
    .describe(
      'ISO weekdays, 1 is Monday; a window over midnight is of the day it starts on. Null, the default: every day',
    ),
  concurrency: z.int().min(1).max(100).describe('Calls at once. Default 5'),
  retries: z.int().min(0).max(5).describe('Attempts after the first, until there is a conversation. Default 2'),
  retry_interval_min: z.int().min(1).max(1440).describe('Minutes between two attempts. Default 30'),
  quiet_hours: QuietHours.nullable().describe(
    "Hours of the callee's own region, where the number tells it, in which nobody is dialled; null: none. Default 21:00 to 08:00",
  ),
  scheduled_start_at: z.iso
    .datetime({ offset: true })
    .nullable()
    .describe(
      'A started campaign is `scheduled` until then; a time that is over means at once. Null, the default: at once',
    ),
  max_spend: z
    .string()
    .regex(/^(?!0+(?:\.0+)?$)\d{1,9}(?:\.\d{1,4})?$/, 'must be a decimal above 0 with up to 4 places')
    .nullable()
    .describe(
      'It pauses before it spends more, in the currency of the balance. Null, the default: as the balance gives',
    ),
  resume_on_top_up: z
    .boolean()
    .describe(
      'Whether a campaign that was paused by lack of money goes on by itself when there is some. Default false',
    ),
}
const Params = z.strictObject(params).meta({ id: 'CampaignParams' })
export const ParamsInput = z.strictObject(params).partial()
export type ParamsInput = z.output<typeof ParamsInput>

const fields = {
  name: z.string().trim().min(1).max(200),
  project_id: z.uuid(),
  task: z.string().max(8000).nullable().describe('Instruction for its calls; `{{var}}` is filled from the contact'),
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
    pending: z.int().describe('To be dialled, for the first time or again'),
    dialing: z.int(),
    in_progress: z.int().describe('Talking'),
    completed: z.int().describe('There was a conversation, or a message was left'),
    no_answer: z.int(),
    busy: z.int(),
    failed: z.int(),
    skipped: z.int().describe('Never to be dialled: `skip_reason` says why'),
    canceled: z.int().describe('The campaign was stopped before their turn'),
    goal_reached: z.int().describe('Of those that are completed'),
  })
  .meta({ id: 'CampaignCounters' })

export const CampaignView = z
  .object({
    id: z.uuid(),
    project_id: z.uuid(),
    name: z.string(),
    task: z.string().nullable(),
    status: CampaignStatus,
    pause_reason: z.enum(pauseReasons).nullable().describe('`owner`: by request; the others: why it stopped by itself'),
    params: Params,
    counters: CountersView.describe('Contacts by their status'),
    minute_price: Money,
    spend: Money.describe('What its calls have cost'),
    consent: z
      .object({
        confirmed_at: z.string(),
        text: z.string(),
        key_id: z.uuid().nullable(),
        session_id: z.uuid().nullable(),
      })
      .nullable()
      .describe('Who confirmed the consent of the subscribers, when, and in which words'),
    created_at: z.string(),
    updated_at: z.string(),
    started_at: z.string().nullable(),
    completed_at: z.string().nullable().describe('When it was completed or stopped'),
  })
  .meta({ id: 'Campaign' })

/** `true` and nothing else: without it nobody is called. */
export const StartInput = z.strictObject({
  consent: z
    .boolean()
    .refine(value => value, { error: 'must be true: confirm that the subscribers agreed', params: { code: 'consent' } })
    .meta({ const: true })
    .describe('You confirm that every subscriber on the list has consented to these calls'),
})

// ---- contacts ----

export const MOST_ENTRIES = 10_000

/** Of one row, judged by itself: a bad one never stops the others. */
export const ContactEntry = z.strictObject({
  phone: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .describe('Any way of writing it; without a country code it is of the region of your line'),
  name: z.string().trim().max(200).nullish(),
  vars: CallInput.shape.vars,
})

/** What is published of an entry; `upload.ts` judges. */
const { $schema: _schema, ...entrySchema } = z.toJSONSchema(ContactEntry, { io: 'input' })
export const ContactEntries = z
  .array(z.unknown().meta(entrySchema as Record<string, unknown>))
  .max(MOST_ENTRIES)
  .meta({ id: 'CampaignContactEntries' })

export const UploadMode = z.strictObject({
  mode: z
    .enum(['append', 'replace'])
    .default('append')
    .describe('`replace` takes out those that were uploaded before, in the same step'),
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
    duplicates: z.int().describe('Numbers that came before, here or in the campaign'),
    invalid: z.array(z.object({ index: z.int().describe('From 0'), code: z.enum(invalidCodes) })),
    total: z.int().describe('Contacts of the campaign now'),
  })
  .meta({ id: 'CampaignUpload' })

export const ContactFilters = z.strictObject({
  status: ContactStatus.optional(),
  goal: z.enum(['reached', 'not_reached']).optional().describe('Of contacts that there was a conversation with'),
  ...paging,
})
export type ContactFilters = z.output<typeof ContactFilters>

export const CampaignContactView = z
  .object({
    id: z.uuid(),
    phone: z.string().describe('E.164'),
    name: z.string().nullable(),
    vars: z.record(z.string(), z.string()),
    contact_id: z.uuid().nullable().describe('Of `/contacts`; null until it is dialled'),
    status: ContactStatus,
    attempts: z.int().describe('Since the start, or since the last requeue'),
    next_attempt_at: z.string().nullable().describe('Null: nothing is planned, or as soon as there is room'),
    last_call_id: z.uuid().nullable(),
    skip_reason: z.string().nullable(),
    goal_reached: z.boolean().nullable().describe('Null: there was no conversation'),
    created_at: z.string(),
  })
  .meta({ id: 'CampaignContact' })

export const WhyView = z
  .object({
    would_dial: z.boolean().describe('Whether it is dialled now, as soon as there is room for another call'),
    verdict: z.enum(['dial', 'wait', 'skip', 'none']).describe('`none`: there is nothing left to do for it'),
    reasons: z.array(z.object({ code: z.string(), message: z.string() })).describe('Why not, all of them'),
    until: z.string().nullable().describe('Not before'),
    status: ContactStatus,
    campaign_status: CampaignStatus,
    attempts: z.int(),
    attempts_left: z.int(),
  })
  .meta({ id: 'CampaignContactWhy' })

/** One of the server-sent events. */
export const CampaignEvent = z
  .object({
    event: z.enum(['campaign.progress', 'campaign.ended']),
    data: z.string().describe('JSON: `status`, `pause_reason`, `counters` and `spend`, as of the campaign'),
  })
  .meta({ id: 'CampaignEvent' })

export const CampaignPath = z.object({ campaign_id: z.uuid() })
export const CampaignContactPath = z.object({ ...CampaignPath.shape, campaign_contact_id: z.uuid() })
