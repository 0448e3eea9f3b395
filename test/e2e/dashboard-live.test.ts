/**
 * A live phone call in the dashboard: placed, transcribed live, listened to, whispered into, taken over, handed back
 * and ended. Real SIP on one side, Chromium and a real LiveKit room on the other.
 */
import { join } from 'node:path'
import { RoomServiceClient } from 'livekit-server-sdk'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { SESSION_COOKIE } from '../../control/access/authentication/authenticate.ts'
import { openSession as openDashboard } from '../../control/access/sessions/sessions.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../support/chromium.ts'
import { openWith, overflow, seriousViolations } from '../support/dashboard.ts'
import { look, loudest, unexpected } from '../support/live-page.ts'
import { livekitBinary } from '../support/livekit.ts'
import { lacks } from '../support/needs.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectSettled } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { type RoomStack, startRoomStack } from '../support/stack-rooms.ts'
import { letterErrors, silence, wavOf, wordErrors } from '../support/stack-speech.ts'
import { soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { json } from '../support/stack-world.ts'

const CALLEE = '+14155550178'
const GREETING = 'Hello, this is the night porter.'
/** Speech that the operator's microphone plays each time it is opened. */
const OPERATOR = 'Please remember that we close at nine.'
/** Milliseconds of leading silence, longer than joining takes. */
const LEAD_MS = 5000
/** On a busy machine the recogniser takes words for others; another sentence would be all wrong. */
const TWO_HOPS = 0.4
const XSS = ['<img src=x onerror="window.pwned=1">', '"><script>window.pwned=1</script>', 'javascript:window.pwned=1']
const canRun = livekitBinary !== null && chromiumPath !== null && !lacks('baresip', 'tcpdump')

let stack: RoomStack
let tap: Tap
let phone: Baresip
let owner: Owner
let browser: TestBrowser
let answer = 'The answer is in the library.'
/** Requests to the text model, in order. */
const asked: string[] = []
const pages: TestPage[] = []

beforeAll(async () => {
  if (!canRun) return
  stack = await startRoomStack()
  tap = await tapRtp(stack)
  const microphone = join(stack.folder, 'operator.wav')
  wavOf(microphone, silence(LEAD_MS), await stack.speech.say(OPERATOR), silence(1000))
  browser = await openBrowser({ microphone })
  stack.onStop(() => browser.close())
  stack.world.on('/v1/chat/completions', ({ body }, response) => {
    const { stream, messages } = JSON.parse(body) as { stream?: boolean; messages: { role: string; content: string }[] }
    const head = { id: 'c', created: 1, model: 'local' }
    if (!stream) {
      const content = JSON.stringify({ summary: 'They talked.', goal_reached: false, goal_evidence: null })
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
      json(response, { ...head, object: 'chat.completion', choices })
      return
    }
    asked.push(body)
    const last = messages.at(-1)!
    const wantsPerson = last.role === 'user' && /\bmanager\b/i.test(JSON.stringify(last))
    const transfer = { name: 'transfer_call', arguments: '{"to":"manager"}' }
    const said = wantsPerson
      ? { role: 'assistant', tool_calls: [{ index: 0, id: 't1', type: 'function', function: transfer }] }
      : { role: 'assistant', content: answer }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [delta, finish_reason] of [
      [said, null],
      [{}, wantsPerson ? 'tool_calls' : 'stop'],
    ]) {
      const choices = [{ index: 0, delta, finish_reason }]
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  phone = await startBaresip(stack, CALLEE)
  owner = await stack.owner({
    trunk: { port: phone.port },
    secrets: { MODEL_KEY: 'sk-e2e' },
    project: {
      name: 'Night porter',
      greeting: GREETING,
      transfers: [{ name: 'manager', to: 'browser', description: 'Knows about prices' }],
      llm: {
        provider: 'openai_compatible',
        base_url: `${stack.world.url}/v1`,
        model: 'local',
        api_key_secret: 'MODEL_KEY',
      },
    },
  })
}, 300_000)
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(() => stack?.stop())

async function openPage(path: string, options: BrowserContextOptions = {}): Promise<TestPage> {
  const { token } = await openDashboard(stack.parts, owner.id)
  const opened = await openWith(browser, stack.baseUrl, `${SESSION_COOKIE}=${token}`, path, options)
  pages.push(opened)
  return opened
}
/** Speech is worked on while other tests run. */
const shown = <T>(see: () => Promise<T> | T) => expect.poll(see, { timeout: 120_000, interval: 200 })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const lines = (page: Page, role: string) => page.getByRole('log').locator(`[data-role=${role}] .talk-words`)
/** Replies of the model, without the agent's check whether the caller is still there. */
const answers = (page: Page) => lines(page, 'agent').filter({ hasText: answer })
const expectWords = (wanted: string, heard: string) =>
  expect(letterErrors(wanted, heard), `wanted: ${wanted}\nheard: ${heard}`).toBeLessThanOrEqual(TWO_HOPS)

/** By the form of the page; resolves when the telephone rings and the page is that of the call. */
async function place(page: Page, rings: number): Promise<string> {
  await button(page, 'New call').click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Phone number').fill('+1 (415) 555-0178')
  await form.getByLabel('Task for this call').fill('Ask {{guest}} about breakfast.')
  await form.getByLabel('{{guest}}').fill('Anna')
  await form.getByRole('button', { name: 'Call', exact: true }).click()
  await phone.wait('CALL_INCOMING', 20_000, rings)
  await page.getByRole('region', { name: 'Live call' }).waitFor()
  return new URL(page.url()).pathname.split('/').at(-1)!
}

/** Tracks that operators publish in the room of this call. */
async function tracksOfOperators(callId: string) {
  const { livekit } = stack
  const rooms = new RoomServiceClient(livekit.url.replace('ws', 'http'), livekit.apiKey, livekit.apiSecret)
  const room = (await rooms.listRooms()).find(({ name }) => name.includes(callId))!
  const people = await rooms.listParticipants(room.name)
  return people.filter(({ identity }) => !identity.startsWith('agent-')).map(({ tracks }) => tracks.length)
}

describe.skipIf(!canRun)('a live call in the dashboard', () => {
  it('supports placing, transcript, listen, whisper, takeover, hand-back and end', {
    timeout: 590_000,
  }, async () => {
    const [question, wish] = await Promise.all(
      ['Who built the old lighthouse?', 'I want to speak to the manager.'].map(text => stack.speech.say(text)),
    )
    const { page, complaints } = await openPage('/calls')
    const id = await place(page, 1)
    await page.getByText('You can listen, whisper and take over once the call is answered.').waitFor()
    await phone.command('accept')
    const call = await owner.follow(id)
    await shown(() => lines(page, 'agent').allTextContents()).toEqual([GREETING])
    expect(asked.length).toBe(0)

    // Listening: both sides are heard, nothing is sent.
    await button(page, 'Listen').click()
    await page.getByText('You hear both sides. Nobody hears you.').waitFor()
    await phone.speak(question!)
    await shown(() => loudest(page, 1000)).toBeGreaterThan(0.02)
    await shown(() => answers(page).count()).toBe(1)
    const written = () =>
      call.events.flatMap(event =>
        event.type === 'turn.finished' && event.turn.role === 'caller' ? [event.turn.heard_text] : [],
      )
    // The page and the test have a stream each.
    await shown(async () => [await lines(page, 'caller').allTextContents(), written()]).toSatisfy(
      ([read, told]) => read.length > 0 && read.join('|') === told.join('|'),
    )
    expectWords('Who built the old lighthouse?', (await lines(page, 'caller').last().textContent())!)
    expect(asked.at(-1)).toMatch(/Ask <data-(\w+) from=\\"guest\\">Anna<\/data-\1> about breakfast\./)
    expect(await tracksOfOperators(id)).toEqual([0])
    await page.getByText(/response latency .*\(end-pointing/).waitFor()

    // Whisper: only the agent receives it; the caller hears at most the silence prompt.
    const before = tap.packets({ to: phone.isMedia }).length
    await button(page, 'Whisper').click()
    await page.getByText('Only the agent hears you. Your words are instructions.').waitFor()
    await shown(() => lines(page, 'whisper').count()).toBe(1)
    const whispered = (await lines(page, 'whisper').first().textContent())!
    expectWords(OPERATOR, whispered)
    await page.getByLabel('Instruction for the agent').fill('Offer tea.')
    await page.getByLabel('Instruction for the agent').press('Enter')
    await shown(() => lines(page, 'whisper').last().textContent()).toBe('Offer tea.')
    const meanwhile = await stack.speech.read(soundOf(tap.packets({ to: phone.isMedia }).slice(before)))
    expect(wordErrors(OPERATOR, meanwhile.map(({ text }) => text).join(' '))).toBeGreaterThan(0.8)
    await phone.speak(question!)
    await shown(() => answers(page).count()).toBe(2)
    expect(asked.at(-1)).toContain(whispered)
    expect(asked.at(-1)).toContain('Offer tea.')
    await look(page, 'live-whisper', ['light'])
    await button(page, 'Leave').click()
    await page.getByText('You are not in the call.').waitFor()
    await call.wait('monitor.left')

    // Taking over: the caller hears the operator, and the agent is silent.
    const from = tap.packets({ to: phone.isMedia }).length
    const asks = asked.length
    await button(page, 'Take over').click()
    await page.getByText('The caller hears you. The agent is muted.').waitFor()
    await shown(() => lines(page, 'operator').count()).toBe(1)
    const onWire = await stack.speech.read(soundOf(tap.packets({ to: phone.isMedia }).slice(from)))
    expectWords(OPERATOR, onWire.map(({ text }) => text).join(' '))
    expect(asked.length).toBe(asks)
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'live-takeover')

    // Handing back: the agent answers, and nothing is sent any more.
    await button(page, 'Return to agent').click()
    await page.getByText('You hear both sides. Nobody hears you.').waitFor()
    expect(await tracksOfOperators(id)).toEqual([0])
    await phone.speak(question!)
    await shown(() => answers(page).count()).toBe(3)

    // The agent transfers the caller to the connected operator.
    await phone.speak(wish!)
    const wanted = page.getByRole('alert').filter({ hasText: 'transferring the caller to “manager”' })
    await wanted.getByRole('button', { name: 'Take over' }).click({ timeout: 120_000 })
    await page.getByText('The caller hears you. The agent is muted.').waitFor()
    await wanted.waitFor({ state: 'detached' })
    await page.getByText(/Tool transfer_call/).waitFor({ timeout: 60_000 })

    await button(page, 'Hang up').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Hang up' }).click()
    await phone.wait('CALL_CLOSED')
    await call.ended()
    await page.getByRole('region', { name: 'Live call' }).waitFor({ state: 'detached' })
    expect(await owner.detail(id)).toMatchObject({ status: 'completed', ended_reason: 'api_hangup' })
    await expectSettled(stack, owner)
    expect(unexpected(complaints)).toEqual([])
  })

  it('escapes external text, in Russian, dark mode and on a narrow screen', {
    skip: !inject('full'),
    timeout: 400_000,
  }, async () => {
    answer = XSS[0]!
    const { body } = await owner.rest('POST', '/calls', {
      project_id: owner.projectId,
      phone: CALLEE,
      task: XSS[1],
      vars: { guest: XSS[2] },
    })
    const { page, complaints } = await openPage(`/calls/${body.id}`, {
      locale: 'ru-RU',
      colorScheme: 'dark',
      viewport: { width: 380, height: 800 },
    })
    await phone.wait('CALL_INCOMING', 20_000, 2)
    await page.getByRole('button', { name: 'Отменить звонок' }).waitFor()
    await phone.command('accept')
    await shown(() => lines(page, 'agent').count()).toBe(1)
    await button(page, 'Подсказывать').click()
    await page.getByText('Вас слышит только агент. Ваши слова — указания для него.').waitFor()
    await page.getByLabel('Указание для агента').fill(XSS[0]!)
    await page.getByRole('button', { name: 'Отправить' }).click()
    await shown(() => lines(page, 'whisper').allTextContents()).toContain(XSS[0])
    await phone.speak(await stack.speech.say('When do you open in the morning?'))
    await shown(() => answers(page).count()).toBe(1)
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'live-narrow', ['dark', 'light'])
    expect(await page.evaluate('window.pwned')).toBe(undefined)

    // An operator who leaves the page leaves the call.
    const call = await owner.follow(body.id)
    const left = page.waitForResponse(response => response.request().method() === 'DELETE')
    await page.getByRole('link', { name: 'Все звонки' }).first().click()
    await Promise.all([left, call.wait('monitor.left')])
    await phone.command('hangup')
    await call.ended()
    expect(unexpected(complaints)).toEqual([])
  })

  it('explains a rejected call and links to the fix', { skip: !inject('full'), timeout: 200_000 }, async () => {
    const stranger = '+14155550179'
    await owner.rest('POST', '/do-not-call', { phone: stranger })
    const { page } = await openPage('/calls')
    await button(page, 'New call').click()
    const form = page.getByRole('dialog')
    const number = form.getByLabel('Phone number')
    await number.fill('tomorrow')
    await number.press('Enter')
    await form.getByText("Enter + and 7 to 15 digits, or a softphone's user name").waitFor()
    expect(await number.getAttribute('aria-invalid')).toBe('true')
    await number.fill(stranger)
    await number.press('Enter')
    await form.getByRole('alert').getByRole('link', { name: 'Open the list' }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await look(page, 'place-call')
    await form.getByLabel('Project').selectOption('Example')
    await number.fill(CALLEE)
    await number.press('Enter')
    await form.getByRole('alert').getByRole('link', { name: 'Bind number' }).click()
    await page.waitForURL('**/trunks')
  })
})
