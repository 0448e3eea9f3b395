import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../deps.ts'
import { listOf } from '../http/paging.ts'
import { route, streamRoute } from '../http/route.ts'
import { CallDetail, CallFilters, CallInput, CallPath, CallView } from './schema.ts'
import { getCall, hangUp, listCalls, placeCall } from './service.ts'
import { streamCall } from './stream.ts'

const tag = 'Calls'

export function callRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'place_call',
    method: 'POST',
    path: '/calls',
    scope: 'write',
    tag,
    summary: 'Place a call',
    body: CallInput,
    status: 201,
    answer: CallView,
    errors: [
      'malformed_json',
      'not_found',
      'subscription_inactive',
      'insufficient_balance',
      'no_outbound_line',
      'do_not_call',
      'moderation_rejected',
      'idempotency_in_flight',
      'idempotency_mismatch',
    ],
    handle: ({ ownerId, body, save }) => placeCall(deps, ownerId, body, save),
  })
  route(app, deps, {
    id: 'list_calls',
    method: 'GET',
    path: '/calls',
    scope: 'read',
    tag,
    summary: 'Calls, newest first',
    query: CallFilters,
    answer: listOf(CallView),
    handle: ({ ownerId, query }) => listCalls(deps, ownerId, query),
  })
  oneCallRoutes(app, deps)
}

function oneCallRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'get_call',
    method: 'GET',
    path: '/calls/:call_id',
    scope: 'read',
    tag,
    summary: 'One call with summary, extracted data and transcript',
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
    params: CallPath,
    answer: CallView,
    errors: ['not_found', 'call_ended', 'engine_unavailable', 'idempotency_in_flight', 'idempotency_mismatch'],
    handle: ({ ownerId, params }) => hangUp(deps, ownerId, params.call_id),
  })
  streamRoute(app, deps, {
    id: 'stream_call_events',
    method: 'GET',
    path: '/calls/:call_id/events',
    scope: 'read',
    tag,
    summary: 'Live events of a call, as server-sent events',
    params: CallPath,
    contentType: 'text/event-stream',
    notATool: 'A stream without end; get_call shows the same so far.',
    answer: z
      .string()
      .describe(
        'Each event has the sequence number as `id`, its type as `event` (`call.dialing`, `call.ringing`, `call.started`, ' +
          '`turn.finished`, `tool.started`, `filler.spoken`, `tool.finished`, `barge_in`, `call.ended`) and JSON as `data`. ' +
          'Events before are sent first; `Last-Event-ID` goes on after that one. The stream ends with `call.ended`.',
      ),
    errors: ['not_found', 'service_unavailable'],
    stream: ({ ownerId, params }, request, reply) => streamCall(deps, ownerId, params.call_id, request, reply),
  })
}
