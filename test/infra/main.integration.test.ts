/**
 * `npm start`: the started services, the demo call, files left behind, data that survives. Real processes throughout.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { DemoFile } from '../../infra/demo/account.ts'
import { examineByProgram, worst } from '../support/doctor.ts'
import { until } from '../support/world.ts'

const main = join(import.meta.dirname, '../../infra/bin/start.ts')
let home: string
const started: ChildProcess[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'parley-main-'))
  await chmod(home, 0o755)
})
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
  await rm(home, { recursive: true, force: true })
})

function start(env: Record<string, string> = {}, how: '--no-demo' | '--demo-only' = '--no-demo') {
  const child = spawn(process.execPath, [main, how], {
    env: { ...process.env, PARLEY_HOME: home, LIVEKIT_EMBEDDED: 'off', HTTP_PORT: '18080', SIP_PORT: '15060', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += String(data)))
  const up = until(
    () => {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${output}`)
      return output.includes('Parley is up')
    },
    'Parley is up',
    60_000,
  )
  up.catch(() => {}) // the error reaches its awaiter
  return { child, up, output: () => output }
}
const demo = () => JSON.parse(readFileSync(join(home, 'demo.json'), 'utf8')) as DemoFile
const projects = async () => {
  const { base_url, api_key } = demo()
  const response = await fetch(`${base_url}/v1/public/projects`, { headers: { 'x-api-key': api_key } })
  return (await response.json()) as { projects: { id: string }[] }
}
/** Every process that has this home in its environment, command line, or as its database. */
function alive(): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap(pid => {
      try {
        const [command, environment] = ['cmdline', 'environ'].map(file =>
          readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' '),
        ) as [string, string]
        // Redis writes its title over both, but works in its folder.
        const folder = readlinkSync(`/proc/${pid}/cwd`)
        return [command, environment, folder].some(text => text.includes(home)) ? [`${pid} ${command}`] : []
      } catch {
        return []
      }
    })
}

describe('npm start', { timeout: 400_000 }, () => {
  it('places the demo call in a new folder, and exits with 0 on success', async () => {
    const run = start({}, '--demo-only')
    const [code] = (await once(run.child, 'exit')) as [number]
    expect([code, run.output()]).toEqual([0, expect.stringContaining('webhook    call.completed received')])
    expect(alive()).toEqual([])
  })

  it('serves, leaves no process behind, and keeps its data', { skip: !inject('full') }, async () => {
    const first = start()
    await first.up
    const before = demo()
    expect((await projects()).projects.map(project => project.id)).toContain(before.project_id)
    expect(alive().length).toBeGreaterThan(7)
    first.child.kill('SIGINT')
    expect(await once(first.child, 'exit')).toEqual([0, null])
    expect(alive()).toEqual([])

    const second = start()
    await second.up
    expect(demo().api_key).toBe(before.api_key)
    expect((await projects()).projects.map(project => project.id)).toContain(before.project_id)
  })

  it('is found by operator commands, and prints mail', { skip: !inject('full') }, async () => {
    const run = start()
    await run.up
    const admin = async (...args: string[]) => {
      const env = { ...process.env, PARLEY_HOME: home }
      return (await promisify(execFile)(process.execPath, [program, ...args, '--json'], { env })).stdout
    }
    const program = join(import.meta.dirname, '../../infra/bin/admin.ts')
    expect(JSON.parse(await admin('accounts'))).toMatchObject([{ id: demo().owner_id, name: 'Demo' }])
    await admin('create-account', '--email', 'ada@example.com')
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ email: 'ada@example.com' })
    await fetch(`${demo().base_url}/auth/password-reset`, { method: 'POST', headers, body })
    await until(() => /To: ada@example\.com.*\n[\w-]{43}\n/s.test(run.output()), 'the mail on the terminal')
    for (const name of readdirSync(join(home, 'logs'))) {
      expect(readFileSync(join(home, 'logs', name), 'utf8')).not.toContain('ada@example.com')
    }
    run.child.kill('SIGINT')
    await once(run.child, 'exit')
    expect(existsSync(join(home, 'connections.json'))).toBe(false)
  })

  it('passes the doctor, which knows only its folder', { skip: !inject('full') }, async () => {
    const run = start()
    await run.up
    const { code, findings } = await examineByProgram({ PARLEY_HOME: home })
    expect([code, findings.filter(({ status }) => status === 'error')]).toEqual([0, []])
    const parts = [
      'Secrets',
      'Models',
      'Disk',
      'Postgres',
      'Redis',
      'Bus',
      'Engines',
      'Control',
      'SIP server',
      'Speech',
    ]
    for (const part of [...parts, 'Trunks', 'RTP', 'Blob store', 'Mail']) {
      expect([part, worst(findings, part)]).toEqual([part, expect.stringMatching(/^(?:ok|warn)$/)])
    }
    const told = JSON.stringify(findings)
    const { api_key, login, softphone } = demo()
    for (const secret of [api_key, login.password, softphone.password]) expect(told).not.toContain(secret)
    expect(told).not.toContain(readFileSync(join(home, 'secret'), 'utf8'))
  })

  it('removes leftovers of a killed process, and runs once per folder', { skip: !inject('full') }, async () => {
    const first = start()
    await first.up
    const refused = start()
    await expect(refused.up).rejects.toThrow('is already running in this directory')
    // One that was started again is known as well.
    const redis = alive().find(line => line.includes('redis-server'))!
    process.kill(Number(redis.split(' ')[0]), 'SIGKILL')
    await until(() => first.output().includes('Redis is back.'), 'Redis is back', 20_000)
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const second = start()
    await second.up
    expect((await projects()).projects.length).toBeGreaterThan(0)
  })

  it.runIf(process.getuid?.() === 0 && inject('full'))(
    'works for root in a folder that others cannot enter',
    async () => {
      await chmod(home, 0o700)
      const run = start()
      await run.up
      const data = /Storing the database in (\S+),/.exec(run.output())?.[1]
      expect(data).toMatch(/^\/var\/lib\/parley\/data-/)
      expect((await projects()).projects.length).toBeGreaterThan(0)
      run.child.kill('SIGTERM')
      await once(run.child, 'exit')
      await rm(data!, { recursive: true })
    },
  )

  it('reports a port in use and takes the next', { skip: !inject('full') }, async () => {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    try {
      const run = start({ HTTP_PORT: String(port) })
      await run.up
      expect(run.output()).toContain(`Port ${port} is in use`)
      expect(demo().base_url).not.toContain(`:${port}`)
      expect((await projects()).projects.length).toBeGreaterThan(0)
    } finally {
      server.close()
    }
  })

  it('reports the invalid setting', async () => {
    const run = start({ HTTP_PORT: 'many', MINUTE_PRICE: 'cheap' })
    await expect(run.up).rejects.toThrow()
    expect(run.output()).toMatch(/HTTP_PORT/)
    expect(run.output()).toMatch(/MINUTE_PRICE: a decimal number/)
  })
})
