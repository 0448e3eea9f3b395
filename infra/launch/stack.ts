/** The parts of `npm start`, in order of dependency. A configured URL replaces the embedded part. */
import { join } from 'node:path'
import { createLog } from '../adapters/log.ts'
import { mailFolder, showMail } from '../adapters/mail.ts'
import { readConfig } from '../config/config.ts'
import { type DemoAddresses, type DemoFile, openDemoAccount } from '../demo/account.ts'
import { type DemoWorld, startWorld } from '../demo/world.ts'
import { onFreePort } from '../embedded/ports.ts'
import { startPostgres } from '../embedded/postgres.ts'
import { startProcess } from '../embedded/programs.ts'
import { startRedis } from '../embedded/redis.ts'
import { buildControlParts, type ControlParts } from '../wiring/parts.ts'
import { planRooms } from '../wiring/rooms.ts'
import { hostPort, type Launch } from './launch.ts'
import { startPhone, startSip, startSpeechRecognition } from './telephony.ts'

export interface Stack {
  parts: string[]
  baseUrl: string
  sip: { host: string; port: number }
  sttReady: boolean
  /** True when browser sessions work too. */
  rooms: boolean
  demo: DemoFile
  world: DemoWorld
}

/** `webCalls`: start LiveKit, too. The demo call does not need it, and must not wait for its build. */
export async function startStack(launch: Launch, { webCalls }: { webCalls: boolean }): Promise<Stack> {
  const { config, home, env, names } = launch
  const connections = await startStores(launch)
  home.publish(connections)
  const mail = showMail(mailFolder(config.home), text => launch.reporter.say(`New mail:\n\n${text}`))
  launch.running.add('mail', { stop: () => mail.stop() })
  const sip = await startSip(launch)
  const sttReady = await startSpeechRecognition(launch)
  const world = await onFreePort(8090, startWorld)
  launch.running.add('demo world', { stop: () => world.close() })
  const phone = await startPhone(launch)
  const rooms = webCalls ? await planRooms({ config, ...launch.child('livekit') }) : null
  if (rooms) launch.running.add('LiveKit', { stop: () => rooms.stop() })
  Object.assign(env, rooms?.env)
  env['FETCH_ALLOW'] = [...config.FETCH_ALLOW, `127.0.0.1:${world.port}`].join(',')
  const port = await startControl(launch)
  const baseUrl = `http://${config.HTTP_HOST}:${port}`
  const publicUrl = config.PUBLIC_URL ?? baseUrl
  const opened = rooms?.open({ control: localUrl(config.HTTP_HOST, port), talk: `${publicUrl}/talk` })
  await startEngine(launch)
  const { PARLEY_SECRET: _secret, PARLEY_HOME: _home, ...settings } = env
  home.publish({ ...connections, settings })
  const roomsOpen = (await opened) ?? config.LIVEKIT_URL !== undefined
  if (roomsOpen && rooms) names.push('LiveKit')
  const demo = await openDemo(launch, { baseUrl: publicUrl, sip, phone, worldPort: world.port })
  world.setSecret(demo.webhook_secret)
  return { parts: names, baseUrl, sip, sttReady, rooms: roomsOpen, demo, world }
}

async function startStores(launch: Launch): Promise<{ database_url: string; redis_url: string }> {
  const { config, env } = launch
  if (!config.DATABASE_URL) {
    const folder = join(config.home, 'postgres')
    const postgres = await startPostgres({ folder, port: 5433, ...launch.child('postgres') })
    launch.keep('Postgres', postgres.child)
    env['DATABASE_URL'] = postgres.url
  }
  if (!config.REDIS_URL) {
    const redis = await startRedis({ folder: join(config.home, 'redis'), port: 6380, ...launch.child('redis') })
    launch.keep('Redis', redis.child)
    env['REDIS_URL'] = redis.url
  }
  return {
    database_url: config.DATABASE_URL ?? env['DATABASE_URL']!,
    redis_url: config.REDIS_URL ?? env['REDIS_URL']!,
  }
}

/** Returns the port of REST and dashboard. */
async function startControl(launch: Launch): Promise<number> {
  const { config, env } = launch
  const control = await onFreePort(
    config.HTTP_PORT,
    async port => {
      const child = await startProcess({
        name: 'Control',
        file: 'control.ts',
        env: { ...env, ...launch.metricsPort(0), HTTP_PORT: String(port) },
        drainSeconds: config.CONTROL_DRAIN_SECONDS,
        ...launch.child('control'),
      })
      return { port, child }
    },
    { host: config.HTTP_HOST },
  )
  const { port } = control
  launch.keep('control', control.child)
  env['HTTP_PORT'] = String(port)
  if (port !== config.HTTP_PORT) launch.reporter.say(`Port ${config.HTTP_PORT} is in use. REST listens on ${port}.`)
  return port
}

async function startEngine(launch: Launch): Promise<void> {
  const child = await startProcess({
    name: 'Engine',
    file: 'engine.ts',
    env: { ...launch.env, ...launch.metricsPort(1) },
    drainSeconds: launch.config.ENGINE_DRAIN_SECONDS,
    ...launch.child('engine'),
  })
  launch.keep('engine', child)
}

function openDemo({ config, env }: Launch, addresses: DemoAddresses): Promise<DemoFile> {
  return withParts({ ...process.env, ...env }, parts =>
    // The demo's trunk leads to a phone on this machine, whatever the setting for other trunks.
    openDemoAccount(
      { ...parts, config: { ...parts.config, trunk_private_hosts: 'allow' } },
      join(config.home, 'demo.json'),
      addresses,
    ),
  )
}

async function withParts<T>(env: NodeJS.ProcessEnv, use: (parts: ControlParts) => Promise<T>): Promise<T> {
  const config = readConfig(env)
  const parts = buildControlParts(config, createLog('setup', 'warn'), `setup-${process.pid}`)
  await parts.boss.start()
  try {
    return await use(parts)
  } finally {
    await parts.boss.stop({ graceful: false })
    await parts.close()
  }
}

/** Control's address for our own children, also when it listens on all addresses. */
function localUrl(host: string, port: number): string {
  const own = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${hostPort(own, port)}`
}
