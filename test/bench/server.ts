/**
 * One server of the control benchmark, in a separate process: `ours` is the whole app, `bare` a plain Fastify whose
 * routes run one SQL statement each over the same rows. Arguments are JSON.
 */

import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import Fastify, { type FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'
import { buildApp } from '../../control/app.ts'
import { type Deps, defaultConfig } from '../../control/deps.ts'
import { handlers } from '../../control/handlers.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { createFolderBlobs } from '../../infra/adapters/blobs.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { quietLog } from '../support/world.ts'
import { bareRoutes } from './bare-routes.ts'

export interface ServerArguments {
  kind: 'ours' | 'bare'
  databaseUrl: string
  redisUrl: string
}

const POOL = 10

const { kind, databaseUrl, redisUrl } = JSON.parse(process.argv[2]!) as ServerArguments
const sql = connect({ url: databaseUrl, max: POOL })
const livekit = createLiveKit({
  url: await startRooms(),
  publicUrl: 'ws://127.0.0.1',
  apiKey: 'bench',
  prefix: 'bench-',
  apiSecret: 'of thirty-two characters or more, as the token wants',
})
const app = kind === 'ours' ? await ours() : bare()
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as { port: number }
process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`)
process.on('SIGTERM', () => process.exit(0))

/** Sessions need no media server; it is only asked, every few seconds, whether it is available. */
async function startRooms(): Promise<string> {
  const rooms = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"rooms":[]}')
  })
  await new Promise<void>(resolve => rooms.listen(0, '127.0.0.1', resolve))
  return `ws://127.0.0.1:${(rooms.address() as { port: number }).port}`
}

async function ours(): Promise<FastifyInstance> {
  const redis = new Redis(redisUrl)
  const boss = createBoss({ url: databaseUrl, max: 2, log: quietLog, supervise: false })
  await boss.start()
  const sealer = createSealer('the bench has no secrets')
  const bus = createControlBus({ redis, sealer, consumer: 'bench', log: quietLog, prefix: 'bench' })
  const deps: Deps = {
    ...handlers,
    sql,
    redis,
    bus,
    sealer,
    boss,
    livekit,
    clock: systemClock,
    log: quietLog,
    config: { ...defaultConfig, redis_prefix: 'bench', max_calls_per_owner: 1_000_000, max_event_loop_delay_ms: 0 },
    fetch: () => Promise.reject(new Error('the bench reaches nobody')),
    blobs: createFolderBlobs(tmpdir()),
    mail: { send: async () => {} },
  }
  return buildApp(deps)
}

function bare(): FastifyInstance {
  const plain = Fastify()
  plain.setErrorHandler((error, _, reply) => {
    console.error((error as Error).message)
    return reply.code(500).send()
  })
  bareRoutes(plain, sql, livekit)
  return plain
}
