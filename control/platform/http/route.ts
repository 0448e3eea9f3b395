/** Declares operations: parsed input, authentication, documented responses and errors, idempotency, audit. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Deps, wallDate } from '../deps.ts'
import type { AuditEntry, AuditLog, AuditResult } from './audit-log.ts'
import type { Caller, RequiredCredential } from './caller.ts'
import { readKey } from './idempotency.ts'
import { once } from './once.ts'
import {
  type Context,
  type Input,
  type Operation,
  type OperationResult,
  PREFIX,
  type Received,
  type RouteSpec,
  type RunOptions,
  type StreamSpec,
} from './operation.ts'
import { Problem } from './problem.ts'
import { schemaOf } from './route-schema.ts'
import { deleted } from './shapes.ts'

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
        : auditedRun(app.auditLog, operation, caller, input, options, carryOut),
  }
  async function carryOut(caller: Caller, input: Input, options: RunOptions) {
    const { idempotencyKey, requestId, extras = {}, traceparent = null } = options
    const { ownerId } = caller
    await app.authenticator.assertProject(caller, spec.id, input)
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
    onRequest: authenticated(spec),
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

interface DeletionSpec<P extends z.ZodType, Q extends z.ZodType>
  extends Omit<RouteSpec<P, Q, z.ZodUnknown, typeof deleted>, 'method' | 'answer' | 'handle'> {
  /** Throws `not_found` when there is nothing to remove. */
  remove(context: Context<z.output<P>, z.output<Q>, unknown>): Promise<unknown>
}

/** Declares a DELETE of the resource that the last parameter of the path names. */
export function deletionRoute<P extends z.ZodType = z.ZodUnknown, Q extends z.ZodType = z.ZodUnknown>(
  app: FastifyInstance,
  deps: Deps,
  { remove, ...spec }: DeletionSpec<P, Q>,
): void {
  route(app, deps, {
    errors: ['not_found'],
    ...spec,
    method: 'DELETE',
    answer: deleted,
    async handle(context: Context<z.output<P>, z.output<Q>, unknown>) {
      await remove(context)
      return { id: lastParam(spec.path, context.params)!, deleted: true as const }
    },
  })
}

/** The only place where operations that may change something are recorded. */
function auditedRun(
  log: AuditLog,
  { id, url }: Operation,
  caller: Caller,
  input: Input,
  options: RunOptions,
  carryOut: (caller: Caller, input: Input, options: RunOptions) => Promise<OperationResult>,
): Promise<OperationResult> {
  const { keyId, sessionId, ownerId } = caller
  const entry: AuditEntry = {
    ...(keyId === null ? { actor: 'session', actor_id: sessionId } : { actor: 'key', actor_id: keyId }),
    channel: options.channel,
    address: options.address,
    operation: id,
    request_id: options.requestId,
    resource: namedBy(url, input.params),
    person_id: keyId === null ? caller.personId : null,
  }
  return log.audited(ownerId, entry, () => carryOut(caller, input, options), auditResultOf)
}

function auditResultOf({ status, body, replayed }: OperationResult): AuditResult {
  const { id, code } = (body ?? {}) as { id?: unknown; code?: unknown }
  if (status >= 400) return { outcome: 'refused', code: typeof code === 'string' ? code : null, resource: null }
  return { outcome: replayed ? 'replayed' : 'done', code: null, resource: isUuid(id) ? id : null }
}

const isUuid = (value: unknown): value is string => z.uuid().safeParse(value).success

/** A phone number is personal data and is not recorded. */
const namedBy = (url: string, params: unknown) => (lastName(url) === 'phone' ? null : lastParam(url, params))

const lastName = (path: string) => [...path.matchAll(/:(\w+)/g)].at(-1)?.[1]

function lastParam(path: string, params: unknown): string | null {
  const name = lastName(path)
  return name === undefined ? null : String((params as Record<string, unknown>)[name])
}

async function runOver<P, B>(
  operation: Operation,
  request: FastifyRequest,
  receive?: (request: FastifyRequest, context: { ownerId: string; params: P }) => Promise<Received<B>>,
): Promise<OperationResult> {
  const caller = callerOf(request)
  const idempotencyKey = operation.method === 'POST' ? readKey(request.headers['idempotency-key']) : null
  const { params, query } = request
  // A file is received before the operation runs, and must not be for a project that the key does not see.
  if (receive) await request.server.authenticator.assertProject(caller, operation.id, { params, body: null })
  const received = await receive?.(request, { ownerId: caller.ownerId, params: params as P })
  const body = received ? received.body : request.body
  const { id: requestId, ip: address, span } = request
  try {
    return await operation.run(
      caller,
      { params, query, body },
      { idempotencyKey, requestId, channel: 'rest', address, traceparent: span?.traceparent ?? null },
    )
  } finally {
    await received?.discard()
  }
}

export function streamRoute<P extends z.ZodType = z.ZodUnknown, Q extends z.ZodType = z.ZodUnknown>(
  app: FastifyInstance,
  spec: StreamSpec<P, Q>,
): void {
  const { path, contentType, ranges = false, stream, ...rest } = spec
  const url = PREFIX + path
  app.operations.push({ ...rest, url, run: () => Promise.reject(new Error(`${spec.id} is a stream`)) })
  app.route({
    method: spec.method,
    url,
    schema: schemaOf(spec, contentType, ranges),
    onRequest: authenticated(spec),
    handler: async (request, reply) => {
      await request.server.authenticator.assertProject(callerOf(request), spec.id, {
        params: request.params,
        body: null,
      })
      return stream(
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
      )
    },
  })
}

/** True when text/plain is the first media type, as in `curl -H "Accept: text/plain"`. */
const acceptsText = ({ headers: { accept = '' } }: FastifyRequest) => /^\s*text\/plain\b/i.test(accept)

const authenticated =
  ({ id, scope }: { id: string; scope: RequiredCredential }) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('Cache-Control', 'no-store')
    request.caller = await request.server.authenticator.authenticate({ id, scope }, request, reply)
  }

function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Problem('unauthorized')
  return request.caller
}
