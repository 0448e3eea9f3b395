/**
 * A temporary installation for one run: all components embedded, on free ports, in a directory that is deleted
 * afterwards.
 */
import { spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '../../control/access/accounts/service.ts'
import { createKey } from '../../control/access/keys/service.ts'
import { createLog } from '../adapters/log.ts'
import { readConfig } from '../config/config.ts'
import type { Child } from '../embedded/child.ts'
import { freePort } from '../embedded/ports.ts'
import { startPostgres } from '../embedded/postgres.ts'
import { startProcess, startSipServer, startSpeech } from '../embedded/programs.ts'
import { startRedis } from '../embedded/redis.ts'
import { modelsFolder } from '../models/offline-speech.ts'
import { whisperPath } from '../models/whisper.ts'
import { buildControlParts } from '../wiring/parts.ts'
import type { Installation } from './audio.ts'

export interface OwnStack extends Installation {
  speechPort: number
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
const RTP_PORTS = 200
/** Below the kernel's ephemeral port range, at a random offset. */
const somePort = (udpToo = false) => freePort(10_000 + randomInt(8000), HOST, udpToo)

export async function startOwnStack(options: { toolsPort: number; report(text: string): void }): Promise<OwnStack> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-simulate-'))
  chmodSync(folder, 0o755) // Postgres runs as its own user when we are root
  const children: Child[] = []
  const watchdog = startCleanupWatchdog(folder)
  const stop = async () => {
    for (const child of children.splice(0).reverse()) await child.stop().catch(() => {})
    watchdog.done()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    return { ...(await start(folder, children, watchdog.note, options)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  folder: string,
  children: Child[],
  note: (pid: number) => void,
  { toolsPort, report }: { toolsPort: number; report(text: string): void },
): Promise<Omit<OwnStack, 'stop'>> {
  const logFile = (name: string) => join(folder, `${name}.log`)
  const watch = { report, note }
  const keep = (child: Child) => void children.push(child)
  const { cache, speechThreads: threads } = readConfig({ PARLEY_HOME: folder })

  const database = { folder: join(folder, 'postgres'), logFile: logFile('postgres'), throwaway: true, ...watch }
  const postgres = await startPostgres({ ...database, port: await somePort() })
  keep(postgres.child)
  const memory = { folder: join(folder, 'redis'), logFile: logFile('redis'), throwaway: true, ...watch }
  const redis = await startRedis({ ...memory, port: await somePort() })
  keep(redis.child)
  const [admin, secret] = [await somePort(), randomBytes(16).toString('hex')]
  const listen = [`udp:${HOST}:${await somePort(true)}`]
  const sip = await startSipServer({ admin: `${HOST}:${admin}`, secret, listen, logFile: logFile('sip'), ...watch })
  keep(sip.child)
  const speechPort = await somePort()
  const models = { models: modelsFolder(cache), whisper: whisperPath(cache), threads }
  const speech = await startSpeech({ port: speechPort, ...models, logFile: logFile('speech'), ...watch })
  keep(speech.child)
  if (!speech.sttReady) throw new Error('Speech models are missing. Run `npm start` to download them.')

  const rtpMin = 18_000 + RTP_PORTS * randomInt(60)
  const env: Record<string, string> = {
    PARLEY_HOME: folder,
    PARLEY_SECRET: randomBytes(24).toString('hex'),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    DRACHTIO_HOST: HOST,
    DRACHTIO_PORT: String(admin),
    DRACHTIO_SECRET: secret,
    SIP_PORT: sip.listen[0]!.split(':').at(-1)!,
    SPEECH_PORT: String(speechPort),
    HTTP_PORT: String(await somePort()),
    RTP_PORT_MIN: String(rtpMin),
    RTP_PORT_MAX: String(rtpMin + RTP_PORTS - 1),
    FETCH_ALLOW: `${HOST}:${toolsPort}`,
    TRIAL_BALANCE: '1000000',
  }
  keep(await startProcess({ name: 'Control', file: 'control.ts', env, logFile: logFile('control'), ...watch }))
  keep(await startProcess({ name: 'Engine', file: 'engine.ts', env, logFile: logFile('engine'), ...watch }))

  const parts = buildControlParts(readConfig({ ...process.env, ...env }), createLog('simulate', 'error'), 'simulate')
  try {
    const { id } = await createAccount(parts, { name: 'Simulation' })
    const { value: key } = await createKey(parts, id, { name: 'simulate', scopes: ['read', 'write'] })
    const at = { host: HOST, port: Number(env['SIP_PORT']) }
    return { baseUrl: `http://${HOST}:${env['HTTP_PORT']}`, key, sip: at, speechPort }
  } finally {
    await parts.close()
  }
}

/** Starts a speech process for callers' voices, when the installation is an existing one. */
export async function startOwnSpeech(closers: (() => Promise<void>)[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-voice-'))
  const { cache, speechThreads: threads } = readConfig({ PARLEY_HOME: folder })
  const port = await somePort()
  const models = { models: modelsFolder(cache), whisper: whisperPath(cache), threads }
  const { child } = await startSpeech({ port, ...models, logFile: join(folder, 'speech.log'), report: console.error })
  closers.push(async () => {
    await child.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return port
}

/** Stops our processes when this one is killed, which closes the watchdog's standard input. */
function startCleanupWatchdog(folder: string) {
  const script = `pids=; while read pid; do pids="$pids $pid"; done; kill -INT $pids 2>/dev/null; sleep 2; rm -rf '${folder}'`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return { note: (pid: number) => void child.stdin.write(`${pid}\n`), done: () => void child.kill('SIGKILL') }
}
