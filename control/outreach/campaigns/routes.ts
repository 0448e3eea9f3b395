import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { listOf } from '../../platform/http/paging.ts'
import type { ProblemCode } from '../../platform/http/problem.ts'
import { route, streamRoute } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import type { Action } from './lifecycle.ts'
import { sendResults } from './results.ts'
import {
  CampaignContactPath,
  CampaignContactView,
  CampaignEvent,
  CampaignFilters,
  CampaignInput,
  CampaignPatch,
  CampaignPath,
  CampaignView,
  ContactEntries,
  ContactFilters,
  StartInput,
  UploadMode,
  UploadResult,
  WhyView,
} from './schema.ts'
import {
  createCampaign,
  getCampaign,
  listCampaigns,
  listContacts,
  patchCampaign,
  removeCampaign,
  stepCampaign,
} from './service.ts'
import { streamCampaign } from './stream.ts'
import { uploadContacts } from './upload.ts'
import { whyNot } from './why.ts'

const tag = 'Campaigns'

export function campaignRoutes(app: FastifyInstance, deps: CallDeps): void {
  route(app, deps, {
    id: 'list_campaigns',
    method: 'GET',
    path: '/campaigns',
    scope: 'read',
    tag,
    summary: 'Campaigns, newest first, with counters and spend',
    query: CampaignFilters,
    answer: listOf(CampaignView),
    handle: ({ ownerId, query }) => listCampaigns(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'create_campaign',
    method: 'POST',
    path: '/campaigns',
    scope: 'write',
    tag,
    summary: 'Create a campaign, as a draft',
    description:
      'Then upload contacts by `upload_campaign_contacts` and begin by `start_campaign`. What is left out of `params` has its default.',
    body: CampaignInput,
    status: 201,
    answer: CampaignView,
    errors: ['not_found', 'limit_reached', 'moderation_rejected'],
    handle: ({ ownerId, body, save }) => createCampaign(deps, ownerId, body, save),
  })
  oneCampaignRoutes(app, deps)
  contactRoutes(app, deps)
  lifecycleRoutes(app, deps)
  progressRoutes(app, deps)
}

function oneCampaignRoutes(app: FastifyInstance, deps: CallDeps): void {
  route(app, deps, {
    id: 'get_campaign',
    method: 'GET',
    path: '/campaigns/:campaign_id',
    scope: 'read',
    tag,
    summary: 'One campaign with status, counters and spend',
    params: CampaignPath,
    answer: CampaignView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getCampaign(deps, ownerId, params.campaign_id),
  })
  route(app, deps, {
    id: 'update_campaign',
    method: 'PATCH',
    path: '/campaigns/:campaign_id',
    scope: 'write',
    tag,
    summary: 'Change a draft, or the name and params of a paused campaign; what is left out stays',
    params: CampaignPath,
    body: CampaignPatch,
    answer: CampaignView,
    errors: ['not_found', 'invalid_transition', 'moderation_rejected'],
    handle: ({ ownerId, params, body }) => patchCampaign(deps, ownerId, params.campaign_id, body),
  })
  route(app, deps, {
    id: 'delete_campaign',
    method: 'DELETE',
    path: '/campaigns/:campaign_id',
    scope: 'write',
    tag,
    summary: 'Delete a draft with its contacts',
    description: 'A campaign that was started stays: it is the evidence of whom it called, and why it might.',
    params: CampaignPath,
    answer: deleted,
    errors: ['not_found', 'invalid_transition'],
    async handle({ ownerId, params }) {
      await removeCampaign(deps, ownerId, params.campaign_id)
      return { id: params.campaign_id, deleted: true as const }
    },
  })
}

/** Ten thousand rows with their vars. */
const UPLOAD_BYTES = 8 * 1_048_576

function contactRoutes(app: FastifyInstance, deps: CallDeps): void {
  route(app, deps, {
    id: 'upload_campaign_contacts',
    method: 'POST',
    path: '/campaigns/:campaign_id/contacts',
    scope: 'write',
    tag,
    summary: 'Upload contacts to a draft',
    description:
      'Up to 10,000 in a request, any number of requests. Numbers become E.164; those without a country code are of the region of the line of the project, or else of the first trunk. A number that the campaign has already counts as a duplicate, and the first one stays. A bad row is named by its index and stops none of the others.',
    params: CampaignPath,
    query: UploadMode,
    body: ContactEntries,
    bodyLimit: UPLOAD_BYTES,
    argument: 'contacts',
    answer: UploadResult,
    errors: ['not_found', 'campaign_started', 'limit_reached'],
    handle: ({ ownerId, params, query: { mode }, body, save }) =>
      uploadContacts(deps, ownerId, params.campaign_id, { entries: body, mode }, save),
  })
  route(app, deps, {
    id: 'list_campaign_contacts',
    method: 'GET',
    path: '/campaigns/:campaign_id/contacts',
    scope: 'read',
    tag,
    summary: 'Contacts of a campaign, the last upload first',
    params: CampaignPath,
    query: ContactFilters,
    answer: listOf(CampaignContactView),
    errors: ['not_found'],
    handle: ({ ownerId, params, query }) => listContacts(deps, ownerId, params.campaign_id, query),
  })
  route(app, deps, {
    id: 'explain_campaign_contact',
    method: 'GET',
    path: '/campaigns/:campaign_id/contacts/:campaign_contact_id/why',
    scope: 'read',
    tag,
    summary: 'Whether a contact would be dialled now, and if not, why',
    description: 'The rules that the dialer asks before every attempt, asked now.',
    params: CampaignContactPath,
    answer: WhyView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => whyNot(deps, ownerId, params.campaign_id, params.campaign_contact_id),
  })
}

const START_ERRORS: ProblemCode[] = [
  'not_found',
  'invalid_transition',
  'no_contacts',
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'no_outbound_line',
  'moderation_rejected',
]

interface Step {
  action: Exclude<Action, 'start'>
  summary: string
  description: string
  errors: ProblemCode[]
}

const steps: Step[] = [
  {
    action: 'pause',
    summary: 'Dial nobody any more, for now',
    description: 'Calls under way end as calls end. A campaign that paused by itself stays paused then.',
    errors: ['not_found', 'invalid_transition'],
  },
  {
    action: 'resume',
    summary: 'Go on after a pause',
    description: 'What has stood in the way at the start must not: `errors` names all of it.',
    errors: START_ERRORS,
  },
  {
    action: 'stop',
    summary: 'End a campaign',
    description: 'Who has not been dialled is `canceled`, and so is a call that waits for an engine; live calls go on.',
    errors: ['not_found', 'invalid_transition'],
  },
  {
    action: 'requeue',
    summary: 'Dial those again who ended as no_answer, busy or failed',
    description:
      'Of a paused, stopped or completed campaign. Their attempts start again, and it runs; every gate of the start is asked again.',
    errors: START_ERRORS,
  },
]

function lifecycleRoutes(app: FastifyInstance, deps: CallDeps): void {
  route(app, deps, {
    id: 'start_campaign',
    method: 'POST',
    path: '/campaigns/:campaign_id/start',
    scope: 'write',
    tag,
    summary: 'Start a campaign',
    description:
      'With `consent: true` you confirm that every subscriber on the list has consented to these calls; that is kept as evidence. Everything that stands in the way is named in `errors`. With a `scheduled_start_at` to come it is `scheduled` until then.',
    params: CampaignPath,
    body: StartInput,
    answer: CampaignView,
    errors: START_ERRORS,
    handle: ({ ownerId, caller, params }) => stepCampaign(deps, { ownerId, caller }, params.campaign_id, 'start'),
  })
  for (const { action, ...rest } of steps) {
    route(app, deps, {
      ...rest,
      id: `${action}_campaign`,
      method: 'POST',
      path: `/campaigns/:campaign_id/${action}`,
      scope: 'write',
      tag,
      params: CampaignPath,
      answer: CampaignView,
      handle: ({ ownerId, caller, params }) => stepCampaign(deps, { ownerId, caller }, params.campaign_id, action),
    })
  }
}

function progressRoutes(app: FastifyInstance, deps: CallDeps): void {
  streamRoute(app, {
    id: 'stream_campaign_events',
    method: 'GET',
    path: '/campaigns/:campaign_id/events',
    scope: 'read',
    tag,
    summary: 'Progress of a campaign, as server-sent events',
    description:
      '`campaign.progress` with status, counters and spend: at once, and then when they change, at most once a second. `campaign.ended` is the last, when it is over and its last call has ended.',
    params: CampaignPath,
    contentType: 'text/event-stream',
    notATool: 'A stream; get_campaign shows the same now.',
    answer: CampaignEvent,
    errors: ['not_found', 'service_unavailable'],
    stream: ({ ownerId, params }, request, reply) => streamCampaign(deps, ownerId, params.campaign_id, request, reply),
  })
  streamRoute(app, {
    id: 'get_campaign_results',
    method: 'GET',
    path: '/campaigns/:campaign_id/results.csv',
    scope: 'read',
    tag,
    summary: 'Results of a campaign as CSV',
    description:
      'A line for each contact, in the order of upload: status, attempts, goal, what the last call found out, with a column for each extracted field. UTF-8 with a byte order mark; text that a spreadsheet would run as a formula has an apostrophe before it.',
    params: CampaignPath,
    contentType: 'text/csv',
    notATool: 'A file; list_campaign_contacts and get_call show the same.',
    answer: z.string(),
    errors: ['not_found'],
    stream: ({ ownerId, params }, _request, reply) => sendResults(deps, ownerId, params.campaign_id, reply),
  })
}
