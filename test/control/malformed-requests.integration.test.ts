/** Malformed requests to every operation of the OpenAPI document: the response is a 4xx problem document. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemCodes } from '../../control/platform/http/problem.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'

interface Documented {
  operationId: string
  security: Record<string, string[]>[]
  requestBody?: { content: Record<string, { schema: { properties?: object }; example?: Record<string, unknown> }> }
}
interface Target {
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: string
  headers: Record<string, string>
  example: Record<string, unknown> | undefined
  fields: string[]
}

const LIMIT = 1_048_576
const PATH: Record<string, string> = { name: 'NOBODY', number: '+14155550100', phone: '+14155550100' }
const NOBODY = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'

let control: TestControl
let tenant: Tenant
let targets: Target[]
let address: URL

beforeAll(async () => {
  control = await createControl({
    config: {
      body_limit: LIMIT,
      rate_limit: { per_key: 1_000_000, per_session: 1_000_000, per_address: 1_000_000, window_ms: 60_000 },
    },
  })
  address = new URL(await control.app.listen({ port: 0, host: '127.0.0.1' }))
  tenant = await createTenant(control)
  const payload = { email: 'hostile@example.com', password: 'a long enough one' }
  const entered = await request(control.app, { method: 'POST', url: '/auth/sign-up', payload })
  const session = {
    cookie: String(entered.headers['set-cookie']).split(';')[0]!,
    origin: control.deps.config.base_url,
  }
  const document = (await request(control.app, { method: 'GET', url: '/openapi.json' })).body
  targets = Object.entries(document.paths as Record<string, Record<string, Documented>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const body = operation.requestBody?.content['application/json']
      const byKey = operation.security.some(scheme => 'apiKey' in scheme)
      return {
        id: operation.operationId,
        method: method.toUpperCase() as Target['method'],
        url: path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(PATH[name] ?? NOBODY)),
        headers: byKey ? { 'x-api-key': tenant.key } : session,
        example: body?.example,
        fields: Object.keys(body?.schema.properties ?? {}),
      }
    }),
  )
})
afterAll(() => control?.close())

/** The one operation whose body is a list, and the one that takes a form with a file. */
const TAKES_A_LIST = 'upload_campaign_contacts'
const TAKES_A_FILE = 'add_knowledge_file'
const TAKES_A_TABLE = 'add_lead_directory'
/** Operation whose body may be omitted. */
const TAKES_NOTHING = 'create_lead_campaign'

const withBody = () => targets.filter(target => target.example !== undefined)
const changing = () => targets.filter(target => target.method !== 'GET')

interface Sent {
  url?: string
  payload?: string | Buffer
  headers?: Record<string, string>
}

async function send(target: Target, { url = target.url, payload, headers = {} }: Sent) {
  const answer = await request(control.app, {
    method: target.method,
    url,
    headers: {
      ...target.headers,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(payload === undefined ? {} : { payload }),
  })
  expectNoLeak(answer.status, answer.body)
  return answer
}

/** Expects a status below 500 and a response without internals. */
function expectNoLeak(status: number, body: unknown): void {
  const text = JSON.stringify(body)
  expect(status, text).toBeLessThan(500)
  if (status < 400) return
  expect(problemCodes, text).toContain((body as { code: string }).code)
  expect(text).not.toMatch(/node_modules|\.ts:\d|postgres|relation |syntax|violates|constraint|select |insert |redis/i)
}

/** One request for each target; the codes that came, by operation. */
async function codesOf(which: Target[], sent: Sent): Promise<Record<string, string>> {
  const codes: Record<string, string> = {}
  for (const target of which) {
    const { status, body } = await send(target, sent)
    codes[target.id] = status < 400 ? String(status) : body.code
  }
  return codes
}

const all = (which: Target[], code: string) => Object.fromEntries(which.map(({ id }) => [id, code]))

test('covers every operation', () => {
  expect(targets.length).toBeGreaterThan(50)
  expect(withBody().length).toBeGreaterThan(15)
})

const text = (value: string | number[]) => Buffer.from(value as string)
const deep = (open: string, close: string) => text(open.repeat(100_000) + close.repeat(100_000))
const utf16 = Buffer.from('{"name":"x"}', 'utf16le')

describe('a body that is', () => {
  test.each<[string, Buffer, string]>([
    ['cut off', text('{"name":'), 'malformed_json'],
    ['two documents', text('{} {}'), 'malformed_json'],
    ['not UTF-8', Buffer.concat([text('{"name":"'), Buffer.from([0xc3, 0x28, 0xff]), text('"}')]), 'malformed_json'],
    ['cut in a character', Buffer.concat([text('{"name":"'), Buffer.from([0xe2, 0x82]), text('"}')]), 'malformed_json'],
    ['UTF-16', utf16, 'malformed_json'],
    ['with NUL', text('{"name":"a\\u0000b"}'), 'malformed_json'],
    ['with NUL in a name', text('{"a\\u0000b":1}'), 'malformed_json'],
    ['with half a pair', text('{"name":"\\ud800"}'), 'malformed_json'],
    ['with the other half', text('{"name":{"x":["\\udc00"]}}'), 'malformed_json'],
    ['arrays without end', deep('[', ']'), 'malformed_json'],
    ['objects without end', text(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), 'malformed_json'],
    ['arrays that never close', deep('[', ''), 'malformed_json'],
    ['a prototype', text('{"__proto__":{"admin":true}}'), 'malformed_json'],
    ['a prototype further down', text('{"name":{"__proto__":{"admin":true}}}'), 'malformed_json'],
    ['a constructor', text('{"constructor":{"prototype":{"admin":true}}}'), 'malformed_json'],
    ['not a number', text('{"name":NaN}'), 'malformed_json'],
    ['only spaces', text('   '), 'malformed_json'],
    ['a number that is too large', text('{"no_such_field":1e999}'), 'validation_failed'],
    ['an unknown field', text('{"no_such_field":1}'), 'validation_failed'],
    ['a harmless constructor', text('{"constructor":1}'), 'validation_failed'],
    ['an array', text('[]'), 'validation_failed'],
    ['an array of objects', text('[{}]'), 'validation_failed'],
    ['a text', text('"name"'), 'validation_failed'],
    ['a number', text('1'), 'validation_failed'],
    ['true', text('true'), 'validation_failed'],
    [
      '5000 fields',
      text(JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`f${i}`, i])))),
      'validation_failed',
    ],
  ])('%s', async (what, payload, code) => {
    const which = changing().filter(({ id }) => !(what.startsWith('an array') && id === TAKES_A_LIST))
    const isJson = code !== 'malformed_json'
    const expected = {
      ...all(which, code),
      ...(isJson ? { [TAKES_A_FILE]: 'unsupported_media_type', [TAKES_A_TABLE]: 'unsupported_media_type' } : {}),
    }
    expect(await codesOf(which, { payload })).toEqual(expected)
  })

  test('rejects null and missing values', async () => {
    for (const payload of ['null', '']) {
      const which = withBody().filter(({ id }) => id !== TAKES_NOTHING)
      expect(await codesOf(which, { payload })).toEqual(all(which, 'validation_failed'))
    }
  })

  test('returns 413 for 10 MB', async () => {
    const payload = Buffer.alloc(10_000_000, 'a')
    expect(await codesOf(changing(), { payload })).toEqual(all(changing(), 'payload_too_large'))
  })

  test('lists a bounded number of errors', async () => {
    const payload = `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":1`).join()}}`
    const { body } = await send(targets.find(target => target.id === 'place_call')!, { payload })
    expect(body.errors.length).toBe(100)
  })

  test.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'x',
  ])('of type %s', async type => {
    const sent = { payload: '{}', headers: { 'content-type': type } }
    // A form may be right; that there is no such project is said before it is read, and that it breaks off, after it.
    const forms = { [TAKES_A_FILE]: 'not_found', [TAKES_A_TABLE]: 'validation_failed' }
    const exception = type.startsWith('multipart') ? forms : {}
    expect(await codesOf(changing(), sent)).toEqual({ ...all(changing(), 'unsupported_media_type'), ...exception })
  })

  test('uses the last of duplicate keys', async () => {
    const target = targets.find(one => one.id === 'add_do_not_call')!
    const bad = '{"phone":"+14155550123","phone":"nonsense"}'
    const good = '{"phone":"nonsense","phone":"+14155550123"}'
    expect((await send(target, { payload: bad })).status).toBe(400)
    expect(await send(target, { payload: good })).toMatchObject({ status: 201, body: { phone: '+14155550123' } })
  })
})

describe('a field', () => {
  const values: unknown[] = [
    ...[null, true, 0, -1, 1.5, 1e308, 2 ** 31, 2 ** 53, 2 ** 63, '', ' ', 'x', '\u202e', '💥', 'x'.repeat(900_000)],
    ...[
      "'; drop table calls; --",
      '{{secret:X}}',
      '../../etc/passwd',
      'http://127.0.0.1:1/',
      '+1',
      `+${'9'.repeat(400)}`,
    ],
    ...[
      [],
      [null],
      [[]],
      {},
      { length: 1 },
      { toString: 1 },
      Array.from({ length: 3000 }, () => 'x'),
      { type: 'object' },
    ],
  ]

  test('validates any wrong value', { timeout: 300_000 }, async () => {
    let judged = 0
    for (const target of withBody()) {
      const operation = control.app.operations.find(one => one.id === target.id)
      for (const field of target.fields) {
        for (const value of values) {
          const body = { ...target.example, [field]: value }
          const { status } = await send(target, { payload: JSON.stringify(body) })
          // The schema is the judge: what it refuses is 400 before anything else happens.
          if (operation?.body && !operation.body.safeParse(body).success) {
            judged++
            expect([target.id, field, value, status]).toEqual([target.id, field, value, 400])
          }
        }
      }
    }
    expect(judged).toBeGreaterThan(800)
  })
})

describe('an address', () => {
  test('rejects unknown query parameters', async () => {
    for (const query of ['?no_such=1', '?no_such', '?%00=1', '?__proto__=1', '?a[b]=c', '?%ff=%fe']) {
      for (const target of targets) {
        const { body } = await send(target, { url: target.url + query })
        expect([target.id, query, body.code]).toEqual([target.id, query, 'validation_failed'])
      }
    }
  })

  test('rejects invalid paging', async () => {
    const paged = targets.filter(target => /^list_(?!projects)/.test(target.id))
    expect(paged.length).toBeGreaterThan(7)
    const wrong = [
      '',
      '0',
      '-1',
      '201',
      '1e2',
      '0x10',
      '1.5',
      ' 1',
      'NaN',
      'null',
      '2147483648',
      '9'.repeat(30),
      '%00',
      '१',
    ]
    for (const target of paged) {
      for (const value of wrong) {
        const { status, body } = await send(target, { url: `${target.url}?limit=${value}` })
        // The webhook does not exist, but the query is validated first.
        expect([target.id, value, status, body.code]).toEqual([target.id, value, 400, 'validation_failed'])
      }
      for (const value of wrong.filter(one => !/^(?:0|201)$/.test(one))) {
        const { status, body } = await send(target, { url: `${target.url}?offset=${value}` })
        expect([target.id, value, status, body.code]).toEqual([target.id, value, 400, 'validation_failed'])
      }
      for (const query of ['limit=1&limit=2', 'offset=0&offset=0', 'limit[]=1', 'limit=1,2']) {
        expect([target.id, query, (await send(target, { url: `${target.url}?${query}` })).status]).toEqual([
          target.id,
          query,
          400,
        ])
      }
      const last = await send(target, { url: `${target.url}?limit=200&offset=2147483647` })
      expect([target.id, last.status]).toEqual([target.id, target.url.includes(NOBODY) ? 404 : 200])
    }
  })

  test('rejects invalid filters', async () => {
    const filtered = targets.filter(target =>
      /^list_(?:calls|contacts|do_not_call|webhook_deliveries)$/.test(target.id),
    )
    for (const target of filtered) {
      for (const name of ['q', 'project_id', 'status', 'direction', 'channel', 'lead', 'event']) {
        for (const value of ['%00', 'a%00b', '%ED%A0%80', '%ff', '%', '%25', '%5C', '_', "'", '"', 'x'.repeat(5000)]) {
          await send(target, { url: `${target.url}?${name}=${value}` })
        }
      }
    }
    const contacts = targets.find(target => target.id === 'list_contacts')!
    expect((await send(contacts, { url: `${contacts.url}?q=a%00b` })).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/q', code: 'unclean_text' }],
    })
  })

  test('rejects malformed path parameters', async () => {
    const document = targets.filter(target => target.url.includes(NOBODY) || target.url.includes('NOBODY'))
    const garbage = [
      '%00',
      '%20',
      '..%2f..',
      '%ff',
      '%zz',
      '%',
      'null',
      '-1',
      '0',
      "'",
      'x'.repeat(101),
      'x'.repeat(9000),
      '💥',
    ]
    for (const target of document) {
      for (const value of garbage) {
        const url = target.url.replace(NOBODY, value).replace('NOBODY', value)
        const payload = target.example && JSON.stringify(target.example)
        const { status } = await send(target, { url, ...(payload ? { payload } : {}) })
        expect([target.id, value, status]).toEqual([
          target.id,
          value,
          expect.toSatisfy((one: number) => one >= 400 && one < 500),
        ])
      }
    }
  })
})

describe('a header', () => {
  test('rejects garbage', async () => {
    const target = targets.find(one => one.id === 'list_calls')!
    for (const [name, value] of [
      ['x-api-key', 'svc_\u00ff'],
      ['x-api-key', `svc_${'a'.repeat(9000)}`],
      ['x-api-key', `${tenant.key}, ${tenant.key}`],
      ['authorization', 'Bearer'],
      ['authorization', `Bearer ${tenant.key} ${tenant.key}`],
      ['cookie', 'parley_session=%ff%00; =; ;;'],
      ['cookie', `parley_session=${'x'.repeat(9000)}`],
    ] as const) {
      const { 'x-api-key': _, ...headers } = target.headers
      const answer = await request(control.app, {
        method: 'GET',
        url: target.url,
        headers: { ...headers, [name]: value },
      })
      expectNoLeak(answer.status, answer.body)
      expect([name, value, answer.status]).toEqual([name, value, 401])
    }
  })

  test('rejects an invalid Idempotency-Key', async () => {
    const posts = targets.filter(target => target.method === 'POST' && target.headers['x-api-key'])
    expect(posts.length).toBeGreaterThan(10)
    for (const target of posts) {
      for (const value of ['', 'x'.repeat(256)]) {
        const payload = JSON.stringify(target.example ?? {})
        const { body } = await send(target, { payload, headers: { 'idempotency-key': value } })
        expect([target.id, body.errors?.[0]?.code]).toEqual([target.id, 'idempotency_key'])
      }
    }
  })
})

/** Bytes as they are; what came until the other side closed. */
function raw(bytes: string | Buffer): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(address.port), address.hostname, () => socket.write(bytes))
    const parts: Buffer[] = []
    socket.on('data', part => parts.push(part))
    socket.on('error', error => (parts.length > 0 ? undefined : reject(error)))
    socket.on('close', () => {
      const answer = Buffer.concat(parts).toString()
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]),
        body: answer.split('\r\n\r\n').slice(1).join(''),
      })
    })
  })
}

describe('on the wire', () => {
  const line = 'GET /v1/public/calls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
  const post =
    'POST /v1/public/do-not-call HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'

  test.each<[string, () => string, number]>([
    ['no HTTP at all', () => 'hello\r\n\r\n', 400],
    ['a binary greeting', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n', 400],
    ['a method that is none', () => 'FROB /v1/public/calls HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a header with NUL', () => `${line}X-API-Key: a\0b\r\n\r\n`, 400],
    ['headers without end', () => `${line}X-Long: ${'x'.repeat(70_000)}\r\n\r\n`, 400],
    ['an address without end', () => `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['two lengths', () => `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
    [
      'a length and chunks',
      () => `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
    ],
    ['a length that is none', () => `${post}Content-Length: -1\r\n\r\n`, 400],
    ['chunks that are none', () => `${post}X-API-Key: ${tenant.key}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ['two keys', () => `${line}X-API-Key: ${tenant.key}\r\nX-API-Key: ${tenant.key}\r\n\r\n`, 401],
    ['two bearer tokens', () => `${line}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`, 401],
    [
      'an address elsewhere',
      () => 'GET http://elsewhere.example/v1/public/calls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      401,
    ],
    ['an asterisk', () => 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
    ['a broken escape', () => 'GET /v1/public/calls/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    [
      'two idempotency keys that are too long together',
      () =>
        `${post}X-API-Key: ${tenant.key}\r\nIdempotency-Key: ${'a'.repeat(200)}\r\nIdempotency-Key: ${'b'.repeat(200)}\r\n` +
        'Content-Length: 24\r\n\r\n{"phone":"+14155550199"}',
      400,
    ],
    [
      '10 MB in chunks',
      () => `${post}X-API-Key: ${tenant.key}\r\nTransfer-Encoding: chunked\r\n\r\n989680\r\n${'x'.repeat(10_000_000)}`,
      413,
    ],
  ])('%s', async (_, bytes, status) => {
    const answer = await raw(bytes())
    expect(answer.status, answer.body).toBe(status)
    expectNoLeak(answer.status, JSON.parse(answer.body))
    expect(JSON.parse(answer.body)).toMatchObject({ status, request_id: expect.any(String) })
  })
})

test('a request without a host is refused by Node itself', async () => {
  expect(await raw('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatchObject({ status: 400 })
})

test('applies to MCP, too', async () => {
  const headers = { 'x-api-key': tenant.key, accept: 'application/json, text/event-stream' }
  const call = (name: unknown, args: unknown) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args },
  })
  const bodies = [
    ...[
      '{"a":',
      '[]',
      'null',
      '1',
      '"x"',
      '{}',
      '{"jsonrpc":"2.0","id":1,"method":"\\u0000"}',
      '{"jsonrpc":"2.0","method":5}',
    ],
    ...[
      call('list_calls', { limit: '9'.repeat(30) }),
      call('list_calls', []),
      call('get_call', { call_id: {} }),
      call(5, {}),
    ].map(one => JSON.stringify(one)),
  ]
  for (const payload of bodies) {
    const answer = await request(control.app, {
      method: 'POST',
      url: '/mcp',
      headers: { ...headers, 'content-type': 'application/json' },
      payload,
    })
    expect([payload, answer.status]).toEqual([payload, expect.toSatisfy((status: number) => status < 500)])
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.ts:\d|postgres/i)
  }
})

test('causes no internal error, and the process still serves', async () => {
  expect((await request(control.app, { method: 'GET', url: '/readyz' })).status).toBe(200)
  expect((await tenant.call('GET', '/calls')).status).toBe(200)
  expect(control.deps.log.lines.filter(line => line.level === 'error')).toEqual([])
  expect(Object.prototype).not.toHaveProperty('admin')
})
