import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Deps } from '../deps.ts'
import { SESSION_COOKIE } from './auth.ts'
import { type ProblemCode, problemCodes, problems } from './problem.ts'

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

/** What any route under the key can answer. */
const COMMON: ProblemCode[] = [
  'bad_request',
  'validation_failed',
  'unauthorized',
  'insufficient_scope',
  'rate_limited',
  'internal_error',
  'service_unavailable',
]

/** One response a status, whose description names the codes. */
export function responsesFor(codes: ProblemCode[], always = COMMON): Record<number, object> {
  const byStatus = Map.groupBy([...new Set([...always, ...codes])], code => problems[code].status)
  const responses: Record<number, object> = {}
  for (const [status, group] of byStatus) {
    responses[status] = {
      description: group.map(code => `\`${code}\`: ${problems[code].title}`).join('; '),
      content: { 'application/problem+json': { schema: ProblemSchema } },
    }
  }
  return responses
}

const codesTable = problemCodes.map(code => `| \`${code}\` | ${problems[code].status} | ${problems[code].title} |`)

export async function registerOpenApi(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        version: '1.0.0',
        description: ['Voice-agent telephony.', '', '| code | status | meaning |', '|---|---|---|', ...codesTable].join(
          '\n',
        ),
      },
      servers: [{ url: deps.config.base_url }],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
          bearer: { type: 'http', scheme: 'bearer' },
          session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
        },
      },
    },
    transform: createJsonSchemaTransform({}),
    transformObject: jsonSchemaTransformObject,
  })
}
