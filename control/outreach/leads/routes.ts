import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { listOf } from '../../platform/http/paging.ts'
import { route, streamRoute } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { CampaignView } from '../campaigns/schema.ts'
import { directoryRoutes } from './directory-routes.ts'
import { sendLeads } from './export.ts'
import type { LeadDeps } from './parts.ts'
import {
  CampaignWish,
  JobFilters,
  JobPath,
  JobView,
  LeadFilters,
  LeadSelection,
  LeadView,
  ParseInput,
  ParseView,
  SearchEvent,
  SearchInput,
} from './schema.ts'
import { cancelSearch, getJob, listJobs, listLeads, parseBrief, removeSearch } from './service.ts'
import { startSearch } from './start.ts'
import { streamSearch } from './stream.ts'
import { toCampaign } from './to-campaign.ts'

const tag = 'Lead search'

export async function leadRoutes(app: FastifyInstance, deps: LeadDeps): Promise<void> {
  beginningRoutes(app, deps)
  await directoryRoutes(app, deps, tag)
  jobRoutes(app, deps)
  deleteRoute(app, deps)
  leadListRoutes(app, deps)
}

function beginningRoutes(app: FastifyInstance, deps: LeadDeps): void {
  route(app, deps, {
    id: 'parse_lead_brief',
    method: 'POST',
    path: '/lead-search/parse-brief',
    scope: 'write',
    tag,
    summary: 'Understand a brief, and what its search would cost; free',
    description:
      'Makes of plain words what `start_lead_search` takes. What the text does not say stands in `missing` and is not invented.',
    body: ParseInput,
    answer: ParseView,
    errors: ['service_unavailable'],
    handle: ({ ownerId, body }) => parseBrief(deps, ownerId, body.brief_raw),
  })
  route(app, deps, {
    id: 'start_lead_search',
    method: 'POST',
    path: '/lead-search',
    scope: 'write',
    tag,
    summary: 'Start a paid search for leads',
    description:
      'The estimate is set aside, and what was not found is given back when the search is over: you pay for each enriched lead. One search at a time, and so many a day. The first start needs `accept_terms: true`; the terms are at /terms/lead-search. Follow it by `get_lead_search`.',
    body: SearchInput,
    status: 201,
    answer: JobView,
    errors: [
      'subscription_inactive',
      'moderation_rejected',
      'terms_not_accepted',
      'lead_search_limit',
      'lead_search_active',
      'no_lead_sources',
      'insufficient_balance',
      'daily_limit_reached',
      'service_unavailable',
    ],
    handle: ({ ownerId, caller, body, save }) => startSearch(deps, { ownerId, caller }, body, save),
  })
  route(app, deps, {
    id: 'list_lead_searches',
    method: 'GET',
    path: '/lead-search',
    scope: 'read',
    tag,
    summary: 'The latest 50 searches, newest first',
    query: JobFilters,
    answer: listOf(JobView),
    handle: ({ ownerId, query }) => listJobs(deps, ownerId, query),
  })
}

function jobRoutes(app: FastifyInstance, deps: LeadDeps): void {
  route(app, deps, {
    id: 'get_lead_search',
    method: 'GET',
    path: '/lead-search/:job_id',
    scope: 'read',
    tag,
    summary: 'One search with status, progress and cost',
    params: JobPath,
    answer: JobView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getJob(deps, ownerId, params.job_id),
  })
  streamRoute(app, {
    id: 'stream_lead_search_events',
    method: 'GET',
    path: '/lead-search/:job_id/events',
    scope: 'read',
    tag,
    summary: 'Progress of a search, as server-sent events',
    description:
      '`lead_search.progress` with status, counters and cost: at once, and then when they change, at most once a second. `lead_search.ended` is the last, when it is over.',
    params: JobPath,
    contentType: 'text/event-stream',
    notATool: 'A stream; get_lead_search shows the same now.',
    answer: SearchEvent,
    errors: ['not_found', 'service_unavailable'],
    stream: ({ ownerId, params }, request, reply) => streamSearch(deps, ownerId, params.job_id, request, reply),
  })
  route(app, deps, {
    id: 'cancel_lead_search',
    method: 'POST',
    path: '/lead-search/:job_id/cancel',
    scope: 'write',
    tag,
    summary: 'End a search early',
    description:
      'It is `canceling` until its run has ended, a second or two, and `canceled` then. The leads that it has stay and are charged; the rest of the money is given back.',
    params: JobPath,
    answer: JobView,
    errors: ['not_found', 'invalid_transition'],
    handle: ({ ownerId, params, save }) => cancelSearch(deps, ownerId, params.job_id, save),
  })
  route(app, deps, {
    id: 'create_lead_campaign',
    method: 'POST',
    path: '/lead-search/:job_id/to-campaign',
    scope: 'write',
    tag,
    summary: 'Make a draft campaign of the leads that have a telephone number',
    description:
      'Each contact has the vars `company`, `address`, `website`, `email`, `niche`, `source`, `signals`, `evidence`, `score` and `lead_id`, as far as the lead has them. A repeat answers the same campaign as long as it is a draft. Nobody is called before you start it by `start_campaign` and confirm consent.',
    params: JobPath,
    body: CampaignWish,
    bodyOptional: true,
    status: 201,
    answer: CampaignView,
    errors: ['not_found', 'invalid_transition', 'no_contacts', 'no_outbound_line', 'limit_reached', 'campaign_started'],
    handle: ({ ownerId, params, body }) => toCampaign(deps, ownerId, params.job_id, body ?? {}),
  })
}

function deleteRoute(app: FastifyInstance, deps: LeadDeps): void {
  route(app, deps, {
    id: 'delete_lead_search',
    method: 'DELETE',
    path: '/lead-search/:job_id',
    scope: 'write',
    tag,
    summary: 'Delete a search with its leads',
    description:
      'Only one that is over. What it cost stays in the balance; contacts and campaigns that were made of it stay. Companies that you have paid for in it may be found, and paid for, again.',
    params: JobPath,
    answer: deleted,
    errors: ['not_found', 'invalid_transition'],
    async handle({ ownerId, params }) {
      await removeSearch(deps, ownerId, params.job_id)
      return { id: params.job_id, deleted: true as const }
    },
  })
}

function leadListRoutes(app: FastifyInstance, deps: LeadDeps): void {
  route(app, deps, {
    id: 'list_leads',
    method: 'GET',
    path: '/lead-search/:job_id/leads',
    scope: 'read',
    tag,
    summary: 'Companies that a search has found, newest first',
    params: JobPath,
    query: LeadFilters,
    answer: listOf(LeadView),
    errors: ['not_found'],
    handle: ({ ownerId, params, query }) => listLeads(deps, ownerId, params.job_id, query),
  })
  streamRoute(app, {
    id: 'export_leads',
    method: 'GET',
    path: '/lead-search/:job_id/leads.csv',
    scope: 'read',
    tag,
    summary: 'Leads of a search as CSV',
    description:
      'A line for each company, in the order in which they were found, with a column for each signal of the brief. UTF-8 with a byte order mark; text that a spreadsheet would run as a formula has an apostrophe before it.',
    params: JobPath,
    query: LeadSelection,
    contentType: 'text/csv',
    notATool: 'A file; list_leads shows the same.',
    answer: z.string(),
    errors: ['not_found'],
    stream: ({ ownerId, params, query }, _request, reply) => sendLeads(deps, ownerId, params.job_id, query, reply),
  })
}
