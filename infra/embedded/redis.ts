/** redis-server of the system, as a supervised child. What is in it survives a restart (append-only file). */
import { mkdirSync } from 'node:fs'
import { type Child, startChild } from './child.ts'
import { onFreePort } from './ports.ts'

export async function startRedis(options: {
  folder: string
  logFile: string
  port: number
  throwaway?: boolean
  tell(text: string): void
  note?: ((pid: number) => void) | undefined
}): Promise<{ url: string; child: Child }> {
  mkdirSync(options.folder, { recursive: true })
  const keep = options.throwaway ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', 'everysec']
  return onFreePort(options.port, async port => {
    const child = await startChild({
      name: 'Redis',
      command: 'redis-server',
      args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', options.folder, '--save', '', ...keep],
      logFile: options.logFile,
      ready: (line: string) => line.includes('Ready to accept connections'),
      readyTimeoutMs: 30_000,
      tell: options.tell,
      note: options.note,
    })
    return { url: `redis://127.0.0.1:${port}/0`, child }
  })
}
