import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { toUnits } from '../../billing/money.ts'
import type { Deps } from '../../platform/deps.ts'
import { listOf } from '../../platform/http/paging.ts'
import { route, streamRoute } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
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

/** What the routes of calls take from a module above them: deletes what is personal of a call. */
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
      'Rings a telephone on behalf of a project, over a line that is bound to it. Money for the first minute is held at once. The call is `queued` at first: follow it by `get_call`, the event stream or webhooks.',
    body: CallInput,
    status: 201,
    answer: CallView,
    errors: [
      'not_found',
      'subscription_inactive',
      'insufficient_balance',
      'daily_limit_reached',
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
      // The answer's shape is that of the tool's extra answer then.
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
    summary: 'Calls, newest first',
    description: 'Outbound and inbound calls and web sessions. The filters can be combined.',
    query: CallFilters,
    answer: listOf(CallView),
    handle: ({ ownerId, query }) => listCalls(deps, ownerId, query),
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
    summary: 'One call with summary, extracted data and transcript',
    description:
      'Everything about a call: how it went, what it cost, what was said and heard, which tools were used. A live call shows what has happened so far.',
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
    description: 'A call that nobody has taken yet is canceled; a live one is ended with whatever was said so far.',
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
    summary: 'Live events of a call, as server-sent events',
    description:
      'Events that were before are sent first; `Last-Event-ID` goes on after that one. The stream ends with `call.ended`.',
    params: CallPath,
    contentType: 'text/event-stream',
    notATool: 'A stream without end; get_call shows the same so far.',
    answer: StreamedEvent,
    errors: ['not_found', 'service_unavailable'],
    stream: ({ ownerId, params }, request, reply) => streamCall(deps, ownerId, params.call_id, request, reply),
  })
}

function eraseRoute(app: FastifyInstance, deps: Deps, eraseCall: EraseCall): void {
  route(app, deps, {
    id: 'erase_call',
    method: 'DELETE',
    path: '/calls/:call_id',
    scope: 'write',
    tag,
    summary: 'Delete what is personal of a call',
    description:
      'Recording, transcript, summary, extracted data, tool calls, the number and the contact, task and vars, SIP trace, and copies in webhook deliveries are gone for good. When it was, how long, how it ended and what it cost stays, as the balance refers to it.',
    params: CallPath,
    answer: deleted,
    errors: ['not_found', 'invalid_transition'],
    async handle({ ownerId, params }) {
      await eraseCall(deps, ownerId, params.call_id)
      return { id: params.call_id, deleted: true as const }
    },
  })
}

/** What is left of a call besides its record. */
function evidenceRoutes(app: FastifyInstance, deps: RealtimeDeps): void {
  streamRoute(app, {
    id: 'get_call_recording',
    method: 'GET',
    path: '/calls/:call_id/recording',
    scope: 'read',
    tag,
    summary: 'Recording of a call, as a stereo WAV: the other side left, the agent right',
    description:
      '16-bit PCM at 8 kHz, from the answer on. There is one some moments after the end of a call whose project has `recording` on; `recording_url` of the call says so. Players may ask for a part with `Range`.',
    params: CallPath,
    contentType: 'audio/wav',
    notATool: 'Sound; get_call has its address.',
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
    summary: 'SIP messages of a call, and why it failed',
    description:
      'For finding out why a carrier refused a call or why there was no sound: the messages as they were sent and came, and the cause in plain words. Kept for 30 days. With `Accept: text/plain` or `format=text` it is a ladder to read.',
    params: CallPath,
    query: TraceFormat,
    answer: CallTrace,
    text: { of: traceAsText, wanted: ({ format }) => format === 'text' },
    errors: ['not_found', 'no_trace'],
    handle: ({ ownerId, params }) => getTrace(deps, ownerId, params.call_id),
  })
}

/** A seat in a live call. */
function monitorRoutes(app: FastifyInstance, deps: RealtimeDeps): void {
  route(app, deps, {
    id: 'monitor_call',
    method: 'POST',
    path: '/calls/:call_id/monitor',
    scope: 'write',
    tag,
    summary: 'Listen to a live call, whisper to its agent, or take over',
    description:
      'Answers with the address and the token to join by, with any LiveKit client SDK. `listen` hears both sides and is not heard; `whisper` is heard, or read as text, by the agent alone; `takeover` speaks to the caller while the agent is silent. With the `monitor_id` of an earlier answer the mode changes without joining again: back to `listen` or `whisper` hands the call back to the agent. All of it is told as `monitor.…` events of the call.',
    params: CallPath,
    body: MonitorInput,
    status: 201,
    answer: MonitorSession,
    secret: 'token',
    errors: ['not_found', 'call_ended', 'call_not_answered', 'realtime_unavailable', 'engine_unavailable'],
    handle: ({ ownerId, params, body }) => monitorCall(deps, ownerId, params.call_id, body),
  })
  route(app, deps, {
    id: 'unmonitor_call',
    method: 'DELETE',
    path: '/calls/:call_id/monitor/:monitor_id',
    scope: 'write',
    tag,
    summary: 'Show somebody out who follows a call',
    description: 'After a takeover the agent speaks again. Nothing happens when nobody of this id is there.',
    params: MonitorPath,
    answer: deleted,
    errors: ['not_found', 'call_ended', 'call_not_answered', 'realtime_unavailable', 'engine_unavailable'],
    async handle({ ownerId, params }) {
      await unmonitorCall(deps, ownerId, params.call_id, params.monitor_id)
      return { id: params.monitor_id, deleted: true as const }
    },
  })
}
