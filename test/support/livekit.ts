/** A real livekit-server for one test file, and clients that share no code with the engine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccessToken, type VideoGrant } from 'livekit-server-sdk'
import { readConfig } from '../../infra/config/config.ts'
import type { Child } from '../../infra/embedded/child.ts'
import { findLiveKit, startLiveKit } from '../../infra/embedded/livekit.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { until } from './world.ts'

/** Null: tests that need LiveKit are skipped, as `npm test` has reported. */
export const livekitBinary = findLiveKit(readConfig().cache)

export interface TokenOptions {
  room: string
  identity: string
  /** Permissions beyond joining the room, publishing, subscribing and data. */
  grant?: VideoGrant
  attributes?: Record<string, string>
  ttlSeconds?: number
}

export interface TestLiveKit {
  /** The URL for clients and servers, `ws:`. */
  url: string
  apiKey: string
  apiSecret: string
  /** Its log, from warnings up. */
  logged(): string
  token(options: TokenOptions): Promise<string>
  /** Sends SIGKILL and resolves when it has exited. It stays down until `restart`. */
  kill(): Promise<void>
  /** Restarts on the same port with the same keys; rooms are lost, as in production. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startTestLiveKit({ webhookUrl }: { webhookUrl?: string } = {}): Promise<TestLiveKit> {
  if (livekitBinary === null) throw new Error('livekit-server is not here: run `npm test` once')
  const folder = mkdtempSync(join(tmpdir(), 'parley-livekit-'))
  const logFile = join(folder, 'livekit.log')
  const watchdog = startCleanupWatchdog(folder)
  // Below the kernel's ephemeral port range.
  const port = await freePort(10_000 + randomInt(20_000), '127.0.0.1', true)
  const keys = { apiKey: 'test', apiSecret: randomBytes(24).toString('hex') }
  const note = (pid: number) => void watchdog.stdin!.write(`${pid}\n`)
  const start = async () =>
    (
      await startLiveKit({
        ...keys,
        ...(webhookUrl ? { webhookUrl } : {}),
        binary: livekitBinary,
        port,
        logFile,
        supervised: false,
        report() {},
        note,
      })
    ).child
  let child: Child | null = await start()
  const stop = async () => {
    await child?.stop()
    child = null
  }
  return {
    url: `ws://127.0.0.1:${port}`,
    ...keys,
    logged: () => readFileSync(logFile, 'utf8'),
    token: options => makeToken(keys, options),
    async kill() {
      const { pid } = child!
      child = null
      process.kill(pid, 'SIGKILL')
      await until(() => !runs(pid), 'LiveKit to exit')
    },
    async restart() {
      await stop()
      child = await start()
    },
    async stop() {
      await stop()
      watchdog.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function makeToken(keys: { apiKey: string; apiSecret: string }, options: TokenOptions): Promise<string> {
  const { room, identity, attributes = {}, ttlSeconds = 600 } = options
  const token = new AccessToken(keys.apiKey, keys.apiSecret, { identity, attributes, ttl: ttlSeconds })
  token.addGrant({
    room,
    roomJoin: true,
    canPublish: true,
    canSubscribe: true,
    canPublishData: true,
    canUpdateOwnMetadata: true,
    ...options.grant,
  })
  return token.toJwt()
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Stops the servers when this worker is killed, which closes the watchdog's standard input. */
function startCleanupWatchdog(folder: string): ChildProcess {
  const script = `pids=; while read pid; do pids="$pids $pid"; done; kill -9 $pids 2>/dev/null; rm -rf '${folder}'`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}

/** The room that a token is for. */
export function roomOf(token: string): string {
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { video: { room: string } }
  return claims.video.room
}
