/** Error responses of the operations, for the OpenAPI document. */
import { z } from 'zod'
import { type ProblemCode, problemCodes, problems } from './problem.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** All error codes that the operation can return. */
    'x-codes'?: readonly ProblemCode[]
  }
}

export const ProblemSchema = z
  .object({
    type: z.url().describe('URL of the page that explains the code'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(problemCodes),
    request_id: z.string(),
    errors: z
      .array(z.object({ pointer: z.string().describe('JSON Pointer'), code: z.string(), message: z.string() }))
      .optional(),
  })
  .meta({ id: 'Problem' })

/** Error codes that every operation can return. */
const ANY: ProblemCode[] = ['bad_request', 'validation_failed', 'rate_limited', 'internal_error', 'service_unavailable']
/** Error codes of operations with a body. */
const WITH_BODY: ProblemCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type', 'cross_site']

/** Returns the part of a Fastify schema that documents errors. */
export function failures(method: string, codes: readonly ProblemCode[]) {
  const all = [...new Set([...ANY, ...(method === 'GET' ? [] : WITH_BODY), ...codes])]
  const statuses = [...new Set(all.map(code => problems[code].status))].sort()
  const content = { 'application/problem+json': { schema: ProblemSchema } }
  return { 'x-codes': all, responses: Object.fromEntries(statuses.map(status => [status, { content }])) }
}
