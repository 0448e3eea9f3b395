/**
 * `npm run pictures`: takes the screenshots of the README. It starts the whole product with its own home directory,
 * places a call to the demo's phone, and photographs the dashboard in Chromium.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { DemoFile } from '../../infra/demo/account.ts'
import { findChromium } from '../../infra/setup/prepare.ts'

const root = join(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { folder: { type: 'string', default: join(root, 'docs/pictures') } } })

const START_TIMEOUT_MS = 600_000
const CALL_TIMEOUT_MS = 240_000
const MOST_CALLS = 3
const MOST_P50_MS = 1000
/** GitHub scales a picture to the width of its column; more than this is only slower to load. */
const MAX_BYTES = 200_000
const viewport = { width: 1280, height: 720 }

const executablePath = findChromium()
if (executablePath === null) throw new Error('Chromium is not installed. Run `npm test` once, which installs it.')

const home = mkdtempSync(join(tmpdir(), 'parley-pictures-'))
const parley = startParley()
try {
  const demo = await untilUp(parley)
  await api(demo, 'PATCH', `/projects/${demo.project_id}`, { recording: true })
  const call = await typicalCall(demo)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const context = await browser.newContext({ viewport, locale: 'en-US', colorScheme: 'light', timezoneId: 'UTC' })
    await logIn(context, demo)
    await takeCall(await context.newPage(), demo, call)
    await takeProject(await context.newPage(), demo)
  } finally {
    await browser.close()
  }
} finally {
  await stop(parley)
  rmSync(home, { recursive: true, force: true })
}

function startParley(): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'infra/bin/start.ts', '--no-demo'], {
    cwd: root,
    env: { ...process.env, PARLEY_HOME: home, LIVEKIT_EMBEDDED: 'off' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

/** The demo's account is made last, when everything else runs. */
async function untilUp(child: ChildProcess): Promise<DemoFile> {
  const file = join(home, 'demo.json')
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!existsSync(file)) {
    if (child.exitCode !== null) throw new Error(`Parley ended with ${child.exitCode}`)
    if (Date.now() > deadline) throw new Error('Parley did not start in time')
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  return JSON.parse(readFileSync(file, 'utf8')) as DemoFile
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

// biome-ignore lint/suspicious/noExplicitAny: answers of several operations
async function api(demo: DemoFile, method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`${demo.base_url}/v1/public${path}`, {
    method,
    headers: { 'x-api-key': demo.api_key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** The id of a call with a recording, and with latencies that a machine with other work does not have. */
async function typicalCall(demo: DemoFile): Promise<string> {
  for (let attempt = 0; attempt < MOST_CALLS; attempt++) {
    const call = await completedCall(demo)
    if (call.latency.p50_ms !== null && call.latency.p50_ms <= MOST_P50_MS) return call.id
    console.log(`The agent took ${call.latency.p50_ms} ms to answer (p50): this machine is busy.`)
  }
  throw new Error('The machine is too busy for a typical call. Try again when it is idle.')
}

async function completedCall(demo: DemoFile): Promise<{ id: string; latency: { p50_ms: number | null } }> {
  const { id } = await api(demo, 'POST', '/calls', { project_id: demo.project_id, phone: demo.callee_number })
  const deadline = Date.now() + CALL_TIMEOUT_MS
  for (;;) {
    const call = await api(demo, 'GET', `/calls/${id}`)
    if (call.ended_at && call.recording_url) return call
    if (call.ended_at && call.status !== 'completed') throw new Error(`The call ended as ${call.status}`)
    if (Date.now() > deadline) throw new Error('The call did not end in time')
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
}

async function logIn(context: BrowserContext, demo: DemoFile): Promise<void> {
  const answer = await context.request.post(`${demo.base_url}/auth/log-in`, {
    data: demo.login,
    headers: { origin: demo.base_url },
  })
  if (!answer.ok()) throw new Error(`log-in: ${answer.status()} ${await answer.text()}`)
}

/** From the waveform to the latency of each turn: what the page shows above and below is in the guides. */
async function takeCall(page: Page, demo: DemoFile, call: string): Promise<void> {
  await page.goto(`${demo.base_url}/dashboard/calls/${call}`)
  const section = (content: string) => page.locator('main section', { has: page.locator(content) }).last()
  const [conversation, latency] = [section('.call-track'), section('.latency-rows')]
  await latency.waitFor()
  await settled(page)
  const [above, below] = [await conversation.boundingBox(), await latency.boundingBox()]
  if (!above || !below) throw new Error('The page of the call shows no conversation')
  const clip = {
    x: above.x - 8,
    y: above.y - 8,
    width: above.width + 16,
    height: below.y + below.height - above.y + 16,
  }
  await save('call', path => page.screenshot({ path, clip, fullPage: true, animations: 'disabled' }))
}

async function takeProject(page: Page, demo: DemoFile): Promise<void> {
  await page.goto(`${demo.base_url}/dashboard/projects/${demo.project_id}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settled(page)
  await save('project', path => page.screenshot({ path, animations: 'disabled' }))
}

/** The waveform is drawn on a canvas, which no event announces. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.waitForTimeout(1500)
}

async function save(name: string, take: (path: string) => Promise<unknown>): Promise<void> {
  const path = join(values.folder, `${name}.png`)
  await take(path)
  const { size } = statSync(path)
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, which is more than ${MAX_BYTES}`)
  console.log(`${path}: ${size} bytes`)
}
