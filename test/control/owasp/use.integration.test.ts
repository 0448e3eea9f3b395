/**
 * OWASP API Security Top 10 (2023), use of the interface and of third parties: API4 and API6 to API10. The tests cover
 * every operation of the OpenAPI document where that applies; docs/threat-model.md lists the tests for the rest.
 */
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setMinutePrice } from '../../../control/access/accounts/service.ts'
import { deliver } from '../../../control/webhooks/deliver.ts'
import { createSafeFetch, createSafeWebFetch } from '../../../infra/adapters/safe-fetch.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../../support/control.ts'
import { createReceiver, type Receiver } from '../../support/receiver.ts'
import { ask, fieldsOf, type Json, openSession, type Target, variants, type Walk, walkDocument } from './walk.ts'

let control: TestControl
let tenant: Tenant
let session: Record<string, string>
let walk: Walk
/** A server on an internal address that no request of ours may reach. */
let inside: Receiver
let address: URL

beforeAll(async () => {
  inside = await createReceiver()
  control = await createControl({ fetch: createSafeFetch({ allow: [] }), config: { trunk_private_hosts: 'deny' } })
  address = new URL(await control.app.listen({ port: 0, host: '127.0.0.1' }))
  tenant = await createTenant(await withTrunks(), { money: '1000' })
  session = await openSession(control, 'walker@example.com')
  walk = await walkDocument(control)
})
afterAll(async () => {
  await control?.close()
  await inside?.close()
})
beforeEach(() => {
  inside.received.length = 0
})

/** The owner's own trunk may be on loopback, as those of an operator's network. */
async function withTrunks(): Promise<TestControl> {
  return { ...control, deps: { ...control.deps, config: { ...control.deps.config, trunk_private_hosts: 'allow' } } }
}

const headersOf = (target: Target) => (target.reach === 'session' ? session : { 'x-api-key': tenant.key })

describe('API4, what one caller may use up', () => {
  test('pages every list, 200 at most', () => {
    const lists = walk.targets.filter(({ id }) => /^list_/.test(id))
    expect(lists.length).toBeGreaterThan(10)
    const ofPages = lists.filter(({ answer }) => answer && fieldsOf(walk, answer).some(({ name }) => name === 'limit'))
    expect(lists.filter(one => !ofPages.includes(one)).map(({ id }) => id)).toEqual(WHOLE)
    const paths = walk.document['paths'] as Record<string, Record<string, { parameters?: Parameter[] }>>
    for (const { id, path } of lists.filter(one => !WHOLE.includes(one.id))) {
      const parameters = paths[path]!['get']!.parameters ?? []
      const limit = parameters.find(({ name }) => name === 'limit')
      expect([id, limit?.schema.maximum]).toEqual([id, expect.toSatisfy((most: number) => most <= 200)])
    }
  })

  test('limits every text and list in bodies', () => {
    const endless = walk.targets
      .filter(({ body }) => body !== null)
      .flatMap(({ body, id }) => fieldsOf(walk, body!.schema).map(field => ({ ...field, id })))
      .flatMap(({ id, name, schema }) => variants(walk, schema).map(variant => ({ id, name, variant })))
      .filter(({ variant }) => {
        const free = variant['enum'] === undefined && variant['const'] === undefined
        const shaped = variant['format'] !== undefined || variant['pattern'] !== undefined
        if (variant['type'] === 'string') return free && !shaped && variant['maxLength'] === undefined
        const items = walk.resolve((variant['items'] as Json | undefined) ?? {})
        return variant['type'] === 'array' && variant['maxItems'] === undefined && items['enum'] === undefined
      })
      .map(({ id, name }) => `${id} ${name}`)
    expect([...new Set(endless)]).toEqual(ENDLESS)
  })

  test('rejects every operation above the rate limit', async () => {
    const config = { rate_limit: { per_key: 3, per_session: 3, per_address: 3, window_ms: 600_000 } }
    const limited = await createControl({ config })
    try {
      const { key } = await createTenant(limited)
      const asked = walk.targets.filter(({ reach }) => reach === 'read' || reach === 'write')
      const statuses: (number | string)[] = []
      for (const target of asked) {
        const { status } = await ask(limited, target, { 'x-api-key': key })
        statuses.push(status === 429 ? 429 : `${target.id} ${status}`)
      }
      expect(statuses.slice(3)).toEqual(asked.slice(3).map(() => 429))
    } finally {
      await limited.close()
    }
  })
})

type Parameter = { name: string; schema: { maximum?: number } }

/** An account has so few of them that the list is whole (500 at most) that the list is whole. */
const WHOLE = ['list_projects']
/** Judged elsewhere than in the schema: in bytes, with what the project has already. */
const ENDLESS = ['add_knowledge content']

describe('API6, what a program may do too often for the business', () => {
  test('checks the balance before every call and charge', async () => {
    const poor = await createTenant(await withTrunks())
    await setMinutePrice(control.deps, poor.ownerId, '100000')
    const body = { project_id: poor.projectId, phone: '+14155550123' }
    expect((await poor.call('POST', '/calls', body)).body.code).toBe('insufficient_balance')
    expect(
      (await poor.call('POST', '/realtime/session', { project_id: poor.projectId })).status,
    ).toBeGreaterThanOrEqual(400)
    const campaign = await poor.call('POST', '/campaigns', { name: 'All', project_id: poor.projectId })
    await poor.call('POST', `/campaigns/${campaign.body.id}/contacts`, [{ phone: '+14155550123' }])
    const started = await poor.call('POST', `/campaigns/${campaign.body.id}/start`, { consent: true })
    expect(started.status).toBeGreaterThanOrEqual(400)
    expect((await control.deps.sql`select 1 from calls where owner_id = ${poor.ownerId}`).length).toBe(0)
  })

  test('places one call per Idempotency-Key', async () => {
    const body = { project_id: tenant.projectId, phone: '+14155550124' }
    const again = { 'idempotency-key': 'walk-6' }
    const answers = await Promise.all([1, 2, 3, 4].map(() => tenant.call('POST', '/calls', body, again)))
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(0)
    const calls = await control.deps.sql`select 1 from calls where to_phone = '+14155550124'`
    expect(calls.length).toBe(1)
  })
})

/** Spellings of the internal address. */
const places = (): string[] => {
  const { port } = new URL(inside.url)
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0', '127.1']
  return hosts.map(host => `http://${host}:${port}/`)
}
const elsewhere = ['http://169.254.169.254/latest/meta-data/', 'http://10.0.0.1/', 'http://[fd00::1]/']

describe('API7, requests of ours to where a customer says: nothing inside is reached by', () => {
  /** Sends an outgoing request by each field that takes an address. */
  const doors: Record<string, (url: string) => Promise<void>> = {
    'tools[].url': async url => {
      const tool = { name: 'look', method: 'GET', url }
      const kept = await tenant.call('PATCH', `/projects/${tenant.projectId}`, { tools: [tool] })
      if (kept.status >= 400) return
      const { body } = await tenant.call('POST', `/projects/${tenant.projectId}/tools/look/test`, { arguments: {} })
      expect([url, body.status]).not.toEqual([url, 'ok'])
    },
    'llm.base_url': url => unreachable(`${url}v1/chat/completions`),
    'llm_fallback[].base_url': url => unreachable(`${url}v1/chat/completions`),
    url: async url => {
      const source = await tenant.call('POST', `/projects/${tenant.projectId}/knowledge`, { type: 'url', url })
      if (source.status < 400) await unreachable(url)
      const hook = await tenant.call('POST', '/webhooks', { url, events: ['call.failed'] })
      if (hook.status >= 400) return
      const delivery = await tenant.call('POST', `/webhooks/${hook.body.id}/test`)
      await deliver(control.deps, { delivery_id: delivery.body.id, attempt: 1 })
      const log = await tenant.call('GET', `/webhooks/${hook.body.id}/deliveries/${delivery.body.id}`)
      expect([url, log.body.status]).not.toEqual([url, 'delivered'])
      await tenant.call('DELETE', `/webhooks/${hook.body.id}`)
    },
    host: url => refusedTrunk({ host: hostIn(url) }),
    'hosts[].host': url => refusedTrunk({ host: '1.1.1.1', hosts: [{ host: hostIn(url) }] }),
    outbound_proxy: url => refusedTrunk({ host: '1.1.1.1', outbound_proxy: `sip:${new URL(url).hostname}` }),
  }
  const hostIn = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')

  /** Expects both HTTP clients of the product to reject the URL; models use the second. */
  async function unreachable(url: string): Promise<void> {
    const once = {
      url,
      method: 'GET' as const,
      headers: {},
      body: null,
      timeoutMs: 2000,
      maxBytes: 1000,
      maxRedirects: 3,
    }
    await expect(control.deps.fetch({ ...once, signal: AbortSignal.timeout(3000) })).rejects.toThrow()
    await expect(createSafeWebFetch({ allow: [] })(url)).rejects.toThrow()
  }

  async function refusedTrunk(where: object): Promise<void> {
    const body = { name: 'Inside', mode: 'ip', numbers: [], ...where }
    const { status } = await tenant.call('POST', '/trunks', body)
    // A name is judged when it is resolved, by the SIP server (test/sip/trunk/limits.test.ts).
    if (!JSON.stringify(where).includes('localhost')) expect([where, status]).toEqual([where, 400])
  }

  test('any field that names a place, and these are all of them', async () => {
    const named = walk.targets
      .filter(({ body }) => body !== null)
      .flatMap(({ body }) => fieldsOf(walk, body!.schema))
      .filter(({ name, schema }) => {
        const formats = variants(walk, schema).map(variant => String(variant['format'] ?? ''))
        return (
          formats.some(format => /url|uri/.test(format)) ||
          /(?:^|\.)(?:\w*host|\w*proxy|\w*url|\w*endpoint)$/.test(name)
        )
      })
      .map(({ name }) => name)
    expect([...new Set(named)].sort()).toEqual(Object.keys(doors).sort())
    for (const [name, knock] of Object.entries(doors)) {
      for (const url of [...places(), ...elsewhere]) await knock(url)
      expect([name, inside.received]).toEqual([name, []])
    }
  }, 120_000)
})

describe('API8, how it is set up:', () => {
  test('sends security headers and no-store', async () => {
    for (const target of walk.targets) {
      const { headers } = await ask(control, target, { ...headersOf(target), origin: 'https://evil.example' })
      expect([target.id, headers]).toEqual([
        target.id,
        expect.objectContaining({
          'x-content-type-options': 'nosniff',
          'x-frame-options': expect.any(String),
          'strict-transport-security': expect.stringContaining('max-age'),
          'content-security-policy': expect.stringContaining("default-src 'self'"),
          'referrer-policy': expect.any(String),
          'cache-control': 'no-store',
        }),
      ])
      expect([
        target.id,
        Object.keys(headers).filter(name => /^(?:access-control-|x-powered-by|server$)/.test(name)),
      ]).toEqual([target.id, []])
    }
  })

  test('allows no cross-origin request', async () => {
    for (const url of new Set(walk.targets.map(target => target.url))) {
      const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
      const answer = await request(control.app, { method: 'OPTIONS', url, headers })
      expect([url, answer.status]).toEqual([url, 405])
      expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control-'))).toEqual([])
    }
  })

  test.each(['TRACE', 'TRACK', 'CONNECT', 'PROPFIND', 'DEBUG'])(
    'reveals nothing of the request for %s',
    async method => {
      const answer = await raw(
        `${method} /v1/public/calls HTTP/1.1\r\nHost: x\r\nX-Secret: tell-me\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatch(/^(?:HTTP\/1\.1 4\d\d |$)/)
      expect(answer).not.toContain('tell-me')
    },
  )
})

/** One connection's bytes, until it is closed. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(address.port), address.hostname, () => socket.write(bytes))
    let answer = ''
    socket.on('data', chunk => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('API9, what there is:', () => {
  test('serves one version plus pages, health and machine endpoints', () => {
    const paths = walk.targets.map(({ path }) => path)
    expect(paths.filter(path => !/^\/(?:v1\/public|auth)\//.test(path))).toEqual([])
    const beside = routesOf(control.app.printRoutes({ commonPrefix: false })).filter(
      path => !/^\/(?:v1\/public|auth)\//.test(path),
    )
    expect([...new Set(beside.map(path => path.split('/').slice(0, 2).join('/')))].sort()).toEqual(BESIDE)
  })

  test('serves no old, internal or guessable paths', async () => {
    const guessed = [
      '/v0/public/calls',
      '/v2/public/calls',
      '/v1/internal/calls',
      '/v1/private/calls',
      '/api/calls',
      '/.env',
      '/.git/config',
    ]
    for (const url of [
      ...guessed,
      '/debug/pprof',
      '/actuator',
      '/swagger.json',
      '/graphql',
      '/server-status',
      '/metrics',
    ]) {
      expect([url, (await request(control.app, { method: 'GET', url })).status]).toEqual([url, 404])
    }
  })
})

const BESIDE = [
  ...['/', '/dashboard', '/dashboard*', '/docs', '/errors', '/healthz', '/livekit', '/mcp', '/openapi.json'],
  ...['/readyz', '/talk', '/terms'],
]

/** Whole paths, from the tree that Fastify prints. */
function routesOf(tree: string): string[] {
  const stack: string[] = []
  return tree.split('\n').flatMap(line => {
    const match = /^([│ ]*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line)
    if (!match) return []
    const depth = match[1]!.length / 4
    stack.splice(depth, stack.length, match[2]!)
    return match[3] ? [stack.join('')] : []
  })
}

describe('API10, what others answer us, a tool for instance:', () => {
  const answers: [string, (respond: import('node:http').ServerResponse) => void][] = [
    ['2 MB', one => void one.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(2_000_000)}"`)],
    ['a redirect inside', one => void one.writeHead(302, { location: 'http://169.254.169.254/' }).end()],
    ['a redirect to a file', one => void one.writeHead(302, { location: 'file:///etc/passwd' }).end()],
    ['a page', one => void one.writeHead(200, { 'content-type': 'text/html' }).end('<script>alert(1)</script>')],
    ['what is no JSON', one => void one.writeHead(200, { 'content-type': 'application/json' }).end('{"a":')],
    ['depth', one => void one.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(100_000))],
    ['a status that is none', one => void one.writeHead(599).end('no')],
    ['a broken connection', one => void one.destroy()],
    ['bytes', one => void one.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0xff, 0, 0xfe]))],
  ]

  test.each(answers)('passes %s to the model in bounded form without an internal error', async (_, answer) => {
    const open = await createControl({ fetch: createSafeFetch({ allow: [new URL(inside.url).host] }) })
    try {
      const owner = await createTenant(open)
      inside.answer((_request, response) => answer(response))
      await owner.call('PATCH', `/projects/${owner.projectId}`, {
        tools: [{ name: 'look', method: 'GET', url: inside.url }],
      })
      const tried = await owner.call('POST', `/projects/${owner.projectId}/tools/look/test`, { arguments: {} })
      expect(tried.status).toBe(200)
      expect(tried.body.result.length).toBeLessThanOrEqual(4200)
      expect(tried.body.result).not.toContain('<script')
      expect(open.deps.log.lines.filter(({ level }) => level === 'error')).toEqual([])
    } finally {
      inside.answer((_request, response) => void response.writeHead(204).end())
      await open.close()
    }
  })
})
