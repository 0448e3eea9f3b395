import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { toUnits } from '../../billing/money.ts'
import type { Deps } from '../../platform/deps.ts'
import { listOf } from '../../platform/http/paging.ts'
import { deletionRoute, route, streamRoute } from '../../platform/http/route.ts'
import type { CallDeps } from '../call-setup/ended.ts'
import { CallFilters, CallInput } from '../call-setup/schema.ts'
import type { RealtimeDeps } from '../realtime/livekit.ts'
import { CallTrace, TraceFormat } from '../trace/schema.ts'
import { monitorCall, unmonitorCall } from './monitor.ts'
import { sendRecording } from './recording.ts'
import {
  CallDetail,
  CallPath,
  CallToolExtras,
  CallView,
  MonitorInput,
  MonitorPath,
  MonitorSession,
  StreamedEvent,
  WouldPlace,
} from './schema.ts'
import { getCall, hangUp, listCalls, placeCall, tryCall } from './service.ts'
import { streamCall } from './stream.ts'
import { getTrace, traceAsText } from './trace.ts'

const tag = 'Calls'

interface CallRouteDeps extends CallDeps, RealtimeDeps {}

/** Erases the personal data of a call. Passed in, because the module `data` depends on this one. */
type EraseCall = (deps: Deps, ownerId: string, callId: string) => Promise<void>

export function callRoutes(app: FastifyInstance, deps: CallRouteDeps, eraseCall: EraseCall): void {
  route(app, deps, {
    id: 'place_call',
    method: 'POST',
    path: '/calls',
    scope: 'write',
    tag,
    summary: 'Place a call',
    description:
      'Calls a phone number for a project, from a number bound to it. The price of the first minute is held at once. The call starts as `queued`; follow it with `get_call`, the event stream or webhooks.',
    body: CallInput,
    status: 201,
    answer: CallView,
    errors: [
      'not_found',
      'subscription_inactive',
      'insufficient_balance',
      'daily_limit_reached',
      'calls_stopped',
      'no_outbound_line',
      'do_not_call',
      'destination_blocked',
      'too_many_calls',
      'moderation_rejected',
    ],
    extras: CallToolExtras,
    extraAnswer: WouldPlace,
    handle({ ownerId, body, extras, traceparent, save }) {
      const { dry_run, max_cost } = extras as Partial<z.output<typeof CallToolExtras>>
      const maxCost = max_cost === undefined ? null : toUnits(max_cost)
      // The response then has the shape of the tool's extra response.
      if (dry_run) return tryCall(deps, ownerId, body, { maxCost }) as never
      return placeCall(deps, ownerId, body, { maxCost, traceparent, save })
    },
  })
  route(app, deps, {
    id: 'list_calls',
    method: 'GET',
    path: '/calls',
    scope: 'read',
    tag,
    summary: 'List calls, newest first',
    description: 'Returns outbound calls, inbound calls and web sessions. Filters can be combined.',
    query: CallFilters,
    answer: listOf(CallView),
    handle: ({ ownerId, caller, query }) => listCalls(deps, ownerId, query, caller.projects),
  })
  oneCallRoutes(app, deps)
  eraseRoute(app, deps, eraseCall)
  evidenceRoutes(app, deps)
  monitorRoutes(app, deps)
}

function oneCallRoutes(app: FastifyInstance, deps: CallRouteDeps): void {
  route(app, deps, {
    id: 'get_call',
    method: 'GET',
    path: '/calls/:call_id',
    scope: 'read',
    tag,
    summary: 'Retrieve a call with summary, extracted data and transcript',
    description:
      'Returns all data of a call: status, cost, transcript, tool calls and results. For a live call, returns the data so far.',
    params: CallPath,
    answer: CallDetail,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getCall(deps, ownerId, params.call_id),
  })
  route(app, deps, {
    id: 'hang_up_call',
    method: 'POST',
    path: '/calls/:call_id/hangup',
    scope: 'write',
    tag,
    summary: 'End a call',
    description: 'Cancels a queued call, or ends a live call and keeps its transcript.',
    params: CallPath,
    answer: CallView,
    errors: ['not_found', 'call_ended', 'engine_unavailable'],
    handle: ({ ownerId, params }) => hangUp(deps, ownerId, params.call_id),
  })
  streamRoute(app, {
    id: 'stream_call_events',
    method: 'GET',
    path: '/calls/:call_id/events',
    scope: 'read',
    tag,
    summary: 'Stream the events of a call as server-sent events',
    description:
      'Past events are sent first; with `Last-Event-ID`, only those after it. The stream ends with `call.ended`.',
    params: CallPath,
    contentType: 'text/event-stream',
    notATool: 'The response is a stream. get_call returns the current state.',
    answer: StreamedEvent,
    errors: ['not_found', 'service_unavailable'],
    stream: ({ ownerId, params }, request, reply) => streamCall(deps, ownerId, params.call_id, request, reply),
  })
}

function eraseRoute(app: FastifyInstance, deps: Deps, eraseCall: EraseCall): void {
  deletionRoute(app, deps, {
    id: 'erase_call',
    path: '/calls/:call_id',
    scope: 'write',
    tag,
    summary: 'Erase the personal data of a call',
    description:
      'Permanently deletes the recording, transcript, summary, extracted data, tool calls, phone number, contact link, task, vars, SIP trace, and copies in webhook deliveries. Time, duration, result and cost are kept, because the ledger refers to them.',
    params: CallPath,
    errors: ['not_found', 'invalid_transition'],
    remove: ({ ownerId, params }) => eraseCall(deps, ownerId, params.call_id),
  })
}

/** Recording and SIP trace of a call. */
function evidenceRoutes(app: FastifyInstance, deps: RealtimeDeps): void {
  streamRoute(app, {
    id: 'get_call_recording',
    method: 'GET',
    path: '/calls/:call_id/recording',
    scope: 'read',
    tag,
    summary: 'Download the recording of a call as stereo WAV: caller left, agent right',
    description:
      'The audio is 16-bit PCM at 8 kHz, from the answer on. It is available a few moments after the end of a call if the project has `recording` enabled; `recording_url` of the call is then set. Supports `Range`.',
    params: CallPath,
    contentType: 'audio/wav',
    notATool: 'The response is audio. get_call returns its URL.',
    answer: z.string().meta({ format: 'binary' }),
    errors: ['not_found', 'no_recording', 'range_not_satisfiable'],
    ranges: true,
    stream: ({ ownerId, params }, request, reply) => sendRecording(deps, ownerId, params.call_id, request, reply),
  })
  route(app, deps, {
    id: 'get_call_trace',
    method: 'GET',
    path: '/calls/:call_id/trace',
    scope: 'read',
    tag,
    summary: 'Retrieve the SIP trace of a call, with the cause of a failure',
    description:
      'Shows why a carrier rejected a call or why there was no audio: the SIP messages sent and received, and the cause in plain words. Traces are kept for 30 days. With `Accept: text/plain` or `format=text`, the response is a ladder diagram.',
    params: CallPath,
    query: TraceFormat,
    answer: CallTrace,
    text: { of: traceAsText, wanted: ({ format }) => format === 'text' },
    errors: ['not_found', 'no_trace'],
    handle: ({ ownerId, params }) => getTrace(deps, ownerId, params.call_id),
  })
}

/** Operators in a live call. */
function monitorRoutes(app: FastifyInstance, deps: RealtimeDeps): void {
  route(app, deps, {
    id: 'monitor_call',
    method: 'POST',
    path: '/calls/:call_id/monitor',
    scope: 'write',
    tag,
    summary: 'Listen to a live call, whisper to its agent, or take it over',
    description:
      'Returns the URL and the token with which any LiveKit client SDK can join. With `listen`, the operator hears both sides and is not heard. With `whisper`, only the agent gets what the operator says or writes. With `takeover`, the operator speaks to the caller while the agent is silent. To change the mode without joining again, send the `monitor_id` of an earlier response; `listen` or `whisper` returns the call to the agent. The call emits `monitor.…` events.',
    params: CallPath,
    body: MonitorInput,
    status: 201,
    answer: MonitorSession,
    secret: 'token',
    errors: ['not_found', 'call_ended', 'call_not_answered', 'realtime_unavailable', 'engine_unavailable'],
    handle: ({ ownerId, params, body }) => monitorCall(deps, ownerId, params.call_id, body),
  })
  deletionRoute(app, deps, {
    id: 'unmonitor_call',
    path: '/calls/:call_id/monitor/:monitor_id',
    scope: 'write',
    tag,
    summary: 'Remove an operator from a call',
    description: 'After a takeover, the agent continues the call. An unknown id has no effect.',
    params: MonitorPath,
    errors: ['not_found', 'call_ended', 'call_not_answered', 'realtime_unavailable', 'engine_unavailable'],
    remove: ({ ownerId, params }) => unmonitorCall(deps, ownerId, params.call_id, params.monitor_id),
  })
}
