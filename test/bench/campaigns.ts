/**
 * A campaign of 100,000 contacts over HTTP: its upload, and its pages compared with those of a small one, in one run.
 */
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount, topUp } from '../../control/access/accounts/service.ts'
import { createKey } from '../../control/access/keys/service.ts'
import { defaultConfig } from '../../control/deps.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { createBoss, installQueues } from '../../control/platform/jobs/jobs.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { quietLog } from '../support/world.ts'
import { startServer } from './control-world.ts'
import type { Line } from './report.ts'

const CONTACTS = 100_000
const A_REQUEST = 10_000
const FEW = 100
const UPLOAD_SECONDS = 20
const PAGE_RATIO = 1.3

export interface CampaignBench {
  rounds: number
  report(text: string): void
}

type Ask = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<{ ms: number; body: Answer }>
interface Answer {
  id: string
  accepted: number
  total: number
}

export async function benchCampaigns({ rounds, report }: CampaignBench): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  await chmod(folder, 0o755)
  const place = (name: string) => ({
    folder: join(folder, name),
    logFile: join(folder, `${name}.log`),
    port: randomInt(33_000, 60_000),
    report,
  })
  const postgres = await startPostgres(place('postgres'))
  const redis = await startRedis({ ...place('redis'), throwaway: true })
  const { url } = postgres
  await migrate({ url })
  const sql = connect({ url, max: 4 })
  const boss = createBoss({ url, log: quietLog, supervise: false })
  await boss.start()
  await installQueues(boss)
  const deps = { sql, clock: systemClock, config: defaultConfig }
  const server = await startServer({ kind: 'ours', databaseUrl: url, redisUrl: redis.url })
  try {
    const account = await createAccount(deps, { name: 'Campaigns' })
    await topUp(deps, account.id, '1000')
    const newKey = async () => (await createKey(deps, account.id, { name: 'bench', scopes: ['read', 'write'] })).value
    const ask = createAsk(server.url, newKey)
    const create = async (name: string) =>
      (await ask('POST', '/campaigns', { name, project_id: account.project_id })).body.id
    const [small, large] = [await create('small'), await create('large')]
    await ask('POST', `/campaigns/${small}/contacts`, rows(0, FEW))
    const upload = await uploadAll(ask, large, report)
    return [upload, ...(await comparePages(ask, { small, large }, { rounds, report }))]
  } finally {
    server.stop()
    await boss.stop({ graceful: false })
    await sql.end()
    await postgres.child.stop()
    await redis.child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Numbers as people write them, with a name and two vars each. */
const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    phone: `+7 (9${String(16 + ((from + i) % 8)).padStart(2, '0')}) ${String(1_000_000 + Math.floor((from + i) / 8)).replace(/(\d{3})(\d\d)/, '$1-$2-')}`,
    name: `Contact ${from + i}`,
    vars: { order: `A-${from + i}`, city: `City ${(from + i) % 500}` },
  }))

/** A key is used for a hundred requests, because the rate limit is not part of the measurement. */
function createAsk(address: string, newKey: () => Promise<string>): Ask {
  let key = ''
  let left = 0
  return async (method, path, body) => {
    if (left-- === 0) {
      key = await newKey()
      left = 100
    }
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    const headers = { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const began = performance.now()
    const response = await fetch(`${address}/v1/public${path}`, { method, headers, ...payload })
    const answer = (await response.json()) as Answer
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return { ms: performance.now() - began, body: answer }
  }
}

async function uploadAll(ask: Ask, id: string, report: (text: string) => void): Promise<Line> {
  let ms = 0
  for (let from = 0; from < CONTACTS; from += A_REQUEST) {
    const part = rows(from, A_REQUEST)
    const answer = await ask('POST', `/campaigns/${id}/contacts`, part)
    if (answer.body.accepted !== A_REQUEST) throw new Error(`${answer.body.accepted} of ${A_REQUEST} accepted`)
    ms += answer.ms
  }
  const value = ms / 1000
  report(`${CONTACTS.toLocaleString('en')} contacts uploaded in ${value.toFixed(1)} s`)
  return {
    name: `campaign: upload of ${CONTACTS.toLocaleString('en')} contacts`,
    value,
    reference: UPLOAD_SECONDS,
    unit: 's',
    ratio: value / UPLOAD_SECONDS,
    wanted: '< 1',
    ok: value < UPLOAD_SECONDS,
  }
}

const ASKED_A_ROUND = 100

/** Alternates between both; takes the median of each round, and the median of the rounds. */
async function comparePages(
  ask: Ask,
  { small, large }: { small: string; large: string },
  { rounds, report }: CampaignBench,
): Promise<Line[]> {
  const pages: [name: string, small: string, large: string][] = [
    ['its status', `/campaigns/${small}`, `/campaigns/${large}`],
    ['its first contacts', `/campaigns/${small}/contacts`, `/campaigns/${large}/contacts`],
    [
      'its last contacts',
      `/campaigns/${small}/contacts?offset=${FEW - 50}`,
      `/campaigns/${large}/contacts?offset=${CONTACTS - 50}`,
    ],
    ['those of a status', `/campaigns/${small}/contacts?status=pending`, `/campaigns/${large}/contacts?status=pending`],
  ]
  const lines: Line[] = []
  for (const [name, few, many] of pages) {
    const times: Record<'few' | 'many', number[]> = { few: [], many: [] }
    for (let round = 0; round <= rounds; round++) {
      const taken: typeof times = { few: [], many: [] }
      for (let i = 0; i < ASKED_A_ROUND; i++) {
        taken.few.push((await ask('GET', few)).ms)
        taken.many.push((await ask('GET', many)).ms)
      }
      if (round === 0) continue // warm-up
      times.few.push(median(taken.few))
      times.many.push(median(taken.many))
    }
    const [value, reference] = [median(times.many), median(times.few)]
    const ratio = value / reference
    report(`${name}: ${value.toFixed(2)} ms against ${reference.toFixed(2)} ms`)
    lines.push({
      name: `campaign of ${CONTACTS.toLocaleString('en')}: ${name}, against one of ${FEW}`,
      value,
      reference,
      unit: 'ms',
      ratio,
      wanted: `< ${PAGE_RATIO}`,
      ok: ratio < PAGE_RATIO,
    })
  }
  return lines
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
