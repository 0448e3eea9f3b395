/**
 * The whole product for one test file, as `npm start` runs it: SIP server, speech, control and engine as separate
 * processes on free ports, with the run's Postgres and Redis. Owners are created by control's services, calls by REST
 * and SIP. Starts several engines and controls when the test or the run requires them (PARLEY_TEST_FLEET=2x2), and a
 * real drachtio-server when the run names its program (PARLEY_TEST_DRACHTIO).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { createAccount } from '../../control/access/accounts/service.ts'
import { createKey } from '../../control/access/keys/service.ts'
import type { ProjectInput } from '../../control/agents/projects/schema.ts'
import { setSecret } from '../../control/agents/projects/secrets.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import type { TrunkInput } from '../../control/telephony/trunks/schema.ts'
import { createTrunk } from '../../control/telephony/trunks/service.ts'
import { createWebhook } from '../../control/webhooks/service.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import { createLog } from '../../infra/adapters/log.ts'
import { type Config, readConfig } from '../../infra/config/config.ts'
import type { Child } from '../../infra/embedded/child.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { startSipServer, startSpeech } from '../../infra/embedded/programs.ts'
import { modelsFolder } from '../../infra/models/offline-speech.ts'
import { whisperPath } from '../../infra/models/whisper.ts'
import { buildControlParts, type ControlParts } from '../../infra/wiring/parts.ts'
import { createEngineBus } from '../../media/bus/engine-bus.ts'
import { createDatabase } from './database.ts'
import { startDrachtio } from './drachtio.ts'
import { type ControlProcess, type EngineProcess, type FleetSize, logged, RTP_PORTS, startFleet } from './fleet.ts'
import { Owner } from './stack-owner.ts'
import { createSpeechKit, type SpeechKit } from './stack-speech.ts'
import { startWorld, type World } from './stack-world.ts'
import { until } from './world.ts'

export const HOST = '127.0.0.1'

export interface OwnerOptions {
  /** The owner's trial balance, as a decimal. */
  money?: string
  project?: Partial<ProjectInput>
  trunk: Partial<TrunkInput> & { port: number }
  secrets?: Record<string, string>
  webhook?: string
}

export interface Stack {
  folder: string
  parts: ControlParts
  sip: { host: string; port: number }
  /** RTP ports of all engines together. */
  rtp: { min: number; max: number }
  /** URL of control, or of the balancer in front of several. */
  baseUrl: string
  world: World
  speech: SpeechKit
  /** Name of the first engine. */
  engineName: string
  engines: readonly EngineProcess[]
  controls: readonly ControlProcess[]
  /** `control` and `engine` are the first of their kind. */
  children: Children
  /** Waits for the engine that holds this call. */
  engineOf(callId: string): Promise<EngineProcess>
  /** Settings of control and engine. */
  env: Readonly<Record<string, string>>
  /** Reports of the supervisor. */
  told: string[]
  /** Log lines of all processes of a kind so far, one JSON object per line. */
  logged(name: 'control' | 'engine' | 'sip-server' | 'speech'): Record<string, unknown>[]
  owner(options: OwnerOptions): Promise<Owner>
  /** Kills the process at the end in any case. */
  keep(child: ChildProcess): void
  onStop(run: () => unknown): void
  stop(): Promise<void>
}

export interface Children {
  sipServer: Child
  speech: Child
  control: Child
  engine: Child
  controls: readonly Child[]
  engines: readonly Child[]
}

/** Below the ephemeral range. Each worker has ports of its own, because seconds pass between the choice of a port and its use. */
const somePort = (host = HOST, udpToo = false) =>
  freePort(10_000 + 2000 * (firstRange() / RANGES) + randomInt(1800), host, udpToo)

/** `size` overrides the run's number of engines or controls. */
export async function startStack(settings: Record<string, string> = {}, size: Partial<FleetSize> = {}): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-e2e-'))
  const watchdog = startCleanupWatchdog(folder)
  const closers: (() => unknown)[] = []
  const stop = async () => {
    const failures: unknown[] = []
    for (const close of closers.splice(0).reverse()) {
      await Promise.resolve()
        .then(close)
        .catch(error => failures.push(error))
    }
    watchdog.done()
    rmSync(folder, { recursive: true, force: true })
    if (failures.length > 0) throw failures[0]
  }
  try {
    return await start(settings, { ...inject('fleet'), ...size }, folder, watchdog, closers, stop)
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

async function start(
  settings: Record<string, string>,
  size: FleetSize,
  folder: string,
  watchdog: CleanupWatchdog,
  closers: (() => unknown)[],
  stop: () => Promise<void>,
): Promise<Stack> {
  const told: string[] = []
  const started: Child[] = []
  const report = (text: string) => {
    told.push(text)
    for (const child of started) watchdog.note(child.pid) // a restarted process has another PID
  }
  const logFile = (name: string) => join(folder, `${name}.log`)
  const run = (child: Child) => {
    started.push(child)
    watchdog.note(child.pid)
    closers.push(() => child.stop())
    return child
  }

  const database = await createDatabase()
  closers.push(() => database.drop())
  const world = await startWorld()
  closers.push(() => world.close())
  const secret = randomBytes(16).toString('hex')
  const admin = await somePort()
  const cache = readConfig({ PARLEY_HOME: folder }).cache
  const speechPort = await somePort()
  const sipPort = await somePort(HOST, true)
  const logLevel = settings['PARLEY_LOG_LEVEL']
  const [sipServer, speech] = await Promise.all([
    startSignalling({
      admin: `${HOST}:${admin}`,
      secret,
      sip: `${HOST}:${sipPort}`,
      logFile: logFile('sip-server'),
      report,
      logLevel,
    }),
    startSpeech({
      port: speechPort,
      models: modelsFolder(cache),
      whisper: whisperPath(cache),
      threads: 1,
      logFile: logFile('speech'),
      logLevel,
      report,
    }),
  ])
  run(sipServer.child)
  run(speech.child)
  if (!speech.sttReady) throw new Error('the speech models are not installed: run `npm start` once')
  const sip = { host: HOST, port: Number(sipServer.listen[0]!.split(':').at(-1)) }

  const rtpMin = 18_000 + RTP_PORTS * (firstRange() + randomInt(RANGES - size.engines))
  const rtp = { min: rtpMin, max: rtpMin + RTP_PORTS * size.engines - 1 }
  const env: Record<string, string> = {
    PARLEY_HOME: folder,
    PARLEY_SECRET: randomUUID(),
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_PREFIX: `e2e-${randomUUID()}`,
    DRACHTIO_HOST: HOST,
    DRACHTIO_PORT: String(admin),
    DRACHTIO_SECRET: secret,
    SIP_PORT: String(sip.port),
    SPEECH_PORT: String(speechPort),
    HTTP_PORT: String(await somePort()),
    RTP_PORT_MIN: String(rtp.min),
    RTP_PORT_MAX: String(rtp.max),
    ENGINE_NAME: `e2e-${process.pid}`,
    FETCH_ALLOW: `${HOST}:${world.port}`,
    DASHBOARD_DIR: inject('dashboardFolder'),
    ...settings,
  }
  const onStop = (close: () => unknown) => void closers.push(close)
  const { engines, controls } = await startFleet({
    size,
    env,
    folder,
    report,
    keep: run,
    onStop,
    freePort: somePort,
    note: watchdog.note,
  })
  const config = readConfig({ ...process.env, ...env })
  const parts = buildControlParts(config, createLog('stack', 'warn'), `stack-${process.pid}`)
  closers.push(() => parts.close())
  await parts.boss.start()
  closers.push(() => parts.boss.stop({ graceful: false }))
  const trunkKnown = await watchTrunks(config, parts, closers)
  const kit = await createSpeechKit(speechPort)
  closers.push(() => kit.close())
  const baseUrl = `http://${HOST}:${config.HTTP_PORT}`

  const logFiles = {
    control: controls.map(one => one.logFile),
    engine: engines.map(one => one.logFile),
    'sip-server': [logFile('sip-server')],
    speech: [logFile('speech')],
  }
  return {
    folder,
    parts,
    sip,
    rtp,
    baseUrl,
    world,
    speech: kit,
    engines,
    controls,
    env,
    told,
    onStop,
    stop,
    engineName: config.ENGINE_NAME,
    children: {
      sipServer: sipServer.child,
      speech: speech.child,
      control: controls[0]!.child,
      engine: engines[0]!.child,
      controls: controls.map(one => one.child),
      engines: engines.map(one => one.child),
    },
    async engineOf(callId) {
      const { engine } = await until(() => parts.bus.holder(callId), `an engine to hold call ${callId}`)
      return engines.find(({ name }) => name === engine)!
    },
    logged: name => logged(logFiles[name]),
    keep(child) {
      watchdog.note(child.pid!)
      closers.push(() => ended(child))
    },
    async owner(options) {
      const { owner, trunkId } = await makeOwner(parts, baseUrl, options)
      await trunkKnown(trunkId)
      closers.push(() => owner.close())
      return owner
    },
  }
}

interface Signalling {
  admin: string
  secret: string
  sip: string
  logFile: string
  logLevel: string | undefined
  report(text: string): void
}

/** The embedded SIP server, or the real drachtio-server named by the run. */
function startSignalling({ sip, logLevel, ...options }: Signalling) {
  const program = inject('drachtio')
  if (program !== null) return startDrachtio({ program, sip, ...options })
  return startSipServer({ ...options, listen: [`udp:${sip}`, `tcp:${sip}`], logLevel })
}

/** Ranges of `RTP_PORTS` for each worker that may run a stack beside others. */
const RANGES = 8

/** Two workers of e2e and two of integration run side by side. */
function firstRange(): number {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 1) % 2
  return RANGES * (inject('project') === 'e2e' ? worker : 2 + worker)
}

let phones = 0
/** A new number on each call, also across files. */
const nextPhone = () => `+1202555${String((process.pid % 80) * 100 + phones++).padStart(4, '0')}`

async function makeOwner(parts: ControlParts, baseUrl: string, options: OwnerOptions) {
  const priced = options.money ? { ...parts, config: { ...parts.config, trial_balance: options.money } } : parts
  const { id } = await createAccount(priced, { name: 'Somebody' })
  for (const [name, value] of Object.entries(options.secrets ?? {})) await setSecret(parts, id, name, value)
  const project = await createProject(parts, id, {
    name: 'Agent',
    language: 'en',
    prompt: 'Be brief.',
    ...options.project,
  })
  const number = nextPhone()
  const trunk = await createTrunk(parts, id, {
    name: 'Line',
    mode: 'ip',
    host: HOST,
    numbers: [number],
    ...options.trunk,
  })
  await bindNumber(parts, id, project.id, { number, direction: 'both' })
  const key = await createKey(parts, id, { name: 'e2e', scopes: ['read', 'write'] })
  const url = options.webhook
  const webhook = url ? await createWebhook(parts, id, { url, events: ['call.completed', 'call.failed'] }) : null
  const made = {
    id,
    projectId: project.id,
    number,
    key: key.value,
    webhookId: webhook?.id,
    webhookSecret: webhook?.secret,
  }
  return { owner: new Owner(baseUrl, made), trunkId: trunk.id }
}

/** Follows the trunks like an engine, so that a test can wait until engines know a new one. */
async function watchTrunks(config: Config, parts: ControlParts, closers: (() => unknown)[]) {
  const redis = new Redis(config.REDIS_URL!, { maxRetriesPerRequest: null })
  closers.push(() => redis.disconnect())
  const { sealer, log } = parts
  const bus = createEngineBus({
    redis,
    sealer,
    engine: 'watcher',
    clock: systemClock,
    log,
    prefix: config.REDIS_PREFIX,
  })
  closers.push(() => bus.close())
  const directory = await bus.trunks()
  closers.push(() => directory.stop())
  return (id: string) => until(() => directory.all().some(trunk => trunk.id === id), 'the engines to know the trunk')
}

/** Kills the process and waits for its exit; does nothing when it has exited. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.kill(signal)
  await exit
}

interface CleanupWatchdog {
  note(pid: number): void
  done(): void
}

/** Stops our processes when this worker is killed, which closes the watchdog's standard input. */
function startCleanupWatchdog(folder: string): CleanupWatchdog {
  const script = `pids=; while read pid; do pids="$pids $pid"; done; kill -9 $pids 2>/dev/null; rm -rf '${folder}'`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return { note: pid => void child.stdin.write(`${pid}\n`), done: () => void child.kill('SIGKILL') }
}
