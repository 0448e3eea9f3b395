/** The main routes as requests: ours with alternating keys, and the bare server's for the same rows. */
import type autocannon from 'autocannon'
import type { Caller, Reader } from './control-world.ts'

export type Kind = 'ours' | 'bare'

export interface RouteLoad {
  name: string
  /** Wanted fraction of the bare rate; null for information only. */
  wanted: number | null
  /** Text contained in every valid response. */
  answers: string
  load: Record<Kind, autocannon.Request[]>
}

export interface Rows {
  reader: Reader
  callers: Caller[]
  campaignId: string
  callIds: string[]
}

const OURS = '/v1/public'
const body = (value: unknown) => JSON.stringify(value)

export function routeLoads({ reader, callers, campaignId, callIds }: Rows): RouteLoad[] {
  const owner = `owner=${reader.ownerId}`
  const reads = (path: (n: number) => string) => ({
    ours: reader.keys.map((key, n) => ({ ...get(OURS + path(n)), headers: { 'x-api-key': key } })),
    bare: reader.keys.map((_, n) => get(`${path(n).split('?')[0]}?${owner}`)),
  })
  const told = (name: string, answers: string, load: RouteLoad['load']) => ({ name, wanted: null, answers, load })
  return [
    {
      ...told(
        'GET /calls, a page of 50',
        '"total"',
        reads(() => '/calls?limit=50'),
      ),
      wanted: 0.6,
    },
    told(
      'GET /calls/{id}',
      '"transcript"',
      reads(n => `/calls/${callIds[n % callIds.length]}`),
    ),
    told(
      'GET /projects',
      '"projects"',
      reads(() => '/projects'),
    ),
    told(
      'GET /campaigns/{id}',
      '"pending"',
      reads(() => `/campaigns/${campaignId}`),
    ),
    told(
      'GET /balance',
      '"minute_price"',
      reads(() => '/balance'),
    ),
    told('MCP, get_balance', '"structuredContent"', mcp(reader)),
    told('PATCH /projects/{id}', '"greeting"', patches(callers)),
    told('POST /realtime/session', '"token"', sessions(callers)),
    { ...told('POST /calls', '"queued"', calls(callers)), wanted: 0.35 },
  ]
}

const get = (path: string): autocannon.Request => ({ method: 'GET', path })

function mcp({ keys, ownerId }: Reader): RouteLoad['load'] {
  const post = (path: string, args: object, headers: Record<string, string>) => ({
    ...send('POST', path, headers),
    body: body({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_balance', arguments: args } }),
  })
  const accept = 'application/json, text/event-stream'
  return {
    ours: keys.map(key => post('/mcp', {}, { accept, 'x-api-key': key })),
    bare: [post('/mcp', { owner: ownerId }, { accept })],
  }
}

const send = (method: 'POST' | 'PATCH', path: string, headers: Record<string, string> = {}): autocannon.Request => ({
  method,
  path,
  headers: { 'content-type': 'application/json', ...headers },
})

/** Gives each request its own body. */
const made = (request: autocannon.Request, next: () => unknown): autocannon.Request => ({
  ...request,
  setupRequest: one => ({ ...one, body: body(next()) }),
})

const byKey = (callers: Caller[], of: (caller: Caller, key: string) => autocannon.Request) =>
  callers[0]!.keys.flatMap((_, n) => callers.map(caller => of(caller, caller.keys[n]!)))

let count = 0
const nextPhone = () => `+1${2_120_000_000 + count++}`
const nextGreeting = () => `Hello, this is number ${count++}.`

const patches = (callers: Caller[]): RouteLoad['load'] => ({
  ours: byKey(callers, ({ project_id }, key) =>
    made(send('PATCH', `${OURS}/projects/${project_id}`, { 'x-api-key': key }), () => ({ greeting: nextGreeting() })),
  ),
  bare: callers.map(({ owner_id, project_id }) =>
    made(send('PATCH', `/projects/${project_id}`), () => ({ owner_id, greeting: nextGreeting() })),
  ),
})

const sessions = (callers: Caller[]): RouteLoad['load'] => ({
  ours: byKey(callers, ({ project_id }, key) => ({
    ...send('POST', `${OURS}/realtime/session`, { 'x-api-key': key }),
    body: body({ project_id }),
  })),
  bare: callers.map(({ owner_id, project_id }) => ({
    ...send('POST', '/realtime/session'),
    body: body({ owner_id, project_id }),
  })),
})

const calls = (callers: Caller[]): RouteLoad['load'] => ({
  ours: byKey(callers, ({ project_id }, key) =>
    made(send('POST', `${OURS}/calls`, { 'x-api-key': key }), () => ({ project_id, phone: nextPhone() })),
  ),
  bare: callers.map(({ keys: _keys, ...one }) => made(send('POST', '/calls'), () => ({ ...one, phone: nextPhone() }))),
})
