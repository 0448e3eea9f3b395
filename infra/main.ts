/**
 * All in one: finds or installs what is missing, starts everything in order of need, places the demo call, stays up, and
 * stops in reverse. A configured URL always wins over an embedded part.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Config, ConfigError, readConfig } from './config.ts'
import { type DemoFile, openDemoAccount } from './demo/account.ts'
import { runDemoCall } from './demo/call.ts'
import { type DemoWorld, startWorld } from './demo/world.ts'
import { startChild } from './embedded/child.ts'
import { type Home, HomeInUse, takeHome } from './embedded/home.ts'
import { buildLiveKit, findLiveKit, startLiveKit } from './embedded/livekit.ts'
import { onFreePort } from './embedded/ports.ts'
import { startPostgres } from './embedded/postgres.ts'
import { startProcess, startSipServer, startSpeech } from './embedded/programs.ts'
import { startRedis } from './embedded/redis.ts'
import { createLog } from './log.ts'
import { mailFolder, showMail } from './mail.ts'
import { ensureModels, modelsFolder } from './models.ts'
import { buildControlParts } from './parts.ts'
import { createTeller, ensurePrograms, onPath } from './prepare.ts'
import { ensureWhisper, whisperPath } from './whisper.ts'

const { values: options } = parseArgs({
  options: { 'demo-only': { type: 'boolean', default: false }, 'no-demo': { type: 'boolean', default: false } },
})

const teller = createTeller()
/** What runs, newest last; stopped in reverse. */
const running: { name: string; stop(): Promise<void> }[] = []
let stopping: Promise<void> | null = null

function stopAll(): Promise<void> {
  stopping ??= (async () => {
    for (const part of running.reverse()) {
      await part.stop().catch(error => console.log(`· ${part.name} did not stop cleanly: ${(error as Error).message}`))
    }
  })()
  return stopping
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) return
    console.log('\n· Stopping; live calls are ended first.')
    void stopAll().then(() => process.exit(0))
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
    console.log(`\n${known ? (error as Error).message : `Parley cannot start: ${(error as Error).message}`}`)
    await stopAll()
    process.exit(1)
  }
}

async function main(): Promise<boolean> {
  const config = readConfig()
  const home = await takeHome(config.home)
  running.push({ name: 'home', stop: async () => home.release() })
  await prepare(config)
  const started = teller.step('Starting')
  const stack = await startStack(config, home)
  started(stack.parts.join(', '))
  startRooms(config, home)
  fetchRussianEars(config)
  console.log(
    `· REST on ${stack.baseUrl}/v1/public, SIP on ${stack.sip.host}:${stack.sip.port}${stack.hears ? '' : '; it cannot hear (see above)'}`,
  )
  const ok = options['no-demo'] || (await runDemoCall(stack.demo, stack.world))
  if (!ok) console.log(`\nThe demo call did not go as it should; ${home.logs} tells more.`)
  if (!options['demo-only']) printAddresses(stack, config)
  return ok
}

// ---- what a fresh machine lacks ----

async function prepare(config: Config): Promise<void> {
  const needed = config.REDIS_URL ? [] : ['redis-server']
  const haveModels = existsSync(modelsFolder(config.cache))
  const missing = await ensurePrograms(
    [...needed, 'espeak-ng', ...(haveModels || config.SPEECH_PORT ? [] : ['python3', 'pip3'])],
    teller,
  )
  if (missing.includes('redis-server')) {
    throw new Error('redis-server is not installed, and only root can install it here. Install it, or set REDIS_URL.')
  }
  if (missing.includes('espeak-ng'))
    teller.say('espeak-ng is not installed: languages other than English have no offline voice.')
  if (config.SPEECH_PORT) return
  const problem = await ensureModels(config.cache, teller)
  if (problem) {
    teller.say(
      `The speech models are not here (${problem}). Calls work, but the agent cannot hear; keys on the telephone do.`,
    )
  }
}

// ---- the parts, in order of need ----

interface Stack {
  parts: string[]
  baseUrl: string
  sip: { host: string; port: number }
  hears: boolean
  demo: DemoFile
  world: DemoWorld
}

async function startStack(config: Config, home: Home): Promise<Stack> {
  const { say: tell } = teller
  const watch = { tell, note: (pid: number) => home.note(pid) }
  const logFile = (name: string) => join(home.logs, `${name}.log`)
  const keep = (name: string, child: { stop(): Promise<void> }) => {
    running.push({ name, stop: () => child.stop() })
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
  home.tell({
    database_url: config.DATABASE_URL ?? env['DATABASE_URL']!,
    redis_url: config.REDIS_URL ?? env['REDIS_URL']!,
  })
  const mail = showMail(mailFolder(config.home), text => tell(`A mail was sent:\n\n${text}`))
  running.push({ name: 'mail', stop: () => mail.stop() })
  const sip = await startSip(config, env, { logFile: logFile('sip-server'), watch, keep })
  const hears = await startEars(config, env, { logFile: logFile('speech'), watch, keep })
  const world = await onFreePort(8090, startWorld)
  running.push({ name: 'demo world', stop: () => world.close() })
  const phone = await startPhone(config, logFile('phone'), watch)
  keep('telephone', phone.child)
  env['FETCH_ALLOW'] = [...config.FETCH_ALLOW, `127.0.0.1:${world.port}`].join(',')
  const control = await onFreePort(
    config.HTTP_PORT,
    async port => {
      const own = { ...env, HTTP_PORT: String(port) }
      const child = await startProcess({
        name: 'Control',
        file: 'control.ts',
        env: own,
        logFile: logFile('control'),
        ...watch,
      })
      return { port, child }
    },
    { host: config.HTTP_HOST },
  )
  keep('control', control.child)
  env['HTTP_PORT'] = String(control.port)
  if (control.port !== config.HTTP_PORT) tell(`Port ${config.HTTP_PORT} is taken, REST is on ${control.port}.`)
  keep('engine', await startProcess({ name: 'Engine', file: 'engine.ts', env, logFile: logFile('engine'), ...watch }))

  const baseUrl = `http://${config.HTTP_HOST}:${env['HTTP_PORT']}`
  const addresses = { baseUrl: config.PUBLIC_URL ?? baseUrl, sip, phone, worldPort: world.port }
  const demo = await withParts({ ...process.env, ...env }, controlParts =>
    openDemoAccount(controlParts, join(config.home, 'demo.json'), addresses),
  )
  world.setSecret(demo.webhook_secret)
  return { parts, baseUrl, sip, hears, demo, world }
}

interface Watch {
  tell(text: string): void
  note(pid: number): void
}

interface Keeping {
  logFile: string
  watch: Watch
  keep(name: string, child: { stop(): Promise<void> }): void
}

async function startSip(config: Config, env: Record<string, string>, { logFile, watch, keep }: Keeping) {
  const host = config.SIP_HOST
  if (config.DRACHTIO_HOST) return { host, port: config.SIP_PORT }
  const secret = randomBytes(16).toString('hex')
  const server = await onFreePort(
    config.SIP_PORT,
    port =>
      onFreePort(9022, async admin => {
        const listen = [`udp:${host}:${port}`, `tcp:${host}:${port}`]
        return {
          port,
          admin,
          ...(await startSipServer({ admin: `127.0.0.1:${admin}`, secret, listen, logFile, ...watch })),
        }
      }),
    { host, udpToo: true },
  )
  const { port, admin } = server
  if (port !== config.SIP_PORT) watch.tell(`Port ${config.SIP_PORT} is taken, SIP is on ${port}.`)
  keep('SIP server', server.child)
  Object.assign(env, {
    DRACHTIO_HOST: '127.0.0.1',
    DRACHTIO_PORT: String(admin),
    DRACHTIO_SECRET: secret,
    SIP_PORT: String(port),
  })
  return { host, port }
}

async function startEars(
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
      ...watch,
    })),
  }))
  keep('speech', speech.child)
  env['SPEECH_PORT'] = String(speech.port)
  return speech.hears
}

function startPhone(config: Config, logFile: string, watch: Watch) {
  const file = fileURLToPath(new URL('demo/phone.ts', import.meta.url))
  const record = join(config.home, 'demo-call.wav')
  const start = async (port: number) => {
    const child = await startChild({
      name: 'Telephone',
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

/** 130 MB that an English installation does without: nothing waits for them. */
function fetchRussianEars(config: Config): void {
  if (config.SPEECH_PORT || config.RUSSIAN_EARS === 'off' || options['demo-only']) return
  if (existsSync(whisperPath(config.cache))) return
  const fetching = new AbortController()
  running.push({ name: 'Russian ears', stop: async () => fetching.abort() })
  void ensureWhisper(config.cache, fetching.signal).then(problem => {
    if (stopping) return
    if (problem) teller.say(`Russian is spoken but not understood: the model is not here (${problem}).`)
    else teller.say('Russian is understood now, too.')
  })
}

/** LiveKit is for WebRTC only, and its first build takes minutes: nothing waits for it. */
function startRooms(config: Config, home: Home): void {
  const { say: tell } = teller
  if (config.LIVEKIT_URL || config.LIVEKIT_EMBEDDED === 'off') return
  const logFile = join(home.logs, 'livekit.log')
  const start = async (binary: string) => {
    const { apiKey, apiSecret } = { apiKey: 'parley', apiSecret: randomBytes(24).toString('hex') }
    const { child, url } = await startLiveKit({
      binary,
      port: 7880,
      apiKey,
      apiSecret,
      logFile,
      tell,
      note: pid => home.note(pid),
    })
    if (stopping) await child.stop()
    else running.push({ name: 'LiveKit', stop: () => child.stop() })
    return url
  }
  const failed = (error: Error) =>
    tell(`LiveKit did not start (${error.message.split('\n')[0]}); calls over SIP need none of it.`)
  const binary = findLiveKit(config.cache)
  if (binary) {
    void start(binary).then(url => tell(`LiveKit on ${url}.`), failed)
    return
  }
  if (options['demo-only']) return // nobody would wait for the build's end
  const build = new AbortController()
  running.push({ name: 'LiveKit build', stop: async () => build.abort() })
  if (onPath('go')) tell('LiveKit is being built in the background (WebRTC only); calls over SIP do not wait for it.')
  void buildLiveKit(config.cache, logFile, build.signal)
    .then(async result => {
      if (typeof result === 'string') tell(`LiveKit is ready on ${await start(result)}.`)
      else if (!stopping) tell(`No LiveKit (${result.missing}): WebRTC sessions do not work, calls over SIP do.`)
    })
    .catch(failed)
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

function printAddresses({ demo }: Stack, config: Config): void {
  const file = join(config.home, 'demo.json')
  console.log(`
Parley is up. Ctrl-C stops everything; what was said and paid is kept.

  REST       ${demo.base_url}/v1/public   (reference: ${demo.base_url}/docs)
  SIP        call ${demo.sip_uri} from this machine, for example with baresip
  Dashboard  ${demo.dashboard_url}   (not built yet: a page of links)
  MCP        ${demo.mcp_url}   (with the key as bearer token)
  Key        in ${file}, with all other addresses

  Try        curl -H "X-API-Key: $(node -p "require('${file}').api_key")" ${demo.base_url}/v1/public/calls
  Listen     ${join(config.home, 'demo-call.wav')} (caller left, agent right)
`)
}
