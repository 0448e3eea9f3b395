/**
 * One Postgres and one Redis for the whole run, unless the environment names others. Nothing else reads these two
 * variables. Everything is removed at the end, and when the run is killed: a small shell waits for the end of its
 * standard input, which comes even with SIGKILL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { loadEmbeddedPostgres } from './support/embedded-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
    redisUrl: string
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

async function startPostgres(folder: string) {
  const data = join(folder, 'postgres')
  const port = await freePort()
  const log: string[] = []
  const EmbeddedPostgres = await loadEmbeddedPostgres()
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: 'postgres',
    password: 'test',
    authMethod: 'password',
    createPostgresUser: true,
    persistent: true,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale-provider=libc', '--locale=C'],
    postgresFlags: [
      ...['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'],
      ...['-c', 'max_connections=200', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    ],
    onLog: message => log.push(String(message)),
    onError: message => log.push(String(message)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`Postgres did not start: ${String(error)}\n${log.join('')}`)
  }
  const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0])
  return { url: `postgres://postgres:test@127.0.0.1:${port}/postgres`, pid, stop: () => server.stop() }
}

async function startRedis() {
  const port = await freePort()
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', tmpdir()]
  const child = spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    child.once('error', error => reject(new Error(`redis-server did not start: ${error.message}`)))
    child.once('exit', code => reject(new Error(`redis-server ended at once with ${code}`)))
    child.stdout.on('data', chunk => String(chunk).includes('Ready to accept connections') && resolve())
  })
  child.stdout.resume()
  return { url: `redis://127.0.0.1:${port}/0`, pid: child.pid!, stop: () => ended(child, 'SIGTERM') }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = new Promise<void>(resolve => child.once('exit', () => resolve()))
  if (child.exitCode === null && child.kill(signal)) await exit
}

/** Ends when our end of its pipe closes, whatever closed it, and takes the servers along. */
function startUndertaker(folder: string, pids: number[]): ChildProcess {
  const script = `cat >/dev/null; kill -INT ${pids.join(' ')} 2>/dev/null; sleep 2; rm -rf '${folder}'`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  return child
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'))
  await chmod(folder, 0o755) // Postgres runs as its own user when we are root
  const { PARLEY_TEST_DATABASE_URL, PARLEY_TEST_REDIS_URL } = process.env
  const [postgres, redis] = await Promise.all([
    PARLEY_TEST_DATABASE_URL ? null : startPostgres(folder),
    PARLEY_TEST_REDIS_URL ? null : startRedis(),
  ])
  const pids = [postgres?.pid, redis?.pid].filter(pid => pid !== undefined)
  const undertaker = pids.length > 0 ? startUndertaker(folder, pids) : null
  project.provide('databaseUrl', PARLEY_TEST_DATABASE_URL ?? postgres!.url)
  project.provide('redisUrl', PARLEY_TEST_REDIS_URL ?? redis!.url)
  return async () => {
    await Promise.all([postgres?.stop(), redis?.stop()])
    undertaker?.kill()
    await rm(folder, { recursive: true, force: true })
  }
}
