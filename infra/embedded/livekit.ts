/**
 * livekit-server: one that is on PATH, or the one of our cache, or built from its Go module. The last takes minutes, so
 * it goes on in the background and is told when it is there. Calls over SIP need none of it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Child, startChild } from './child.ts'
import { freePort, listening } from './ports.ts'

/** Later versions carry replace directives, which `go install` refuses. */
export const LIVEKIT_VERSION = 'v1.13.5'
const MODULE = `github.com/livekit/livekit-server/cmd/server@${LIVEKIT_VERSION}`

export function findLiveKit(cache: string): string | null {
  const cached = cachedBinary(cache)
  if (existsSync(cached)) return cached
  return onPath('livekit-server')
}

const cachedBinary = (cache: string) => join(cache, `livekit-${LIVEKIT_VERSION}`, 'livekit-server')

function onPath(program: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return folders.map(folder => join(folder, program)).find(file => existsSync(file)) ?? null
}

/** Resolves with the binary, or null with the reason told. `signal` stops the build and its children. */
export async function buildLiveKit(
  cache: string,
  logFile: string,
  signal: AbortSignal,
): Promise<string | { missing: string }> {
  if (!onPath('go')) return { missing: 'neither livekit-server nor Go is installed' }
  const target = cachedBinary(cache)
  const building = join(cache, `livekit-build-${process.pid}`)
  mkdirSync(building, { recursive: true })
  const output: string[] = []
  const code = await new Promise<number | null>(resolve => {
    const child = spawn('nice', ['-n', '15', 'go', 'install', MODULE], {
      env: { ...process.env, GOBIN: building },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    const stop = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // ended meanwhile
      }
    }
    signal.addEventListener('abort', stop, { once: true })
    child.stderr.on('data', part => output.push(String(part)))
    child.once('error', () => resolve(null))
    child.once('exit', exit => resolve(exit))
  })
  writeFileSync(logFile, output.join(''))
  const built = join(building, 'server')
  if (code === 0 && existsSync(built)) {
    mkdirSync(join(target, '..'), { recursive: true })
    renameSync(built, target) // at once: another checkout may look at the same time
  }
  rmSync(building, { recursive: true, force: true })
  return existsSync(target) ? target : { missing: signal.aborted ? 'its build was stopped' : 'its build failed' }
}

export async function startLiveKit(options: {
  binary: string
  port: number
  apiKey: string
  apiSecret: string
  logFile: string
  tell(text: string): void
  note?: ((pid: number) => void) | undefined
}): Promise<{ url: string; child: Child }> {
  const port = await freePort(options.port)
  const tcpPort = await freePort(port + 1)
  const udpPort = await freePort(port + 2, '127.0.0.1', true)
  const config = {
    port,
    bind_addresses: ['127.0.0.1'],
    rtc: { tcp_port: tcpPort, udp_port: udpPort, use_external_ip: false, node_ip: '127.0.0.1' },
    keys: { [options.apiKey]: options.apiSecret },
    logging: { level: 'warn' },
  }
  const child = await startChild({
    name: 'LiveKit',
    command: options.binary,
    args: [],
    // By the environment, so that the key does not show in the list of processes.
    env: { ...process.env, LIVEKIT_CONFIG: JSON.stringify(config) },
    logFile: options.logFile,
    ready: () => listening(port, '127.0.0.1', 20_000),
    readyTimeoutMs: 25_000,
    tell: options.tell,
    note: options.note,
  })
  return { url: `ws://127.0.0.1:${port}`, child }
}
