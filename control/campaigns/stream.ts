/** Server-sent events of a campaign: its counters as they change, and the end. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { isStillGood } from '../http/auth.ts'
import { Problem } from '../http/problem.ts'
import { errorFields } from '../log.ts'
import { isOver } from './lifecycle.ts'
import { presentProgress } from './present.ts'
import { findCampaign } from './service.ts'
import { type CountedCampaign, selectCampaign } from './sql.ts'

/** Counters are looked at, since every process moves them; one row by its key, so that it costs next to nothing. */
const LOOK_MS = 1000
const HEARTBEAT_MS = 15_000
const MAX_STREAMS = 200
const MAX_STREAMS_OF_AN_OWNER = 20

/** With whose they are. */
const open = new WeakMap<Deps, Map<ServerResponse, string>>()

function streamsOf(deps: Deps): Map<ServerResponse, string> {
  const streams = open.get(deps) ?? new Map<ServerResponse, string>()
  open.set(deps, streams)
  return streams
}

/** For the shutdown: streams would hold the server open. */
export function endCampaignStreams(deps: Deps): void {
  for (const response of streamsOf(deps).keys()) response.end()
}

function takePlace(deps: Deps, ownerId: string, response: ServerResponse): void {
  const streams = streamsOf(deps)
  if (streams.size >= MAX_STREAMS) throw new Problem('service_unavailable', { retryAfterSeconds: 10 })
  if ([...streams.values()].filter(owner => owner === ownerId).length >= MAX_STREAMS_OF_AN_OWNER) {
    const detail = `An account may watch ${MAX_STREAMS_OF_AN_OWNER} campaigns at once.`
    throw new Problem('rate_limited', { detail, retryAfterSeconds: 10 })
  }
  streams.set(response, ownerId)
  response.on('close', () => streams.delete(response))
}

/** Nothing more will happen to it by itself. */
const isDone = (row: CountedCampaign) => isOver(row) && row.dialing === 0 && row.in_progress === 0

export async function streamCampaign(
  deps: Deps,
  ownerId: string,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  await findCampaign(deps, ownerId, id)
  const response = reply.raw
  takePlace(deps, ownerId, response)
  reply.hijack()
  response.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // Or a shutdown would wait for the client to let go of the idle connection.
    connection: 'close',
  })
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS)
  response.on('close', () => clearInterval(heartbeat))
  void tell(deps, ownerId, id, request, response)
  return ''
}

/** One look after the other, so that a slow database is not asked for the next before it has answered. */
async function tell(
  deps: Deps,
  ownerId: string,
  id: string,
  request: FastifyRequest,
  response: ServerResponse,
): Promise<void> {
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  let last = ''
  while (!response.writableEnded && !response.destroyed) {
    try {
      // A key that was revoked must not go on watching.
      if (!(await isStillGood(deps, request))) break
      const row = await selectCampaign(deps.sql, ownerId, id)
      if (!row) break
      const data = JSON.stringify(presentProgress(deps.config, row))
      if (data !== last) response.write(`event: campaign.progress\ndata: ${data}\n\n`)
      last = data
      if (isDone(row)) {
        response.end(`event: campaign.ended\ndata: ${data}\n\n`)
        return
      }
    } catch (error) {
      deps.log.error({ error: errorFields(error) }, 'campaign stream broke off')
      break // the client comes back
    }
    await Promise.race([closed, new Promise<void>(resolve => void deps.clock.after(LOOK_MS, resolve))])
  }
  response.end()
}
