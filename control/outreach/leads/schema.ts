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
  .describe('The companies that you look for, in your own words: kind, place, desired signals and number')

export const ParseInput = z.strictObject({ brief_raw })

/** The parts that a search requires. */
const WantedBrief = Brief.extend({
  niche: Brief.shape.niche.min(1).describe(Brief.shape.niche.description!),
  geo: Brief.shape.geo.min(1).describe(Brief.shape.geo.description!),
}).meta({ id: 'LeadBrief' })

export const SearchInput = z.strictObject({
  brief_raw,
  brief_parsed: WantedBrief.describe('The result of `parse_lead_brief`, with your changes'),
  accept_terms: z
    .boolean()
    .optional()
    .describe('`true` accepts the terms of lead search. Required once, for the first search'),
})
export type SearchInput = z.output<typeof SearchInput>

const ParsedBrief = Brief.meta({ id: 'ParsedLeadBrief' })

const Estimate = z
  .object({
    leads: z.int().describe('Requested number of leads; fewer may be found'),
    price_per_lead: Money,
    total: Money.describe('Amount held at the start; the unused part is released'),
  })
  .meta({ id: 'LeadEstimate' })

const SourceView = z
  .object({
    id: z.string(),
    name: z.string(),
    attribution: z.string().nullable().describe('Attribution that must be shown with each lead'),
    licence: z.string().nullable().describe('Licence of the data; null for your own directories'),
  })
  .meta({ id: 'LeadSource' })

export const ParseView = z
  .object({
    brief_parsed: ParsedBrief,
    estimate: Estimate,
    sources: z.array(SourceView).describe('Sources that this account can search now'),
    missing: z
      .array(z.enum(briefParts))
      .describe('Parts that the text does not mention. `target_leads` then has a default; fill in the others'),
  })
  .meta({ id: 'LeadBriefParsed' })

// ---- Jobs ----

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
      .describe(
        'Why the search ended. `exhausted`: the sources have no more companies; `time_limit`: it took longer than two hours',
      ),
    brief_raw: z.string(),
    brief_parsed: ParsedBrief,
    progress: z.object({
      found: z.int().describe('Companies found in the sources'),
      enriched: z.int().describe('Leads, which you pay for'),
      rejected: z.int().describe('Companies that are not leads'),
      target: z.int(),
    }),
    estimate: Estimate,
    cost: Money.describe('Cost of the leads so far; charged when the search ends'),
    sources: z.array(z.string()).describe('Ids of the sources'),
    problems: z
      .array(z.object({ source: z.string(), code: z.string(), message: z.string() }))
      .describe('Sources that failed; the others continued'),
    error: z.object({ code: z.string(), message: z.string() }).nullable().describe('Reason of a failure'),
    campaign_id: z.uuid().nullable().describe('Last campaign created from the search'),
    created_at: z.string(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
  })
  .meta({ id: 'LeadSearch' })

/** One server-sent event. */
export const SearchEvent = z
  .object({
    event: z.enum(['lead_search.progress', 'lead_search.ended']),
    data: z
      .string()
      .describe('JSON with `status`, `end_reason`, `progress`, `cost`, `problems` and `error` of the search'),
  })
  .meta({ id: 'LeadSearchEvent' })

export const JobPath = z.object({ job_id: z.uuid() })

// ---- Leads ----

export const leadStatuses = ['found', 'enriched', 'rejected'] as const
export type LeadStatus = (typeof leadStatuses)[number]
const rejections = ['excluded', 'closed', 'no_contact', 'duplicate', 'do_not_call'] as const

/** Query parameters are strings; arguments of a tool have their own types. */
const bool = z.preprocess(value => (value === 'true' ? true : value === 'false' ? false : value), z.boolean())
const score = z.preprocess(
  value => (typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value),
  z.int().min(0).max(100),
)

const selection = {
  status: z.enum(leadStatuses).optional(),
  has_phone: bool.optional().describe('Return only leads with, or without, a phone number'),
  min_score: score.optional(),
  q: z.string().max(200).optional().describe('Search text in company, phones, e-mails, website and address'),
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
      .describe('`found`: not enriched yet; `enriched`: a lead; `rejected`: not a lead, see `rejection`'),
    phone: z.string().nullable().describe('Best number of `phones`, E.164'),
    phones: z.array(z.string()).describe('E.164'),
    email: z.string().nullable(),
    emails: z.array(z.string()),
    website: z.string().nullable(),
    address: z.string().nullable(),
    geo: z.object({ lat: z.number(), lon: z.number() }).nullable().describe('WGS 84 degrees'),
    score: z.int().nullable().describe('0 to 100; null before enrichment'),
    reasons: z.array(z.object({ points: z.number(), text: z.string() })).describe('Parts of the score'),
    signals: z.array(
      z.object({
        signal: z.string(),
        present: z.boolean(),
        evidence: z.string().nullable().describe('Quote from the page or the source'),
        where: z.string().nullable().describe('Address of the page, or the source'),
      }),
    ),
    source: z.string(),
    attribution: z.string().nullable().describe('Attribution that must be shown with the lead'),
    licence: z.string().nullable(),
    rejection: z.object({ code: z.enum(rejections), message: z.string() }).nullable(),
    site_problem: z.string().nullable().describe('Why the site could not be read'),
    contact_id: z.uuid().nullable(),
    created_at: z.string(),
    enriched_at: z.string().nullable(),
  })
  .meta({ id: 'Lead' })

export const CampaignWish = z.strictObject({
  project_id: z
    .uuid()
    .optional()
    .describe('Project whose agent calls. Default: your oldest project with an outbound line'),
  name: z.string().trim().min(1).max(200).optional().describe('Name of the campaign. Default: niche and place'),
})
export type CampaignWish = z.output<typeof CampaignWish>

// ---- Directories ----

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
    .describe('How each column was interpreted; null: stored as a fact'),
  invalid: z
    .array(z.object({ index: z.int(), code: z.enum(['no_company', 'no_contact']) }))
    .describe('First hundred skipped rows, by index from 0'),
  invalid_total: z.int(),
}).meta({ id: 'LeadDirectoryMade' })

export const DirectoryFilters = z.strictObject(paging)
export const DirectoryPatch = z.strictObject({ name: DirectoryName })
export const DirectoryPath = z.object({ directory_id: z.uuid() })
