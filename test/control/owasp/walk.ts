/** Every operation of the OpenAPI document in a form that can be requested, so that none is missed. */
import { type Answer, request, type TestControl } from '../../support/control.ts'

export interface Json {
  [name: string]: unknown
}

interface Documented {
  operationId: string
  security?: Record<string, string[]>[]
  requestBody?: { content: Record<string, { schema: Json; example?: unknown }> }
  responses: Record<string, { content?: Record<string, { schema: Json }> }>
}

export interface Target {
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** URL with ids that do not exist. */
  url: string
  /** As the document has it. */
  path: string
  /** Required credential: none, a session, or a session or key with this scope. */
  reach: 'anybody' | 'session' | 'read' | 'write'
  body: { schema: Json; example: unknown } | null
  answer: Json | null
}

const NAMES: Record<string, string> = { name: 'NOBODY', number: '+14155550100', phone: '+14155550100' }
const NOBODY = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'

export interface Walk {
  document: Json
  targets: Target[]
  /** Follows a reference. */
  resolve(schema: Json): Json
}

export async function walkDocument({ app }: TestControl): Promise<Walk> {
  const document = (await request(app, { method: 'GET', url: '/openapi.json' })).body as Json
  const paths = document['paths'] as Record<string, Record<string, Documented>>
  const targets = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => targetOf(path, method, operation)),
  )
  return { document, targets, resolve: schema => resolveIn(document, schema) }
}

function targetOf(path: string, method: string, operation: Documented): Target {
  const body = operation.requestBody?.content['application/json']
  const good = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
  return {
    id: operation.operationId,
    method: method.toUpperCase() as Target['method'],
    url: path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(NAMES[name] ?? NOBODY)),
    path,
    reach: reachOf(operation.security ?? []),
    body: body ? { schema: body.schema, example: body.example } : null,
    answer: good?.content?.['application/json']?.schema ?? null,
  }
}

function reachOf(security: Record<string, string[]>[]): Target['reach'] {
  if (security.length === 0) return 'anybody'
  const scope = security.flatMap(scheme => scheme['apiKey'] ?? [])[0]
  return (scope as 'read' | 'write' | undefined) ?? 'session'
}

function resolveIn(document: Json, schema: Json): Json {
  const reference = schema['$ref']
  if (typeof reference !== 'string') return schema
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((node, name) => (node as Json)[name], document)
  return resolveIn(document, found as Json)
}

/** Alternatives of a schema, itself included. */
export function variants({ resolve }: Walk, schema: Json): Json[] {
  const known = resolve(schema)
  const inner = ['anyOf', 'oneOf', 'allOf'].flatMap(name => (known[name] as Json[] | undefined) ?? [])
  return [known, ...inner.flatMap(one => variants({ resolve } as Walk, one))]
}

export interface Field {
  /** As a path: `tools[].url`. */
  name: string
  schema: Json
}

/** Every field that a body may have, at any depth; what refers to itself is left at its first turn. */
export function fieldsOf(walk: Walk, schema: Json, prefix = '', seen: readonly Json[] = []): Field[] {
  return variants(walk, schema).flatMap(variant => {
    if (seen.includes(variant)) return []
    const inside = [...seen, variant]
    const properties = Object.entries((variant['properties'] as Record<string, Json> | undefined) ?? {})
    const own = properties.flatMap(([name, field]) => [
      { name: prefix + name, schema: walk.resolve(field) },
      ...fieldsOf(walk, field, `${prefix + name}.`, inside),
    ])
    const items = variant['items'] as Json | undefined
    return items ? [...own, ...fieldsOf(walk, items, `${prefix.replace(/\.$/, '')}[].`, inside)] : own
  })
}

export function ask(
  { app }: TestControl,
  target: Target,
  headers: Record<string, string> = {},
  payload: unknown = target.body?.example,
): Promise<Answer> {
  const json = payload === undefined || target.method === 'GET' ? {} : { 'content-type': 'application/json' }
  return request(app, {
    method: target.method,
    url: target.url,
    headers: { ...json, ...headers },
    ...('content-type' in json ? { payload: JSON.stringify(payload) } : {}),
  })
}

/** A session of an account of its own. */
export async function openSession(control: TestControl, email: string): Promise<Record<string, string>> {
  const payload = { email, password: 'a long enough one' }
  const entered = await request(control.app, { method: 'POST', url: '/auth/sign-up', payload })
  return { cookie: String(entered.headers['set-cookie']).split(';')[0]!, origin: control.deps.config.base_url }
}
