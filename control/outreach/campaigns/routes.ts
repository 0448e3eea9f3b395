import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { listOf } from '../../platform/http/paging.ts'
import type { ProblemCode } from '../../platform/http/problem.ts'
import { deletionRoute, route, streamRoute } from '../../platform/http/route.ts'
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
    summary: 'List campaigns, newest first, with counters and spend',
    query: CampaignFilters,
    answer: listOf(CampaignView),
    handle: ({ ownerId, caller, query }) => listCampaigns(deps, ownerId, { ...query, visible: caller.projects }),
  })
  route(app, deps, {
    id: 'create_campaign',
    method: 'POST',
    path: '/campaigns',
    scope: 'write',
    tag,
    summary: 'Create a draft campaign',
    description:
      'Next, upload contacts with `upload_campaign_contacts` and start the campaign with `start_campaign`. Omitted `params` have their defaults.',
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
    summary: 'Retrieve a campaign with status, counters and spend',
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
    summary: 'Update a draft, or the name and params of a paused campaign; omitted fields keep their values',
    params: CampaignPath,
    body: CampaignPatch,
    answer: CampaignView,
    errors: ['not_found', 'invalid_transition', 'moderation_rejected'],
    handle: ({ ownerId, params, body }) => patchCampaign(deps, ownerId, params.campaign_id, body),
  })
  deletionRoute(app, deps, {
    id: 'delete_campaign',
    path: '/campaigns/:campaign_id',
    scope: 'write',
    tag,
    summary: 'Delete a draft and its contacts',
    description: 'A started campaign cannot be deleted: it is the record of who was called and of their consent.',
    params: CampaignPath,
    errors: ['not_found', 'invalid_transition'],
    remove: ({ ownerId, params }) => removeCampaign(deps, ownerId, params.campaign_id),
  })
}

/** Enough for ten thousand rows with their vars. */
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
      "Send up to 10,000 contacts per request, in any number of requests. Numbers are converted to E.164. A number without a country code is read in the region of the project's line, or of the first trunk. A number that the campaign already has counts as a duplicate; the first one is kept. An invalid row is reported by its index and does not affect other rows.",
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
    summary: 'List the contacts of a campaign, last upload first',
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
    summary: 'Explain whether a contact would be dialled now',
    description: 'Applies the rules that the dialer checks before every attempt, at the current time.',
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
  'calls_stopped',
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
    summary: 'Pause a campaign',
    description:
      'No more contacts are dialled. Calls in progress continue. Pausing a campaign that was paused automatically keeps it from resuming automatically.',
    errors: ['not_found', 'invalid_transition'],
  },
  {
    action: 'resume',
    summary: 'Resume a paused campaign',
    description: 'The conditions of the start are checked again. `errors` names every one that fails.',
    errors: START_ERRORS,
  },
  {
    action: 'stop',
    summary: 'Stop a campaign',
    description:
      'Contacts that were not dialled become `canceled`, and so do calls that wait for an engine. Live calls continue.',
    errors: ['not_found', 'invalid_transition'],
  },
  {
    action: 'requeue',
    summary: 'Dial again the contacts that ended with no_answer, busy or failed',
    description:
      'For a paused, stopped or completed campaign. Resets the attempts of these contacts and runs the campaign. The conditions of the start are checked again.',
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
      'With `consent: true` you confirm that every subscriber on the list has consented to these calls. The confirmation is kept as evidence. `errors` names every condition that fails. With a future `scheduled_start_at`, the campaign is `scheduled` until then.',
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
    summary: 'Stream the progress of a campaign as server-sent events',
    description:
      'Sends `campaign.progress` with status, counters and spend at once, and then when they change, at most once a second. `campaign.ended` is the last event, after the campaign is over and its last call has ended.',
    params: CampaignPath,
    contentType: 'text/event-stream',
    notATool: 'The response is a stream. get_campaign returns the current state.',
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
    summary: 'Download the results of a campaign as CSV',
    description:
      'Returns a line for each contact, in the order of upload: status, attempts, goal and the results of the last call, with a column for each extracted field. The file is UTF-8 with a byte order mark. Text that a spreadsheet would run as a formula starts with an apostrophe.',
    params: CampaignPath,
    contentType: 'text/csv',
    notATool: 'The response is a file. list_campaign_contacts and get_call return the same data.',
    answer: z.string(),
    errors: ['not_found'],
    stream: ({ ownerId, params }, _request, reply) => sendResults(deps, ownerId, params.campaign_id, reply),
  })
}
