/** Completes the OpenAPI document with what routes need not declare: headers, examples and time formats. */

import { rolesOf } from '../../access/permissions/table.ts'
import { firstPage } from '../../platform/http/paging.ts'
import { type ProblemCode, type ProblemDocument, problems } from '../../platform/http/problem.ts'
import { examples } from './examples.ts'

type Json = Record<string, unknown>

interface Media {
  schema: Json
  example?: unknown
  examples?: Json
}
interface Response {
  description: string
  headers?: Json
  content?: Record<string, Media>
}
export interface Operation {
  operationId: string
  parameters?: { name: string; schema: Json }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response | { $ref: string }>
  'x-codes'?: ProblemCode[]
  security?: Json[]
  /** Roles of people that may use the operation. */
  'x-roles'?: readonly string[]
}
export interface Document {
  info: Json
  paths: Record<string, Record<string, Operation>>
  webhooks?: Json
  components: Json & { schemas: Record<string, Json> }
}

const EXAMPLE_REQUEST_ID = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'

const headers = {
  'X-Request-Id': {
    description: 'Id that you sent, or a generated one. Quote it when you report a problem with a request',
    schema: { type: 'string' },
    example: EXAMPLE_REQUEST_ID,
  },
  'RateLimit-Policy': {
    description: 'Requests allowed (`q`) in a window of `w` seconds',
    schema: { type: 'string' },
    example: '"key";q=120;w=60',
  },
  RateLimit: {
    description: 'Requests left (`r`), and seconds until the oldest one leaves the window (`t`)',
    schema: { type: 'string' },
    example: '"key";r=119;t=60',
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
  'Idempotent-Replayed': {
    description: 'The response to an earlier request with the same `Idempotency-Key`',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': { description: 'How to authenticate', schema: { type: 'string' } },
}
type HeaderName = keyof typeof headers

const DONE: Record<string, string> = { 200: 'OK', 201: 'Created', 206: 'The requested range' }

/** Modifies the given document. */
export function complete(document: Document, baseUrl: string, webhooks: Json): Document {
  document.webhooks = webhooks
  document.components = {
    ...document.components,
    headers,
    examples: Object.fromEntries(
      Object.keys(problems).map(code => [code, { value: exampleOf(code as ProblemCode, baseUrl) }]),
    ),
  }
  const shared: Record<string, Response> = {}
  for (const methods of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) completeOperation(method, operation, shared)
  }
  document.components['responses'] = shared
  const { schemas } = document.components
  const sent = reachable(schemas, requestsOf(document))
  const answered = reachable(schemas, [document.paths, document.webhooks, shared])
  for (const name of answered) if (!sent.has(name)) loosen(schemas[name])
  document.components.schemas = Object.fromEntries(Object.entries(schemas).filter(([name]) => answered.has(name)))
  return document
}

/** Error responses are the same in many operations. They are stored once in `shared`, under their codes. */
function completeOperation(method: string, operation: Operation, shared: Record<string, Response>): void {
  const codes = operation['x-codes'] ?? []
  delete operation['x-codes']
  if ((operation.security ?? []).length > 0) operation['x-roles'] = rolesOf(operation.operationId)
  const example = examples[operation.operationId]
  for (const { name, schema } of operation.parameters ?? []) {
    // Zod drops the default when it converts the schema.
    if (Object.hasOwn(firstPage, name)) schema['default'] = firstPage[name as keyof typeof firstPage]
  }
  for (const media of Object.values(operation.requestBody?.content ?? {})) {
    if (example?.request !== undefined) media.example = example.request
  }
  for (const [status, response] of Object.entries(operation.responses) as [string, Response][]) {
    const own = codes.filter(code => String(problems[code].status) === status)
    response.headers = headersOf(method, operation, status, own)
    if (own.length === 0) {
      response.description = DONE[status] ?? response.description
      for (const [type, media] of Object.entries(response.content ?? {})) {
        loosen(media.schema)
        if (example && type !== 'text/plain') media.example = example.answer
      }
      continue
    }
    response.description = own.map(code => `\`${code}\`: ${problems[code].title}`).join('; ')
    for (const media of Object.values(response.content ?? {})) {
      media.examples = Object.fromEntries(own.map(code => [code, { $ref: `#/components/examples/${code}` }]))
    }
    const name = [...own, ...('Idempotent-Replayed' in response.headers ? ['replayed'] : [])].join('.')
    shared[name] ??= response
    operation.responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

function headersOf(method: string, operation: Operation, status: string, codes: ProblemCode[]): Json {
  const names: HeaderName[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit']
  if (['429', '503'].includes(status) || codes.includes('idempotency_in_flight')) names.push('Retry-After')
  if (status === '401') names.push('WWW-Authenticate')
  const replays = method === 'post' && !operation.operationId.match(/^(?:sign|log)_/)
  if (replays && Number(status) < 500 && !['401', '413', '415', '429'].includes(status))
    names.push('Idempotent-Replayed')
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

function exampleOf(code: ProblemCode, baseUrl: string): ProblemDocument {
  const { status, title } = problems[code]
  return {
    type: `${baseUrl}/errors/${code}`,
    title,
    status,
    detail: title,
    code,
    request_id: EXAMPLE_REQUEST_ID,
    ...(code === 'validation_failed'
      ? { errors: [{ pointer: '/phone', code: 'phone', message: 'is not a possible phone number' }] }
      : {}),
  }
}

/**
 * Relaxes response schemas: fields may be added later, so unknown ones are allowed; integers lose the bounds of safe
 * integers; fields named `…_at` are times.
 */
function loosen(node: unknown, name = ''): void {
  if (Array.isArray(node)) {
    for (const one of node) loosen(one, name)
    return
  }
  if (node === null || typeof node !== 'object') return
  const schema = node as Json
  if (schema['additionalProperties'] === false) delete schema['additionalProperties']
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum']
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum']
  if (schema['type'] === 'string' && /(?:^|_)at$/.test(name)) schema['format'] ??= 'date-time'
  for (const [key, inner] of Object.entries(schema)) {
    if (key === 'properties') for (const [field, one] of Object.entries(inner as Json)) loosen(one, field)
    else if (/^(?:items|additionalProperties|anyOf|oneOf|allOf)$/.test(key)) loosen(inner, name)
  }
}

const requestsOf = ({ paths }: Document) =>
  Object.values(paths).flatMap(methods => Object.values(methods).map(operation => operation.requestBody))

/**
 * Returns the schemas that are referenced. Each schema exists in a request form and a response form; most operations
 * use only one.
 */
function reachable(schemas: Record<string, Json>, from: unknown[]): Set<string> {
  const found = new Set<string>()
  const visit = (node: unknown) => {
    for (const [, name] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(name!)) continue
      found.add(name!)
      visit(schemas[name!])
    }
  }
  for (const node of from) if (node !== undefined) visit(node)
  return found
}
