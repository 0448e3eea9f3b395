import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defaultConfig } from '../../control/deps.ts'
import { errorHandler, UNDOCUMENTED } from '../../control/platform/http/errors.ts'
import { Problem, problemCodes, problems } from '../../control/platform/http/problem.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { payloads } from '../../control/webhooks/document.ts'
import type { DeliveryEvent } from '../../control/webhooks/schema.ts'
import { tellStopped } from '../../control/webhooks/stopped.ts'
import { createControl, createTenant, nextPhone, request, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'
import { recordingLog } from '../support/world.ts'

interface Media {
  schema: Record<string, unknown>
  example?: unknown
  examples?: Record<string, unknown>
}
interface Response {
  description: string
  content?: Record<string, Media>
  headers?: object
}
interface Operation {
  operationId: string
  summary?: string
  tags?: string[]
  security?: Record<string, string[]>[]
  responses: Record<string, Response | { $ref: string }>
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[]
  requestBody?: { content: Record<string, Media> }
}
interface Document {
  openapi: string
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  tags: { name: string; description: string }[]
  webhooks: Record<string, { post: Operation & { requestBody: { content: Record<string, Media> } } }>
  components: Record<'schemas' | 'securitySchemes' | 'examples' | 'headers' | 'responses', Record<string, unknown>>
}

let control: TestControl
let document: Document
beforeAll(async () => {
  // The snapshot names the address of an installation that nothing was set for.
  control = await createControl({ config: { base_url: defaultConfig.base_url } })
  document = (await request(control.app, { method: 'GET', url: '/openapi.json' })).body
})
afterAll(() => control?.close())

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

/** Resolves references recursively. */
function resolve(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(resolve)
  if (node === null || typeof node !== 'object') return node
  const { $ref } = node as { $ref?: string }
  if ($ref === undefined) return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value)]))
  const [, , kind, name] = $ref.split('/') as ['#', 'components', keyof Document['components'], string]
  const target = document.components[kind]?.[name]
  if (target === undefined) throw new Error(`${$ref} leads nowhere`)
  return resolve(target)
}
/** Zod knows no `not`. */
const schemaOf = (schema: unknown) =>
  z.fromJSONSchema(JSON.parse(JSON.stringify(schema, (key, value) => (key === 'not' ? undefined : value))))
const responsesOf = (operation: Operation) => resolve(operation.responses) as Record<string, Response>

test('it is what the snapshot in the tree says, and so are the types of the client', () => {
  const file = (name: string) => readFileSync(join(import.meta.dirname, '../../control', name), 'utf8')
  const snapshot = file('openapi.json')
  expect(document, 'the API has changed: run npm run openapi, and look at the diff').toEqual(JSON.parse(snapshot))
  const hash = createHash('sha256').update(snapshot).digest('hex')
  expect(file('api/client/api.ts').split('\n')[0], 'the types are of another document: run npm run openapi').toContain(
    hash,
  )
})

test('it is OpenAPI 3.1, every reference leads somewhere, and nothing lies about unused', () => {
  expect(document.openapi).toBe('3.1.0')
  resolve(document)
  const text = JSON.stringify(document)
  for (const kind of ['schemas', 'responses', 'headers'] as const) {
    for (const name of Object.keys(document.components[kind])) {
      expect(text).toContain(`"#/components/${kind}/${name}"`)
    }
  }
  expect(document.tags.every(tag => tag.description.length > 10)).toBe(true)
})

test('each operation has an example of its request and its answer, and each is valid', () => {
  const ids = new Set<string>()
  for (const { operation } of operations()) {
    const id = operation.operationId
    ids.add(id)
    expect([id, document.tags.map(tag => tag.name)]).toEqual([id, expect.arrayContaining(operation.tags!)])
    const own = control.app.operations.find(one => one.id === id)
    for (const media of Object.values(operation.requestBody?.content ?? {})) {
      expect([id, media.example]).toEqual([id, expect.anything()])
      schemaOf(resolve(media.schema)).parse(media.example)
      own?.body?.parse(media.example)
    }
    const [status, answer] = Object.entries(responsesOf(operation)).find(([one]) => one.startsWith('2'))!
    for (const [type, media] of Object.entries(answer.content ?? {})) {
      if (type === 'audio/wav' || type === 'text/plain') continue
      expect([id, status, media.example]).toEqual([id, status, expect.anything()])
      schemaOf(media.schema).parse(media.example)
      // To the letter: an example shows no field that is not there.
      if (own) expect([id, z.encode(own.answer, media.example)]).toEqual([id, media.example])
    }
  }
  expect(ids.size).toBe(operations().length)
})

test('a page is a whole number in its bounds', () => {
  for (const { operation } of operations()) {
    for (const { name, schema } of operation.parameters ?? []) {
      if (name === 'limit') expect(schema).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 50 })
      if (name === 'offset') expect(schema).toEqual({ type: 'integer', minimum: 0, maximum: 2_147_483_647, default: 0 })
    }
  }
})

test('each refusal names its codes, and every code has an operation that answers it', () => {
  const seen = new Set<string>()
  for (const { operation } of operations()) {
    for (const [status, response] of Object.entries(responsesOf(operation))) {
      if (Number(status) < 400) continue
      const examples = response.content!['application/problem+json']!.examples as Record<string, { value: object }>
      expect(Object.keys(examples).length).toBeGreaterThan(0)
      for (const [code, { value }] of Object.entries(examples)) {
        seen.add(code)
        expect(value).toMatchObject({ code, status: Number(status) })
        expect(problems[code as keyof typeof problems].status).toBe(Number(status))
      }
    }
  }
  // These two are of addresses that are no operation.
  expect(problemCodes.filter(code => !seen.has(code))).toEqual(['route_not_found', 'method_not_allowed'])
})

test('what is delivered is what the webhooks section promises', async () => {
  const tenant = await createTenant(control, { money: '100' })
  const { id } = (
    await tenant.call('POST', '/webhooks', {
      url: 'https://example.com/hook',
      events: ['call.completed', 'call.failed', 'lead.created', 'account.stopped'],
    })
  ).body
  await tenant.call('POST', `/webhooks/${id}/test`)
  const place = async () =>
    (await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })).body.id
  await tenant.call('POST', `/calls/${await place()}/hangup`)
  const how = { summary: 'Done', extracted: { guests: 4 }, goal_reached: true }
  await finish(control.deps, await place(), record(how))
  const stop = { owner_id: tenant.ownerId, at: new Date().toISOString(), reason: 'new_countries' }
  await tellStopped(control.deps, { ...stop, countries: ['CI', 'LT'], spent: null, usual: null })
  const rows = await control.deps.sql<{ event: DeliveryEvent; body: string }[]>`
    select event, body from webhook_deliveries where owner_id = ${tenant.ownerId}`
  expect(new Set(rows.map(row => row.event))).toEqual(new Set(Object.keys(payloads)))
  for (const { event, body } of rows) {
    const given = JSON.parse(body)
    // Neither less nor more than is promised.
    expect([event, payloads[event].parse(given)]).toEqual([event, given])
  }
  expect(Object.keys(document.webhooks)).toEqual(Object.keys(payloads))
  for (const [event, { post }] of Object.entries(document.webhooks)) {
    const { example, schema } = post.requestBody.content['application/json']!
    expect(payloads[event as DeliveryEvent].parse(example)).toEqual(example)
    schemaOf(schema).parse(example)
    expect(post.parameters?.map(one => one.name)).toContain('x-svc-signature')
  }
})

test('headers that are promised are sent', async () => {
  const tenant = await createTenant(control)
  const { headers } = await tenant.call('GET', '/calls')
  const promised = responsesOf(document.paths['/v1/public/calls']!['get']!)['200']!.headers
  for (const name of Object.keys(promised!)) expect(headers).toHaveProperty(name.toLowerCase())
})

test('every route has an entry, and every entry its answers and errors', () => {
  const listed = operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`)
  const served = control.app.printRoutes({ commonPrefix: false, includeHooks: false }).split('\n').join(' ')
  for (const entry of [
    ...['GET /projects', 'POST /projects', 'GET /projects/{project_id}', 'PATCH /projects/{project_id}'],
    ...['DELETE /projects/{project_id}', 'GET /calls', 'POST /calls', 'GET /calls/{call_id}', 'GET /balance'],
    ...['POST /calls/{call_id}/hangup', 'GET /calls/{call_id}/events', 'GET /numbers'],
    ...['POST /projects/{project_id}/numbers', 'DELETE /projects/{project_id}/numbers/{number}'],
    ...['GET /webhooks', 'POST /webhooks', 'GET /webhooks/{webhook_id}/deliveries', 'GET /secrets', 'POST /secrets'],
  ]) {
    expect(listed).toContain(entry.replace(' ', ' /v1/public'))
  }
  expect(served).toContain('v1/public/')
  for (const { path, method, operation } of operations()) {
    const where = `${method} ${path}`
    expect([where, operation.summary]).not.toContain(undefined)
    // Required credential: a key in either header or a session, a session only, or none.
    const schemes = operation.security?.map(scheme => Object.keys(scheme).join()).join(' ')
    const open = path.startsWith('/auth/')
    expect([where, schemes]).toEqual([
      where,
      expect.stringMatching(open ? /^(?:session)?$/ : /^(?:apiKey bearer )?session$/),
    ])
    const responses = responsesOf(operation)
    const statuses = Object.keys(responses)
    const always = schemes === '' ? ['400', '429', '500'] : ['400', '401', '429', '500', ...(open ? [] : ['403'])]
    expect([where, statuses]).toEqual([where, expect.arrayContaining(always)])
    expect([where, statuses.some(status => status.startsWith('2'))]).toEqual([where, true])
    for (const [status, response] of Object.entries(responses)) {
      // Besides, it may be had as text to read.
      const types = Object.keys(response.content ?? {}).filter(type => type !== 'text/plain')
      expect([where, status, types]).toEqual([
        where,
        status,
        [Number(status) >= 400 ? 'application/problem+json' : types[0]],
      ])
    }
    if (method === 'post') {
      const names = operation.parameters?.filter(parameter => parameter.in === 'header').map(one => one.name)
      expect([where, names]).toEqual([where, open ? undefined : ['idempotency-key']])
    }
  }
})

test('each route that is served is in the document', async () => {
  const routes: string[] = []
  const lines = control.app.printRoutes({ commonPrefix: false }).split('\n')
  const stack: string[] = []
  for (const line of lines) {
    const match = /^([│ ]*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line)
    if (!match) continue
    const depth = match[1]!.length / 4
    stack.splice(depth, stack.length, match[2]!)
    for (const method of match[3]?.split(', ') ?? []) {
      if (method !== 'HEAD') routes.push(`${method.toLowerCase()} ${stack.join('')}`)
    }
  }
  const open = routes.filter(entry => /^\w+ \/(?:v1\/public|auth)\//.test(entry))
  expect(open.length).toBeGreaterThan(20)
  const listed = new Set(operations().map(({ path, method }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`))
  for (const entry of listed) expect(open).toContain(entry)
  // The others are there to say that they are not.
  for (const entry of open.filter(one => !listed.has(one))) {
    const [method, url] = entry.split(' ') as [string, string]
    const answer = await request(control.app, { method: method.toUpperCase() as 'GET', url })
    expect([entry, answer.status, answer.headers['allow']]).toEqual([entry, 405, expect.stringMatching(/^[A-Z, ]+$/)])
  }
})

test('every code stands in it, and bodies are closed', () => {
  for (const code of problemCodes) expect(document.info.description).toContain(`\`${code}\``)
  const body = document.paths['/v1/public/calls']!['post']!.requestBody!.content['application/json']!.schema
  expect(body).toMatchObject({ type: 'object', additionalProperties: false, required: ['project_id', 'phone'] })
  expect(JSON.stringify(document.components.schemas['Problem'])).toContain('idempotency_mismatch')
})

test('the reference page asks nobody else for anything', async () => {
  const get = (url: string) => request(control.app, { method: 'GET', url })
  const { status, body, headers } = await get('/docs')
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(body).toContain('<title>Parley API</title>')
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("script-src 'self';")
  expect(policy).not.toMatch(/https?:|\*|\w\.\w|upgrade/)
  const assets = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1]!)
  expect(assets.length).toBeGreaterThan(4)
  for (const asset of assets) {
    const answer = await get(new URL(asset, 'http://control.test/docs').pathname)
    expect([asset, answer.status, answer.headers['content-security-policy']]).toEqual([asset, 200, policy])
    expect(asset).toMatch(/^\/docs\/|^\.\//)
  }
  expect((await get('/docs/static/swagger-initializer.js')).body).toContain('"validatorUrl":null')
  expect((await get('/docs/json')).body).toEqual(document)
  // Elsewhere the policy is helmet's own.
  expect((await get('/')).headers['content-security-policy']).toContain('upgrade-insecure-requests')
})

test('the first page leads on, and everything it leads to is there', async () => {
  const { body } = await request(control.app, { method: 'GET', url: '/' })
  expect(body).toContain(`${defaultConfig.base_url}/mcp`)
  const links = [...body.matchAll(/href="([^"]+)"/g)].map(match => match[1]!)
  expect(links).toEqual(['/dashboard', '/docs', '/openapi.json', '/errors', '/healthz', '/readyz'])
  for (const url of links)
    expect([url, (await request(control.app, { method: 'GET', url })).status]).toEqual([url, 200])
})

test('an answer that its operation does not name is noted as an error, in every test and in production', async () => {
  const log = recordingLog()
  const app = Fastify()
  app.setErrorHandler(errorHandler({ ...control.deps, log }))
  const schema = { 'x-codes': ['not_found'] as const }
  app.get('/named', { schema }, () => Promise.reject(new Problem('not_found')))
  app.get('/unnamed', { schema }, () => Promise.reject(new Problem('do_not_call')))
  expect((await request(app, { method: 'GET', url: '/named' })).status).toBe(404)
  expect(log.lines).toEqual([])
  expect((await request(app, { method: 'GET', url: '/unnamed' })).status).toBe(409)
  expect(log.lines).toMatchObject([{ level: 'error', message: UNDOCUMENTED, fields: { code: 'do_not_call' } }])
  await app.close()
})
