/**
 * One Postgres and one Redis for the whole run, unless the environment names others. Nothing else reads the environment
 * for tests. Everything is removed at the end, and also when the run is killed: a small shell waits for the end of its
 * standard input, which comes even with SIGKILL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../infra/embedded/postgres.ts'
import { startRedis } from '../infra/embedded/redis.ts'
import { type FleetSize, readFleet } from './support/fleet.ts'
import { type SharedSpeech, startSharedSpeech } from './support/shared-speech.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
    redisUrl: string
    /** Project of the test, as test/vitest.config.ts names it. */
    project: string
    /** Directory of the built dashboard; the environment may name another one than that of `npm test`. */
    dashboardFolder: string
    /** The long form of tests that have one: `npm run test:full`. */
    full: boolean
    /** Number of engines and control processes in end-to-end tests; one of each by default, set by the environment. */
    fleet: FleetSize
    /** Program of a real drachtio-server that whole calls are tried with; null: the embedded SIP server. */
    drachtio: string | null
    /** Seed of a chaos test to repeat; null: a random seed. */
    chaosSeed: number | null
    /** Speech processes of the whole run, one per worker; empty in projects other than e2e, and without the models. */
    speech: readonly SharedSpeech[]
  }
}

/** Runs side by side look for a free port from different places on. */
const somePort = () => randomInt(33_000, 60_000)
const report = (text: string) => console.error(text)

/** Ends when our end of its pipe closes, for whatever reason, and stops the servers. */
function startCleanupWatchdog(folder: string, pids: number[]): ChildProcess {
  const script = `cat >/dev/null; kill -INT ${pids.join(' ')} 2>/dev/null; sleep 2; rm -rf '${folder}'`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  return child
}

const settled = <T>(start: PromiseSettledResult<T>): T | null => (start.status === 'fulfilled' ? start.value : null)

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'))
  await chmod(folder, 0o755) // Postgres runs as its own user when we are root
  const { PARLEY_TEST_DATABASE_URL, PARLEY_TEST_REDIS_URL, PARLEY_TEST_DASHBOARD } = process.env
  const options = (name: string) => ({
    folder: join(folder, name),
    logFile: join(folder, `${name}.log`),
    port: somePort(),
    throwaway: true,
    report,
  })
  const fleet = readFleet(process.env['PARLEY_TEST_FLEET'] || '1x1')
  const speechOptions = { count: project.name === 'e2e' ? project.config.maxWorkers : 0, folder, somePort, report }
  const [postgresStart, redisStart, ...speechStarts] = await Promise.allSettled([
    PARLEY_TEST_DATABASE_URL ? null : startPostgres(options('postgres')),
    PARLEY_TEST_REDIS_URL ? null : startRedis(options('redis')),
    ...startSharedSpeech(speechOptions),
  ])
  const [postgres, redis] = [settled(postgresStart), settled(redisStart)]
  const speech = speechStarts.map(settled).filter(started => started !== null)
  const children = [postgres, redis, ...speech].filter(started => started !== null).map(({ child }) => child)
  const failed = [postgresStart, redisStart, ...speechStarts].find(start => start.status === 'rejected')
  if (failed) {
    await Promise.all(children.map(child => child.stop()))
    await rm(folder, { recursive: true, force: true })
    throw failed.reason
  }
  const watchdog =
    children.length > 0
      ? startCleanupWatchdog(
          folder,
          children.map(child => child.pid),
        )
      : null
  project.provide('dashboardFolder', PARLEY_TEST_DASHBOARD ?? join(import.meta.dirname, '../control/dashboard/dist'))
  project.provide('project', project.name)
  project.provide('fleet', fleet)
  project.provide('drachtio', process.env['PARLEY_TEST_DRACHTIO'] || null)
  const seed = process.env['PARLEY_CHAOS_SEED']
  project.provide('chaosSeed', seed ? Number(seed) : null)
  project.provide(
    'speech',
    speech.map(({ port, logFile, child }) => ({ port, logFile, pid: child.pid })),
  )
  project.provide('databaseUrl', PARLEY_TEST_DATABASE_URL ?? postgres!.url)
  project.provide('redisUrl', PARLEY_TEST_REDIS_URL ?? redis!.url)
  return async () => {
    await Promise.all(children.map(child => child.stop()))
    watchdog?.kill()
    await rm(folder, { recursive: true, force: true })
  }
}
