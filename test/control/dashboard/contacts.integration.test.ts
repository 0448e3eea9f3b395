/** Contacts and the do-not-call list in the browser. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, inject, it } from 'vitest'
import { finish } from '../../../control/telephony/calls/finish.ts'
import { chromiumPath, type TestPage } from '../../support/chromium.ts'
import { dashboardRig, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'
import { record } from '../../support/records.ts'

const dashboard = dashboardRig()

interface Owner {
  cookie: string
  projectId: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  call(method: string, path: string, body?: unknown): Promise<any>
}

let numbers = 0

async function createOwner(): Promise<Owner> {
  const cookie = await signUp(dashboard.address)
  const call: Owner['call'] = async (method, path, body) => {
    const answer = await rest(dashboard.address, cookie, method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { projects } = await call('GET', '/projects')
  const projectId = projects[0].id as string
  const number = `+7495${2_000_000 + numbers++}`
  await call('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [number] })
  await call('POST', `/projects/${projectId}/numbers`, { number, direction: 'both' })
  return { cookie, projectId, call }
}

/** Creates contacts by calling them. */
async function called({ call, projectId }: Owner, phone: string): Promise<{ callId: string; contactId: string }> {
  const placed = await call('POST', '/calls', { project_id: projectId, phone })
  await finish(dashboard.control.deps, placed.id, record())
  return { callId: placed.id, contactId: placed.contact_id }
}

const open = (owner: Owner, path: string, options: object = {}) => dashboard.open(owner.cookie, path, options)

/** The page itself breaks off looks that a newer one overtakes. */
const faults = ({ complaints }: TestPage) => complaints.filter(text => !/net::ERR_ABORTED$/.test(text))
const dialog = (page: Page) => page.getByRole('dialog')
const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

describe.skipIf(chromiumPath === null)('contacts in the browser', () => {
  it('are found, edited, cleared, and never called again', { timeout: 240_000 }, async () => {
    const owner = await createOwner()
    const { contactId, callId } = await called(owner, '+79161112233')
    await called(owner, '+79161112244')
    const opened = await open(owner, '/contacts')
    const { page } = opened
    await row(page, '+79161112244').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('link', { name: '+79161112233' }).click()
    await page.getByRole('heading', { level: 1, name: '+79161112233' }).waitFor()
    expect(
      await page.getByRole('region', { name: 'Calls' }).getByRole('table').getByRole('link').getAttribute('href'),
    ).toBe(`/dashboard/calls/${callId}`)
    await page.getByLabel('Name').fill('Anna Petrova')
    await page.getByRole('combobox', { name: 'Lead status' }).click()
    await page.getByRole('option', { name: 'Hot' }).click()
    await page.getByRole('combobox', { name: 'Tags' }).fill('vip')
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Tags' }).fill('wine')
    await page.keyboard.press('Enter')
    await page.getByLabel('Notes').fill('Calls back on Fridays.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Anna Petrova' }).waitFor()
    expect(await owner.call('GET', `/contacts/${contactId}`)).toMatchObject({
      name: 'Anna Petrova',
      lead_status: 'hot',
      tags: ['vip', 'wine'],
      notes: 'Calls back on Fridays.',
    })
    await screenshot(page, 'contact')
    expect(await seriousViolations(page)).toEqual([])

    await page.getByRole('button', { name: 'Add to do-not-call list' }).click()
    await dialog(page).getByText('Agents and campaigns will no longer call this number.').waitFor()
    await dialog(page).getByRole('button', { name: 'Add to do-not-call list' }).click()
    await page.getByRole('link', { name: 'On the do-not-call list' }).waitFor()
    expect(await owner.call('GET', `/contacts/${contactId}`)).toMatchObject({ do_not_call: true })

    await page.getByRole('combobox', { name: 'Lead status' }).click()
    await page.getByRole('option', { name: 'Hot' }).click()
    await page.getByLabel('Notes').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await shown(() => owner.call('GET', `/contacts/${contactId}`)).toMatchObject({ lead_status: null, notes: null })

    await page.goto(`${dashboard.address}/dashboard/contacts`)
    await page.getByLabel('Search').fill('petrova')
    await shown(() => page.getByRole('row').count()).toBe(2)
    await row(page, 'Anna Petrova').getByText('Do not call').waitFor()
    await screenshot(page, 'contacts')
    await page.getByRole('combobox', { name: 'Lead status' }).click()
    await page.getByRole('option', { name: 'Won' }).click()
    await page.getByText('No contacts match these filters').waitFor()
    expect(new URL(page.url()).search).toBe('?q=petrova&lead=won')
    expect(faults(opened)).toEqual([])

    await page.goto(`${dashboard.address}/dashboard/contacts/01990000-0000-7000-8000-000000000000`)
    await page.getByRole('alert').waitFor()
  })

  it('stay on the do-not-call list until somebody allows calls again', async () => {
    const owner = await createOwner()
    const opened = await open(owner, '/do-not-call')
    const { page } = opened
    await page.getByText('The list is empty').waitFor()
    await page.getByRole('button', { name: 'Add numbers' }).click()
    await dialog(page)
      .getByLabel('Numbers')
      .fill('8 (916) 777-11-22\n+7 916 777 11 33; +1 212 555 01 23\nno number\n89167771122')
    await dialog(page).getByText('3 numbers recognized').waitFor()
    await dialog(page).getByText("1 line isn't a phone number and will be skipped").waitFor()
    await dialog(page).getByLabel('Reason').fill('Asked by e-mail')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'do-not-call-add')
    await dialog(page).getByRole('button', { name: 'Add 3 numbers' }).click()
    await dialog(page).getByText('Added 3 of 3').waitFor()
    await dialog(page).getByRole('button', { name: 'Close' }).last().click()
    await shown(() => page.getByRole('row').count()).toBe(4)
    const { items } = await owner.call('GET', '/do-not-call')
    expect(items.map((one: { phone: string; note: string }) => [one.phone, one.note]).sort()).toEqual([
      ['+12125550123', 'Asked by e-mail'],
      ['+79167771122', 'Asked by e-mail'],
      ['+79167771133', 'Asked by e-mail'],
    ])
    await page.getByLabel('Search').fill('+7 916 777-11-2')
    await shown(() => page.getByRole('row').count()).toBe(2)
    await screenshot(page, 'do-not-call')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Allow calls to +79167771122' }).click()
    await dialog(page).getByText('Make sure that the person has agreed to be called.').waitFor()
    await dialog(page).getByRole('button', { name: 'Allow calls' }).click()
    await page.getByText('No listed numbers start with these digits').waitFor()
    expect((await owner.call('GET', '/do-not-call')).total).toBe(2)
    expect(faults(opened)).toEqual([])
  })

  it('show text from outside as text, in Russian, in the dark, on a narrow screen', {
    skip: !inject('full'),
  }, async () => {
    const owner = await createOwner()
    const [img, script, link] = [
      '<img src=x onerror="window.pwned=1">',
      '"><script>window.pwned=1</script>',
      'javascript:window.pwned=1',
    ]
    await owner.call('PATCH', `/projects/${owner.projectId}`, { name: `${img}${link}` })
    const { contactId } = await called(owner, '+79162223311')
    await owner.call('PATCH', `/contacts/${contactId}`, { name: img, notes: `${script}${link}`, tags: [script, link] })
    await owner.call('POST', '/do-not-call', { phone: '+79162223312', note: `${img}${script}${link}` })
    const narrow = { locale: 'ru-RU', colorScheme: 'dark', viewport: { width: 380, height: 800 } }
    const opened = await open(owner, '/contacts', narrow)
    const { page } = opened
    const sound = async () => {
      expect(await overflow(page)).toBe(0)
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate('window.pwned')).toBe(undefined)
    }
    await row(page, img).getByText(script).waitFor()
    await sound()
    await page.getByRole('link', { name: img }).click()
    await page.getByRole('heading', { level: 1, name: img }).waitFor()
    expect(await page.getByLabel('Заметки').inputValue()).toBe(`${script}${link}`)
    await page.getByRole('region', { name: 'Сведения' }).getByText(`${img}${link}`).waitFor()
    await page.getByRole('region', { name: 'Звонки' }).getByText('Завершён').waitFor()
    await sound()
    await screenshot(page, 'contact-ru')
    await page.goto(`${dashboard.address}/dashboard/do-not-call`)
    await row(page, '+79162223312').getByText(`${img}${script}${link}`).waitFor()
    await sound()
    await screenshot(page, 'do-not-call-ru')
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

  it.each(['en', 'ru'])('are there in %s for whatever the API may say', language => {
    const words = (room: string) => read(`../../../control/dashboard/page/${room}/words.${language}.json`)
    const have = (place: object, codes: string[]) => expect(Object.keys(place).sort()).toEqual([...codes].sort())
    have(words('contacts').channels, enumOf('Contact', 'channel'))
    have(words('contacts').leadStatuses, enumOf('Contact', 'lead_status'))
    have(words('contacts').calls.directions, enumOf('Call', 'direction'))
    have(words('contacts').calls.statuses, enumOf('Call', 'status'))
    have(words('do-not-call').sources, enumOf('DoNotCallEntry', 'source'))
  })
})
