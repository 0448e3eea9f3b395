import { afterAll, beforeAll, expect, test } from 'vitest'
import { problemCodes } from '../../control/http/problem.ts'
import { createControl, request, type TestControl } from '../support/control.ts'

interface Operation {
  summary?: string
  security?: Record<string, string[]>[]
  responses: Record<string, { description: string; content?: Record<string, { schema: unknown }> }>
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema: Record<string, unknown> }> }
}
interface Document {
  openapi: string
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> }
}

let control: TestControl
let document: Document
beforeAll(async () => {
  control = await createControl()
  document = (await request(control.app, { method: 'GET', url: '/openapi.json' })).body
})
afterAll(() => control?.close())

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

test('it is OpenAPI 3.1 and every reference leads somewhere', () => {
  expect(document.openapi).toBe('3.1.0')
  const names = new Set(Object.keys(document.components.schemas))
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)
  let seen = 0
  for (const [, reference] of references) {
    seen++
    expect(reference).toMatch(/^#\/components\/schemas\//)
    expect(names).toContain(reference!.split('/').at(-1))
  }
  expect(seen).toBeGreaterThan(20)
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
    // By whom it can be reached: a key in either header or a session, a session alone, everybody.
    const schemes = operation.security?.map(scheme => Object.keys(scheme).join()).join(' ')
    const open = path.startsWith('/auth/')
    expect([where, schemes]).toEqual([
      where,
      expect.stringMatching(open ? /^(?:session)?$/ : /^(?:apiKey bearer )?session$/),
    ])
    const statuses = Object.keys(operation.responses)
    const always = schemes === '' ? ['400', '429', '500'] : ['400', '401', '429', '500', ...(open ? [] : ['403'])]
    expect([where, statuses]).toEqual([where, expect.arrayContaining(always)])
    expect([where, statuses.some(status => status.startsWith('2'))]).toEqual([where, true])
    for (const [status, response] of Object.entries(operation.responses)) {
      const types = Object.keys(response.content ?? {})
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
