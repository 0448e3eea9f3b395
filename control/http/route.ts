/** One way to declare a route: parsed input, owner, gates, documented answers and errors, idempotency. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { z } from 'zod'
import type { Db } from '../db/connect.ts'
import type { Deps } from '../deps.ts'
import type { Scope } from '../keys/service.ts'
import { authenticate } from './auth.ts'
import { toProblem } from './errors.ts'
import { type Answer, claimKey, type IdempotencyClaim, readKey, releaseKey, saveAnswer } from './idempotency.ts'
import { responsesFor } from './openapi.ts'
import { Problem, type ProblemCode } from './problem.ts'

export const PREFIX = '/v1/public'

export interface Context<P, Q, B> {
  ownerId: string
  params: P
  query: Q
  body: B
  request: FastifyRequest
  reply: FastifyReply
  /** Called inside the transaction that makes the resource, with what will be answered. */
  save(db: Db, answer: unknown): Promise<void>
}

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/v1/public`. */
  path: string
  scope: Scope
  tag: string
  summary: string
  params?: P
  query?: Q
  body?: B
  status?: 200 | 201
  answer: R
  /** Of an answer that is not JSON; its handler writes to `reply.raw`. */
  contentType?: string
  /** Besides those that any route can answer. */
  errors?: ProblemCode[]
  /** Field of the answer that is shown once; a replay comes without it. */
  secret?: string
  handle(context: Context<z.output<P>, z.output<Q>, z.output<B>>): Promise<z.input<R>>
}

const nothing = z.strictObject({})

export function route<
  R extends z.ZodType,
  P extends z.ZodType = z.ZodUnknown,
  Q extends z.ZodType = z.ZodUnknown,
  B extends z.ZodType = z.ZodUnknown,
>(app: FastifyInstance, deps: Deps, spec: RouteSpec<P, Q, B, R>): void {
  const status = spec.status ?? 200
  const schema: FastifySchema = {
    summary: spec.summary,
    tags: [spec.tag],
    security: [{ apiKey: [spec.scope] }, { bearer: [spec.scope] }],
    ...(spec.params ? { params: spec.params } : {}),
    querystring: spec.query ?? nothing,
    ...(spec.method === 'GET' ? {} : { body: spec.body ?? nothing.nullish() }),
    ...(spec.method === 'POST' ? { headers: idempotencyHeader } : {}),
    response: {
      [status]: spec.contentType ? { content: { [spec.contentType]: { schema: spec.answer } } } : spec.answer,
      ...responsesFor(spec.errors ?? []),
    },
  }
  app.route({
    method: spec.method,
    url: PREFIX + spec.path,
    schema,
    onRequest: async (request, reply) => {
      request.caller = await authenticate(deps, spec.scope, request, reply)
    },
    handler: async (request, reply) => {
      const caller = request.caller
      if (!caller) throw new Problem('unauthorized')
      const context = {
        ownerId: caller.ownerId,
        params: request.params as z.output<P>,
        query: request.query as z.output<Q>,
        body: request.body as z.output<B>,
        request,
        reply,
        save: async () => {},
      }
      const key = spec.method === 'POST' ? readKey(request.headers['idempotency-key']) : null
      reply.code(status)
      if (key === null) return await spec.handle(context)
      return await once(deps, spec, { ownerId: caller.ownerId, key }, status, context)
    },
  })
}

/** Headers that we do not name are not ours to refuse. */
const idempotencyHeader = z.looseObject({
  'idempotency-key': z.string().optional().describe('Up to 255 characters; the request is then answered once in 24 h'),
})

async function once<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  deps: Deps,
  spec: RouteSpec<P, Q, B, R>,
  claim: IdempotencyClaim,
  status: number,
  context: Context<z.output<P>, z.output<Q>, z.output<B>>,
): Promise<unknown> {
  const { request, reply } = context
  const path = request.url.split('?')[0]!
  const before = await claimKey(deps, claim, { method: spec.method, path, body: context.body })
  if (before) return replay(reply, before)
  const keep = (db: Db, answer: unknown) => {
    const shown = spec.secret ? { ...(answer as object), [spec.secret]: undefined } : answer
    return saveAnswer(db, claim, { status, body: JSON.stringify(shown) })
  }
  let answer: z.input<R>
  try {
    answer = await spec.handle({ ...context, save: keep })
  } catch (error) {
    const problem = toProblem(error)
    if (problem.status >= 500) await releaseKey(deps, claim)
    else {
      const document = problem.toDocument(deps.config.base_url, request.id)
      await saveAnswer(deps.sql, claim, { status: problem.status, body: JSON.stringify(document) })
    }
    throw problem
  }
  await keep(deps.sql, answer) // where the resource needed no transaction of its own; else this changes nothing
  return answer
}

function replay(reply: FastifyReply, answer: Answer): unknown {
  reply.header('Idempotent-Replayed', 'true').code(answer.status)
  const body: unknown = JSON.parse(answer.body)
  if (answer.status < 400) return body
  return reply.type('application/problem+json').serializer(JSON.stringify).send(body)
}
