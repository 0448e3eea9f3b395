/** How the operations can fail, as the published document has it. */
import { z } from 'zod'
import { type ProblemCode, problemCodes, problems } from './problem.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Every code that the operation can answer. */
    'x-codes'?: readonly ProblemCode[]
  }
}

export const ProblemSchema = z
  .object({
    type: z.url().describe('A page about this code'),
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

/** What any operation can answer. */
const ANY: ProblemCode[] = ['bad_request', 'validation_failed', 'rate_limited', 'internal_error', 'service_unavailable']
/** Before a body is taken, and of the body itself. */
const WITH_BODY: ProblemCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type', 'cross_site']

/** The part of a Fastify schema that tells how a request can fail. */
export function failures(method: string, codes: readonly ProblemCode[]) {
  const all = [...new Set([...ANY, ...(method === 'GET' ? [] : WITH_BODY), ...codes])]
  const statuses = [...new Set(all.map(code => problems[code].status))].sort()
  const content = { 'application/problem+json': { schema: ProblemSchema } }
  return { 'x-codes': all, responses: Object.fromEntries(statuses.map(status => [status, { content }])) }
}
