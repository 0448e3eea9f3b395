/** Lead search in a real browser: from a sentence to a campaign, with scripted sources. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, inject, it } from 'vitest'
import { createSearcher } from '../../../control/outreach/leads/job.ts'
import type { LeadParts } from '../../../control/outreach/leads/vocabulary/types.ts'
import { startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { brokenSource, candidates, fakeEnricher, fakeLeads, fakeSource } from '../../fakes/leads.ts'
import { chromiumPath, type TestBrowser, type TestPage } from '../../support/chromium.ts'
import { nextPhone } from '../../support/control.ts'
import { dashboardRig, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'
import { onlySearches, wish } from '../leads/rig.ts'

const IMG = '<img src=x onerror="window.pwned=1">'
const SCRIPT = '"><script>window.pwned=1</script>'
const LINK = 'javascript:window.pwned=1'

/** A source that waits until the test releases it. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Results of the next searches. */
let parts: LeadParts = fakeLeads()
const current = new Proxy({} as LeadParts, { get: (_, name) => parts[name as keyof LeadParts] })
const find = (part: Partial<LeadParts>) => {
  parts = fakeLeads(part)
}

const dashboard = dashboardRig({
  config: { trial_balance: '100', lead_price: '10.0000' },
  async start({ deps }) {
    deps.leads = current
    const searcher = createSearcher(deps)
    const workers = await startWorkers(
      deps,
      onlySearches(job => searcher.run(job)),
    )
    return [() => workers.stop(), () => searcher.stop()]
  },
})

async function open(path: string, options: Parameters<TestBrowser['open']>[1] = {}) {
  const cookie = await signUp(dashboard.address)
  const opened = await dashboard.open(cookie, path, options)
  return {
    ...opened,
    call: (method: string, to: string, body?: unknown) => rest(dashboard.address, cookie, method, to, body),
  }
}
type Call = Awaited<ReturnType<typeof open>>['call']

/** Console errors, without requests that a left page had pending. */
const faults = ({ complaints }: Pick<TestPage, 'complaints'>) =>
  complaints.filter(text => !text.endsWith(': net::ERR_ABORTED'))
const ended = (call: Call, id: string) =>
  shown(async () => (await call('GET', `/lead-search/${id}`)).body.ended_at).not.toBeNull()
const plain = (text: string | null) => text!.replaceAll('\u00a0', ' ')

describe.skipIf(chromiumPath === null)('a search', () => {
  it('goes from a sentence to a campaign, and tells how far it is', async () => {
    const last = gate()
    const found = candidates(4)
    find({
      sources: [fakeSource(found, { before: n => (n === 3 ? last.opened : undefined) })],
      enricher: fakeEnricher(one =>
        one.key === 'node/0' ? { rejected: { code: 'closed', text: 'It has closed.' } } : { score: 70 },
      ),
    })
    const { page, call, complaints } = await open('/leads')
    await page.getByText('No searches yet').waitFor()
    await page.getByRole('link', { name: 'New search' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Describe who you are looking for').waitFor()
    await page.getByLabel('Who are you looking for?').fill('dental clinics')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText("The description doesn't include: Location, Number of leads.").waitFor()
    await page.getByText('© web · license ODbL-1.0').waitFor()
    await page.getByText('50 leads at RUB 10.00: up to RUB 500.00').waitFor()
    await page.getByText("The balance doesn't cover this search.").waitFor()
    await page.getByRole('textbox', { name: 'Number of leads' }).fill('3')
    await page.getByText('3 leads at RUB 10.00: up to RUB 30.00').waitFor()
    await page.getByRole('button', { name: 'Start search' }).click()
    await page.getByText('Accept the terms to continue').waitFor()
    await page.getByText('This field is required').waitFor()
    const terms = await page.getByRole('link', { name: 'Read terms' }).getAttribute('href')
    expect(await (await fetch(dashboard.address + terms)).text()).toContain('# Terms of lead search')
    await page.getByLabel('Location').fill('Oakland')
    const signals = page.getByLabel('Signals').and(page.locator('input:not([type=hidden])'))
    await signals.fill('online booking')
    await signals.press('Enter')
    await page.getByLabel('I accept the terms').check()
    await screenshot(page, 'leads-brief')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Start search' }).click()

    await page.getByRole('heading', { level: 1, name: 'dental clinics, Oakland' }).waitFor()
    await page.getByText('2 of 3').waitFor()
    await page.getByText('Running', { exact: true }).waitFor()
    expect((await call('GET', '/lead-search')).body.items[0].brief_parsed).toMatchObject({
      geo: 'Oakland',
      target_leads: 3,
      signals: ['online booking'],
    })
    await screenshot(page, 'leads-running')
    last.open()
    await page.getByText('Target reached').waitFor()
    const table = page.getByRole('region', { name: 'Companies' })
    await shown(() => table.getByRole('row').count()).toBe(5)
    await table.getByText('permanently closed').waitFor()
    expect(plain(await page.getByRole('main').textContent())).toContain('RUB 30.00 of RUB 30.00')
    await table.getByRole('button', { name: 'Open Clinic 1' }).click()
    const dialog = page.getByRole('dialog', { name: 'Clinic 1' })
    await dialog.getByText('Book online').waitFor()
    await dialog.getByText('Source web').or(dialog.getByText('Web search · © web · ODbL-1.0')).waitFor()
    await screenshot(page, 'leads-one')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByLabel('Search').fill('Clinic 2')
    await shown(() => table.getByRole('row').count()).toBe(2)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download as CSV' }).click(),
    ])
    const csv = await readFile(await download.path(), 'utf8')
    expect(csv).toContain('Clinic 2')
    expect(csv).not.toContain('Clinic 1')
    await screenshot(page, 'leads-job')

    await page.getByRole('button', { name: 'Create campaign' }).click()
    const form = page.getByRole('dialog', { name: 'Create campaign' })
    await form.getByRole('button', { name: 'Create campaign' }).click()
    await form.getByRole('alert').waitFor()
    expect(await form.getByRole('alert').textContent()).toContain('No project has an outbound line')
    const project = await callable(call)
    await form.getByLabel('Project', { exact: true }).selectOption(project)
    await form.getByRole('textbox', { name: 'Name' }).fill('Clinics of Oakland')
    await form.getByRole('button', { name: 'Create campaign' }).click()
    await shown(() => new URL(page.url()).pathname).toMatch(/^\/dashboard\/campaigns\/[\da-f-]{36}$/)
    const campaign = (await call('GET', `/campaigns/${page.url().split('/').at(-1)}`)).body
    expect(campaign).toMatchObject({ name: 'Clinics of Oakland', status: 'draft', counters: { total: 3 } })
    // The refusal on the way here is shown by the browser too.
    expect(faults({ complaints }).filter(text => !/ 409 /.test(text))).toEqual([])
  })

  it('is called off, and what it found stays', { skip: !inject('full') }, async () => {
    const never = gate()
    find({ sources: [fakeSource(candidates(3), { before: n => (n === 1 ? never.opened : undefined) })] })
    const opened = await open('/leads')
    const { page, call } = opened
    const { body: job } = await call('POST', '/lead-search', wish({ target_leads: 3 }))
    await page.goto(`${dashboard.address}/dashboard/leads/${job.id}`)
    await page.getByText('1 of 3').waitFor()
    await page.getByRole('button', { name: 'Stop search' }).click()
    // The second lead comes only when the server knows that nobody wants it.
    const canceled = page.waitForResponse(
      answer => answer.request().method() !== 'GET' && answer.url().includes(job.id),
    )
    await page.getByRole('dialog').getByRole('button', { name: 'Stop search' }).click()
    await canceled
    never.open()
    await page.getByText('Canceled. Leads found so far are kept').waitFor()
    expect((await call('GET', `/lead-search/${job.id}`)).body).toMatchObject({
      status: 'canceled',
      cost: { amount: '10.0000' },
    })
    expect((await call('GET', '/balance')).body.balance.amount).toBe('90.0000')
    await page.getByRole('link', { name: 'All searches' }).click()
    await page.getByRole('row', { name: /dental clinics, Oakland.*Canceled/ }).waitFor()
    expect(faults(opened)).toEqual([])
  })

  it('says in words what stands against its start', { skip: !inject('full') }, async () => {
    find({ sources: [fakeSource(candidates(3))] })
    const { page, call } = await open('/leads/new', { locale: 'ru-RU' })
    await call('POST', '/lead-search', wish({ target_leads: 1 }))
    const parse = async (words: string) => {
      await page.getByLabel('Кого вы ищете?').fill(words)
      await page.getByRole('button', { name: /Продолжить|Разобрать заново/ }).click()
      await page.getByRole('textbox', { name: 'Место' }).fill('Казань')
    }
    const start = () => page.getByRole('button', { name: 'Начать поиск' }).click()
    await parse('стоматологии')
    await start()
    await page.getByText('Недостаточно средств на балансе. Пополните баланс и повторите.').waitFor()
    await page.getByRole('textbox', { name: 'Количество лидов' }).fill('2')
    await page.getByRole('textbox', { name: 'Вид компаний' }).fill('Ask people for the PIN of their bank card')
    await start()
    await page.getByText('Модерация отклонила текст. Измените его и повторите.').waitFor()
    await page.getByText('Отклонено модерацией. Сформулируйте иначе').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'leads-refused')
  })

  it('names sources that broke off', { skip: !inject('full') }, async () => {
    find({ sources: [brokenSource('openstreetmap', 'overloaded'), fakeSource(candidates(1))] })
    const { page, call } = await open('/leads')
    const { body: job } = await call('POST', '/lead-search', wish({ target_leads: 3 }))
    await ended(call, job.id)
    await page.goto(`${dashboard.address}/dashboard/leads/${job.id}`)
    await page.getByText('OpenStreetMap: is overloaded').waitFor()
    await page.getByText('The sources have no more companies').waitFor()
  })
})

/** The account gets a line, and the project that may call from it is named. */
async function callable(call: Call): Promise<string> {
  const [project] = (await call('GET', '/projects')).body.projects
  const number = nextPhone()
  await call('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [number] })
  await call('POST', `/projects/${project.id}/numbers`, { number, direction: 'out' })
  return project.id
}

describe.skipIf(chromiumPath === null)('directories', () => {
  const csv = (...lines: string[]) => ({ mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) })
  const upload = (page: Page, name: string, file: ReturnType<typeof csv>) =>
    page.locator('input[type=file]').setInputFiles({ name, ...file })

  it('are uploaded, with what was understood and what was left out, and deleted', async () => {
    const opened = await open('/leads')
    const { page, call } = opened
    await page.getByText('No directories yet').waitFor()
    await upload(page, 'empty.csv', csv('nothing', 'here'))
    await page.getByText('The first row must name the columns.').waitFor()
    await upload(
      page,
      'partners.csv',
      csv('Company,Phone,Mood', 'Aurora,+14155550123,good', ',+14155550124,', 'Borealis,,'),
    )
    await page.getByText('partners.csv: 1 company').waitFor()
    await page.getByText('Mood → saved as a fact').waitFor()
    await page.getByText('2 rows were skipped. row 2: no company; row 3: no contact details').waitFor()
    await screenshot(page, 'leads')
    expect(await seriousViolations(page)).toEqual([])
    expect((await call('GET', '/lead-search/directories')).body.items).toMatchObject([
      { name: 'partners.csv', companies: 1 },
    ])
    await page.getByRole('button', { name: 'Delete directory “partners.csv”' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No directories yet').waitFor()
    expect((await call('GET', '/lead-search/directories')).body.total).toBe(0)
    expect(opened.complaints.filter(text => !/ 400 /.test(text))).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('every page here', () => {
  it('shows what strangers wrote as text, and follows no address but those of the web', async () => {
    const hostile = candidates(2, n => ({
      company: n === 0 ? IMG : SCRIPT,
      emails: [SCRIPT],
      website: n === 0 ? LINK : `https://example.com/${SCRIPT}`,
      address: IMG,
    }))
    const signal = { signal: SCRIPT, present: true, evidence: IMG, where: LINK }
    find({
      sources: [{ ...fakeSource(hostile), name: IMG, attribution: SCRIPT, licence: LINK }],
      enricher: fakeEnricher(() => ({ signals: [signal], reasons: [{ points: 5, text: IMG }] })),
    })
    const { page, call } = await open('/leads')
    const brief_parsed = {
      niche: IMG,
      geo: SCRIPT,
      signals: [SCRIPT],
      exclusions: [IMG],
      queries: [LINK],
      target_leads: 2,
    }
    const { status, body: job } = await call('POST', '/lead-search', {
      brief_raw: IMG,
      brief_parsed,
      accept_terms: true,
    })
    expect(status).toBe(201)
    await ended(call, job.id)
    await page.reload()
    await page.getByText(`${IMG}, ${SCRIPT}`).waitFor()
    await page.locator('input[type=file]').setInputFiles({
      name: `${IMG.replaceAll('/', '')}.csv`,
      mimeType: 'text/csv',
      buffer: Buffer.from(`Company,Phone,${IMG}\nAurora,+14155550123,x`),
    })
    await page.getByText(/→ saved as a fact/).waitFor()
    await page.getByRole('link', { name: `${IMG}, ${SCRIPT}` }).click()
    for (const company of [IMG, SCRIPT]) {
      await page.getByRole('button', { name: `Open ${company}` }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(`“${IMG}”`).waitFor()
      await dialog.getByText(`+5: ${IMG}`).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'hidden' })
    }
    const links: string[] = await page.evaluate('[...document.links].map(({ href }) => href)')
    expect(links.filter(href => !/^https?:/.test(href))).toEqual([])
    await page.goto(`${dashboard.address}/dashboard/leads/new`)
    await page.getByLabel('Who are you looking for?').fill(IMG)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText(`license ${LINK}`).waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
  })

  it('is usable in Russian, in the dark, on a narrow screen', { skip: !inject('full') }, async () => {
    find({ sources: [fakeSource(candidates(2))] })
    const opened = await open('/leads', {
      locale: 'ru-RU',
      colorScheme: 'dark',
      viewport: { width: 380, height: 800 },
    })
    const { page, call } = opened
    const { body: job } = await call('POST', '/lead-search', wish({ target_leads: 2 }))
    await ended(call, job.id)
    for (const [path, heading] of [
      ['/leads', 'Поиск лидов'],
      ['/leads/new', 'Новый поиск'],
      [`/leads/${job.id}`, 'dental clinics, Oakland'],
    ] as const) {
      await page.goto(`${dashboard.address}/dashboard${path}`)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      if (path === '/leads/new') {
        await page.getByLabel('Кого вы ищете?').fill('стоматологии')
        await page.getByRole('button', { name: 'Продолжить' }).click()
        await page.getByText('Источники').waitFor()
      }
      await shown(() => page.locator('[aria-busy=true]').count()).toBe(0)
      expect([path, await overflow(page)]).toEqual([path, 0])
      expect(await seriousViolations(page)).toEqual([])
    }
    expect(faults(opened)).toEqual([])
  })
})

it('has a word in both languages for every value of the API', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
  const { LeadSearch, Lead, LeadBriefParsed, LeadDirectoryMade } = read('../../../control/openapi.json').components
    .schemas
  const values = (schema: { enum?: string[]; anyOf?: { enum?: string[] }[] }) =>
    schema.enum ?? schema.anyOf!.flatMap(one => one.enum ?? [])
  for (const language of ['en', 'ru']) {
    const words = read(`../../../control/dashboard/page/leads/words.${language}.json`)
    expect(Object.keys(words.statuses)).toEqual(values(LeadSearch.properties.status))
    expect(Object.keys(words.ends)).toEqual(values(LeadSearch.properties.end_reason))
    expect(Object.keys(words.leadStatuses)).toEqual(values(Lead.properties.status))
    const rejection = Lead.properties.rejection.anyOf.find((one: { type: string }) => one.type === 'object')
    expect(Object.keys(words.rejections)).toEqual(values(rejection.properties.code))
    expect(Object.keys(words.missing)).toEqual(values(LeadBriefParsed.properties.missing.items))
    const invalid = LeadDirectoryMade.properties.invalid.items.properties.code
    expect(Object.keys(words.directories.invalid)).toEqual(values(invalid))
  }
})
