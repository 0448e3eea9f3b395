/** The whole product as `npm start` runs it: time from a client joining its session to the agent's first audio. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DemoFile } from '../../infra/demo/account.ts'
import type { Line } from './report.ts'
import type { RoomCallerHandlers } from './room-caller.ts'
import { forkRemote, median, percentile } from './rpc.ts'

const BOUND_MS = 1000
/** The first joins load what all sessions share. */
const WARM_UP = 2
const UP_MS = 120_000
/** Milliseconds between two joins, in which the previous call is wrapped up. */
const PAUSE_MS = 1500

export async function benchJoins({ joins, report }: { joins: number; report(text: string): void }): Promise<Line[]> {
  const home = mkdtempSync(join(tmpdir(), 'parley-bench-home-'))
  const parley = await startParley(home)
  const caller = forkRemote<RoomCallerHandlers>(join(import.meta.dirname, 'room-caller.ts'))
  try {
    const demo: DemoFile = JSON.parse(readFileSync(join(home, 'demo.json'), 'utf8'))
    const waits: number[] = []
    for (let id = 0; id < joins + WARM_UP; id++) {
      const { joinedMs, heardMs } = await caller.ask.greeting({ id, ...(await openSession(demo)) })
      if (id >= WARM_UP) waits.push(heardMs - joinedMs)
      await caller.ask.close({ id })
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    }
    const [p50, p95] = [median(waits), percentile(waits, 95)]
    report(`${joins} joins of a session: the agent heard after p50 ${p50.toFixed(0)}, p95 ${p95.toFixed(0)} ms`)
    return [
      {
        name: "session: from a client's join to the agent's first sound, p95",
        value: p95,
        reference: BOUND_MS,
        unit: 'ms',
        ratio: p95 / BOUND_MS,
        wanted: `≤ ${BOUND_MS} ms`,
        ok: p95 <= BOUND_MS,
      },
    ]
  } finally {
    caller.stop()
    parley.kill('SIGTERM')
    await new Promise(resolve => parley.once('exit', resolve))
    rmSync(home, { recursive: true, force: true })
  }
}

async function startParley(home: string) {
  const main = join(import.meta.dirname, '../../infra/bin/start.ts')
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, '--no-demo'], {
    env: { ...process.env, PARLEY_HOME: home, RUSSIAN_STT: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: string[] = []
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Parley does not come up:\n${said.join('\n')}`)), UP_MS)
    child.once('exit', code => reject(new Error(`Parley ended with ${code}:\n${said.join('\n')}`)))
    createInterface({ input: child.stdout }).on('line', line => {
      said.push(line)
      if (!line.startsWith('Parley is up')) return
      clearTimeout(timer)
      resolve()
    })
  })
  return child
}

async function openSession({ base_url, api_key, project_id }: DemoFile): Promise<{ url: string; token: string }> {
  const response = await fetch(`${base_url}/v1/public/realtime/session`, {
    method: 'POST',
    headers: { 'x-api-key': api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id }),
  })
  if (response.status !== 201) throw new Error(`POST /realtime/session: ${response.status} ${await response.text()}`)
  return (await response.json()) as { url: string; token: string }
}
