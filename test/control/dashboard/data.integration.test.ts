/** Pages about personal data: retention, erasure and audit log, in a real browser, checked by REST and SQL. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, inject, it } from 'vitest'
import { insertAuditEntry } from '../../../control/access/audit/sql.ts'
import { giveLogin } from '../../../control/access/login/login.ts'
import { numbersGoFirst, patchOf, shortenedBy, valuesOf } from '../../../control/dashboard/page/data/terms.ts'
import { actors, channels, outcomes } from '../../../control/platform/http/audit-log.ts'
import { uuidv7 } from '../../../control/platform/ids.ts'
import { finish } from '../../../control/telephony/calls/finish.ts'
import { commands } from '../../../infra/admin/commands.ts'
import { brief } from '../../fakes/leads.ts'
import { chromiumPath } from '../../support/chromium.ts'
import { createTenant, nextPhone, type Tenant } from '../../support/control.ts'
import {
  dashboardRig,
  nextEmail,
  overflow,
  PASSWORD,
  screenshot,
  seriousViolations,
  shown,
  toldAndClosed,
} from '../../support/dashboard.ts'
import { fillPersonal } from '../../support/personal.ts'
import { record } from '../../support/records.ts'

const HOSTILE = '<img src=x onerror="window.pwned=1">'
const SCRIPT = '"><script>window.pwned=1</script>'
const LINK = 'javascript:window.pwned=1'

const dashboard = dashboardRig()

interface Owner extends Tenant {
  email: string
  cookie: string
}

/** An account with a key, a line, a balance and a log-in. */
async function createOwner(): Promise<Owner> {
  const tenant = await createTenant(dashboard.control, { money: '100' })
  const email = nextEmail()
  await giveLogin(dashboard.control.deps, tenant.ownerId, { email, password: PASSWORD })
  const answer = await logIn(email)
  return { ...tenant, email, cookie: answer.headers.get('set-cookie')!.split(';')[0]! }
}

const logIn = (email: string) =>
  fetch(`${dashboard.address}/auth/log-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  })

/** Dialogs do not fade in: axe would judge colours that are on their way. */
async function open(path: string, { options = {}, ...given }: { owner?: Owner; options?: BrowserContextOptions } = {}) {
  const owner = given.owner ?? (await createOwner())
  return { owner, ...(await dashboard.open(owner.cookie, path, { reducedMotion: 'reduce', ...options })) }
}

const dialog = (page: Page) => page.getByRole('dialog')
const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const goTo = (page: Page, path: string) => page.goto(`${dashboard.address}/dashboard${path}`)
const pwned = (page: Page) => page.evaluate('window.pwned')

async function endedCall({ call, projectId }: Owner, phone = nextPhone()) {
  const { body } = await call('POST', '/calls', { project_id: projectId, phone })
  await finish(dashboard.control.deps, body.id, record({ summary: 'Anna wants a table.', extracted: { name: 'Anna' } }))
  return body as { id: string; contact_id: string }
}

describe.skipIf(chromiumPath === null)('how long it is kept', () => {
  it('is set by kind, and asked for where something would be deleted', async () => {
    const { page, owner, complaints } = await open('/data')
    const kept = async () => (await owner.call('GET', '/retention')).body
    const recordings = section(page, 'Recordings')
    const save = page.getByRole('button', { name: 'Save', exact: true })
    await recordings.getByLabel('For a number of days after the call').check()
    await recordings.getByLabel('Recordings: days').fill('')
    await save.click()
    await recordings.getByText('Enter a whole number from 1 to 3,650').waitFor()
    await recordings.getByLabel('Recordings: days').fill('30')
    await section(page, 'Phone numbers').getByLabel('For a number of days after the call').check()
    await section(page, 'Phone numbers').getByLabel('Phone numbers: days').fill('20')
    await page.getByText('Phone numbers are deleted before other data').waitFor()
    await screenshot(page, 'data-retention')
    expect(await seriousViolations(page)).toEqual([])

    await save.click()
    await dialog(page).getByText('Recordings of calls more than 30 days old').waitFor()
    await dialog(page).getByText('Numbers, contact links and SIP messages of calls more than 20 days old').waitFor()
    expect(await dialog(page).getByRole('listitem').count()).toBe(2)
    await screenshot(page, 'data-retention-sure')
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await dialog(page).waitFor({ state: 'hidden' })
    expect(await kept()).toEqual({ recordings_days: null, transcripts_days: null, phones_days: null })
    await save.click()
    await dialog(page).getByRole('button', { name: 'Save and delete' }).click()
    await toldAndClosed(page, 'Saved')
    expect(await kept()).toEqual({ recordings_days: 30, transcripts_days: null, phones_days: 20 })

    // A longer period deletes nothing and needs no confirmation.
    await section(page, 'Phone numbers').getByLabel('Until I delete them').check()
    await page.getByText('Phone numbers are deleted before other data').waitFor({ state: 'detached' })
    await save.click()
    await toldAndClosed(page, 'Saved')
    expect(await kept()).toEqual({ recordings_days: 30, transcripts_days: null, phones_days: null })
    expect(await save.isDisabled()).toBe(true)
    expect(complaints).toEqual([])
  })

  it('knows what is shorter than before, and when numbers go first', () => {
    const given = { recordings_days: 30, transcripts_days: null, phones_days: 60 }
    const values = valuesOf(given)
    expect(patchOf(values)).toEqual(given)
    expect(shortenedBy(given, values)).toEqual([])
    expect(numbersGoFirst(values)).toBe(true)
    const transcripts = { limited: true, days: 60 }
    expect(numbersGoFirst({ ...values, transcripts })).toBe(false)
    expect(shortenedBy(given, { ...values, transcripts })).toEqual([{ kind: 'transcripts', days: 60 }])
    expect(shortenedBy(given, { ...values, recordings: { limited: true, days: 31 } })).toEqual([])
    expect(shortenedBy(given, { ...values, recordings: { limited: true, days: 29 } })).toEqual([
      { kind: 'recordings', days: 29 },
    ])
    // Periods of disabled kinds are ignored.
    expect(patchOf({ ...values, phones: { limited: false, days: 1 } }).phones_days).toBeNull()
  })
})

describe.skipIf(chromiumPath === null)('a person is forgotten', () => {
  it('by number, typed twice, and what still names it is told with its place', async () => {
    const owner = await createOwner()
    const person = { phone: '+79161112233', name: `Ivan ${HOSTILE}` }
    await fillPersonal(dashboard.control, owner, person)
    const named = { name: `Front desk ${SCRIPT}${LINK}`, prompt: `Give ${person.phone} to who asks for Ivan.` }
    await owner.call('PATCH', `/projects/${owner.projectId}`, named)
    const { page, complaints } = await open('/data/forget', { owner })
    await page.getByRole('button', { name: 'Erase data' }).click()
    await page.getByText('Enter a valid phone number').waitFor()
    await page.getByLabel('Phone number').fill('+7 (916) 111-22-33')
    await page.getByLabel('Add the number to the list').check()
    await screenshot(page, 'data-forget')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Erase data' }).click()
    await dialog(page).getByText('Erase all data of +79161112233?').waitFor()
    const sure = dialog(page).getByRole('button', { name: 'Erase data' })
    expect(await sure.isDisabled()).toBe(true)
    await dialog(page).getByLabel('Enter the number again').fill('+7 (916) 111-22-34')
    await dialog(page).getByText("The numbers don't match").waitFor()
    expect(await sure.isDisabled()).toBe(true)
    await screenshot(page, 'data-forget-sure')
    await dialog(page).getByLabel('Enter the number again').fill('+79161112233')
    await sure.click()

    const told = section(page, 'Data of +79161112233 erased')
    await told.getByRole('link', { name: named.name }).waitFor()
    await told.getByRole('link', { name: person.name }).waitFor() // until then its id stands there
    const rows = await told.getByRole('row').allTextContents()
    expect(rows).toEqual([
      ...['Contacts deleted1', 'Calls erased1', 'Campaign contacts erased1', 'Leads erased1'],
      'On the do-not-call listYes',
    ])
    const links = await told
      .getByRole('link')
      .evaluateAll(all => all.map(one => [one.textContent, one.getAttribute('href')]))
    expect(links.sort()).toEqual([
      [named.name, `/dashboard/projects/${owner.projectId}`],
      [person.name, `/dashboard/projects/${owner.projectId}?tab=knowledge`],
    ])
    await screenshot(page, 'data-forgotten')
    expect(await seriousViolations(page)).toEqual([])
    expect((await owner.call('GET', '/contacts')).body.total).toBe(0)
    const [call] = (await owner.call('GET', '/calls')).body.items
    expect(call).toMatchObject({ to: 'erased', contact_id: null })
    expect((await owner.call('GET', '/do-not-call')).body.items).toMatchObject([{ phone: person.phone, note: null }])
    await page.getByRole('button', { name: "Erase another person's data" }).click()
    expect(await page.getByLabel('Phone number').inputValue()).toBe('')
    await goTo(page, '/calls')
    await page.getByRole('link', { name: 'number erased' }).waitFor()
    expect(await pwned(page)).toBeUndefined()
    expect(complaints).toEqual([])
  })

  it('is not while a call goes on, and the question stays open with the reason', {
    skip: !inject('full'),
  }, async () => {
    const { page, owner } = await open('/data/forget')
    const phone = nextPhone()
    await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    await page.getByLabel('Phone number').fill(phone)
    await page.getByRole('button', { name: 'Erase data' }).click()
    await dialog(page).getByLabel('Enter the number again').fill(phone)
    await dialog(page).getByRole('button', { name: 'Erase data' }).click()
    await dialog(page).getByRole('alert').getByText('A call is in progress').waitFor()
    expect((await owner.call('GET', '/contacts')).body.total).toBe(1)
  })
})

describe.skipIf(chromiumPath === null)('one thing is deleted', () => {
  it('a call, of which its skeleton stays', async () => {
    const owner = await createOwner()
    const { id } = await endedCall(owner)
    const { page, complaints } = await open(`/calls/${id}`, { owner })
    await page.getByText('Anna wants a table.').waitFor()
    await page.getByRole('button', { name: 'Erase call data' }).click()
    await dialog(page).getByRole('link', { name: "Erase this person's data" }).waitFor()
    await screenshot(page, 'data-call')
    expect(await seriousViolations(page)).toEqual([])
    await dialog(page).getByRole('button', { name: 'Erase call data' }).click()
    await page.getByRole('heading', { level: 1, name: 'Call (number erased)' }).waitFor()
    await page.getByText('Anna wants a table.').waitFor({ state: 'detached' })
    expect((await owner.call('GET', `/calls/${id}`)).body).toMatchObject({
      to: 'erased',
      summary: null,
      extracted: null,
    })
    expect(complaints).toEqual([])
  })

  it('a contact, from where the person can be forgotten whole', { skip: !inject('full') }, async () => {
    const owner = await createOwner()
    const phone = nextPhone()
    const { contact_id } = await endedCall(owner, phone)
    const { page, complaints } = await open(`/contacts/${contact_id}`, { owner })
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByRole('link', { name: "Erase this person's data" }).click()
    await page.getByRole('heading', { level: 1, name: 'Data and audit log' }).waitFor()
    expect(await page.getByLabel('Phone number').inputValue()).toBe(phone)
    expect(page.url()).not.toContain(phone.slice(1))
    await page.goBack()
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No contacts yet').waitFor()
    expect((await owner.call('GET', `/contacts/${contact_id}`)).status).toBe(404)

    // The number comes without the address, and is not left in the browser's history.
    await goTo(page, `/contacts/${(await endedCall(owner, phone)).contact_id}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByRole('link', { name: "Erase this person's data" }).click()
    await page.getByRole('button', { name: 'Erase data' }).click()
    const remembered = () => page.evaluate('JSON.stringify(history.state)')
    expect(await remembered()).toContain(phone)
    await dialog(page).getByLabel('Enter the number again').fill(phone)
    await dialog(page).getByRole('button', { name: 'Erase data' }).click()
    await page.getByRole('heading', { name: `Data of ${phone} erased` }).waitFor()
    await shown(remembered).not.toContain(phone)
    expect(complaints).toEqual([])
  })

  it('a lead search with its leads', { skip: !inject('full') }, async () => {
    const owner = await createOwner()
    const { sql } = dashboard.control.deps
    const [job, lead] = [randomUUID(), randomUUID()]
    await sql`
      insert into lead_jobs (id, owner_id, status, end_reason, brief_raw, brief, sources, price, target, found, enriched,
        rejected, created_at, ended_at)
      values (${job}, ${owner.ownerId}, 'completed', 'exhausted', 'Bakers', ${sql.json(brief({ niche: 'bakers' }))},
        '{map}', 0, 1, 1, 1, 0, now(), now())`
    await sql`
      insert into leads (id, job_id, owner_id, status, source, source_key, company, search, created_at)
      values (${lead}, ${job}, ${owner.ownerId}, 'enriched', 'map', 'x', 'Best Bread', 'best bread', now())`
    const { page, complaints } = await open('/leads', { owner })
    await page.getByRole('link', { name: 'bakers, Oakland' }).click()
    await page.getByText('Best Bread').first().waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await screenshot(page, 'data-search')
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No searches yet').waitFor()
    expect(await sql`select company from leads where owner_id = ${owner.ownerId}`).toEqual([])
    expect(complaints).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('who did what', () => {
  const entry = { actor: 'session', actor_id: null, channel: 'rest', address: '203.0.113.7' } as const

  it('is told in words, by operation, page by page', async () => {
    const owner = await createOwner()
    const { deps } = dashboard.control
    const name = `Billing ${HOSTILE}${SCRIPT}${LINK}`
    await deps.sql`update api_keys set name = ${name} where owner_id = ${owner.ownerId}`
    await owner.call('POST', '/projects', { name: 'Second', language: 'en', prompt: 'You are nice.' })
    const phone = nextPhone()
    await owner.call('POST', '/do-not-call', { phone })
    await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    // An operation of a newer server that the old page does not know.
    await deps.sql.begin(tx => insertAuditEntry(tx, owner.ownerId, of('train_parrot', null)))
    for (let n = 0; n < 60; n++) await insertAuditEntry(deps.sql, owner.ownerId, of('hang_up_call', 'failed', n))
    const { page, complaints } = await open('/data/audit', { owner })
    const made = page.getByRole('row').filter({ hasText: 'Created a project' })
    await made.getByText(`API key “${name}”`).waitFor()
    const row = (what: string) =>
      page.getByRole('row').filter({ has: page.getByRole('cell', { name: what, exact: true }) })
    expect(await row('Logged in').textContent()).toMatch(/person-\S+@example\.com.*Authentication.*Succeeded/)
    expect(await row('train_parrot').textContent()).toMatch(/Dashboard user.*203\.0\.113\.7.*In progress/)
    expect(await row('Placed a call').textContent()).toMatch(/Rejected.*do_not_call/)
    await screenshot(page, 'data-audit')
    expect(await seriousViolations(page)).toEqual([])
    expect(await page.getByRole('row').count()).toBe(51)
    await page.getByRole('button', { name: 'Load older entries' }).click()
    await page.getByText('No older entries.').waitFor()
    const { body } = await owner.call('GET', '/audit?limit=200')
    expect(await page.getByRole('row').count()).toBe(1 + body.items.length)
    await page.getByLabel('Operation').selectOption('Created a project')
    await shown(() => page.getByRole('row').count()).toBe(2)
    await page.reload()
    await made.waitFor()
    expect(await page.getByLabel('Operation').inputValue()).toBe('create_project')
    await page.getByLabel('Operation').selectOption('Deleted a trunk')
    await page.getByText('No entries of this operation in the last year').waitFor()
    await goTo(page, '/data/audit?operation=train_parrot')
    await shown(() => page.getByRole('row').count()).toBe(2)
    expect(await pwned(page)).toBeUndefined()
    expect(complaints).toEqual([])
  })

  function of(operation: string, outcome: (typeof outcomes)[number] | null, minutesAgo = 0) {
    const at = new Date(dashboard.control.deps.clock.wall() - minutesAgo * 60_000)
    const rest = { resource: null, request_id: null, person_id: null, code: null }
    return { ...entry, ...rest, id: uuidv7(at.getTime()), at, operation, outcome }
  }
})

describe.skipIf(chromiumPath === null)('the account', () => {
  it('is deleted by its password, and nobody can log in to it any more', async () => {
    const { page, owner } = await open('/account')
    await page.getByRole('link', { name: 'Delete account' }).click()
    const { balance } = (await owner.call('GET', '/balance')).body
    expect(Number(balance.amount)).toBeGreaterThan(0)
    await page.getByText(`Remaining balance: RUB ${Number(balance.amount).toFixed(2)}`).waitFor()
    await page.getByRole('textbox', { name: 'Your password' }).fill('not the password')
    await page.getByRole('button', { name: 'Delete account' }).click()
    await dialog(page).getByText(owner.email).waitFor()
    await screenshot(page, 'data-account')
    expect(await seriousViolations(page)).toEqual([])
    await dialog(page).getByRole('button', { name: 'Delete account' }).click()
    await dialog(page).getByText('Incorrect email or password.').waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await dialog(page).waitFor({ state: 'hidden' })
    await page.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Delete account' }).click()
    await dialog(page).getByRole('button', { name: 'Delete account' }).click()
    await page.getByText('Account deleted').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    expect((await logIn(owner.email)).status).toBe(401)
    expect((await owner.call('GET', '/calls')).status).toBe(401)
    await goTo(page, '')
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  })
})

const left = chromiumPath === null || !inject('full')
it.skipIf(left)('is usable in Russian, in the dark, on a narrow screen', async () => {
  const options = { locale: 'ru-RU', colorScheme: 'dark', viewport: { width: 380, height: 800 } } as const
  const { page, complaints } = await open('/data', { options })
  for (const [path, text] of [
    ['', 'Записи разговоров'],
    ['/forget', 'Будет удалено'],
    ['/audit', 'Пользователь с паролем или кодом'],
    ['/account', 'Ваш пароль'],
  ] as const) {
    await goTo(page, `/data${path}`)
    await page.getByText(text).first().waitFor()
    await shown(() => page.locator('[aria-busy=true]').count()).toBe(0)
    expect([path, await overflow(page)]).toEqual([path, 0])
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, `data-ru${path.replace('/', '-')}`)
  }
  await goTo(page, '/data/nothing')
  await page.getByText('Страница не найдена').first().waitFor()
  expect(complaints).toEqual([])
})

describe('words', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(`../../../control/${path}`, import.meta.url), 'utf8'))
  const { paths, components } = read('openapi.json')
  const changing = Object.entries<Record<string, { operationId: string }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId }]) =>
      method === 'get' || !/^\/(?:v1\/public|auth)\//.test(path) ? [] : [operationId],
    ),
  )
  const byOperator = Object.entries(commands).flatMap(([name, { changes }]) =>
    changes ? [name.replaceAll('-', '_')] : [],
  )

  it.each(['en', 'ru'])('are there in %s for whatever the API may say', language => {
    const words = read(`dashboard/page/data/words.${language}.json`)
    const have = (place: object, codes: readonly string[]) =>
      expect(Object.keys(place).sort()).toEqual([...new Set(codes)].sort())
    // Except this one, because its response does not reveal the account.
    const logged = [...changing, ...byOperator].filter(operation => operation !== 'request_password_reset')
    expect(logged.length).toBeGreaterThan(60)
    have(words.operations, logged)
    have(words.audit.actors, actors)
    have(words.audit.channels, channels)
    have(words.audit.outcomes, [...outcomes, 'open'])
    have(words.forget.kinds, components.schemas.Erasure.properties.mentions.items.properties.kind.enum)
  })
})
