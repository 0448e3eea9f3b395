/** Server-sent events of one call: stored events first, then events from the bus, each one once. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallEvent } from '../../../media/contract/messages.ts'
import type { Deps } from '../../platform/deps.ts'
import { openStream } from '../../platform/http/event-stream.ts'
import { notFound } from '../../platform/http/problem.ts'
import { errorFields } from '../../platform/log.ts'
import { selectCall, selectEvents } from '../call-setup/sql.ts'

/** Milliseconds by which reading the bus starts in the past, so that no event falls between it and the database. */
const OVERLAP_MS = 60_000
const LOOK_FOR_END_MS = 500
/** Events that are not sent to clients: billing progress, typed digits, and second legs. */
const PRIVATE = new Set<CallEvent['type']>(['call.progress', 'dtmf.received', 'bridge.closed'])

interface Sent {
  seq: number
  type: string
  data: object
}

export async function streamCall(
  deps: Deps,
  ownerId: string,
  callId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  if (!(await selectCall(deps.sql, ownerId, callId))) throw notFound()
  const given = Number(request.headers['last-event-id'] ?? 0)
  const after = Number.isSafeInteger(given) && given > 0 && given < 2 ** 31 ? given : 0
  const response = openStream(deps, { ownerId, of: 'calls' }, reply)
  const writer = createWriter(response, after)
  const reader = deps.bus.follow(callId, event => writer.live(event), `${Date.now() - OVERLAP_MS}-0`)
  // Sends the end only after it is stored, so that a client that then reads the call gets the whole record. It is
  // polled, because control itself may also end a call, which the bus does not report.
  const endIfStored = async () => {
    // A revoked key must not continue to listen. While the database is unreachable, the key cannot be checked.
    if (!(await request.server.authenticator.isStillValid(request).catch(() => true))) return void response.end()
    const row = await selectCall(deps.sql, ownerId, callId).catch(() => null)
    if (row?.ended_at) writer.end({ status: row.status, ended_reason: row.ended_reason })
  }
  const watch = setInterval(() => void (writer.isLive() && endIfStored()), LOOK_FOR_END_MS)
  response.on('close', () => {
    clearInterval(watch)
    void reader.stop()
  })
  try {
    for (const event of await selectEvents(deps.sql, callId, after)) writer.stored(event)
    const row = await selectCall(deps.sql, ownerId, callId)
    if (row?.ended_at) writer.end({ status: row.status, ended_reason: row.ended_reason })
    else writer.goLive()
  } catch (error) {
    deps.log.error({ error: errorFields(error) }, 'call event stream failed')
    response.end() // the client reconnects with Last-Event-ID
  }
  return ''
}

/** Holds live events back until the stored ones are sent, and sends no event twice. */
function createWriter(response: ServerResponse, after: number) {
  let last = after
  const sent = new Set<number>()
  let live = false
  const held: CallEvent[] = []
  const write = ({ seq, type, data }: Sent) => {
    if (seq <= after || sent.has(seq) || response.writableEnded) return
    sent.add(seq)
    // An event that is stored late (by another process) arrives out of order and must not turn back the client's id.
    last = Math.max(last, seq)
    response.write(`id: ${last}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const end = (data: object) =>
    response.writableEnded || response.end(`event: call.ended\ndata: ${JSON.stringify(data)}\n\n`)
  const pass = (event: CallEvent) => {
    if (PRIVATE.has(event.type) || event.type === 'call.ended') return
    const { v: _v, call_id: _call, owner_id: _owner, seq, at: _at, type, ...data } = event
    write({ seq, type, data })
  }
  return {
    stored: write,
    end,
    isLive: () => live,
    live(event: CallEvent) {
      if (live) pass(event)
      else held.push(event)
    },
    goLive() {
      live = true
      for (const event of held.splice(0)) pass(event)
    },
  }
}
