/** The page `/talk` in a real Chromium: its delivery, its texts, and a dialogue with a microphone fed from a file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RoomServiceClient } from 'livekit-server-sdk'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { decodeWav, encodeWav } from '../../media/audio/wav.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../support/chromium.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'
import { livekitBinary, roomOf, startTestLiveKit, type TestLiveKit } from '../support/livekit.ts'
import { beatOf, type EchoAgent, joinEchoAgent } from '../support/room-agent.ts'

const SPEECH = join(import.meta.dirname, '../../infra/demo/voice/book.wav')
/** Longer than it takes to join. */
const LEAD_MS = 4000
vi.setConfig({ testTimeout: 60_000 })

let control: TestControl
let livekit: TestLiveKit | null = null
let tenant: Tenant
let address: string
let beat: NodeJS.Timeout | undefined
let folder: string
let browser: TestBrowser | null = null
const pages: TestPage[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-talk-'))
  const microphone = join(folder, 'microphone.wav')
  writeFileSync(microphone, withLead(readFileSync(SPEECH)))
  browser = chromiumPath ? await openBrowser({ microphone }) : null
  control = await createControl()
  livekit = livekitBinary ? await startTestLiveKit() : null
  if (livekit) {
    const { url, apiKey, apiSecret } = livekit
    control.deps.livekit = createLiveKit({ url, publicUrl: url, apiKey, apiSecret, prefix: 'test-' })
  }
  beat = beatOf(control)
  tenant = await createTenant(control, { money: '100', project: { name: 'Front desk' } })
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(async () => {
  await browser?.close()
  clearInterval(beat)
  await control?.close()
  await livekit?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function withLead(file: Buffer): Buffer {
  const { pcm, ...form } = decodeWav(file)
  const lead = (form.sampleRate * form.channels * LEAD_MS) / 1000
  const all = new Int16Array(lead + pcm.length)
  all.set(pcm, lead)
  return encodeWav({ ...form, pcm: all })
}

async function open(fragment = '', options: BrowserContextOptions = {}): Promise<TestPage> {
  const opened = await browser!.open(`${address}/talk${fragment}`, options)
  pages.push(opened)
  return opened
}
/** A page takes its time on a busy machine. */
const shown = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 180_000 })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const alert = (page: Page) => page.getByRole('alert')
const status = (page: Page) => page.getByRole('status')

describe('the page as it is served', () => {
  it('comes from here; its files may be kept, the document with its nonce may not', async () => {
    const document = await fetch(`${address}/talk`)
    expect(document.status).toBe(200)
    expect(document.headers.get('cache-control')).toBe('no-store')
    const html = await document.text()
    expect(html).not.toMatch(/(?:src|href)="https?:/)
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
    expect(files.length).toBeGreaterThan(2)
    for (const url of files) {
      const first = await control.app.inject({ url })
      expect([url, first.statusCode]).toEqual([url, 200])
      expect(first.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      const again = await control.app.inject({ url, headers: { 'if-none-match': String(first.headers['etag']) } })
      expect(again.statusCode).toBe(304)
    }
  })

  it('may connect to this server and LiveKit only', async () => {
    const { headers } = await fetch(`${address}/talk`)
    const policy = new Map(
      headers
        .get('content-security-policy')!
        .split('; ')
        .map(one => [one.slice(0, one.indexOf(' ')), one.slice(one.indexOf(' ') + 1)]),
    )
    const server = livekit ? ` ${livekit.url} ${livekit.url.replace('ws:', 'http:')}` : ''
    expect(policy.get('connect-src')).toBe(`'self'${server}`)
    expect(policy.get('default-src')).toBe("'none'")
    expect(policy.get('script-src')).toBe("'self'")
    expect(policy.get('frame-ancestors')).toBe("'none'")
    expect(headers.get('permissions-policy')).toContain('microphone=(self)')
  })

  it('is not part of the API, and accepts only GET', async () => {
    const document = (await (await fetch(`${address}/openapi.json`)).json()) as { paths: object }
    expect(Object.keys(document.paths).filter(path => path.includes('talk'))).toEqual([])
    expect((await fetch(`${address}/talk`, { method: 'POST' })).status).toBe(405)
  })
})

describe.skipIf(chromiumPath === null)('the page in a browser', () => {
  it.each([
    { colorScheme: 'light', locale: 'en-US', title: 'Talk to an agent' },
    { colorScheme: 'dark', locale: 'ru-RU', title: 'Поговорить с агентом' },
  ] as const)('fits a small $colorScheme screen in $locale, without a complaint', async ({ title, ...context }) => {
    const { page, complaints, requests } = await open('', { ...context, viewport: { width: 380, height: 700 } })
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(380)
    expect(await page.evaluate('document.documentElement.lang')).toBe(context.locale.slice(0, 2))
    const [ground, ink] = (await page.evaluate(
      'const { backgroundColor, color } = getComputedStyle(document.body); [backgroundColor, color]',
    )) as string[]
    expect(brightness(ground!) > brightness(ink!)).toBe(context.colorScheme === 'light')
    expect(requests.filter(url => !url.startsWith(address) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
  })

  it('explains problems with key, microphone and server', async () => {
    const { page } = await open('', { permissions: [] })
    const key = page.getByLabel('API key', { exact: true })
    await shown(() => button(page, 'Start call').isDisabled()).toBe(true)
    await key.fill('svc_wrong')
    await key.press('Enter')
    await shown(() => alert(page).textContent()).toBe('This API key is invalid. Check it and try again.')
    await key.fill(tenant.key)
    await key.press('Tab')
    await shown(() => page.getByLabel('Project').inputValue()).toBe(tenant.projectId)
    expect(await alert(page).isVisible()).toBe(false)
    await button(page, 'Start call').press('Enter')
    await shown(() => alert(page).textContent()).toContain('Microphone access is blocked')
    expect(await button(page, 'Call again').isEnabled()).toBe(true)
  })

  const problems = [
    [402, 'insufficient_balance', "The balance doesn't cover one minute. Top up to make calls."],
    [503, 'something_new', 'In words of the server.'],
    [409, 'project_not_ready', "The project isn't ready for calls. Check its prompt and models."],
    [503, 'no_capacity', 'All engines are busy. Try again in a minute.'],
  ] as const
  it.each(problems.slice(0, inject('full') ? undefined : 2))('explains %i %s', async (code, name, text) => {
    const { page } = await open()
    const body = JSON.stringify({ code: name, detail: 'In words of the server.' })
    await page.route('**/realtime/session', answer => answer.fulfill({ status: code, body }))
    await page.getByLabel('API key', { exact: true }).fill(tenant.key)
    await page.getByLabel('API key', { exact: true }).press('Tab')
    await button(page, 'Start call').click()
    await shown(() => alert(page).textContent()).toBe(text)
  })
})

describe.skipIf(chromiumPath === null || livekitBinary === null)('a dialogue', () => {
  let rooms = 0
  const agents: EchoAgent[] = []
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.leave()
  })

  /** As one that an app was given: url and token, and an agent that waits. */
  async function ticket(identity = 'caller-1') {
    const room = `test-talk-${++rooms}`
    const agent = await joinEchoAgent(livekit!, room)
    agents.push(agent)
    const { url } = livekit!
    const token = await livekit!.token({ room, identity })
    return { room, agent, url, token, fragment: `#${new URLSearchParams({ url, token })}` }
  }

  it('works with URL and token alone: audio, transcript, states, mute, end', async () => {
    const { agent, fragment, token } = await ticket()
    const { page, complaints, requests } = await open(fragment)
    expect(page.url()).toBe(`${address}/talk`)
    expect(await page.getByLabel('API key', { exact: true }).isVisible()).toBe(false)
    await button(page, 'Start call').click()
    await shown(() => status(page).textContent()).toBe('Listening')
    await shown(() => status(page).textContent()).toBe('Speaking')
    expect(agent.answered()).toBeGreaterThan(24_000) // more than half a second of speech came through
    expect(await loudest(page, 2000)).toBeGreaterThan(0.02)
    const said = page.getByRole('log').locator('.talk-line')
    await shown(() => said.allTextContents()).toEqual(['Youhello there', 'AgentHello there to you.'])

    await button(page, 'Mute').click()
    await agent.wait(() => microphoneOf(agent, 'caller-1')?.muted, 'the microphone to be muted')
    await button(page, 'Unmute').waitFor()
    await button(page, 'Hang up').click()
    await agent.wait(() => agent.room.remoteParticipants.size === 0, 'the caller to leave')
    await shown(() => status(page).textContent()).toBe('Call ended')
    expect(await alert(page).isVisible()).toBe(false)
    expect(await said.count()).toBe(2) // still there to read
    expect(complaints).toEqual([])
    // To us the token was never sent.
    expect(requests.filter(url => url.startsWith(address) && url.includes(token.slice(-20)))).toEqual([])
  })

  it('starts with a key and a project, and accepts typed text', async () => {
    const { page } = await open()
    await page.getByLabel('API key', { exact: true }).fill(tenant.key)
    await page.getByLabel('API key', { exact: true }).press('Tab')
    await page.getByLabel('Project').selectOption('Front desk')
    const [answer] = await Promise.all([
      page.waitForResponse(response => response.url().endsWith('/v1/public/realtime/session')),
      button(page, 'Start call').click(),
    ])
    expect(answer.status()).toBe(201)
    const agent = await joinEchoAgent(livekit!, roomOf(((await answer.json()) as { token: string }).token))
    agents.push(agent)
    const typed: string[] = []
    agent.room.registerTextStreamHandler('lk.chat', reader => void reader.readAll().then(text => typed.push(text)))
    await shown(() => status(page).textContent()).toBe('Listening')
    await page.getByLabel('Type a message').fill('Friday at seven')
    await page.getByLabel('Type a message').press('Enter')
    await shown(() => typed).toEqual(['Friday at seven'])
  })

  const ends: [Record<string, string>, string | null][] = [
    [{ 'parley.problem': 'insufficient_balance' }, "The balance doesn't cover one minute. Top up to make calls."],
    [{ 'parley.ended': 'engine_lost' }, 'The connection to the agent was lost.'],
    [{ 'parley.ended': 'agent_hangup' }, null],
  ]
  it.each(ends.slice(0, inject('full') ? undefined : 1))('shows the end reason %j', async (attributes, text) => {
    const { room, fragment } = await ticket()
    const { page } = await open(fragment)
    await button(page, 'Start call').click()
    await button(page, 'Hang up').waitFor()
    const server = new RoomServiceClient(livekit!.url.replace('ws', 'http'), livekit!.apiKey, livekit!.apiSecret)
    await server.updateParticipant(room, 'caller-1', { attributes })
    await server.removeParticipant(room, 'caller-1')
    await shown(() => status(page).textContent()).toBe('Call ended')
    if (text === null) expect(await alert(page).isVisible()).toBe(false)
    else expect(await alert(page).textContent()).toBe(text)
  })

  it('rejects a token of another server', async () => {
    const { url } = livekit!
    const fragment = `#${new URLSearchParams({ url, token: 'not.a.token' })}`
    const { page } = await open(fragment)
    await button(page, 'Start call').click()
    await shown(() => alert(page).textContent()).toContain("Couldn't join the call")
    expect(await button(page, 'Call again').isEnabled()).toBe(true)
  })
})

const brightness = (color: string) =>
  (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)

const microphoneOf = (agent: EchoAgent, identity: string) =>
  [...(agent.room.remoteParticipants.get(identity)?.trackPublications.values() ?? [])][0]

/** The greatest level (0–1) of what the page plays, within so many milliseconds. */
async function loudest(page: Page, ms: number): Promise<number> {
  return page.evaluate(`(async () => {
    const context = new AudioContext()
    const meter = context.createAnalyser()
    context.createMediaStreamSource(document.querySelector('audio').srcObject).connect(meter)
    const samples = new Float32Array(meter.fftSize)
    let most = 0
    for (const end = performance.now() + ${ms}; performance.now() < end; ) {
      await new Promise(requestAnimationFrame)
      meter.getFloatTimeDomainData(samples)
      most = Math.max(most, ...samples.map(Math.abs))
    }
    await context.close()
    return most
  })()`)
}
