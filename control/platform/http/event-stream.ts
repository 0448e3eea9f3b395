/** Server-sent events: limits the number of streams, and sets their headers, heartbeat and end. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { errorFields } from '../log.ts'
import { Problem } from './problem.ts'

const HEARTBEAT_MS = 15_000
/**
 * Milliseconds between polls of state that several processes change: one row by its key, which costs next to nothing.
 */
const LOOK_MS = 1000
/** Maximum of one kind; streams of calls have a Redis connection each. */
const MAX_STREAMS = 200
const MAX_STREAMS_OF_AN_OWNER = 20

export interface Watcher {
  ownerId: string
  /** Kind of stream; each kind has its own limit per owner. */
  of: 'calls' | 'campaigns' | 'lead searches'
}

const open = new WeakMap<Deps, Map<ServerResponse, Watcher>>()

function streamsOf(deps: Deps): Map<ServerResponse, Watcher> {
  const streams = open.get(deps) ?? new Map<ServerResponse, Watcher>()
  open.set(deps, streams)
  return streams
}

/** Ends all streams at shutdown, because they would keep the server open. */
export function endStreams(deps: Deps): void {
  for (const response of streamsOf(deps).keys()) response.end()
}

function assertBelowLimit(deps: Deps, { ownerId, of }: Watcher): void {
  const others = [...streamsOf(deps).values()].filter(one => one.of === of)
  if (others.length >= MAX_STREAMS) throw new Problem('service_unavailable', { retryAfterSeconds: 10 })
  if (others.filter(one => one.ownerId === ownerId).length >= MAX_STREAMS_OF_AN_OWNER) {
    const detail = `An account may open at most ${MAX_STREAMS_OF_AN_OWNER} streams of ${of} at the same time.`
    throw new Problem('rate_limited', { detail, retryAfterSeconds: 10 })
  }
}

/** Throws `Problem` when there are too many streams. From here on, the caller writes the response. */
export function openStream(deps: Deps, watcher: Watcher, reply: FastifyReply): ServerResponse {
  assertBelowLimit(deps, watcher)
  const streams = streamsOf(deps)
  const response = reply.raw
  // If the client has left meanwhile, the stream would never be released.
  if (response.closed) throw new Problem('service_unavailable')
  reply.hijack()
  response.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // Otherwise a shutdown would wait for the client to close the idle connection.
    connection: 'close',
  })
  response.flushHeaders() // a stream without events must not look like a hanging request
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
  /** True when the object will not change any more by itself. */
  isOver: boolean
}

/**
 * Sends `{name}.progress` at once and after every change, and `{name}.ended` at the end. `look` returns null when the
 * object is gone. Polls run one after the other, so that a slow database does not get several at once.
 */
export async function streamProgress(
  deps: Deps,
  { request, response, name }: { request: FastifyRequest; response: ServerResponse; name: string },
  look: () => Promise<Progress | null>,
): Promise<void> {
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  let last = ''
  while (!response.writableEnded && !response.destroyed) {
    try {
      // A revoked key must not continue to watch.
      if (!(await request.server.authenticator.isStillValid(request))) break
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
      deps.log.error({ error: errorFields(error) }, 'progress stream failed')
      break // the client reconnects
    }
    await Promise.race([closed, new Promise<void>(resolve => void deps.clock.after(LOOK_MS, resolve))])
  }
  response.end()
}
