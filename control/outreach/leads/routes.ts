import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { listOf } from '../../platform/http/paging.ts'
import { deletionRoute, route, streamRoute } from '../../platform/http/route.ts'
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
    summary: 'Parse a brief and estimate the cost of its search; free',
    description:
      'Converts plain text to the input of `start_lead_search`. Parts that the text does not mention are listed in `missing` and not invented.',
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
      'You pay for each enriched lead. The estimate is held at the start, and the unused part is released when the search ends. An account runs one search at a time, with a daily limit. The first search needs `accept_terms: true`; the terms are at /terms/lead-search. Follow the search with `get_lead_search`.',
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
      'calls_stopped',
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
    summary: 'List the latest 50 lead searches, newest first',
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
    summary: 'Retrieve a lead search with status, progress and cost',
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
    summary: 'Stream the progress of a lead search as server-sent events',
    description:
      'Sends `lead_search.progress` with status, counters and cost at once, and then when they change, at most once a second. `lead_search.ended` is the last event.',
    params: JobPath,
    contentType: 'text/event-stream',
    notATool: 'The response is a stream. get_lead_search returns the current state.',
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
    summary: 'Cancel a lead search',
    description:
      'The status is `canceling` for a second or two until the run ends, and then `canceled`. Leads found so far are kept and charged; the rest of the hold is released.',
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
    summary: 'Create a draft campaign from the leads with a phone number',
    description:
      'Each contact gets the vars `company`, `address`, `website`, `email`, `niche`, `source`, `signals`, `evidence`, `score` and `lead_id` that the lead has. A repeated request returns the same campaign while it is a draft. No one is called until you start the campaign with `start_campaign` and confirm consent.',
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
  deletionRoute(app, deps, {
    id: 'delete_lead_search',
    path: '/lead-search/:job_id',
    scope: 'write',
    tag,
    summary: 'Delete a lead search and its leads',
    description:
      'The search must have ended. Its cost is not refunded; contacts and campaigns created from it are kept. Companies that you paid for may be found, and charged, again.',
    params: JobPath,
    errors: ['not_found', 'invalid_transition'],
    remove: ({ ownerId, params }) => removeSearch(deps, ownerId, params.job_id),
  })
}

function leadListRoutes(app: FastifyInstance, deps: LeadDeps): void {
  route(app, deps, {
    id: 'list_leads',
    method: 'GET',
    path: '/lead-search/:job_id/leads',
    scope: 'read',
    tag,
    summary: 'List the companies of a lead search, newest first',
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
    summary: 'Download the leads of a search as CSV',
    description:
      'Returns a line for each company, in the order in which they were found, with a column for each signal of the brief. The file is UTF-8 with a byte order mark. Text that a spreadsheet would run as a formula starts with an apostrophe.',
    params: JobPath,
    query: LeadSelection,
    contentType: 'text/csv',
    notATool: 'The response is a file. list_leads returns the same data.',
    answer: z.string(),
    errors: ['not_found'],
    stream: ({ ownerId, params, query }, _request, reply) => sendLeads(deps, ownerId, params.job_id, query, reply),
  })
}
