/** The examples in `examples/realtime`, unchanged, with an echo in place of the agent. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { readConfig } from '../../infra/config/config.ts'
import { findPackages, LIVEKIT_CLIENT, withPackages } from '../../infra/tools/python.ts'
import { rms } from '../../media/audio/frames.ts'
import { decodeWav } from '../../media/audio/wav.ts'
import { chromiumPath, openBrowser } from '../support/chromium.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'
import { livekitBinary, roomOf, startTestLiveKit, type TestLiveKit } from '../support/livekit.ts'
import { beatOf, type EchoAgent, joinEchoAgent } from '../support/room-agent.ts'
import { until } from '../support/world.ts'

vi.setConfig({ testTimeout: 90_000 })

const folder = join(import.meta.dirname, '../../examples/realtime')
const SPEECH = join(import.meta.dirname, '../../infra/demo/voice/book.wav')
const python = await findPackages(readConfig().cache, LIVEKIT_CLIENT)
const noRooms = livekitBinary === null

let work: string
let control: TestControl
let livekit: TestLiveKit | null = null
let tenant: Tenant
let address: string
let beat: NodeJS.Timeout | undefined
const children: ChildProcess[] = []
const agents: EchoAgent[] = []

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'parley-examples-'))
  control = await createControl()
  if (!noRooms) {
    livekit = await startTestLiveKit()
    const { url, apiKey, apiSecret } = livekit
    control.deps.livekit = createLiveKit({ url, publicUrl: url, apiKey, apiSecret, prefix: 'test-' })
  }
  beat = beatOf(control)
  tenant = await createTenant(control, { money: '100' })
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(agents.map(agent => agent.leave()))
  clearInterval(beat)
  await control?.close()
  await livekit?.stop()
  rmSync(work, { recursive: true, force: true })
})

async function agentIn(room: string): Promise<EchoAgent> {
  const agent = await joinEchoAgent(livekit!, room)
  agents.push(agent)
  return agent
}

/** `server.mjs`, asking our control. Resolves with its address. */
async function startServer(key = tenant.key): Promise<string> {
  const env = { ...process.env, PARLEY_URL: address, PARLEY_KEY: key, PARLEY_PROJECT: tenant.projectId, PORT: '0' }
  const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  return line
}

test('each says whether it is run', () => {
  const unrun = readdirSync(folder).filter(name => /\.(?:swift|kt|dart|cs)$/.test(name))
  expect(unrun.sort()).toEqual(['Talk.cs', 'Talk.kt', 'Talk.swift', 'talk.dart'])
  for (const name of unrun) expect(readFileSync(join(folder, name), 'utf8')).toMatch(/^\/\/ Not run by our tests\. /)
  const listed = readFileSync(join(folder, 'README.md'), 'utf8')
  for (const name of [...unrun, 'server.mjs', 'browser.html', 'python/talk.py']) expect(listed).toContain(`(${name})`)
})

test.skipIf(noRooms)('the server gives away url and token, and tells what stands against it', async () => {
  const good = await fetch(`${await startServer()}/session`, { method: 'POST' })
  expect(await good.json()).toEqual({ url: livekit!.url, token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) })
  const bad = await fetch(`${await startServer('svc_nobody')}/session`, { method: 'POST' })
  expect([bad.status, await bad.json()]).toEqual([401, { code: 'unauthorized', detail: expect.any(String) }])
})

test.skipIf(noRooms || !chromiumPath)('the page talks, and shows the transcript and the state', async () => {
  const server = await startServer()
  const browser = await openBrowser({ microphone: SPEECH })
  try {
    const { page, complaints } = await browser.open(server)
    const [answer] = await Promise.all([
      page.waitForResponse(response => response.url().endsWith('/session')),
      page.getByRole('button').click(),
    ])
    await agentIn(roomOf(((await answer.json()) as { token: string }).token))
    await expect
      .poll(() => page.getByRole('log').locator('p').allTextContents(), { timeout: 120_000 })
      .toEqual(['You: hello there', 'Agent: Hello there to you.'])
    await expect.poll(() => page.getByRole('status').textContent(), { timeout: 180_000 }).toBe('listening')
    expect(complaints).toEqual([])
  } finally {
    await browser.close()
  }
})

test.skipIf(noRooms || python === null)(
  'the Python client talks, keeps the answer and prints what was said',
  async () => {
    const { body } = await tenant.call('POST', '/realtime/session', { project_id: tenant.projectId })
    const agent = await agentIn(roomOf(body.token))
    const answer = join(work, 'answer.wav')
    const child = spawn('python3', ['-s', join(folder, 'python/talk.py'), SPEECH, answer], {
      env: { ...withPackages(python!), PARLEY_ROOM_URL: body.url, PARLEY_ROOM_TOKEN: body.token },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', part => (output += String(part)))
    const [code] = (await once(child, 'exit')) as [number]
    await until(() => child.stdout!.readableEnded, 'the rest of its words')
    expect(code, output).toBe(0)
    expect(output).toContain('you: hello there\n')
    expect(output).toContain('agent: Hello there to you.\n')
    expect(output).toContain('(speaking)\n')
    expect(agent.answered()).toBeGreaterThan(24_000)
    const { sampleRate, pcm } = decodeWav(readFileSync(answer))
    expect(sampleRate).toBe(48_000)
    expect(seconds(pcm, 300)).toBeGreaterThan(0.5)
  },
)

/** Seconds of the audio that are louder than `level`. */
function seconds(pcm: Int16Array, level: number): number {
  let loud = 0
  for (let at = 0; at + 960 <= pcm.length; at += 960) if (rms(pcm.subarray(at, at + 960)) > level) loud++
  return (loud * 960) / 48_000
}
