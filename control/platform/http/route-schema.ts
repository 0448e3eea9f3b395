/** The Fastify schema of an operation, from which the OpenAPI document is generated. */
import type { FastifySchema } from 'fastify'
import { z } from 'zod'
import type { RequiredCredential } from './caller.ts'
import { failures } from './failures.ts'
import type { BaseSpec } from './operation.ts'
import type { ProblemCode } from './problem.ts'
import { NoBody } from './shapes.ts'

/** Error codes of operations that need a key, beyond those of every operation. */
const UNDER_KEY: ProblemCode[] = [
  'unauthorized',
  'insufficient_scope',
  'insufficient_role',
  'address_not_allowed',
  'second_factor_required',
]
const POSTING: ProblemCode[] = ['idempotency_in_flight', 'idempotency_mismatch']

export function schemaOf(
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

function securityOf(reach: RequiredCredential): Record<string, string[]>[] {
  const session = { session: [] }
  return reach === 'session' ? [session] : [{ apiKey: [reach] }, { bearer: [reach] }, session]
}

const rangeHeader = z.looseObject({
  range: z.string().optional().describe('A single range of bytes: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`'),
})

/** Loose, because clients and proxies add other headers. */
const idempotencyHeader = z.looseObject({
  'idempotency-key': z
    .string()
    .meta({ minLength: 1, maxLength: 255 }) // validated by readKey
    .optional()
    .describe('Any unique string. A repeated request with the same key within 24 hours runs once'),
})
