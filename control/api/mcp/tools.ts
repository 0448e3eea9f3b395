/** Makes one MCP tool of each REST operation, with the same name, fields, rules and responses. */
import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { fieldErrors } from '../../platform/http/errors.ts'
import type { Input, Operation } from '../../platform/http/operation.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'

/** The seven most important tools come first, for clients that show only some tools. */
const FIRST = [
  'list_projects',
  'list_calls',
  'get_call',
  'list_contacts',
  'get_balance',
  'place_call',
  'create_project',
]

export interface OperationTool {
  operation: Operation
  tool: Tool
  /** Throws a Problem that points to each invalid argument. */
  parse(args: Record<string, unknown>): { input: Input; extras: unknown; idempotencyKey: string | null }
}

const Empty = z.strictObject({})
const IdempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .describe('Any unique string. A repeated request with the same key within 24 hours runs once')

export function createTools(operations: readonly Operation[]): OperationTool[] {
  const rank = ({ id }: Operation) => (FIRST.includes(id) ? FIRST.indexOf(id) : FIRST.length)
  return operations
    .filter(operation => operation.notATool === undefined)
    .sort((a, b) => rank(a) - rank(b))
    .map(createTool)
}

function createTool(operation: Operation): OperationTool {
  const posts = operation.method === 'POST'
  const extras = z.strictObject({
    ...shapeOf(operation.extras),
    ...(posts ? { idempotency_key: IdempotencyKey } : {}),
  })
  const { argument } = operation
  const named = argument && operation.body ? z.strictObject({ [argument]: operation.body }) : operation.body
  const body = operation.method === 'GET' ? undefined : named
  const parts = { params: operation.params, query: operation.query, body, extras }
  const owners = new Map<string, keyof typeof parts>()
  for (const [name, schema] of Object.entries(parts) as [keyof typeof parts, z.ZodType | undefined][]) {
    for (const field of Object.keys(shapeOf(schema))) {
      if (owners.has(field)) throw new Error(`${operation.id}: ${field} is declared twice`)
      owners.set(field, name)
    }
  }
  const schemas = [operation.params, operation.query, body, extras].filter(one => one !== undefined)
  return {
    operation,
    tool: {
      name: operation.id,
      title: operation.summary,
      description: operation.description ?? operation.summary,
      inputSchema: mergedSchema(schemas),
      outputSchema: outputSchema(operation),
      annotations: annotationsOf(operation),
    },
    parse(args) {
      const given: Record<keyof typeof parts, Record<string, unknown>> = { params: {}, query: {}, body: {}, extras: {} }
      // `extras` reports unknown arguments, because its schema is the strictest.
      for (const [name, value] of Object.entries(args)) given[owners.get(name) ?? 'extras'][name] = value
      const errors: FieldError[] = []
      const read = (name: keyof typeof parts) => {
        const result = (parts[name] ?? Empty).safeParse(given[name])
        if (!result.success) errors.push(...fieldErrors(result.error))
        return result.data as Record<string, unknown>
      }
      const whole = body ? read('body') : undefined
      const input = { params: read('params'), query: read('query'), body: argument ? whole?.[argument] : whole }
      read('extras')
      // Keeps the arguments as given: with defaults filled in, the Idempotency-Key would not match the same request
      // over REST.
      const { idempotency_key, ...own } = given.extras
      if (errors.length > 0)
        throw new Problem('validation_failed', { detail: 'The arguments are invalid. See `errors`.', errors })
      return { input, extras: own, idempotencyKey: (idempotency_key as string | undefined) ?? null }
    },
  }
}

function shapeOf(schema: z.ZodType | undefined): Record<string, z.ZodType> {
  if (schema === undefined) return {}
  if (!(schema instanceof z.ZodObject)) throw new Error('the schema of a tool must be an object')
  return schema.shape as Record<string, z.ZodType>
}

type JsonSchema = Record<string, unknown>

/**
 * Takes the types from after parsing (a limit is an integer, not a string), and what is required from before (a field
 * with a default is optional).
 */
function mergedSchema(schemas: z.ZodType[]): Tool['inputSchema'] {
  const properties: Record<string, object> = {}
  const definitions: JsonSchema = {}
  const required: string[] = []
  for (const schema of schemas) {
    const before = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
    const after = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema
    for (const [name, property] of Object.entries(before['properties'] ?? {})) {
      const parsed = (after['properties'] as JsonSchema | undefined)?.[name] as object | undefined
      properties[name] = parsed && Object.keys(parsed).some(key => key !== 'description') ? parsed : property
    }
    required.push(...((before['required'] as string[] | undefined) ?? []))
    Object.assign(definitions, before['$defs'], after['$defs'])
  }
  return {
    type: 'object',
    properties,
    required,
    additionalProperties: false,
    ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
  }
}

function outputSchema(operation: Operation): Tool['outputSchema'] {
  const answers = [operation.answer, ...(operation.extraAnswer ? [operation.extraAnswer] : [])]
  const schema = z.toJSONSchema(answers.length > 1 ? z.union(answers) : operation.answer, {
    io: 'output',
    unrepresentable: 'any',
  }) as JsonSchema
  // MCP requires `type: object` at the top level, also above a union or a reference.
  return { ...schema, type: 'object' } as Tool['outputSchema']
}

function annotationsOf({ id, method, summary }: Operation): Tool['annotations'] {
  return {
    title: summary,
    readOnlyHint: method === 'GET',
    destructiveHint: method === 'DELETE' || method === 'PATCH',
    idempotentHint: method !== 'POST',
    // Calls a phone, or contacts another server.
    openWorldHint: /^(?:place_call|test_tool|test_webhook|replay_webhook_delivery)$/.test(id),
  }
}
