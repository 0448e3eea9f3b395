/** Declares an operation: parsed input, owner, gates, documented responses and errors, idempotency. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { z } from 'zod'
import { audited } from '../../access/audit/service.ts'
import type { AuditEntry, Told } from '../../access/audit/types.ts'
import { authenticate, type Caller, type Reach } from '../../access/authentication/authenticate.ts'
import { type Deps, wallDate } from '../../deps.ts'
import type { Db } from '../db/connect.ts'
import { toProblem } from './errors.ts'
import { claimKey, type IdempotencyClaim, readKey, releaseKey, saveAnswer } from './idempotency.ts'
import { failures } from './openapi.ts'
import { Problem, type ProblemCode } from './problem.ts'
import { NoBody } from './shapes.ts'

export const PREFIX = '/v1/public'

export interface Context<P, Q, B> {
  ownerId: string
  caller: Caller
  params: P
  query: Q
  body: B
  /** Arguments that only the MCP tool takes; empty over REST. */
  extras: Record<string, unknown>
  /** Trace context of the request, for work that it causes. */
  traceparent: string | null
  /** Call inside the transaction that creates the resource, with the response. */
  save(db: Db, answer: unknown): Promise<void>
}

interface BaseSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** `operationId` and name of the MCP tool: verb and noun in snake_case. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below `/v1/public`. */
  path: string
  scope: Reach
  tag: string
  summary: string
  /** Details beyond the summary; AI clients decide by it. */
  description?: string
  params?: P
  query?: Q
  body?: B
  /** The whole body may be omitted; the handler then gets null or undefined. */
  bodyOptional?: true
  /** Media types of a body that is not JSON; `receive` then reads it, and there is no MCP tool. */
  consumes?: string[]
  /** Maximum bytes of the body, if it may be larger than others. */
  bodyLimit?: number
  /** Name of the MCP argument for a body that is not an object. */
  argument?: string
  status?: 200 | 201
  answer: R
  /** Error codes beyond those that every route can return. */
  errors?: ProblemCode[]
  /** Field of the response that is shown only once; a replay omits it. */
  secret?: string
  /** Additional arguments of the MCP tool, and its response when they are used. */
  extras?: z.ZodObject
  extraAnswer?: z.ZodType
  /** Reason why there is no MCP tool. */
  notATool?: string
}

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>
  extends BaseSpec<P, Q, B, R> {
  handle(context: Context<z.output<P>, z.output<Q>, z.output<B>>): Promise<z.input<R>>
  /** Reads the body after everything else in the request is checked; `discard` always follows. */
  receive?(request: FastifyRequest, context: { ownerId: string; params: z.output<P> }): Promise<Received<z.output<B>>>
  /** Plain-text form of the response, sent when the query asks for it or the client accepts nothing else. REST only. */
  text?: { of(answer: z.input<R>): string; wanted(query: z.output<Q>): boolean }
}

export interface Received<B> {
  /** Idempotency-Key treats two requests as the same when this is equal as JSON. */
  body: B
  discard(): Promise<void>
}

/** An operation with a response that is not JSON: the handler takes over the response. */
export interface StreamSpec<P extends z.ZodType, Q extends z.ZodType> extends BaseSpec<P, Q, z.ZodType, z.ZodType> {
  method: 'GET'
  contentType: string
  notATool: string
  /** Accepts `Range` and then returns 206. */
  ranges?: true
  stream(
    context: Context<z.output<P>, z.output<Q>, unknown>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown>
}

export interface Input {
  params: unknown
  query: unknown
  body: unknown
}

export interface Outcome {
  status: number
  body: unknown
  /** True for the response to an earlier request with the same Idempotency-Key. */
  replayed: boolean
}

export interface RunOptions {
  idempotencyKey: string | null
  requestId: string
  /** Channel and address of the request, for the audit log. */
  door: 'rest' | 'mcp'
  address: string
  extras?: unknown
  traceparent?: string | null
}

/** The common part of REST and MCP. The schemas parse the input before. */
export interface Operation extends Omit<BaseSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'path'> {
  /** Whole path, with `:name` for its params. */
  url: string
  run(caller: Caller, input: Input, options: RunOptions): Promise<Outcome>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every operation declared with `route`. */
    operations: Operation[]
  }
}

export function route<
  R extends z.ZodType,
  P extends z.ZodType = z.ZodUnknown,
  Q extends z.ZodType = z.ZodUnknown,
  B extends z.ZodType = z.ZodUnknown,
>(app: FastifyInstance, deps: Deps, spec: RouteSpec<P, Q, B, R>): void {
  const { path, handle, receive, text, ...rest } = spec
  const operation: Operation = {
    ...rest,
    url: PREFIX + path,
    run: (caller, input, options) =>
      spec.method === 'GET'
        ? carryOut(caller, input, options)
        : auditedRun(deps, operation, caller, input, options, carryOut),
  }
  async function carryOut(caller: Caller, input: Input, options: RunOptions) {
    const { idempotencyKey, requestId, extras = {}, traceparent = null } = options
    const { ownerId } = caller
    const context = { ...input, extras, traceparent, caller, ownerId, save: async () => {} } as Context<
      z.output<P>,
      z.output<Q>,
      z.output<B>
    >
    if (idempotencyKey !== null) {
      return once(deps, spec, { ownerId: caller.ownerId, key: idempotencyKey, at: wallDate(deps) }, context, requestId)
    }
    return { status: spec.status ?? 200, body: await handle(context), replayed: false }
  }
  app.operations.push(operation)
  app.route({
    method: spec.method,
    url: operation.url,
    ...(spec.bodyLimit ? { bodyLimit: spec.bodyLimit } : {}),
    schema: schemaOf(spec, null, false, text !== undefined),
    onRequest: authenticated(deps, spec.scope),
    handler: async (request, reply) => {
      const outcome = await runOver(operation, request, receive)
      if (outcome.replayed) reply.header('Idempotent-Replayed', 'true')
      reply.code(outcome.status)
      if (text && outcome.status < 400 && (text.wanted(request.query as z.output<Q>) || acceptsText(request))) {
        reply.type('text/plain; charset=utf-8').serializer(String)
        return text.of(outcome.body as z.input<R>)
      }
      if (outcome.status < 400) return outcome.body
      return reply.type('application/problem+json').serializer(JSON.stringify).send(outcome.body)
    },
  })
}

/** The only place where operations that may change something are recorded. */
function auditedRun(
  deps: Deps,
  { id, url }: Operation,
  caller: Caller,
  input: Input,
  options: RunOptions,
  carryOut: (caller: Caller, input: Input, options: RunOptions) => Promise<Outcome>,
): Promise<Outcome> {
  const { keyId, sessionId, ownerId } = caller
  const entry: AuditEntry = {
    ...(keyId === null ? { actor: 'session', actor_id: sessionId } : { actor: 'key', actor_id: keyId }),
    ...{ door: options.door, address: options.address, operation: id, request_id: options.requestId },
    resource: namedBy(url, input.params),
  }
  return audited(deps, ownerId, entry, () => carryOut(caller, input, options), toldOf)
}

function toldOf({ status, body, replayed }: Outcome): Told {
  const { id, code } = (body ?? {}) as { id?: unknown; code?: unknown }
  if (status >= 400) return { outcome: 'refused', code: typeof code === 'string' ? code : null, resource: null }
  return { outcome: replayed ? 'replayed' : 'done', code: null, resource: isUuid(id) ? id : null }
}

const isUuid = (value: unknown): value is string => z.uuid().safeParse(value).success

/** Last parameter of the path. A phone number is personal and not recorded. */
function namedBy(url: string, params: unknown): string | null {
  const name = [...url.matchAll(/:(\w+)/g)].at(-1)?.[1]
  return name === undefined || name === 'phone' ? null : String((params as Record<string, unknown>)[name])
}

async function runOver<P, B>(
  operation: Operation,
  request: FastifyRequest,
  receive?: (request: FastifyRequest, context: { ownerId: string; params: P }) => Promise<Received<B>>,
): Promise<Outcome> {
  const caller = callerOf(request)
  const idempotencyKey = operation.method === 'POST' ? readKey(request.headers['idempotency-key']) : null
  const { params, query } = request
  const received = await receive?.(request, { ownerId: caller.ownerId, params: params as P })
  const body = received ? received.body : request.body
  const { id: requestId, ip: address, span } = request
  try {
    return await operation.run(
      caller,
      { params, query, body },
      { idempotencyKey, requestId, door: 'rest', address, traceparent: span?.traceparent ?? null },
    )
  } finally {
    await received?.discard()
  }
}

export function streamRoute<P extends z.ZodType = z.ZodUnknown, Q extends z.ZodType = z.ZodUnknown>(
  app: FastifyInstance,
  deps: Deps,
  spec: StreamSpec<P, Q>,
): void {
  const { path, contentType, ranges = false, stream, ...rest } = spec
  const url = PREFIX + path
  app.operations.push({ ...rest, url, run: () => Promise.reject(new Error(`${spec.id} is a stream`)) })
  app.route({
    method: spec.method,
    url,
    schema: schemaOf(spec, contentType, ranges),
    onRequest: authenticated(deps, spec.scope),
    handler: (request, reply) =>
      stream(
        {
          ownerId: callerOf(request).ownerId,
          caller: callerOf(request),
          params: request.params as z.output<P>,
          query: request.query as z.output<Q>,
          body: null,
          extras: {},
          traceparent: null,
          save: async () => {},
        },
        request,
        reply,
      ),
  })
}

/** The first media type, as in `curl -H "Accept: text/plain"`. */
const acceptsText = ({ headers: { accept = '' } }: FastifyRequest) => /^\s*text\/plain\b/i.test(accept)

const authenticated = (deps: Deps, reach: Reach) => async (request: FastifyRequest, reply: FastifyReply) => {
  reply.header('Cache-Control', 'no-store')
  request.caller = await authenticate(deps, reach, request, reply)
}

function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Problem('unauthorized')
  return request.caller
}

/** Error codes beyond those that every operation can return. */
const UNDER_KEY: ProblemCode[] = ['unauthorized', 'insufficient_scope']
const POSTING: ProblemCode[] = ['idempotency_in_flight', 'idempotency_mismatch']

function schemaOf(
  spec: BaseSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>,
  contentType: string | null = null,
  ranges = false,
  text = false,
): FastifySchema {
  const { 'x-codes': codes, responses } = failures(spec.method, [
    ...UNDER_KEY,
    ...(spec.method === 'POST' ? POSTING : []),
    ...(spec.errors ?? []),
  ])
  const both = { 'application/json': { schema: spec.answer }, 'text/plain': { schema: z.string() } }
  const content = contentType ? { [contentType]: { schema: spec.answer } } : text ? both : null
  const answer = content ? { content } : spec.answer
  return {
    operationId: spec.id,
    summary: spec.summary,
    ...(spec.description ? { description: spec.description } : {}),
    tags: [spec.tag],
    security: securityOf(spec.scope),
    ...(spec.params ? { params: spec.params } : {}),
    querystring: spec.query ?? z.strictObject({}),
    ...(spec.method === 'GET' ? {} : { body: bodyOf(spec) }),
    ...(spec.consumes ? { consumes: spec.consumes } : {}),
    ...(spec.method === 'POST' ? { headers: idempotencyHeader } : {}),
    ...(ranges ? { headers: rangeHeader } : {}),
    response: {
      [spec.status ?? 200]: answer,
      ...(ranges ? { 206: answer } : {}),
      ...responses,
    },
    'x-codes': codes,
  }
}

const bodyOf = ({ body, bodyOptional }: BaseSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>) =>
  body === undefined ? NoBody : bodyOptional ? body.nullish() : body

function securityOf(reach: Reach): Record<string, string[]>[] {
  const session = { session: [] }
  return reach === 'session' ? [session] : [{ apiKey: [reach] }, { bearer: [reach] }, session]
}

const rangeHeader = z.looseObject({
  range: z.string().optional().describe('A single range of bytes: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`'),
})

/** Other headers are allowed. */
const idempotencyHeader = z.looseObject({
  'idempotency-key': z
    .string()
    .meta({ minLength: 1, maxLength: 255 }) // checked by readKey
    .optional()
    .describe('Any unique string. A repeated request with the same key within 24 hours runs once'),
})

async function once<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  deps: Deps,
  spec: RouteSpec<P, Q, B, R>,
  claim: IdempotencyClaim,
  context: Context<z.output<P>, z.output<Q>, z.output<B>>,
  requestId: string,
): Promise<Outcome> {
  const status = spec.status ?? 200
  const { params, query, body, extras } = context
  const before = await claimKey(deps, claim, { operation: spec.id, params, query, body, extras })
  if (before) return { status: before.status, body: JSON.parse(before.body), replayed: true }
  const keep = (db: Db, answer: unknown) => {
    const shown = spec.secret ? { ...(answer as object), [spec.secret]: undefined } : answer
    return saveAnswer(db, claim, { status, body: JSON.stringify(shown) })
  }
  let answer: z.input<R>
  try {
    answer = await spec.handle({
      ...context,
      async save(db, made) {
        // Another request has the key now and creates the resource; this transaction is rolled back.
        if (!(await keep(db, made))) throw new Problem('idempotency_in_flight', { retryAfterSeconds: 1 })
      },
    })
  } catch (error) {
    const problem = toProblem(error)
    if (problem.status >= 500) await releaseKey(deps, claim)
    else {
      const document = problem.toDocument(deps.config.base_url, requestId)
      await saveAnswer(deps.sql, claim, { status: problem.status, body: JSON.stringify(document) })
    }
    throw problem
  }
  await keep(deps.sql, answer) // for a resource without a transaction of its own; otherwise this changes nothing
  return { status, body: answer, replayed: false }
}
