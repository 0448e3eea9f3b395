/**
 * The page `/talk`: a project's agent in a browser, using only livekit-client. It shows that a client needs nothing but
 * `url` and `token`. It loads nothing from other hosts.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PERMISSIONS, pagePolicy } from '../dashboard/policy.ts'
import type { RealtimeDeps } from '../telephony/realtime/livekit.ts'

const JAVASCRIPT = 'text/javascript; charset=utf-8'
/** The browser revalidates a file at each visit and downloads it only after a change. */
const ASK_ALWAYS = 'no-cache'
/** Caching of a file of 1.4 MB that changes only with a release. */
const KEEP_AN_HOUR = 'public, max-age=3600'

const own = (name: string) => join(import.meta.dirname, 'page', name)
const livekitClient = () => {
  const { resolve } = createRequire(import.meta.url)
  return join(dirname(resolve('livekit-client')), 'livekit-client.esm.mjs')
}

interface Asset {
  body: Buffer
  etag: string
  type: string
  caching: string
}

function load(file: string, type: string, caching = ASK_ALWAYS): Asset {
  const body = readFileSync(file)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`, type, caching }
}

export function talkRoutes(app: FastifyInstance, deps: Pick<RealtimeDeps, 'livekit'>): void {
  const assets: Record<string, Asset> = {
    '/talk': load(own('talk.html'), 'text/html; charset=utf-8'),
    '/talk/talk.css': load(own('talk.css'), 'text/css; charset=utf-8'),
    '/talk/talk.js': load(own('talk.js'), JAVASCRIPT),
    '/talk/room.js': load(own('room.js'), JAVASCRIPT),
    '/talk/words.js': load(own('words.js'), JAVASCRIPT),
    '/talk/livekit-client.js': load(livekitClient(), JAVASCRIPT, KEEP_AN_HOUR),
  }
  for (const [path, asset] of Object.entries(assets)) {
    app.get(path, { schema: { hide: true } }, async (request, reply) => {
      reply.header('Content-Security-Policy', pagePolicy({ livekitUrl: deps.livekit?.publicUrl ?? null }))
      reply.header('Permissions-Policy', PERMISSIONS)
      return send(request, reply, asset)
    })
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, etag, type, caching }: Asset): FastifyReply {
  reply.header('ETag', etag).header('Cache-Control', caching)
  const known = request.headers['if-none-match']?.split(',').map(one => one.trim().replace(/^W\//, ''))
  if (known?.includes(etag)) return reply.code(304).send()
  return reply.type(type).send(body)
}
