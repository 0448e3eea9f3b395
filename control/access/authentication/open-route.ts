/**
 * Declares operations below `/auth`, for people who have no key. Like `route`, without owner, idempotency and MCP
 * tools.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { failures } from '../../platform/http/failures.ts'
import { Problem, type ProblemCode } from '../../platform/http/problem.ts'
import { takeToken } from '../../platform/http/rate-limit.ts'
import { NoBody } from '../../platform/http/shapes.ts'
import { audited, entering, noteDone } from '../audit/service.ts'
import { assertRole } from '../permissions/authorize.ts'
import { assertSecondFactor } from '../permissions/fresh.ts'
import type { SessionRow } from '../sessions/sessions.ts'
import { assertOwnPage, callerOfSession, refuseOtherPages, sessionOf } from './authenticate.ts'

const PREFIX = '/auth'

interface OpenContext<B> {
  body: B
  request: FastifyRequest
  reply: FastifyReply
}

interface OpenSpec<B extends z.ZodType, R extends z.ZodType, C> {
  /** `operationId`: verb and noun in snake_case. */
  id: string
  method: 'GET' | 'POST'
  /** Path below `/auth`. */
  path: string
  summary: string
  description?: string
  body?: B
  status?: 200 | 201
  answer: R
  /** Error codes beyond those that every operation can return. */
  errors?: ProblemCode[]
  /** Returns the account and the person that the response lets in, for the audit log. */
  entered?(answer: z.input<R>): { ownerId: string; personId: string }
  handle(context: C): Promise<z.input<R>>
}

/** An operation that needs no session. */
export function openRoute<R extends z.ZodType, B extends z.ZodType = z.ZodUnknown>(
  app: FastifyInstance,
  deps: Deps,
  spec: OpenSpec<B, R, OpenContext<z.output<B>>>,
): void {
  declare(app, deps, spec, {
    security: [],
    errors: [],
    async enter(request) {
      refuseOtherPages(deps, request)
    },
    async handle(context) {
      const answer = await spec.handle(context)
      if (spec.entered) {
        const { id, ip } = context.request
        const { ownerId, personId } = spec.entered(answer)
        await noteDone(deps.sql, deps, ownerId, entering(spec.id, { id, ip }, personId))
      }
      return answer
    },
  })
}

/** An operation that needs a session. */
export function sessionRoute<R extends z.ZodType, B extends z.ZodType = z.ZodUnknown>(
  app: FastifyInstance,
  deps: Deps,
  spec: OpenSpec<B, R, OpenContext<z.output<B>> & { session: SessionRow }>,
): void {
  const sessions = new WeakMap<FastifyRequest, SessionRow>()
  declare(app, deps, spec, {
    security: [{ session: [] }],
    errors: ['unauthorized', 'insufficient_role', 'second_factor_required'],
    async enter(request, reply) {
      const session = await sessionOf(deps, request, reply)
      if (!session) throw new Problem('unauthorized', { detail: 'The request has no valid session. Log in first.' })
      assertOwnPage(deps, request)
      request.caller = callerOfSession(session)
      assertRole(request.caller, spec.id)
      assertSecondFactor(request.caller, spec.id, deps.clock.wall())
      sessions.set(request, session)
    },
    handle(context) {
      const { request } = context
      const session = sessions.get(request)!
      const work = () => spec.handle({ ...context, session })
      if (spec.method === 'GET') return work()
      const entry = {
        ...entering(spec.id, request, request.caller!.personId),
        actor: 'session' as const,
        actor_id: session.id,
      }
      return audited<unknown>(deps, session.owner_id, entry, work)
    },
  })
}

interface RouteAccess<B> {
  security: Record<string, string[]>[]
  errors: ProblemCode[]
  /** Runs before the body is read. */
  enter(request: FastifyRequest, reply: FastifyReply): Promise<void>
  handle(context: OpenContext<B>): Promise<unknown>
}

function declare<B extends z.ZodType>(
  app: FastifyInstance,
  deps: Deps,
  spec: OpenSpec<B, z.ZodType, never>,
  way: RouteAccess<z.output<B>>,
): void {
  const { 'x-codes': codes, responses } = failures(spec.method, [...way.errors, ...(spec.errors ?? [])])
  app.route({
    method: spec.method,
    url: PREFIX + spec.path,
    schema: {
      operationId: spec.id,
      summary: spec.summary,
      ...(spec.description ? { description: spec.description } : {}),
      tags: ['Accounts'],
      security: way.security,
      querystring: z.strictObject({}),
      ...(spec.method === 'POST' ? { body: spec.body ?? NoBody } : {}),
      response: { [spec.status ?? 200]: spec.answer, ...responses },
      'x-codes': codes,
    },
    onRequest: async (request, reply) => {
      reply.header('Cache-Control', 'no-store')
      await takeToken(deps, reply, 'address', request.ip)
      await way.enter(request, reply)
    },
    handler: async (request, reply) => {
      reply.code(spec.status ?? 200)
      return way.handle({ body: request.body as z.output<B>, request, reply })
    },
  })
}
