/** Server-sent events: who may watch how much at once, what every such answer has, and how its end comes. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { errorFields } from '../log.ts'
import { Problem } from './problem.ts'

const HEARTBEAT_MS = 15_000
/** What every process changes is looked at: one row by its key, so that it costs next to nothing. */
const LOOK_MS = 1000
/** Of one kind; those of calls have a Redis connection each. */
const MAX_STREAMS = 200
const MAX_STREAMS_OF_AN_OWNER = 20

export interface Watcher {
  ownerId: string
  /** Of each kind an owner may watch so many. */
  of: 'calls' | 'campaigns' | 'lead searches'
}

const open = new WeakMap<Deps, Map<ServerResponse, Watcher>>()

function streamsOf(deps: Deps): Map<ServerResponse, Watcher> {
  const streams = open.get(deps) ?? new Map<ServerResponse, Watcher>()
  open.set(deps, streams)
  return streams
}

/** For the shutdown: streams would hold the server open. */
export function endStreams(deps: Deps): void {
  for (const response of streamsOf(deps).keys()) response.end()
}

function assertPlace(deps: Deps, { ownerId, of }: Watcher): void {
  const others = [...streamsOf(deps).values()].filter(one => one.of === of)
  if (others.length >= MAX_STREAMS) throw new Problem('service_unavailable', { retryAfterSeconds: 10 })
  if (others.filter(one => one.ownerId === ownerId).length >= MAX_STREAMS_OF_AN_OWNER) {
    const detail = `An account may watch ${MAX_STREAMS_OF_AN_OWNER} ${of} at once.`
    throw new Problem('rate_limited', { detail, retryAfterSeconds: 10 })
  }
}

/** Throws `Problem` where there is no place. From here on the answer is written by who asked for it. */
export function openStream(deps: Deps, watcher: Watcher, reply: FastifyReply): ServerResponse {
  assertPlace(deps, watcher)
  const streams = streamsOf(deps)
  const response = reply.raw
  // Who left while it was looked up is told nothing, and would never give the place back.
  if (response.closed) throw new Problem('service_unavailable')
  reply.hijack()
  response.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // Or a shutdown would wait for the client to let go of the idle connection.
    connection: 'close',
  })
  response.flushHeaders() // what has no events yet must not look like a request that hangs
  streams.set(response, watcher)
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS)
  response.on('close', () => {
    clearInterval(heartbeat)
    streams.delete(response)
  })
  return response
}

export interface Progress {
  data: object
  /** Nothing more will happen to it by itself. */
  isOver: boolean
}

/**
 * `{name}.progress` at once and whenever it has changed, `{name}.ended` at the end. `look` answers null when it is gone. One
 * look after the other, so that a slow database is not asked for the next before it has answered.
 */
export async function tellProgress(
  deps: Deps,
  { request, response, name }: { request: FastifyRequest; response: ServerResponse; name: string },
  look: () => Promise<Progress | null>,
): Promise<void> {
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  let last = ''
  while (!response.writableEnded && !response.destroyed) {
    try {
      // A key that was revoked must not go on watching.
      if (!(await request.server.authenticator.isStillGood(request))) break
      const now = await look()
      if (!now) break
      const data = JSON.stringify(now.data)
      if (data !== last) response.write(`event: ${name}.progress\ndata: ${data}\n\n`)
      last = data
      if (now.isOver) {
        response.end(`event: ${name}.ended\ndata: ${data}\n\n`)
        return
      }
    } catch (error) {
      deps.log.error({ error: errorFields(error) }, 'stream of progress broke off')
      break // the client comes back
    }
    await Promise.race([closed, new Promise<void>(resolve => void deps.clock.after(LOOK_MS, resolve))])
  }
  response.end()
}
