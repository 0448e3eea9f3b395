/** The pages of calls: the list, and an ended call with recording, transcript, tools, latency and SIP messages. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Control, startControl } from '../../../control/app.ts'
import type { CallRecord, RecordingInfo } from '../../../media/contract/messages.ts'
import { recordingKey } from '../../../media/contract/recordings.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../../support/chromium.ts'
import { createControl, nextPhone, type TestControl } from '../../support/control.ts'
import { openWith, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'
import { record, unanswered } from '../../support/records.ts'
import { until } from '../../support/world.ts'
import { hostile, hostileTalk, refused, SECONDS, talked, tones } from './calls-fixture.ts'

describe.skipIf(chromiumPath === null)('the pages of calls', () => {
  let control: TestControl
  let running: Control
  let address: string
  let browser: TestBrowser
  let folder: string
  const opened: TestPage[] = []

  beforeAll(async () => {
    control = await createControl()
    running = await startControl(control.deps)
    address = await control.app.listen({ port: 0, host: '127.0.0.1' })
    browser = await openBrowser({ microphone: '/dev/null' })
    folder = mkdtempSync(join(tmpdir(), 'parley-sound-'))
  })
  afterEach(async () => {
    for (const { close } of opened.splice(0)) await close()
  })
  afterAll(async () => {
    await browser?.close()
    await running?.stop()
    await control?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const open = async (cookie: string, path: string, options = {}) => {
    const page = await openWith(browser, address, cookie, path, options)
    opened.push(page)
    return page
  }

  /** Violations that axe reports. Its own copies of shadow root styles, which our policy forbids, are not counted. */
  const violations = async ({ page, complaints }: TestPage) => {
    const before = complaints.length
    const found = await seriousViolations(page)
    complaints.length = before
    return found
  }

  /** A player breaks off the request of a recording when it has heard enough for now. */
  const faults = ({ complaints }: TestPage) =>
    complaints.filter(complaint => !/\/recording: net::ERR_ABORTED$/.test(complaint))

  const shoot = async (page: Page, name: string) => {
    await page.evaluate('window.scrollTo(0, 0)')
    await screenshot(page, name)
  }

  /** Signs up and binds a line, so that calls may be placed. */
  async function customer() {
    const cookie = await signUp(address)
    const call = (method: string, path: string, body?: unknown) => rest(address, cookie, method, path, body)
    const projectId: string = (await call('GET', '/projects')).body.projects[0].id
    const number = nextPhone()
    await call('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [number] })
    expect((await call('POST', `/projects/${projectId}/numbers`, { number, direction: 'both' })).status).toBeLessThan(
      300,
    )
    const [row] = await control.deps.sql`select owner_id from projects where id = ${projectId}`
    return { cookie, call, projectId, ownerId: row!['owner_id'] as string }
  }
  type Customer = Awaited<ReturnType<typeof customer>>

  const place = async ({ call, projectId }: Customer): Promise<string> =>
    (await call('POST', '/calls', { project_id: projectId, phone: nextPhone() })).body.id

  /** Emits the events as an engine does. */
  async function end(owner: Customer, id: string, part: Partial<CallRecord>): Promise<void> {
    const engine = control.engine(`engine-${randomUUID()}`)
    const emit = engine.emitter({ call_id: id, owner_id: owner.ownerId })
    if (part.status === undefined) await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
    await emit({ type: 'call.ended', record: part.status === undefined ? record(part) : unanswered(part) })
    await until(async () => (await owner.call('GET', `/calls/${id}`)).body.ended_at !== null, 'the end is stored')
  }

  async function store(owner: Customer, id: string, sound: Buffer): Promise<RecordingInfo> {
    const key = recordingKey(owner.ownerId, id)
    const file = join(folder, id)
    writeFileSync(file, sound)
    await control.deps.blobs.store(key, file, { contentType: 'audio/wav', signal: new AbortController().signal })
    return { key, duration_ms: SECONDS * 1000, bytes: sound.length }
  }

  const plain = (text: string) => text.replaceAll('\u00a0', ' ')
  const audioTime = (page: Page) => page.evaluate<number>('document.querySelector("audio").currentTime')

  it('lists calls by what they are, and keeps the choice in the address', async () => {
    const owner = await customer()
    const [answered, lost, live] = [await place(owner), await place(owner), await place(owner)]
    await end(owner, answered, talked)
    await end(owner, lost, { status: 'failed', ended_reason: 'carrier_congestion', sip_code: 503 })
    const visit = await open(owner.cookie, '/calls')
    const { page } = visit
    const rows = page.getByRole('row')
    await shown(() => rows.count()).toBe(4)
    await page.getByRole('status').filter({ hasText: '3 calls' }).waitFor()
    await rows.filter({ hasText: 'The carrier has no free lines.' }).getByText('failed').waitFor()
    const cells = (await rows.filter({ hasText: 'completed' }).getByRole('cell').allTextContents()).map(plain)
    expect(cells).toEqual(expect.arrayContaining(['0:24', 'RUB 2.00', 'Reached', 'The other party hung up.']))
    await shoot(page, 'calls-list')
    expect(await violations(visit)).toEqual([])

    await page.getByLabel('Status').selectOption('failed')
    await shown(() => rows.count()).toBe(2)
    expect(new URL(page.url()).search).toBe('?status=failed')
    await page.reload()
    await shown(() => rows.count()).toBe(2)
    await page.getByLabel('Direction').selectOption('in')
    await page.getByText('No calls match these filters').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Reset filters' }).last().click()
    await shown(() => rows.count()).toBe(4)

    await rows.filter({ hasText: 'queued' }).waitFor()
    await end(owner, live, { status: 'busy', ended_reason: 'busy', sip_code: 486 })
    await rows.filter({ hasText: 'The line was busy.' }).waitFor()
    await rows.filter({ hasText: 'busy' }).getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Call with +1' }).waitFor()
    await page.getByText('This call has no SIP trace.').waitFor()
    expect(faults(visit)).toEqual([])

    await page.goto(`${address}/dashboard/calls/${randomUUID()}`)
    await shown(() => page.getByRole('alert').textContent()).toContain('Object not found')
  })

  it('opens the form for a new call from the list', { skip: !inject('full') }, async () => {
    const owner = await customer()
    const { page } = await open(owner.cookie, '/calls')
    await page.getByText('No calls yet').waitFor()
    await page.getByRole('button', { name: 'New call', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'New call' })
    const phone = nextPhone()
    await dialog
      .getByRole('textbox', { name: /phone|number/i })
      .first()
      .fill(phone)
    await dialog.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: `Call with ${phone}` }).waitFor()
    const { body } = await owner.call('GET', '/calls')
    expect(body.items.map(({ to }: { to: string }) => to)).toEqual([phone])
    expect(page.url()).toContain(body.items[0].id)

    // The page changes to that of an ended call without a reload.
    await end(owner, body.items[0].id, { status: 'busy', ended_reason: 'busy', sip_code: 486 })
    await page.getByText('The line was busy.').waitFor()
  })

  it('shows an ended call with everything, and plays it from any turn', async () => {
    const owner = await customer()
    const id = await place(owner)
    await end(owner, id, { ...talked, recording: await store(owner, id, tones()) })
    const visit = await open(owner.cookie, `/calls/${id}`)
    const { page } = visit
    await page.getByText('A table for four on Friday at seven.').waitFor()
    await page.getByText('Goal evidence: “Seven is fine.”').waitFor()
    const data = page.getByRole('table', { name: 'Extracted data' })
    expect(await data.getByRole('row', { name: /^wishes/ }).textContent()).toContain('terrace, quiet')
    expect(await data.getByRole('row', { name: /^contact/ }).textContent()).toContain('"phone": "+49301234"')
    const facts = page.getByRole('region', { name: 'Details' })
    expect(plain((await facts.textContent())!)).toMatch(/Duration0:24Billed time0:24CostRUB 2\.00/)

    // The agent was cut short.
    const list = page.getByRole('list', { name: 'Transcript' })
    const cut = list.getByRole('listitem').nth(2)
    expect(await cut.getByText('interrupted').count()).toBe(1)
    expect(await cut.locator('s').textContent()).toBe('or nine in the evening, on the terrace or inside.')
    expect((await cut.textContent())!).toContain('I can offer you seven not played:')
    expect(await list.locator('s').count()).toBe(1)

    // Tools stand where they were used.
    const tool = list.getByRole('listitem').nth(4)
    expect(await tool.getByText('Opening hours.md').count()).toBe(1)
    await tool.getByText('2 passages').waitFor()
    await tool.getByText('check_table').click()
    await tool.getByText('"19:00",').waitFor()
    await tool.getByText('One moment, please.').waitFor()

    // The waves are of the sound: the caller's first word begins at 3.4 s of 24.
    await shown(() => page.locator('.call-wave canvas').count()).toBeGreaterThanOrEqual(2)
    await page.evaluate(`(() => {
      const audio = document.querySelector('audio')
      audio.muted = true
      window.sought = []
      audio.addEventListener('seeking', () => window.sought.push(audio.currentTime))
    })()`)
    await shoot(page, 'calls-ended')
    for (const [button, seconds] of [
      ['Play from 0:12', 12.6],
      ['Play from 0:06', 6.14],
      ['Play from 0:17', 17.48],
    ] as const) {
      await list.getByRole('button', { name: button }).click()
      await shown(() => page.evaluate<number>('window.sought.at(-1) ?? -1')).toBeCloseTo(seconds, 1)
      expect(Math.abs((await page.evaluate<number>('window.sought.at(-1)')) - seconds)).toBeLessThan(0.05)
      await shown(() => page.evaluate('!document.querySelector("audio").paused')).toBe(true)
      await shown(() => list.locator('[aria-current]').getByText(button.slice(10)).count()).toBe(1)
    }
    await page.getByRole('button', { name: 'Pause' }).click()
    await shown(() => page.evaluate('document.querySelector("audio").paused')).toBe(true)
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()

    // By the keyboard alone.
    const slider = page.getByRole('slider', { name: 'Position in the recording' })
    await slider.focus()
    await page.keyboard.press('Home')
    await shown(() => audioTime(page)).toBe(0)
    await page.keyboard.press('ArrowRight')
    await shown(() => audioTime(page)).toBe(5)
    await shown(() => slider.getAttribute('aria-valuetext')).toBe('0:05 of 0:24')
    expect(await slider.getAttribute('aria-valuemax')).toBe('24')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()

    // A click into the middle of the waves.
    const box = (await slider.boundingBox())!
    await slider.click({ position: { x: box.width / 2, y: box.height / 4 } })
    await shown(() => audioTime(page)).toBeGreaterThan(11.5)
    expect(await audioTime(page)).toBeLessThan(12.5)

    // Waits.
    const waits = page.getByRole('region', { name: 'Response latency' }).first()
    expect(plain((await waits.textContent())!)).toMatch(/p50540 msp952\.3 secover 2 s1/)
    await waits.getByText('Show as table').click()
    const numbers = page.getByRole('table', { name: 'Response latency in milliseconds' })
    expect(await numbers.getByRole('row').nth(2).getByRole('cell').allTextContents()).toEqual([
      ...['250', '95', '1,500', '180', '2,300'],
    ])
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download recording' }).click()
    expect(readFileSync(await (await download).path()).equals(tones())).toBe(true)
    expect(await violations(visit)).toEqual([])
    expect(faults(visit)).toEqual([])
  })

  it('tells why a call failed, in SIP and in words', { skip: !inject('full') }, async () => {
    const owner = await customer()
    const id = await place(owner)
    await end(owner, id, { status: 'failed', ended_reason: 'trunk_unreachable', sip_code: 408, sip: refused })
    const visit = await open(owner.cookie, `/calls/${id}`)
    const { page } = visit
    await page.getByText("The trunk's server doesn't respond.").waitFor()
    expect(await page.getByRole('link', { name: 'Open trunks' }).getAttribute('href')).toBe('/dashboard/trunks')
    await page.getByText('203.0.113.4:5060 never answered our INVITE.').waitFor()
    await page.getByText('3 messages in the middle were omitted.').waitFor()
    const ladder = page.getByRole('list', { name: 'SIP messages in order' })
    expect(await ladder.getByRole('button').count()).toBe(5)
    const last = ladder.getByRole('button', { name: /no response.*408 .*cause/ })
    await last.focus()
    await page.keyboard.press('Enter')
    await ladder.getByText('CSeq: 3 INVITE').waitFor()
    expect(await last.getAttribute('aria-expanded')).toBe('true')
    await shoot(page, 'calls-failed')
    expect(await violations(visit)).toEqual([])
    await page.getByRole('button', { name: 'Show as text' }).click()
    await page.getByText('x no response: 408 Request Timeout').waitFor()
    expect(faults(visit)).toEqual([])
  })

  it('speaks Russian in the dark on a narrow screen', { skip: !inject('full') }, async () => {
    const owner = await customer()
    const [good, bad] = [await place(owner), await place(owner)]
    await end(owner, good, { ...talked, recording: await store(owner, good, tones()) })
    await end(owner, bad, { status: 'failed', ended_reason: 'trunk_unreachable', sip: refused })
    const visit = await open(owner.cookie, '/calls', {
      locale: 'ru-RU',
      colorScheme: 'dark',
      viewport: { width: 380, height: 800 },
    })
    const { page } = visit
    await page.getByText('2 звонка').waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await violations(visit)).toEqual([])
    await page.goto(`${address}/dashboard/calls/${good}`)
    await page.getByText('перебит').waitFor()
    await shown(() => page.locator('.call-wave canvas').count()).toBeGreaterThanOrEqual(2)
    expect(await overflow(page)).toBe(0)
    expect(await violations(visit)).toEqual([])
    await shoot(page, 'calls-ended-ru')
    await page.goto(`${address}/dashboard/calls/${bad}`)
    await page.getByText('Сервер не ответил на запросы.').waitFor()
    await page.getByText('203.0.113.4:5060 never answered our INVITE.').waitFor()
    await page.getByText('3 сообщения в середине пропущены.').waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await violations(visit)).toEqual([])
    await shoot(page, 'calls-failed-ru')
    expect(faults(visit)).toEqual([])
  })

  it('plays nothing where the recording is gone, and says so; the words still stand', {
    skip: !inject('full'),
  }, async () => {
    const owner = await customer()
    const id = await place(owner)
    const recording = await store(owner, id, tones())
    await end(owner, id, { ...talked, recording, sip: null })
    await control.deps.blobs.delete(recording.key)
    const { page } = await open(owner.cookie, `/calls/${id}`)
    await shown(() => page.getByRole('alert').allTextContents()).toContain("Couldn't load the recording.")
    await page.getByText('Seven is fine.', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: /^Play/ }).count()).toBe(0)
    await page.getByText('Traces are kept for 30 days.').waitFor()

    // A long one is not fetched whole unasked.
    const long = await place(owner)
    await end(owner, long, { ...talked, talked_ms: 1_000_000, recording: await store(owner, long, tones()) })
    await page.goto(`${address}/dashboard/calls/${long}`)
    await page.getByRole('button', { name: 'Load waveform (32 MB)' }).waitFor()
    const slider = page.getByRole('slider', { name: 'Position in the recording' })
    await shown(() => slider.getAttribute('max')).toBe('24')
    await slider.fill('9')
    await shown(() => audioTime(page)).toBe(9)
    await page.getByRole('button', { name: 'Load waveform (32 MB)' }).click()
    await shown(() => page.locator('.call-wave canvas').count()).toBeGreaterThanOrEqual(2)
  })

  it('shows the latest calls at the start', { skip: !inject('full') }, async () => {
    const owner = await customer()
    const ids: string[] = []
    for (let i = 0; i < 6; i++) ids.push(await place(owner))
    const visit = await open(owner.cookie, '')
    const { page } = visit
    const recent = page.getByRole('region', { name: 'Recent calls' })
    await shown(() => recent.getByRole('link').count()).toBe(5)
    const links = await recent.getByRole('link').evaluateAll(all => all.map(link => link.getAttribute('href')))
    expect(links).toEqual(
      ids
        .slice(1)
        .reverse()
        .map(id => `/dashboard/calls/${id}`),
    )
    expect(faults(visit)).toEqual([])
  })

  it('shows what strangers wrote as text and nothing else', async () => {
    const owner = await customer()
    await owner.call('PATCH', `/projects/${owner.projectId}`, { name: hostile, prompt: 'For {{firm}}.' })
    const id = await place(owner)
    await end(owner, id, hostileTalk)
    const unread = await place(owner)
    await end(owner, unread, { ...talked, extracted: null, extraction_problem: hostile })
    const visit = await open(owner.cookie, `/calls/${id}`)
    const { page } = visit
    await shown(() => page.getByText(hostile, { exact: false }).count()).toBeGreaterThan(15)
    for (const fold of await page.locator('summary').all()) await fold.click()
    await page.getByRole('list', { name: 'SIP messages in order' }).getByRole('button').first().click()
    await page.getByText(`X: ${hostile}`).waitFor()
    await page.getByRole('button', { name: 'Show as text' }).click()
    await page.getByText('SIP messages of call').waitFor()
    expect(await page.locator('a[href^="javascript:"], img[src="x"]').count()).toBe(0)
    await page.goto(`${address}/dashboard/calls/${unread}`)
    await page.getByText(`Couldn't extract data: ${hostile}`).waitFor()
    await page.goto(`${address}/dashboard/calls`)
    await page.getByRole('cell', { name: hostile }).first().waitFor()
    await page.goto(`${address}/dashboard`)
    await page.getByRole('heading', { name: 'Recent calls' }).waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(faults(visit)).toEqual([])
  })
})
