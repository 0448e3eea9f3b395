import { z } from 'zod'
import { Money } from '../../billing/money-schema.ts'
import { paging } from '../../platform/http/paging.ts'
import { Brief, briefParts } from './vocabulary/types.ts'

export const LONGEST_BRIEF = 20_000

const brief_raw = z
  .string()
  .trim()
  .min(1)
  .max(LONGEST_BRIEF)
  .describe('Whom you look for, in your own words: kind of company, place, what makes one better, how many')

export const ParseInput = z.strictObject({ brief_raw })

/** What a search cannot do without. */
const WantedBrief = Brief.extend({
  niche: Brief.shape.niche.min(1).describe(Brief.shape.niche.description!),
  geo: Brief.shape.geo.min(1).describe(Brief.shape.geo.description!),
}).meta({ id: 'LeadBrief' })

export const SearchInput = z.strictObject({
  brief_raw,
  brief_parsed: WantedBrief.describe('As `parse_lead_brief` answered it, changed as you like'),
  accept_terms: z
    .boolean()
    .optional()
    .describe('`true` accepts the terms of lead search; needed once, at the first start'),
})
export type SearchInput = z.output<typeof SearchInput>

const ParsedBrief = Brief.meta({ id: 'ParsedLeadBrief' })

const Estimate = z
  .object({
    leads: z.int().describe('As many as are wanted; there may be fewer'),
    price_per_lead: Money,
    total: Money.describe('Set aside at the start; what was not found is given back'),
  })
  .meta({ id: 'LeadEstimate' })

const SourceView = z
  .object({
    id: z.string(),
    name: z.string(),
    attribution: z.string().nullable().describe('What its terms ask to be shown with each lead'),
    licence: z.string().nullable().describe('Of its data; null: your own'),
  })
  .meta({ id: 'LeadSource' })

export const ParseView = z
  .object({
    brief_parsed: ParsedBrief,
    estimate: Estimate,
    sources: z.array(SourceView).describe('Where this account can search now'),
    missing: z
      .array(z.enum(briefParts))
      .describe('What the text did not say. `target_leads` has a default then; the others you must fill in'),
  })
  .meta({ id: 'LeadBriefParsed' })

// ---- jobs ----

export const jobStatuses = ['queued', 'running', 'canceling', 'completed', 'canceled', 'failed'] as const
export type JobStatus = (typeof jobStatuses)[number]
export const endReasons = ['target_reached', 'exhausted', 'time_limit', 'canceled', 'failed'] as const
export type EndReason = (typeof endReasons)[number]

export const JobFilters = z.strictObject(paging)
export type JobFilters = z.output<typeof JobFilters>

export const JobView = z
  .object({
    id: z.uuid(),
    status: z.enum(jobStatuses),
    end_reason: z
      .enum(endReasons)
      .nullable()
      .describe('Why it is over. `exhausted`: the sources have no more; `time_limit`: it took longer than two hours'),
    brief_raw: z.string(),
    brief_parsed: ParsedBrief,
    progress: z.object({
      found: z.int().describe('Companies that the sources told of'),
      enriched: z.int().describe('Leads: those that are paid for'),
      rejected: z.int().describe('Looked at, and no lead'),
      target: z.int(),
    }),
    estimate: Estimate,
    cost: Money.describe('Of the leads so far; charged when it is over'),
    sources: z.array(z.string()).describe('Ids of the sources that it asks'),
    problems: z
      .array(z.object({ source: z.string(), code: z.string(), message: z.string() }))
      .describe('Sources that broke off; the others went on'),
    error: z.object({ code: z.string(), message: z.string() }).nullable().describe('Why it failed'),
    campaign_id: z.uuid().nullable().describe('The last campaign that was made of it'),
    created_at: z.string(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
  })
  .meta({ id: 'LeadSearch' })

/** One of the server-sent events. */
export const SearchEvent = z
  .object({
    event: z.enum(['lead_search.progress', 'lead_search.ended']),
    data: z
      .string()
      .describe('JSON: `status`, `end_reason`, `progress`, `cost`, `problems` and `error`, as of the search'),
  })
  .meta({ id: 'LeadSearchEvent' })

export const JobPath = z.object({ job_id: z.uuid() })

// ---- leads ----

export const leadStatuses = ['found', 'enriched', 'rejected'] as const
export type LeadStatus = (typeof leadStatuses)[number]
const rejections = ['excluded', 'closed', 'no_contact', 'duplicate', 'do_not_call'] as const

/** In a query string these are text; a tool's arguments have their own types. */
const bool = z.preprocess(value => (value === 'true' ? true : value === 'false' ? false : value), z.boolean())
const score = z.preprocess(
  value => (typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value),
  z.int().min(0).max(100),
)

const selection = {
  status: z.enum(leadStatuses).optional(),
  has_phone: bool.optional().describe('Whether there is a telephone number'),
  min_score: score.optional(),
  q: z.string().max(200).optional().describe('Looks in company, phones, e-mails, website and address'),
}
export const LeadSelection = z.strictObject(selection)
export type LeadSelection = z.output<typeof LeadSelection>
export const LeadFilters = z.strictObject({ ...selection, ...paging })
export type LeadFilters = z.output<typeof LeadFilters>

export const LeadView = z
  .object({
    id: z.uuid(),
    company: z.string(),
    status: z
      .enum(leadStatuses)
      .describe('`found`: not looked at yet; `enriched`: a lead; `rejected`: none, see `rejection`'),
    phone: z.string().nullable().describe('E.164, the best of `phones`'),
    phones: z.array(z.string()).describe('E.164'),
    email: z.string().nullable(),
    emails: z.array(z.string()),
    website: z.string().nullable(),
    address: z.string().nullable(),
    geo: z.object({ lat: z.number(), lon: z.number() }).nullable().describe('WGS 84 degrees'),
    score: z.int().nullable().describe('0 to 100; null before it was looked at'),
    reasons: z.array(z.object({ points: z.number(), text: z.string() })).describe('What the score is made of'),
    signals: z.array(
      z.object({
        signal: z.string(),
        present: z.boolean(),
        evidence: z.string().nullable().describe('In the words of the page or the source'),
        where: z.string().nullable().describe('Address of the page, or the source'),
      }),
    ),
    source: z.string(),
    attribution: z.string().nullable().describe('What must be shown with it'),
    licence: z.string().nullable(),
    rejection: z.object({ code: z.enum(rejections), message: z.string() }).nullable(),
    site_problem: z.string().nullable().describe('Why its site could not be read'),
    contact_id: z.uuid().nullable(),
    created_at: z.string(),
    enriched_at: z.string().nullable(),
  })
  .meta({ id: 'Lead' })

export const CampaignWish = z.strictObject({
  project_id: z
    .uuid()
    .optional()
    .describe('Whose agent calls; left out: your oldest project that has an outbound line'),
  name: z.string().trim().min(1).max(200).optional().describe('Of the campaign; left out: niche and place'),
})
export type CampaignWish = z.output<typeof CampaignWish>

// ---- directories ----

export const DirectoryName = z.string().trim().min(1).max(200)

export const DirectoryView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    companies: z.int(),
    created_at: z.string(),
  })
  .meta({ id: 'LeadDirectory' })

export const DirectoryMade = DirectoryView.extend({
  columns: z
    .array(z.object({ header: z.string(), column: z.string().nullable() }))
    .describe('What each column was taken for; null: kept as a fact'),
  invalid: z
    .array(z.object({ index: z.int(), code: z.enum(['no_company', 'no_contact']) }))
    .describe('Rows that were left out, from 0; the first hundred'),
  invalid_total: z.int(),
}).meta({ id: 'LeadDirectoryMade' })

export const DirectoryFilters = z.strictObject(paging)
export const DirectoryPatch = z.strictObject({ name: DirectoryName })
export const DirectoryPath = z.object({ directory_id: z.uuid() })
