/** Campaigns in the browser: from a list in windows-1251 to the results, with calls that an engine places and ends. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Control, startControl } from '../../../control/app.ts'
import type { SkipReason, WaitReason } from '../../../control/outreach/campaigns/policy.ts'
import type { ContactStatus } from '../../../control/outreach/campaigns/types.ts'
import type { EngineBus } from '../../../media/bus/engine-bus.ts'
import type { CallRecord } from '../../../media/contract/messages.ts'
import type { CallPlan } from '../../../media/contract/plan.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../../support/chromium.ts'
import { createControl, type TestControl } from '../../support/control.ts'
import { openWith, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'
import { record, unanswered } from '../../support/records.ts'
import { until } from '../../support/world.ts'
import { cp1251 } from './campaign-files.ts'

let control: TestControl
let running: Control
let address: string
let browser: TestBrowser
let engine: EngineBus
let beat: NodeJS.Timeout
const plans: CallPlan[] = []
const pages: TestPage[] = []

beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  engine = control.engine()
  const heartbeat = () => engine.heartbeat({ calls: 0, capacity: 100, stt_ready: true, rooms: false })
  await heartbeat()
  beat = setInterval(() => void heartbeat().catch(() => {}), 2000)
  engine.onPlace(
    () => 10,
    plan => void plans.push(plan),
  )
  if (chromiumPath) browser = await openBrowser({ microphone: '/dev/null' })
})
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(async () => {
  clearInterval(beat)
  await browser?.close()
  await running?.stop()
  await control?.close()
})

interface Owner {
  cookie: string
  projectId: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  call(method: string, path: string, body?: unknown): Promise<any>
}

let numbers = 0

/** Creates an owner who has just signed up; with `line`, it has a Russian number to call from. */
async function createOwner({ line = true } = {}): Promise<Owner> {
  const cookie = await signUp(address)
  const call: Owner['call'] = async (method, path, body) => {
    const answer = await rest(address, cookie, method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { projects } = await call('GET', '/projects')
  const projectId = projects[0].id as string
  if (line) {
    const number = `+7495${1_000_000 + numbers++}`
    await call('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [number] })
    await call('POST', `/projects/${projectId}/numbers`, { number, direction: 'both' })
  }
  return { cookie, projectId, call }
}

const params = { timezone: 'Europe/Moscow', window_start: '00:00', window_end: '00:00', quiet_hours: null }

const createDraft = ({ call, projectId }: Owner, more: object = {}) =>
  call('POST', '/campaigns', { name: 'Spring', project_id: projectId, task: 'Invite {{name}}.', params, ...more })

/** The page itself breaks off streams that it leaves, and looks that a newer one overtakes. */
const faults = ({ complaints }: TestPage) => complaints.filter(text => !/net::ERR_ABORTED$/.test(text))

async function open(owner: Owner, path: string, options: object = {}): Promise<TestPage> {
  const opened = await openWith(browser, address, owner.cookie, path, options)
  pages.push(opened)
  return opened
}

/** The engine has claimed the call to this number and emits its events. */
async function placed(phone: string) {
  const plan = await until(() => plans.find(one => one.to === phone), `the call of ${phone}`)
  const emit = engine.emitter(plan)
  return {
    begin: async () => {
      await emit({ type: 'call.dialing', engine: engine.engine, boot: engine.boot })
      await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
    },
    end: (ended: CallRecord) => emit({ type: 'call.ended', record: ended }),
  }
}

const dialog = (page: Page) => page.getByRole('dialog')
/** A counter of the progress, by its name. */
const counter = (page: Page, name: string) =>
  page.locator('dl > div', { hasText: name }).locator('dd').first().textContent()
const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

describe.skipIf(chromiumPath === null)('a campaign in the browser', () => {
  it('goes from a list in windows-1251 to its results', { timeout: 240_000 }, async () => {
    const owner = await createOwner()
    await owner.call('POST', '/do-not-call', { phone: '+79161234570' })
    const opened = await open(owner, '/campaigns')
    const { page } = opened
    await page.getByText('No campaigns yet').waitFor()

    await page.getByRole('link', { name: 'New campaign' }).click()
    await page.getByLabel('Name').fill('Spring tasting')
    await page.getByLabel('Task').fill('Invite {{name}} from {{gorod}} to {{place}}.')
    expect(await page.getByRole('combobox', { name: 'Time zone' }).inputValue()).not.toBe('')
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Europe/Moscow')
    await page.getByRole('option', { name: 'Europe/Moscow' }).click()
    await page.getByLabel('From', { exact: true }).fill('00:00')
    await page.getByLabel('To', { exact: true }).fill('00:00')
    await page.getByRole('switch', { name: "Quiet hours in the contact's region" }).uncheck()
    await page.getByLabel('Concurrent calls').fill('500')
    await page.getByRole('button', { name: 'Create draft' }).click()
    await page.getByText('Enter a whole number within the range').waitFor()
    await screenshot(page, 'campaign-new')
    await page.getByLabel('Concurrent calls').fill('3')
    await page.getByRole('button', { name: 'Create draft' }).click()
    await page.getByRole('heading', { level: 1, name: 'Spring tasting' }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)!
    expect(await owner.call('GET', `/campaigns/${id}`)).toMatchObject({
      name: 'Spring tasting',
      project_id: owner.projectId,
      status: 'draft',
      params: { ...params, concurrency: 3, days: null, max_spend: null },
    })

    await page.locator('input[type=file]').setInputFiles({
      name: 'клиенты.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        cp1251(
          [
            'Телефон;Имя;Город',
            '8 (916) 123-45-67;Анна;Москва',
            '8 916 123-45-68;Ёлкин;Тверь',
            '8 916 123-45-69;Вера;',
            '+7 916 123 45 70;Просил не звонить;Уфа',
            '12;Коротко;Нигде',
            '+7 916 123 45 67;Анна ещё раз;Москва',
            '7,91612E+10;Из Excel;Пермь',
            '8 112 000-00-00;Служба;Москва',
          ].join('\r\n'),
        ),
      ),
    })
    await page.getByText('Numbers without a country code are treated as numbers in Russia').waitFor()
    await page.getByText('The task uses {{place}}').waitFor()
    const preview = page.getByRole('region', { name: 'Preview' })
    await shown(() => preview.getByRole('row').allInnerTexts()).toHaveLength(9)
    const texts = (await preview.getByRole('row').allInnerTexts()).map(text => text.replace(/\s+/g, ' '))
    expect(texts[1]).toBe('2 +79161234567 Анна gorod: Москва')
    expect(texts[2]).toBe('3 +79161234568 Ёлкин gorod: Тверь')
    expect(texts[5]).toContain('12 invalid phone number')
    expect(texts[6]).toContain('duplicate')
    expect(texts[7]).toContain('number shortened by the spreadsheet')
    await screenshot(page, 'campaign-upload')
    expect(await seriousViolations(page)).toEqual([])

    await page.getByRole('button', { name: 'Upload 8 rows' }).click()
    const refused = page.getByRole('region', { name: 'Rejected rows' })
    await shown(() => refused.getByRole('row').allInnerTexts()).toHaveLength(4)
    const reasons = (await refused.getByRole('row').allInnerTexts()).slice(1).map(text => text.replace(/\s+/g, ' '))
    expect(reasons).toEqual([
      '6 12 · Коротко · Нигде invalid phone number, or no country code',
      '8 7,91612E+10 · Из Excel · Пермь invalid phone number, or no country code',
      '9 8 112 000-00-00 · Служба · Москва calls to emergency numbers are blocked',
    ])
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download as CSV' }).click()
    expect(
      readFileSync(await (await download).path(), 'utf8')
        .split('\r\n')
        .slice(0, 2),
    ).toEqual(['\uFEFFRow;Reason;Телефон;Имя;Город', '6;invalid phone number, or no country code;12;Коротко;Нигде'])
    await screenshot(page, 'campaign-refused')
    expect(await owner.call('GET', `/campaigns/${id}/contacts`)).toMatchObject({
      total: 4,
      items: [{}, { vars: {} }, { name: 'Ёлкин', vars: { gorod: 'Тверь' } }, { phone: '+79161234567', name: 'Анна' }],
    })

    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await dialog(page).getByText('4 contacts will be called by').waitFor()
    await dialog(page).getByText('Europe/Moscow').waitFor()
    await dialog(page).getByRole('button', { name: 'Start calling' }).click()
    await dialog(page).getByText('Confirm consent to start calling').waitFor()
    expect(await owner.call('GET', `/campaigns/${id}`)).toMatchObject({ status: 'draft', consent: null })
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'campaign-start')
    await dialog(page).getByLabel('I confirm that every subscriber').check()
    await dialog(page).getByRole('button', { name: 'Start calling' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    expect((await owner.call('GET', `/campaigns/${id}`)).consent).toMatchObject({
      text: 'I confirm that every subscriber on the contact list of this campaign has consented to these calls.',
      key_id: null,
      session_id: expect.any(String),
    })

    await shown(() => counter(page, 'Dialing')).toBe('3')
    const anna = await placed('+79161234567')
    await anna.begin()
    await shown(() => counter(page, 'In progress')).toBe('1')
    await screenshot(page, 'campaign-running')
    await anna.end(record({ talked_ms: 30_000, goal_reached: true, summary: 'Anna comes.' }))
    const elkin = await placed('+79161234568')
    await elkin.begin()
    await elkin.end(unanswered())
    await shown(() => counter(page, 'Answered')).toBe('1')
    await shown(() => counter(page, 'Skipped')).toBe('1')
    await page.getByText('2 of 4 completed').waitFor()
    await page.getByText('Goal reached: 1').waitFor()
    expect(await page.getByText('Spent: RUB 2.50').isVisible()).toBe(true)

    await row(page, '+79161234570').getByRole('button', { name: 'Why' }).click()
    await dialog(page).getByText('The contact was skipped.').waitFor()
    await dialog(page).getByText('The number is on your do-not-call list.').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await row(page, '+79161234568').getByRole('button', { name: 'Why' }).click()
    await dialog(page).getByText("The interval between attempts hasn't passed yet.").waitFor()
    await dialog(page)
      .getByText(/Not before .+ \(Europe\/Moscow\)/)
      .waitFor()
    await dialog(page).getByText('Attempts made: 1, remaining: 2').waitFor()
    await screenshot(page, 'campaign-why')
    await page.keyboard.press('Escape')

    const [call] = (await owner.call('GET', `/calls?campaign_id=${id}&status=completed`)).items
    const link = row(page, '+79161234567').getByRole('link', { name: 'Open the last call' })
    expect(await link.getAttribute('href')).toBe(`/dashboard/calls/${call.id}`)
    await page.getByRole('combobox', { name: 'Any goal' }).click()
    await page.getByRole('option', { name: 'Reached', exact: true }).click()
    await shown(() => row(page, '+7916').count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('goal')).toBe('reached')

    await page.getByRole('button', { name: 'Stop' }).click()
    await dialog(page).getByText('Calls in progress continue until they end.').waitFor()
    await dialog(page).getByRole('button', { name: 'Stop' }).click()
    await shown(() => counter(page, 'Canceled')).toBe('1')
    // The third call is live: the page shows its end although the campaign has ended.
    const vera = await placed('+79161234569')
    await vera.begin()
    await vera.end(record({ talked_ms: 10_000 }))
    await page.getByText('4 of 4 completed').waitFor()
    expect(await counter(page, 'Answered')).toBe('2')
    await page.getByText('Stopped', { exact: true }).first().waitFor()
    const results = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Results (CSV)' }).click()
    const csv = readFileSync(await (await results).path(), 'utf8')
    expect(csv).toContain('+79161234567')
    expect(csv).toContain('Anna comes.')
    expect(csv.trim().split('\r\n')).toHaveLength(5)
    await screenshot(page, 'campaign-stopped')
    await page.goto(`${address}/dashboard/campaigns`)
    await page.getByText('4 of 4 completed').waitFor()
    await screenshot(page, 'campaigns')
    expect(await seriousViolations(page)).toEqual([])
    expect(faults(opened)).toEqual([])
  })

  it('names all that stands in the way of a start, and where each is mended', async () => {
    const owner = await createOwner({ line: false })
    const { id } = await createDraft(owner)
    const opened = await open(owner, `/campaigns/${id}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await dialog(page).getByLabel('I confirm that every subscriber').check()
    await dialog(page).getByRole('button', { name: 'Start calling' }).click()
    const blockers = dialog(page).getByRole('alert').getByRole('listitem')
    await shown(() => blockers.allInnerTexts()).toHaveLength(2)
    expect((await blockers.allInnerTexts()).map(text => text.replace(/\s+/g, ' '))).toEqual([
      'The campaign has no contacts. Upload a list first. Upload contacts',
      'No number is bound to the project for outgoing calls. Bind number',
    ])
    expect(await dialog(page).getByRole('link', { name: 'Bind number' }).getAttribute('href')).toBe('/dashboard/trunks')
    await screenshot(page, 'campaign-blocked')
    expect(faults(opened).filter(text => !text.includes('409'))).toEqual([])
  })

  it('is edited as a draft and in a pause, paused, resumed, called again, deleted', {
    timeout: 240_000,
    skip: !inject('full'),
  }, async () => {
    const owner = await createOwner()
    const { id } = await createDraft(owner)
    const opened = await open(owner, `/campaigns/${id}`)
    const { page } = opened
    const settings = page.getByRole('region', { name: 'Settings' })
    await settings.getByRole('button', { name: 'Edit' }).click()
    await settings.getByLabel('Name').fill('Autumn')
    await settings.getByText('Sun', { exact: true }).click()
    await settings.getByLabel('Scheduled start').fill('2031-03-30T09:00')
    await settings.getByLabel('Spend limit').fill('99,5')
    await settings.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Autumn' }).waitFor()
    expect((await owner.call('GET', `/campaigns/${id}`)).params).toMatchObject({
      days: [1, 2, 3, 4, 5, 6],
      scheduled_start_at: '2031-03-30T06:00:00.000Z',
      max_spend: '99.5000',
    })
    await settings.getByText('Mon, Tue, Wed, Thu, Fri, Sat · all day · Europe/Moscow').waitFor()

    await page.getByLabel('or paste a list').fill('8 916 222-33-44\n8 916 222-33-45\n')
    await page.getByRole('button', { name: 'Read list' }).click()
    await page.getByRole('button', { name: 'Upload 2 rows' }).click()
    await page.getByText('In the campaign').waitFor()
    await page.getByRole('button', { name: 'Choose another list' }).click()
    await page.getByLabel('or paste a list').fill('8 916 222-33-46')
    await page.getByRole('button', { name: 'Read list' }).click()
    await page.getByText('Replace them').click()
    await page.getByRole('button', { name: 'Upload 1 row' }).click()
    await shown(() => owner.call('GET', `/campaigns/${id}`).then(one => one.counters.total)).toBe(1)

    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await dialog(page).getByLabel('I confirm that every subscriber').check()
    await dialog(page).getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('Scheduled', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await dialog(page).getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused manually.').waitFor()
    await settings.getByRole('button', { name: 'Edit' }).click()
    expect(await settings.getByLabel('Task').isDisabled()).toBe(true)
    await settings.getByLabel('Scheduled start').fill('')
    // Nobody knows on which day this test runs.
    await settings.getByText('Sun', { exact: true }).click()
    await settings.getByLabel('Retries').fill('0')
    await settings.getByRole('button', { name: 'Save' }).click()
    await settings.getByText('1 attempt').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    const first = await placed('+79162223346')
    await first.end(unanswered({ status: 'busy', ended_reason: 'busy', sip_code: 486 }))
    await page.getByText('Completed', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Retry failed contacts' }).click()
    await dialog(page).getByText('1 contact with the status').waitFor()
    await screenshot(page, 'campaign-again')
    plans.splice(0)
    await dialog(page).getByRole('button', { name: 'Retry failed contacts' }).click()
    const second = await placed('+79162223346')
    await second.begin()
    await second.end(record())
    await shown(() => counter(page, 'Answered')).toBe('1')
    expect(faults(opened)).toEqual([])

    const other = await createDraft(owner, { name: 'To be deleted' })
    await page.goto(`${address}/dashboard/campaigns/${other.id}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await shown(() => row(page, 'Autumn').count()).toBe(1)
    expect(await row(page, 'To be deleted').count()).toBe(0)
    expect((await rest(address, owner.cookie, 'GET', `/campaigns/${other.id}`)).status).toBe(404)
  })

  it('shows text from outside as text, in Russian, in the dark, on a narrow screen', {
    skip: !inject('full'),
  }, async () => {
    const owner = await createOwner()
    const evil = [
      '<img src=x onerror="window.pwned=1">',
      '"><script>window.pwned=1</script>',
      'javascript:window.pwned=1',
    ]
    const [img, script, link] = evil as [string, string, string]
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    await owner.call('PATCH', `/projects/${owner.projectId}`, { name: `${img}${script}` })
    const { id } = await createDraft(owner, { name: `${img}${link}`, task: `${script}{{city}}` })
    await owner.call('POST', `/campaigns/${id}/contacts`, [
      { phone: '+79163334455', name: img, vars: { city: `${script}${link}` } },
    ])
    const narrow = { locale: 'ru-RU', colorScheme: 'dark', viewport: { width: 380, height: 800 } }
    const opened = await open(owner, `/campaigns/${id}`, narrow)
    const { page } = opened
    await page.getByRole('heading', { level: 1, name: img }).waitFor()
    await page.getByText(`city: ${script}${link}`).waitFor()
    await page
      .getByLabel('или вставьте список')
      .fill(`телефон;${quoted(img)}\n89163334456;${quoted(script)}\n${link};${quoted(img)}`)
    await page.getByRole('button', { name: 'Прочитать список' }).click()
    await page.getByRole('region', { name: 'Предварительный просмотр' }).getByText(script).waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'campaign-evil')
    await page.getByRole('button', { name: 'Загрузить 2 строки' }).click()
    await page.getByRole('region', { name: 'Отклонённые строки' }).getByText(link).waitFor()
    await page.getByRole('button', { name: 'Запустить' }).click()
    await dialog(page).getByText(`«${img}${script}» позвонит`).waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'campaign-start-ru')
    await page.goto(`${address}/dashboard/campaigns`)
    await page.getByRole('link', { name: img }).waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('link', { name: 'Новая кампания' }).click()
    await page.getByLabel('Название').waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    expect(await page.evaluate('window.pwned')).toBe(undefined)
    expect(faults(opened)).toEqual([])
  })
})

describe('words', () => {
  const read = (file: string) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
  const { schemas } = read('../../../control/openapi.json').components
  const enumOf = (schema: string, field: string): string[] => {
    const { enum: own, anyOf = [] } = schemas[schema].properties[field]
    return own ?? anyOf.flatMap((one: { enum?: string[] }) => one.enum ?? [])
  }
  /** As the types say; one that is new does not compile. */
  const reasons = {
    not_running: 1,
    no_consent: 1,
    subscription_inactive: 1,
    no_outbound_line: 1,
    max_spend: 1,
    insufficient_balance: 1,
    daily_limit_reached: 1,
    calls_stopped: 1,
    outside_window: 1,
    quiet_hours: 1,
    retry_interval: 1,
    do_not_call: 1,
    emergency: 1,
    premium_rate: 1,
    satellite: 1,
    blocked_prefix: 1,
    attempts_exhausted: 1,
    destination_not_allowed: 1,
    no_common_hours: 1,
    moderation_rejected: 1,
    erased: 1,
    dialing: 1,
    in_progress: 1,
    completed: 1,
    no_answer: 1,
    busy: 1,
    failed: 1,
    skipped: 1,
    canceled: 1,
  } satisfies Record<WaitReason | SkipReason | 'moderation_rejected' | 'erased' | Exclude<ContactStatus, 'pending'>, 1>

  it.each(['en', 'ru'])('are there in %s for whatever the API may say', language => {
    const words = read(`../../../control/dashboard/page/campaigns/words.${language}.json`)
    const have = (place: object, codes: string[]) => expect(Object.keys(place).sort()).toEqual([...codes].sort())
    have(words.status, enumOf('Campaign', 'status'))
    have(words.pauseReason, enumOf('Campaign', 'pause_reason'))
    have(words.contactStatus, enumOf('CampaignContact', 'status'))
    have(words.why.decision, enumOf('CampaignContactWhy', 'decision'))
    have(words.why.codes, Object.keys(reasons))
    have(words.upload.codes, schemas.CampaignUpload.properties.invalid.items.properties.code.enum)
  })
})
