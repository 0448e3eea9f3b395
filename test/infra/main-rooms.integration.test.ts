/** `npm start` with its own LiveKit: sessions work, also after its restart, and nothing of it is left behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { DemoFile } from '../../infra/demo/account.ts'
import { livekitBinary } from '../support/livekit.ts'
import { until } from '../support/world.ts'

const main = join(import.meta.dirname, '../../infra/bin/start.ts')

it.skipIf(livekitBinary === null)('npm start opens rooms', { timeout: 300_000 }, async () => {
  const home = await mkdtemp(join(tmpdir(), 'parley-main-'))
  await chmod(home, 0o755)
  const env = { ...process.env, PARLEY_HOME: home, HTTP_PORT: '18180', SIP_PORT: '15160' }
  const child = spawn(process.execPath, [main, '--no-demo'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += String(data)))
  try {
    await until(() => child.exitCode !== null || output.includes('Parley is up'), 'Parley is up', 60_000)
    expect(child.exitCode, output).toBe(null)
    const demo = JSON.parse(readFileSync(join(home, 'demo.json'), 'utf8')) as DemoFile
    expect(output).toContain(`${demo.base_url}/talk`)
    const session = () =>
      until(async () => {
        const response = await fetch(`${demo.base_url}/v1/public/realtime/session`, {
          method: 'POST',
          headers: { 'x-api-key': demo.api_key, 'content-type': 'application/json' },
          body: JSON.stringify({ project_id: demo.project_id }),
        })
        return response.status === 201 && ((await response.json()) as { url: string })
      }, 'a session')
    const before = await session()
    expect(before.url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/)
    const [pid] = ours(home)
    process.kill(pid!, 'SIGKILL')
    await until(() => output.includes('LiveKit is back.'), 'LiveKit is back', 20_000)
    expect((await session()).url).toBe(before.url)
  } finally {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
    const left = ours(home)
    await rm(home, { recursive: true, force: true })
    expect(left).toEqual([])
  }
})

/** Processes of livekit-server that this home has started. */
function ours(home: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
        return environment.includes(`PARLEY_HOME=${home}\0`) && environment.includes('LIVEKIT_CONFIG=')
      } catch {
        return false
      }
    })
    .map(Number)
}
