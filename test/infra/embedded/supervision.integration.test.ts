/** Supervision of child processes: stop during a restart, unwritable logs, an interrupted first start. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startChild } from '../../../infra/embedded/child.ts'
import { startPostgres } from '../../../infra/embedded/postgres.ts'
import { until } from '../../support/world.ts'

const alive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A child of ours that says `ready`. */
const startScript = (script: string, logFile: string, options: { stopTimeoutMs?: number } = {}) =>
  startChild({
    name: 'Test',
    command: process.execPath,
    args: ['-e', script],
    logFile,
    ready: (line: string) => line === 'ready',
    readyTimeoutMs: 10_000,
    report: () => {},
    ...options,
  })

describe('a child', () => {
  it('that is restarting at shutdown is stopped', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-child-'))
    const pidFile = join(folder, 'pid')
    // Ready at once the first time; the second time it takes long to get ready.
    const script = `
      const { existsSync, writeFileSync } = require('node:fs')
      const again = existsSync(${JSON.stringify(pidFile)})
      writeFileSync(${JSON.stringify(pidFile)}, String(process.pid))
      if (!again) console.log('ready')
      else setTimeout(() => console.log('ready'), 3000)
      setInterval(() => {}, 1000)`
    const child = await startScript(script, join(folder, 'log'))
    const first = child.pid
    process.kill(first, 'SIGKILL')
    const second = await until(() => {
      const pid = Number(readFileSync(pidFile, 'utf8'))
      return pid !== first && pid
    })
    await child.stop()
    expect(alive(second)).toBe(false)
  })

  it('that drains ends at once on the second signal', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-child-'))
    const script = `
      let told = 0
      process.on('SIGTERM', () => (++told === 2 ? process.exit(0) : console.log('told')))
      setInterval(() => {}, 1000)
      console.log('ready')`
    const child = await startScript(script, join(folder, 'log'), { stopTimeoutMs: 600_000 })
    const { pid } = child
    child.hurry()
    const stopped = child.stop()
    await until(() => readFileSync(join(folder, 'log'), 'utf8') === 'ready\ntold\n')
    expect(alive(pid)).toBe(true)
    child.hurry()
    await stopped
    expect(alive(pid)).toBe(false)
  })

  it('whose log cannot be written continues', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-child-'))
    const child = await startScript(
      "console.log('ready'); setInterval(() => {}, 1000)",
      join(folder, 'no', 'such', 'folder'),
    )
    expect(alive(child.pid)).toBe(true)
    await child.stop()
    expect(existsSync(join(folder, 'no'))).toBe(false)
  })
})

describe('Postgres', () => {
  it('starts after an initialisation that was killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-postgres-'))
    chmodSync(folder, 0o755)
    const options = {
      folder: join(folder, 'data'),
      logFile: join(folder, 'log'),
      password: 'test',
      port: 41_000,
      throwaway: true,
    }
    const script = `
      import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, '../../../infra/embedded/postgres.ts'))}
      await startPostgres({ ...${JSON.stringify(options)}, report() {} })`
    const first = spawn(process.execPath, ['--input-type=module', '-e', script], { detached: true, stdio: 'ignore' })
    const gone = new Promise(resolve => first.once('exit', resolve))
    const begun = () => readdirSync(folder).some(name => existsSync(join(folder, name, 'PG_VERSION')))
    for (const until = Date.now() + 10_000; !begun() && Date.now() < until; ) await new Promise(setImmediate)
    process.kill(-first.pid!, 'SIGKILL')
    await gone
    const { child } = await startPostgres({ ...options, report: () => {} })
    expect(alive(child.pid)).toBe(true)
    await child.stop()
  }, 180_000)
})
