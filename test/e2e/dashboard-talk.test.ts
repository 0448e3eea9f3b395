/**
 * The first minutes of a new user without the API: sign-up, a conversation with the example agent by microphone, and
 * the call in the list. And the messages of the talk panel without a dialogue. Whole stack, real LiveKit, real
 * Chromium.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { setSubscription } from '../../control/access/accounts/service.ts'
import { SESSION_COOKIE } from '../../control/access/authentication/authenticate.ts'
import { openSession as openDashboard } from '../../control/access/sessions/sessions.ts'
import { demoLines } from '../../infra/demo/script.ts'
import { concatPcm } from '../../media/audio/frames.ts'
import { decodeWav, encodeWav } from '../../media/audio/wav.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../support/chromium.ts'
import { nextEmail, openWith, overflow, PASSWORD, rest, seriousViolations } from '../support/dashboard.ts'
import { look, loudest, unexpected } from '../support/live-page.ts'
import { livekitBinary } from '../support/livekit.ts'
import { LETTER_ERRORS } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { callsOf, newestEnded, type RoomStack, startRoomStack } from '../support/stack-rooms.ts'
import { letterErrors, silence, wavOf } from '../support/stack-speech.ts'
import { json } from '../support/stack-world.ts'
import { until } from '../support/world.ts'

const { file, text: WISH } = demoLines[0]!
const SPEECH = join(import.meta.dirname, '../../infra/demo/voice', file)
/** Longer than it takes to join and to be greeted. */
const LEAD_MS = 10_000
const GREETING = 'Hello! How can I help you today?'
const XSS = ['<img src=x onerror="window.pwned=1">', '"><script>window.pwned=1</script>', 'javascript:window.pwned=1']
const canRun = livekitBinary !== null && chromiumPath !== null

let stack: RoomStack
let browser: TestBrowser
/** Browser with a silent microphone. */
let silent: TestBrowser
const pages: TestPage[] = []
beforeAll(async () => {
  if (!canRun) return
  stack = await startRoomStack()
  const { pcm, sampleRate, channels } = decodeWav(readFileSync(SPEECH))
  const microphone = join(stack.folder, 'microphone.wav')
  const lead = new Int16Array((LEAD_MS * sampleRate * channels) / 1000)
  writeFileSync(microphone, encodeWav({ sampleRate, channels, pcm: concatPcm([lead, pcm]) }))
  const quiet = join(stack.folder, 'quiet.wav')
  wavOf(quiet, silence(1000))
  browser = await openBrowser({ microphone })
  stack.onStop(() => browser.close())
  silent = await openBrowser({ microphone: quiet })
  stack.onStop(() => silent.close())
  stack.world.on('/weather', (_, response) => json(response, { weather: XSS[0] }))
}, 300_000)
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(() => stack?.stop())

const kept = <T extends TestPage>(opened: T): T => {
  pages.push(opened)
  return opened
}
/** Speech is worked on while other tests run. */
const shown = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 180_000, interval: 200 })
const panelOf = (page: Page, name = 'Talk to the agent') => page.getByRole('region', { name, exact: true })
const button = (page: Page, name: string) => panelOf(page).getByRole('button', { name, exact: true })
const status = (page: Page) => panelOf(page).getByRole('status').first()
const lines = (page: Page, role: string) => panelOf(page).getByRole('log').locator(`[data-role=${role}] .talk-words`)

/** The project's page of an owner who was made without one, with the panel open. */
async function openPanel(owner: Owner, options: BrowserContextOptions = {}): Promise<TestPage> {
  const { token } = await openDashboard(stack.parts, owner.id)
  const cookie = `${SESSION_COOKIE}=${token}`
  return kept(await openWith(silent, stack.baseUrl, cookie, `/projects/${owner.projectId}?talk=1`, options))
}

describe.skipIf(!canRun)('a new user', () => {
  it('signs up, talks to the agent, and finds the call', { timeout: 400_000 }, async () => {
    const { page, complaints } = kept(await browser.open(`${stack.baseUrl}/dashboard/sign-up`))
    const beganMs = performance.now()
    await page.getByLabel('Email').fill(nextEmail())
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('link', { name: 'Talk to agent', exact: true }).click()
    await button(page, 'Start call').click()
    await shown(() => lines(page, 'agent').first().textContent()).toBe(GREETING)
    console.log(`greeted ${Math.round((performance.now() - beganMs) / 1000)} s after the sign-up page was there`)

    await shown(() => lines(page, 'caller').count()).toBe(1)
    await shown(() => lines(page, 'agent').count()).toBe(2)
    await shown(() => status(page).textContent()).toBe('Speaking')
    expect(await loudest(page, 2000)).toBeGreaterThan(0.02)
    const heard = (await lines(page, 'caller').first().textContent())!
    expect(letterErrors(WISH, heard), heard).toBeLessThanOrEqual(LETTER_ERRORS)
    await panelOf(page)
      .getByText(/response latency .*\(end-pointing/)
      .waitFor()
    await shown(() => status(page).textContent()).toBe('Listening')
    await look(page, 'talk')
    // The panel moves to a drawer and back, and the dialogue continues.
    await page.setViewportSize({ width: 800, height: 700 })
    await page.getByRole('dialog').getByText(GREETING).waitFor()
    await page.setViewportSize({ width: 1280, height: 720 })
    expect(await seriousViolations(page)).toEqual([])

    await button(page, 'Hang up').click()
    await shown(() => status(page).textContent()).toBe('Call ended')
    await panelOf(page).getByText(/^Cost/).waitFor({ timeout: 60_000 })
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Call again')
    const id = /\/calls\/([\w-]+)$/.exec((await panelOf(page).getByRole('link').getAttribute('href'))!)![1]!
    const [session] = await page.context().cookies()
    const { body } = await rest(stack.baseUrl, `${session!.name}=${session!.value}`, 'GET', `/calls/${id}`)
    expect(body).toMatchObject({ direction: 'web', status: 'completed', ended_reason: 'caller_hangup' })
    // Half of 5.0000 a minute, half up to four places.
    const cost = (Math.round((25_000 * body.billed_seconds) / 60) / 10_000).toFixed(4)
    expect(body.cost.amount).toBe(cost)
    // A user who stays silent for long is prompted, which may add turns.
    expect(body.transcript.slice(0, 3).map((turn: { role: string }) => turn.role)).toEqual(['agent', 'caller', 'agent'])
    expect(body.transcript[1].heard_text).toBe(heard)

    await panelOf(page).getByRole('link', { name: 'View call' }).click()
    await page.getByText(heard).first().waitFor()
    await page.getByRole('link', { name: 'Calls', exact: true }).click()
    await page.getByRole('table').getByText('completed').waitFor()
    expect(unexpected(complaints)).toEqual([])
  })
})

describe.skipIf(!canRun)('the talk panel', () => {
  it('accepts variables, a task, typed text and tools; mutes; escapes text', {
    skip: !inject('full'),
    timeout: 300_000,
  }, async () => {
    const owner = await stack.owner({
      trunk: { port: 5999 },
      project: {
        name: XSS[1]!,
        prompt: `Be brief. ${XSS[0]} {{guest}}`,
        greeting: 'Good evening, {{guest}}.',
        tools: [
          {
            name: 'look_up_weather',
            description: XSS[1]!,
            method: 'GET',
            url: `${stack.world.url}/weather`,
            parameters: { type: 'object', properties: {}, required: [] },
          },
        ],
      },
    })
    const { page, complaints } = await openPanel(owner, {
      locale: 'ru-RU',
      colorScheme: 'dark',
      viewport: { width: 380, height: 800 },
    })
    const panel = panelOf(page, 'Разговор с агентом')
    await panel.getByRole('button', { name: 'Задача и переменные (1)' }).click()
    await panel.getByLabel('{{guest}}').fill(`Anna ${XSS[2]}`)
    await panel.getByLabel('Задача на этот звонок').fill(XSS[0]!)
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'talk-given-narrow', ['dark'])
    await panel.getByRole('button', { name: 'Позвонить', exact: true }).click()
    await shown(() => panel.getByRole('log').textContent()).toContain('Good evening, Anna')
    await panel.getByRole('button', { name: 'Выключить микрофон' }).click()
    await panel.getByRole('button', { name: 'Включить микрофон' }).waitFor()
    await shown(() => panel.getByRole('status').first().textContent()).toBe('Слушает')

    await panel.getByLabel('Введите сообщение').fill('Can you tell me the weather?')
    await panel.getByLabel('Введите сообщение').press('Enter')
    await panel.getByText(/Инструмент look_up_weather: успешно/).click({ timeout: 60_000 })
    await panel.getByText('onerror').first().waitFor()
    await panel.getByLabel('Введите сообщение').fill(XSS[1]!)
    await panel.getByRole('button', { name: 'Отправить' }).click()
    await shown(() => panel.getByRole('log').textContent()).toContain(XSS[1]!)
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'talk-narrow', ['dark', 'light'])
    await panel.getByRole('button', { name: 'Завершить' }).click()
    await panel.getByText(/^Стоимость/).waitFor({ timeout: 60_000 })
    expect(await page.evaluate('window.pwned')).toBe(undefined)
    expect(unexpected(complaints)).toEqual([])
    const call = await newestEnded(stack, owner, 1)
    expect(call.transcript.filter(turn => turn.role === 'caller').map(turn => turn.text)).toEqual([
      'Can you tell me the weather?',
      XSS[1],
    ])
  })

  it('explains why the session cannot start', { skip: !inject('full'), timeout: 300_000 }, async () => {
    const owner = await stack.owner({ trunk: { port: 5999 }, money: '1' })
    const refused = await openPanel(owner, { permissions: [] })
    await button(refused.page, 'Start call').click()
    await refused.page.getByRole('alert').getByText('Microphone access is blocked').waitFor()
    expect(await status(refused.page).textContent()).toBe("Couldn't start the call")

    const { page } = await openPanel(owner)
    await button(page, 'Start call').click()
    const alert = panelOf(page).getByRole('alert')
    await alert.getByRole('link', { name: 'Top up' }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'talk-refused')

    await setSubscription(stack.parts, owner.id, null, { status: 'inactive', ends_at: null })
    await button(page, 'Call again').click()
    await shown(() => alert.textContent()).toContain('subscription')
    await setSubscription(stack.parts, owner.id, null, { status: 'active', ends_at: null })
    await owner.rest('PATCH', `/projects/${owner.projectId}`, { prompt: '' })
    await button(page, 'Call again').click()
    await alert.getByRole('link', { name: 'Edit project' }).waitFor()
  })

  it('reports a lost agent, and reconnects', {
    skip: !inject('full'),
    timeout: 300_000,
  }, async () => {
    const owner = await stack.owner({ trunk: { port: 5999 }, project: { greeting: GREETING } })
    const { page } = await openPanel(owner)
    await button(page, 'Start call').click()
    await shown(() => lines(page, 'agent').first().textContent()).toBe(GREETING)
    const [held] = await callsOf(owner)
    const engine = await stack.engineOf(held!.id)
    process.kill(engine.child.pid, 'SIGKILL')
    await panelOf(page)
      .getByRole('alert')
      .getByText('The engine that handled the call stopped responding.')
      .waitFor({ timeout: 90_000 })
    await until(() => stack.told.includes(`${engine.title} is back.`), 'the engine', 30_000)
    await shown(async () => {
      await button(page, 'Call again').click()
      return button(page, 'Hang up')
        .waitFor({ timeout: 5000 })
        .then(
          () => true,
          () => false,
        )
    }).toBe(true)
    await shown(() => lines(page, 'agent').first().textContent()).toBe(GREETING)

    await stack.livekit.kill()
    await panelOf(page)
      .getByRole('alert')
      .getByText(/connection/i)
      .waitFor({ timeout: 90_000 })
    await button(page, 'Call again').click()
    await shown(() => panelOf(page).getByRole('alert').textContent()).toMatch(/WebRTC|LiveKit|realtime/i)
    await stack.livekit.restart()
  })
})
