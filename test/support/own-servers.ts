/** Redis and Postgres of one test file, which it may freeze and kill; those of the run are shared. */
import { randomInt } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Child } from '../../infra/embedded/child.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { startRedis } from '../../infra/embedded/redis.ts'
import { signalAll } from './processes.ts'

export interface OwnServers {
  redis: Child
  postgres: Child
  /** Settings for a stack that uses them. */
  settings: { REDIS_URL: string; DATABASE_URL: string }
  /** Reports of their supervisor. */
  told: string[]
  stop(): Promise<void>
}

/** Like in production, they keep acknowledged data even when killed. */
export async function startOwnServers(): Promise<OwnServers> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-own-'))
  chmodSync(folder, 0o755) // Postgres runs as its own user when we are root
  const told: string[] = []
  const started: Child[] = []
  const stop = async () => {
    for (const server of started) {
      signalAll(server.pid, 'SIGCONT')
      await server.stop()
    }
    rmSync(folder, { recursive: true, force: true })
  }
  const place = async (name: string) => ({
    folder: join(folder, name),
    logFile: join(folder, `${name}.log`),
    report: (text: string) => void told.push(text),
    port: await freePort(10_000 + randomInt(8000)),
  })
  try {
    const redis = await startRedis(await place('redis'))
    started.push(redis.child)
    const postgres = await startPostgres(await place('postgres'))
    started.push(postgres.child)
    const settings = { REDIS_URL: redis.url, DATABASE_URL: postgres.url }
    return { redis: redis.child, postgres: postgres.child, settings, told, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
