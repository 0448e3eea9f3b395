/** Turns any thrown value into a problem document. */
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { isCleanText } from '../db/text.ts'
import type { Deps } from '../deps.ts'
import { uuidv7 } from '../ids.ts'
import { errorFields } from '../log.ts'
import { type FieldError, Problem, type ProblemCode } from './problem.ts'

/** JSON Pointer, RFC 6901. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Enough to fix a form. The limit keeps the response to a body of garbage smaller than the body. */
const MOST_ERRORS = 100

export function fieldErrors(error: z.core.$ZodError): FieldError[] {
  const all = error.issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key => ({
        pointer: toPointer([...issue.path, key]),
        code: 'unknown_field',
        message: 'unknown field',
      }))
    }
    const code = issue.code === 'custom' && issue.params?.['code'] ? String(issue.params['code']) : issue.code
    return [{ pointer: toPointer(issue.path), code, message: issue.message }]
  })
  return all.slice(0, MOST_ERRORS)
}

/** A path parameter of the wrong form cannot name an object, so the response is 404 and not 400. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  data => {
    const unclean = httpPart === 'querystring' || httpPart === 'params' ? uncleanField(data) : undefined
    const result = schema.safeParse(data)
    if (result.success && unclean === undefined) return { value: result.data }
    if (httpPart === 'params') return { error: new Problem('not_found') }
    const part = httpPart === 'querystring' ? 'query parameters' : 'body'
    const errors = result.error
      ? fieldErrors(result.error)
      : [{ pointer: toPointer([unclean!]), code: 'unclean_text', message: 'must be Unicode without NUL' }]
    return {
      error: new Problem('validation_failed', { detail: `The ${part} failed validation; see \`errors\`.`, errors }),
    }
  }

/** Checks path and query parameters. Bodies are checked where they are read. */
function uncleanField(data: unknown): string | undefined {
  const isClean = (value: unknown) => [value].flat().every(one => typeof one !== 'string' || isCleanText(one))
  return Object.entries(data ?? {}).find(([, value]) => !isClean(value))?.[0]
}

const byFastifyCode: Record<string, ConstructorParameters<typeof Problem>[0]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
}

/** Errors of the connection to Postgres or Redis. They are worth a retry, unlike a bug. */
const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  '57P01', // admin_shutdown
  '57P03', // cannot_connect_now
])

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const { code, statusCode } = error as Partial<FastifyError>
  const known = byFastifyCode[code ?? '']
  if (known) return new Problem(known, { cause: error })
  if (AWAY.has(code ?? '')) return new Problem('service_unavailable', { cause: error, retryAfterSeconds: 5 })
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new Problem('bad_request', { cause: error })
  return new Problem('internal_error', { cause: error })
}

export interface ErrorDeps extends Deps {
  /** Omitted: nothing is measured. */
  meters?: { problems: { add(labels: { code: ProblemCode }): void } }
}

export function sendProblem(deps: ErrorDeps, request: FastifyRequest, reply: FastifyReply, problem: Problem) {
  deps.meters?.problems.add({ code: problem.code })
  if (problem.retryAfterSeconds !== null) reply.header('Retry-After', problem.retryAfterSeconds)
  if (problem.code === 'unauthorized') reply.header('WWW-Authenticate', 'Bearer realm="parley"')
  return reply
    .code(problem.status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send(problem.toDocument(deps.config.base_url, request.id))
}

/** Each operation promises clients a closed list of codes. The tests search the log for this line. */
export const UNDOCUMENTED = 'error code is not in the OpenAPI document'

export function errorHandler(deps: ErrorDeps) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = toProblem(error)
    if (problem.status >= 500) {
      deps.log.error({ request_id: request.id, error: errorFields(problem.cause ?? problem) }, 'request failed')
    }
    const documented = request.routeOptions.schema?.['x-codes']
    if (documented && !documented.includes(problem.code)) {
      deps.log.error({ request_id: request.id, route: request.routeOptions.url, code: problem.code }, UNDOCUMENTED)
    }
    return sendProblem(deps, request, reply, problem)
  }
}

/** Responds to bytes that are not HTTP, which reach no route. */
export function clientErrorHandler(deps: Deps) {
  return (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code !== 'ECONNRESET' && socket.writable) {
      const problem = new Problem('bad_request')
      const body = JSON.stringify(problem.toDocument(deps.config.base_url, uuidv7(deps.clock.wall())))
      const head = ['HTTP/1.1 400 Bad Request', 'Content-Type: application/problem+json', 'Connection: close']
      socket.write([...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'))
    }
    socket.destroy()
  }
}
