/**
 * Control's main routes against a bare Fastify that runs one equivalent SQL statement, webhooks against a bare loop,
 * and how routes over history grow with it, in one run.
 */
import autocannon from 'autocannon'
import { createKey } from '../../control/access/keys/service.ts'
import { json } from '../../control/platform/db/connect.ts'
import { busKeys } from '../../media/bus/keys.ts'
import type { CallRecord, Heartbeat, Turn } from '../../media/contract/messages.ts'
import { askAt, fillPast, growthSeries, SIZES, type Sized } from './control-growth.ts'
import {
  type ControlWorld,
  openControlWorld,
  type Reader,
  type Server,
  seedCallers,
  seedReader,
  startServer,
} from './control-world.ts'
import type { BenchOptions, Line, Measured } from './report.ts'
import { type Kind, type RouteLoad, type Rows, routeLoads } from './route-loads.ts'
import { median, percentile } from './rpc.ts'
import { benchWebhooks } from './webhooks.ts'

const CONNECTIONS = 16
/** Enough for each key to stay within its 120 requests per minute. */
const READ_KEYS = 1500
const CALLERS = 100
const KEYS_A_CALLER = 6
const QUICK = { rounds: 3, seconds: 1, deliveries: 1600, askedMs: 1000 }
const FULL = { rounds: 5, seconds: 3, deliveries: 8000, askedMs: 4000 }
const kinds: readonly Kind[] = ['ours', 'bare']

export async function benchRoutes({ full, report }: BenchOptions): Promise<Measured> {
  const { rounds, seconds, deliveries, askedMs } = full ? FULL : QUICK
  const world = await openControlWorld(report)
  const servers = {} as Record<Kind, Server>
  try {
    const lines = [await benchWebhooks(world.deps, deliveries, report)]
    const { databaseUrl, redisUrl } = world
    for (const kind of kinds) servers[kind] = await startServer({ kind, databaseUrl, redisUrl })
    const reader = await seedReader(world.deps, READ_KEYS)
    const sized = await grow(world, servers, reader, { askedMs, report })
    const rows = await seedRows(world, servers.ours, reader)
    for (const load of routeLoads(rows)) lines.push(...(await compare(load, servers, { rounds, seconds, report })))
    return { lines, series: growthSeries(sized), unmeasured: [] }
  } finally {
    for (const server of Object.values(servers)) server.stop()
    await world.stop()
  }
}

async function grow(
  { deps }: ControlWorld,
  servers: Record<Kind, Server>,
  reader: Reader,
  { askedMs, report }: Pick<BenchOptions, 'report'> & { askedMs: number },
): Promise<Sized[]> {
  const sized: Sized[] = []
  for (const [index, size] of SIZES.entries()) {
    report(`Writing calls up to ${size.toLocaleString('en')}`)
    await fillPast(deps.sql, reader, SIZES[index - 1] ?? 0, size)
    await askAt(size, servers, reader, 0) // warm-up: prepares statements and loads pages
    sized.push(await askAt(size, servers, reader, askedMs))
  }
  return sized
}

const CAMPAIGN_CONTACTS = 100

/** Rows for the routes, besides the reader's calls: a campaign, owners that call, and an engine with a free slot. */
async function seedRows({ deps }: ControlWorld, ours: Server, reader: Reader): Promise<Rows> {
  const { value: key } = await createKey(deps, reader.ownerId, { name: 'bench', scopes: ['write'] })
  const post = async (path: string, body: unknown) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const response = await fetch(`${ours.url}/v1/public${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as { id: string }
  }
  const { id: campaignId } = await post('/campaigns', { name: 'bench', project_id: reader.projectId })
  const contacts = Array.from({ length: CAMPAIGN_CONTACTS }, (_, n) => ({ phone: `+1415${5_000_000 + n}` }))
  await post(`/campaigns/${campaignId}/contacts`, contacts)
  const callIds = await talkedCalls(deps, reader)
  const keys = busKeys('bench')
  const beat: Heartbeat = {
    engine: 'bench',
    boot: '1',
    at: Date.now(),
    calls: 0,
    capacity: 1,
    stt_ready: true,
    rooms: true,
  }
  await deps.redis.multi().set(keys.heartbeat('bench'), JSON.stringify(beat)).sadd(keys.heartbeats, 'bench').exec()
  const callers = await seedCallers(deps, CALLERS, KEYS_A_CALLER)
  return { reader, callers, campaignId, callIds }
}

const TURNS = 20

/** Gives some of the reader's calls, spread over the table, a transcript of two minutes. */
async function talkedCalls({ sql }: ControlWorld['deps'], { ownerId }: Reader): Promise<string[]> {
  const transcript: Turn[] = Array.from({ length: TURNS }, (_, n) => {
    const text = 'A table for four on Friday at eight, by the window if you can.'
    const times = { started_ms: n * 6000, ended_ms: n * 6000 + 4000 }
    return { role: n % 2 === 0 ? 'agent' : 'caller', text, heard_text: text, ...times, interrupted: false }
  })
  const turn = {
    total_ms: 620,
    endpointing_ms: 300,
    stt_ms: 40,
    llm_first_token_ms: 210,
    tts_first_byte_ms: 70,
    filler: false,
  }
  const latency: CallRecord['latency'] = { p50_ms: 620, p95_ms: 620, turns: Array(TURNS / 2).fill(turn) }
  const rows = await sql<{ id: string }[]>`
    update calls set transcript = ${json(sql, transcript)}, latency = ${json(sql, latency)}
    where id in (select id from calls where owner_id = ${ownerId} order by md5(id::text) limit ${READ_KEYS})
    returning id`
  return rows.map(({ id }) => id)
}

interface Taken {
  rates: number[]
  /** p99 of each round. */
  p99: number[]
}

/** Alternates, so that other load on the machine affects both alike; takes the median of the rounds. */
async function compare(
  { name, wanted, answers, load }: RouteLoad,
  servers: Record<Kind, Server>,
  { rounds, seconds, report }: { rounds: number; seconds: number; report: BenchOptions['report'] },
): Promise<Line[]> {
  const taken: Record<Kind, Taken> = { ours: { rates: [], p99: [] }, bare: { rates: [], p99: [] } }
  for (const kind of kinds) await assertAnswers(servers[kind].url, load[kind][0]!, answers)
  for (let round = 0; round <= rounds; round++) {
    for (const kind of kinds) {
      const { rate, times } = await fire(`${name}, ${kind}`, servers[kind].url, load[kind], round === 0 ? 1 : seconds)
      if (round === 0) continue // warm-up
      taken[kind].rates.push(rate)
      taken[kind].p99.push(percentile(times, 99))
    }
  }
  const [ours, bare] = [median(taken.ours.rates), median(taken.bare.rates)]
  const [slow, slowBare] = [median(taken.ours.p99), median(taken.bare.p99)]
  report(
    `${name}: ${Math.round(ours)} against ${Math.round(bare)} a second, p99 ${slow.toFixed(1)} against ${slowBare.toFixed(1)} ms`,
  )
  const ratio = ours / bare
  return [
    {
      name,
      value: ours,
      reference: bare,
      unit: 'requests/s',
      ratio,
      wanted: wanted === null ? '-' : `≥ ${wanted}`,
      ok: wanted === null || ratio >= wanted,
    },
    {
      name: `${name}: p99 of ${CONNECTIONS} at once`,
      value: slow,
      reference: slowBare,
      unit: 'ms',
      ratio: slow / slowBare,
      wanted: '-',
      ok: true,
    },
  ]
}

async function assertAnswers(url: string, request: autocannon.Request, answers: string): Promise<void> {
  const { setupRequest: setUp } = request
  const { method, path, headers, body } = typeof setUp === 'function' ? setUp(request, {}) : request
  const init = { method: method!, headers: headers as Record<string, string>, ...(body ? { body: String(body) } : {}) }
  const response = await fetch(url + path, init)
  const text = await response.text()
  if (!response.ok || !text.includes(answers))
    throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
}

async function fire(name: string, url: string, requests: autocannon.Request[], duration: number) {
  const times: number[] = []
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    // Each connection has its own share of keys, so that none waits for a lock of another one, and no key gets most of
    // the load.
    let connected = 0
    const setupClient = (client: autocannon.Client) => {
      const share = connected++ % CONNECTIONS
      const own = requests.filter((_, n) => n % CONNECTIONS === share)
      client.setRequests(own.length > 0 ? own : requests)
    }
    const one = requests.slice(0, 1)
    const run = autocannon({ url, connections: CONNECTIONS, duration, requests: one, setupClient }, (error, done) =>
      error ? reject(error) : resolve(done),
    )
    // autocannon's own percentiles are whole milliseconds.
    run.on('response', (_client, _status, _bytes, ms) => void times.push(ms))
  })
  if (result.non2xx > 0 || result.errors > 0) {
    const codes = JSON.stringify(result.statusCodeStats)
    throw new Error(`${name}: ${result.non2xx} refused, ${result.errors} broken, ${codes}`)
  }
  return { rate: result.requests.total / result.duration, times }
}
