/** Runs every block of the guides that is marked `runnable`, unchanged, against a real control plane. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Control, startControl } from '../../control/app.ts'
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { onPath } from '../../infra/setup/prepare.ts'
import { brief, fakeLeads } from '../fakes/leads.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../support/control.ts'
import { nextEmail, PASSWORD, signUp } from '../support/dashboard.ts'
import { createReceiver, plainFetch } from '../support/receiver.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Each of them begins with a task and an example that runs. */
const GUIDES = [
  'quick-start',
  'agents',
  'telephony',
  'campaigns',
  'knowledge',
  'leads',
  'realtime',
  'webhooks',
  'mcp',
  'operating',
  'scaling',
  'security',
]
const BLOCK = /^```(sh|ts) runnable( setup)?\n([\s\S]*?)^```$/gm
const blocksOf = (guide: string) =>
  [...read(`docs/${guide}.md`).matchAll(BLOCK)].map(([, language, setup, code]) => ({
    language: language!,
    setup: setup !== undefined,
    code: code!,
  }))
/** Defines `api` for all guides. */
const setup = blocksOf('quick-start').find(block => block.setup)!.code

const missing = ['curl', 'jq'].filter(program => !onPath(program))
if (missing.length > 0) console.log(`${missing.join(' and ')} cannot be found: the examples of the guides are skipped`)

let control: TestControl
let running: Control
let address: string
let receiver: Awaited<ReturnType<typeof createReceiver>>
let beat: NodeJS.Timeout

/** The parsed brief matches the example of the guide. */
const parsed = brief({ niche: 'dental clinics', geo: 'Oakland', target_leads: 3 })

beforeAll(async () => {
  control = await createControl({ fetch: plainFetch })
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  control.deps.config.base_url = address // a session is accepted from our own origin only
  const leads = fakeLeads({ readers: [{ read: async () => ({ brief: parsed, missing: [] }) }] })
  Object.assign(control.deps, { leads })
  // No LiveKit runs here: a session is a signed token, and nobody joins.
  const livekit = createLiveKit({
    url: 'ws://127.0.0.1:7880',
    publicUrl: 'ws://127.0.0.1:7880',
    apiKey: 'key',
    apiSecret: 'a secret of more than thirty-two characters',
    prefix: 'docs-',
  })
  control.deps.livekit = { ...livekit, healthy: async () => true, rooms: async () => [] }
  const engine = control.engine()
  const state = { calls: 0, capacity: 10, stt_ready: true, rooms: true }
  await engine.heartbeat(state)
  beat = setInterval(() => void engine.heartbeat(state), 1000)
  running = await startControl(control.deps)
  receiver = await createReceiver()
})
afterAll(async () => {
  clearInterval(beat)
  await receiver?.close()
  await running?.stop()
  await control?.close()
})

const commands: Record<string, (code: string) => [string, string[]]> = {
  // Fed by a socket, bash takes itself for a remote one and reads its start-up files, which `-u` breaks.
  sh: code => ['bash', ['--norc', '-euo', 'pipefail', '-c', code]],
  ts: code => ['node', ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', code]],
}

/** The exit code with all output. */
async function run(language: string, code: string, env: Record<string, string>) {
  const [command, args] = commands[language]!(code)
  // Commands run in the root of the repository, imports are relative to the guide.
  const child = spawn(command, args, {
    cwd: language === 'ts' ? join(root, 'docs') : root,
    env: { ...process.env, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', part => {
      output += part
    })
  }
  const status = await new Promise<number | null>(done => child.once('close', done))
  return { status, output }
}

/** An account of its own for each guide; `PARLEY_EMAIL` logs in to another one, at the dashboard. */
async function environment(): Promise<Record<string, string>> {
  const tenant = await createTenant(control, { money: '1000' })
  const email = nextEmail()
  await signUp(address, email)
  return {
    PARLEY_URL: address,
    PARLEY_KEY: tenant.key,
    PARLEY_PROJECT: tenant.projectId,
    PARLEY_TRUNK: tenant.trunkId,
    PARLEY_PHONE: nextPhone(),
    PARLEY_RECEIVER: receiver.url,
    PARLEY_EMAIL: email,
    PARLEY_PASSWORD: PASSWORD,
    DATABASE_URL: control.databaseUrl,
  }
}

describe.skipIf(missing.length > 0)('the examples of docs/', () => {
  it.concurrent.each(GUIDES)('%s.md', async guide => {
    const blocks = blocksOf(guide)
    expect(blocks.length, `runnable blocks of ${guide}.md`).toBeGreaterThan(0)
    const env = await environment()
    // The blocks of a guide follow from one another, as a reader pastes them into one shell.
    const shell = blocks.filter(({ language, setup }) => language === 'sh' && !setup)
    const script = shell.map(({ code }, index) => `echo "--- block ${index + 1}"\n${code}`).join('\n')
    const { status, output } = await run('sh', `${setup}\n${script}`, env)
    expect(status, output).toBe(0)
    for (const { code } of blocks.filter(({ language }) => language === 'ts')) {
      const result = await run('ts', code, env)
      expect(result.status, result.output).toBe(0)
    }
  })
})
