/**
 * redis-server as a supervised child with its own password. Its data survives a restart (append-only file), and only
 * its user can read it, because it contains call content.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../config/config.ts'
import { type Child, startChild } from './child.ts'
import { onFreePort } from './ports.ts'
import { findRedis } from './redis-server.ts'

const OWNER_ONLY = { folder: 0o700, file: 0o600 } as const

export async function startRedis(options: {
  folder: string
  logFile: string
  port: number
  throwaway?: boolean
  report(text: string): void
  note?: ((pid: number) => void) | undefined
}): Promise<{ url: string; child: Child }> {
  mkdirSync(options.folder, { recursive: true })
  chmodSync(options.folder, OWNER_ONLY.folder)
  const settings = join(options.folder, 'redis.conf')
  const password = randomBytes(24).toString('base64url')
  return onFreePort(options.port, async port => {
    // In a file, because every user of the machine can read arguments.
    rmSync(settings, { force: true }) // may be an older one that others could read
    writeFileSync(settings, configOf({ ...options, port, password }), { mode: OWNER_ONLY.file })
    const child = await startChild({
      name: 'Redis',
      // Redis sets no file mode, so the umask has to.
      command: 'sh',
      args: ['-c', 'umask 077; exec "$0" "$@"', findRedis(cacheFolder()) ?? 'redis-server', settings],
      cwd: options.folder,
      logFile: options.logFile,
      ready: (line: string) => line.includes('Ready to accept connections'),
      readyTimeoutMs: 30_000,
      report: options.report,
      note: options.note,
    })
    return { url: `redis://:${password}@127.0.0.1:${port}/0`, child }
  })
}

interface Settings {
  folder: string
  port: number
  password: string
  throwaway?: boolean
}

function configOf({ folder, port, password, throwaway }: Settings): string {
  const keep = throwaway ? ['appendonly no'] : ['appendonly yes', 'appendfsync everysec']
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${quoted(folder)}`,
    'save ""',
    `requirepass ${password}`,
    ...keep,
  ]
  return `${lines.join('\n')}\n`
}

/** Quotes a value for redis.conf. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
