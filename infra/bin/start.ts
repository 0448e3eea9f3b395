/**
 * Starts everything on one machine: finds or installs what is missing, starts the parts in order of dependency, places
 * the demo call, keeps running, and stops in reverse order. A configured URL replaces the embedded part.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mayReach } from '../../media/shared/addresses.ts'
import { writeAllowedSources } from '../adapters/allowed-sources.ts'
import { createLog } from '../adapters/log.ts'
import { mailFolder, showMail } from '../adapters/mail.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { type DemoFile, openDemoAccount } from '../demo/account.ts'
import { runDemoCall } from '../demo/call.ts'
import { type DemoWorld, startWorld } from '../demo/world.ts'
import { startChild } from '../embedded/child.ts'
import { type Home, HomeInUse, lockHome } from '../embedded/home.ts'
import { onFreePort } from '../embedded/ports.ts'
import { startPostgres } from '../embedded/postgres.ts'
import { startProcess, startSipServer, startSpeech } from '../embedded/programs.ts'
import { startRedis } from '../embedded/redis.ts'
import { ensureRedis } from '../embedded/redis-server.ts'
import { ensureEmbeddingModel } from '../models/embedding/model.ts'
import { ensureModels, modelsFolder } from '../models/offline-speech.ts'
import { ensureWhisper, whisperPath } from '../models/whisper.ts'
import { createReporter, ensurePrograms, inBackground } from '../setup/prepare.ts'
import { ensureDashboard } from '../tools/dashboard.ts'
import { buildControlParts } from '../wiring/parts.ts'
import { planRooms } from '../wiring/rooms.ts'

const { values: options } = parseArgs({
  options: { 'demo-only': { type: 'boolean', default: false }, 'no-demo': { type: 'boolean', default: false } },
})

const reporter = createReporter()
/** Milliseconds: one Ctrl-C arrives several times, from the terminal, from npm and from set-up. */
const SAME_SIGNAL_MS = 1000
interface Part {
  stop(): Promise<void>
  hurry?(): void
}
/** Running parts, newest last; stopped in reverse order. */
const running: (Part & { name: string })[] = []
let stopping: Promise<void> | null = null
let hurried = false
let drainSeconds = 0

function stopAll(): Promise<void> {
  stopping ??= (async () => {
    for (const part of running.reverse()) {
      const stopped = part.stop()
      if (hurried) part.hurry?.()
      await stopped.catch(error => console.log(`· ${part.name} did not stop cleanly: ${(error as Error).message}`))
    }
  })()
  return stopping
}

let signalledMs = -Infinity
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const again = performance.now() - signalledMs > SAME_SIGNAL_MS
    signalledMs = performance.now()
    if (!stopping) {
      const most = drainSeconds > 0 ? `, for up to ${drainSeconds} s. Press Ctrl-C again to end them now` : ''
      console.log(`\n· Stopping. Waiting for live calls to end${most}.`)
      void stopAll().then(() => process.exit(0))
    } else if (again) {
      if (!hurried) console.log('\n· Ending live calls now.')
      hurried = true
      for (const part of running) part.hurry?.()
    }
  })
}

try {
  const ok = await main()
  if (options['demo-only']) {
    await stopAll()
    process.exit(ok ? 0 : 1)
  }
} catch (error) {
  if (!stopping) {
    const known = error instanceof ConfigError || error instanceof HomeInUse
    console.log(`\n${known ? (error as Error).message : `Couldn’t start Parley: ${(error as Error).message}`}`)
    await stopAll()
    process.exit(1)
  }
}

async function main(): Promise<boolean> {
  const config = readConfig()
  drainSeconds = config.ENGINE_DRAIN_SECONDS
  const home = await lockHome(config.home)
  running.push({ name: 'home', stop: async () => home.release() })
  await prepare(config)
  // Files created from here on contain parts of calls, so only their owner may read them.
  process.umask(0o077)
  const started = reporter.step('Starting')
  const stack = await startStack(config, home)
  started(stack.parts.join(', '))
  fetchRussianStt(config)
  console.log(
    `· REST on ${stack.baseUrl}/v1/public, SIP on ${stack.sip.host}:${stack.sip.port}${stack.sttReady ? '' : '; speech-to-text is unavailable (see above)'}`,
  )
  const demo = !options['no-demo'] && mayReach(config.TRUNK_PRIVATE_HOSTS, '127.0.0.1')
  if (!demo && !options['no-demo'])
    reporter.say('Skipping the demo call: TRUNK_PRIVATE_HOSTS does not allow trunks on this machine.')
  const ok = !demo || (await runDemoCall(stack.demo, stack.world))
  if (!ok) console.log(`\nThe demo call failed. See the logs in ${home.logs}.`)
  if (!options['demo-only']) printAddresses(stack, config)
  return ok
}

// Downloads and system packages.

async function prepare(config: Config): Promise<void> {
  const haveModels = existsSync(modelsFolder(config.cache))
  // In one call, so that the system's package manager runs once.
  const missing = await ensurePrograms(
    [
      ...(config.REDIS_URL ? [] : ['redis-server']),
      ...['espeak-ng', ...(haveModels || config.SPEECH_PORT ? [] : ['python3', 'pip3'])],
    ],
    reporter,
  )
  const noRedis = config.REDIS_URL ? null : await ensureRedis(config.cache, reporter)
  if (noRedis) throw new Error(`Redis is not available: ${noRedis}`)
  if (missing.includes('espeak-ng'))
    reporter.say('espeak-ng is not installed: languages other than English have no offline voice.')
  if (config.EMBEDDINGS === 'auto' && !config.EMBEDDINGS_URL) {
    const embeddingUnavailable = await ensureEmbeddingModel(config.cache, reporter)
    if (embeddingUnavailable)
      reporter.say(`Embedding model unavailable (${embeddingUnavailable}). Knowledge uses full-text search only.`)
  }
  const unbuilt = await ensureDashboard(reporter)
  if (unbuilt) reporter.say(`Dashboard unavailable: ${unbuilt}`)
  if (config.SPEECH_PORT) return
  const problem = await ensureModels(config.cache, reporter)
  if (problem) {
    reporter.say(`Speech models unavailable (${problem}). Calls work, but the agent understands only the keypad.`)
  }
}

// The parts, in order of dependency.

interface Stack {
  parts: string[]
  baseUrl: string
  sip: { host: string; port: number }
  sttReady: boolean
  /** True when browser sessions work too. */
  rooms: boolean
  demo: DemoFile
  world: DemoWorld
}

async function startStack(config: Config, home: Home): Promise<Stack> {
  const { say: report } = reporter
  const watch = { report, note: (pid: number) => home.note(pid) }
  const logFile = (name: string) => join(home.logs, `${name}.log`)
  const keep = (name: string, part: Part) => {
    running.push({ name, stop: () => part.stop(), hurry: () => part.hurry?.() })
    parts.push(name)
  }
  const parts: string[] = []
  const env: Record<string, string> = { PARLEY_HOME: config.home, PARLEY_SECRET: config.secret }

  if (!config.DATABASE_URL) {
    const postgres = await startPostgres({
      folder: join(config.home, 'postgres'),
      logFile: logFile('postgres'),
      port: 5433,
      ...watch,
    })
    keep('Postgres', postgres.child)
    env['DATABASE_URL'] = postgres.url
  }
  if (!config.REDIS_URL) {
    const redis = await startRedis({
      folder: join(config.home, 'redis'),
      logFile: logFile('redis'),
      port: 6380,
      ...watch,
    })
    keep('Redis', redis.child)
    env['REDIS_URL'] = redis.url
  }
  const connections = {
    database_url: config.DATABASE_URL ?? env['DATABASE_URL']!,
    redis_url: config.REDIS_URL ?? env['REDIS_URL']!,
  }
  home.publish(connections)
  const mail = showMail(mailFolder(config.home), text => report(`New mail:\n\n${text}`))
  running.push({ name: 'mail', stop: () => mail.stop() })
  const sip = await startSip(config, env, { logFile: logFile('sip-server'), watch, keep })
  const sttReady = await startSpeechRecognition(config, env, { logFile: logFile('speech'), watch, keep })
  const world = await onFreePort(8090, startWorld)
  running.push({ name: 'demo world', stop: () => world.close() })
  const phone = await startPhone(config, logFile('phone'), watch)
  keep('phone', phone.child)
  // The demo call does not need LiveKit, and must not wait for its build.
  const rooms = options['demo-only'] ? null : await planRooms({ config, logFile: logFile('livekit'), ...watch })
  if (rooms) running.push({ name: 'LiveKit', stop: () => rooms.stop() })
  Object.assign(env, rooms?.env)
  env['FETCH_ALLOW'] = [...config.FETCH_ALLOW, `127.0.0.1:${world.port}`].join(',')
  const control = await onFreePort(
    config.HTTP_PORT,
    async port => {
      const own = { ...env, ...metricsPort(config, 0), HTTP_PORT: String(port) }
      const child = await startProcess({
        name: 'Control',
        file: 'control.ts',
        env: own,
        drainSeconds: config.CONTROL_DRAIN_SECONDS,
        logFile: logFile('control'),
        ...watch,
      })
      return { port, child }
    },
    { host: config.HTTP_HOST },
  )
  keep('control', control.child)
  env['HTTP_PORT'] = String(control.port)
  if (control.port !== config.HTTP_PORT) report(`Port ${config.HTTP_PORT} is in use. REST listens on ${control.port}.`)
  const baseUrl = `http://${config.HTTP_HOST}:${control.port}`
  const publicUrl = config.PUBLIC_URL ?? baseUrl
  const opened = rooms?.open({ control: localUrl(config.HTTP_HOST, control.port), talk: `${publicUrl}/talk` })
  const engine = { env: { ...env, ...metricsPort(config, 1) }, logFile: logFile('engine'), drainSeconds }
  keep('engine', await startProcess({ name: 'Engine', file: 'engine.ts', ...engine, ...watch }))
  const { PARLEY_SECRET: _secret, PARLEY_HOME: _home, ...settings } = env
  home.publish({ ...connections, settings })
  const roomsOpen = (await opened) ?? config.LIVEKIT_URL !== undefined
  if (roomsOpen && rooms) parts.push('LiveKit')

  const addresses = { baseUrl: publicUrl, sip, phone, worldPort: world.port }
  const demo = await withParts({ ...process.env, ...env }, controlParts =>
    // The demo's trunk leads to a phone on this machine, whatever the setting for other trunks.
    openDemoAccount(
      { ...controlParts, config: { ...controlParts.config, trunk_private_hosts: 'allow' } },
      join(config.home, 'demo.json'),
      addresses,
    ),
  )
  world.setSecret(demo.webhook_secret)
  return { parts, baseUrl, sip, sttReady, rooms: roomsOpen, demo, world }
}

function hostPort(host: string, port: number | string): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Control's address for our own children, also when it listens on all addresses. */
function localUrl(host: string, port: number): string {
  const own = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${hostPort(own, port)}`
}

/** Each process serves its metrics on its own port: control, engine, SIP server. */
function metricsPort({ METRICS_PORT }: Config, nth: number): Record<string, string> {
  return METRICS_PORT === undefined || METRICS_PORT === 0 ? {} : { METRICS_PORT: String(METRICS_PORT + nth) }
}

interface Watch {
  report(text: string): void
  note(pid: number): void
}

interface Keeping {
  logFile: string
  watch: Watch
  keep(name: string, part: Part): void
}

async function startSip(config: Config, env: Record<string, string>, { logFile, watch, keep }: Keeping) {
  const host = config.SIP_HOST
  if (config.DRACHTIO_HOST) return { host, port: config.SIP_PORT }
  const secret = randomBytes(16).toString('hex')
  const { METRICS_PORT: metrics } = metricsPort(config, 2)
  const limits = {
    logFile,
    logLevel: config.PARLEY_LOG_LEVEL,
    privateHosts: config.TRUNK_PRIVATE_HOSTS,
    ...(metrics === undefined ? {} : { metrics: hostPort(config.METRICS_HOST, metrics) }),
  }
  const allowFile = join(config.home, 'sip-allowed-sources')
  writeAllowedSources(allowFile, [])
  const server = await onFreePort(
    config.SIP_PORT,
    port =>
      onFreePort(9022, async admin => {
        const listen = [`udp:${host}:${port}`, `tcp:${host}:${port}`]
        return {
          port,
          admin,
          ...(await startSipServer({ admin: `127.0.0.1:${admin}`, secret, listen, allowFile, ...limits, ...watch })),
        }
      }),
    { host, udpToo: true },
  )
  const { port, admin } = server
  if (port !== config.SIP_PORT) watch.report(`Port ${config.SIP_PORT} is in use. SIP listens on ${port}.`)
  keep('SIP server', server.child)
  Object.assign(env, {
    DRACHTIO_HOST: '127.0.0.1',
    DRACHTIO_PORT: String(admin),
    DRACHTIO_SECRET: secret,
    SIP_PORT: String(port),
    SIP_ALLOW_FILE: allowFile,
  })
  return { host, port }
}

async function startSpeechRecognition(
  config: Config,
  env: Record<string, string>,
  { logFile, watch, keep }: Keeping,
): Promise<boolean> {
  if (config.SPEECH_PORT) return true
  const models = modelsFolder(config.cache)
  const speech = await onFreePort(9040, async port => ({
    port,
    ...(await startSpeech({
      port,
      models,
      whisper: whisperPath(config.cache),
      threads: config.speechThreads,
      logFile,
      logLevel: config.PARLEY_LOG_LEVEL,
      ...watch,
    })),
  }))
  keep('speech', speech.child)
  env['SPEECH_PORT'] = String(speech.port)
  return speech.sttReady
}

function startPhone(config: Config, logFile: string, watch: Watch) {
  const file = fileURLToPath(new URL('../demo/phone.ts', import.meta.url))
  const record = join(config.home, 'demo-call.wav')
  const start = async (port: number) => {
    const child = await startChild({
      name: 'Phone',
      command: process.execPath,
      args: [file, '--port', String(port), '--record', record],
      logFile,
      ready: (line: string) => line.startsWith('{"ready":true'),
      readyTimeoutMs: 20_000,
      ...watch,
    })
    return { child, host: '127.0.0.1', port }
  }
  return onFreePort(5070, start, { udpToo: true })
}

/** Downloads 130 MB in the background, which an English installation does not need. */
function fetchRussianStt(config: Config): void {
  if (config.SPEECH_PORT || config.RUSSIAN_STT === 'off' || options['demo-only']) return
  if (existsSync(whisperPath(config.cache))) return
  const fetching = new AbortController()
  running.push({ name: 'Russian speech-to-text', stop: async () => fetching.abort() })
  void ensureWhisper(config.cache, fetching.signal, inBackground(reporter.say)).then(problem => {
    if (stopping) return
    if (problem) reporter.say(`Russian speech-to-text unavailable (${problem}).`)
    else reporter.say('Russian speech-to-text is ready.')
  })
}

async function withParts<T>(
  env: NodeJS.ProcessEnv,
  use: (parts: ReturnType<typeof buildControlParts>) => Promise<T>,
): Promise<T> {
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

function printAddresses({ demo, rooms, sip }: Stack, config: Config): void {
  const file = join(config.home, 'demo.json')
  console.log(`
Parley is up. Press Ctrl-C to stop it; data is kept.

  REST       ${demo.base_url}/v1/public   (docs: ${demo.base_url}/docs)
  SIP        ${demo.sip_uri}   (call it from this machine, for example with baresip)
  Softphone  ${demo.softphone.username} at ${sip.host}:${sip.port}   (password ${demo.softphone.password}; dial "agent")
  Talk       ${rooms ? `${demo.base_url}/talk   (in a browser, with the API key)` : 'unavailable until LiveKit is running, see above'}
  Dashboard  ${demo.dashboard_url}   (log in as ${demo.login.email}, password ${demo.login.password}${config.SIGN_UP === 'on' ? ', or sign up' : ''})
  MCP        ${demo.mcp_url}   (with the API key as bearer token)
  API key    in ${file}, with all addresses

  Try        curl -H "X-API-Key: $(node -p "require('${file}').api_key")" ${demo.base_url}/v1/public/calls
  Recording  ${join(config.home, 'demo-call.wav')} (demo call; caller left, agent right)
`)
}
