/** Sign-up, log-in, password reset and log-out; and the content and size of the first visit. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../../support/chromium.ts'
import {
  dashboardRig,
  nextEmail,
  openAs,
  openWith,
  overflow,
  PASSWORD,
  screenshot,
  seriousViolations,
  shown,
  signUp,
} from '../../support/dashboard.ts'

const FIRST_LOAD_BYTES = 300_000

const dashboard = dashboardRig()
const { kept } = dashboard

describe('the page as it is served', () => {
  it('has a policy without unsafe-inline, and a nonce of its own each time', async () => {
    const visits = await Promise.all([1, 2].map(() => fetch(`${dashboard.address}/dashboard/calls/anything`)))
    const policies = visits.map(({ headers }) => headers.get('content-security-policy')!)
    const nonces = policies.map(policy => /'nonce-([\w-]{20,})'/.exec(policy)![1]!)
    expect(nonces[0]).not.toBe(nonces[1])
    expect(policies[0]).not.toContain('unsafe')
    expect(policies[0]).toContain("script-src 'self';")
    expect(policies[0]).toContain("default-src 'none'")
    const html = await visits[0]!.text()
    expect(html).toContain(`nonce="${nonces[0]}"`)
    expect(html).not.toContain('__CSP_NONCE__')
    expect(visits[0]!.headers.get('cache-control')).toBe('no-store')
  })

  it('has files that are kept for long and come compressed', async () => {
    const html = await (await fetch(`${dashboard.address}/dashboard`)).text()
    const script = /src="(\/dashboard\/assets\/[^"]+\.js)"/.exec(html)![1]!
    const answer = await fetch(dashboard.address + script, { headers: { 'accept-encoding': 'gzip' } })
    expect(answer.headers.get('cache-control')).toContain('immutable')
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect((await fetch(`${dashboard.address}/dashboard/assets/nothing.js`)).status).toBe(404)
    expect((await fetch(`${dashboard.address}/dashboard/assets/..%2f..%2froutes.ts`)).status).not.toBe(200)
  })
})

describe.skipIf(chromiumPath === null)('the way in', () => {
  it('signs up with the trial balance in sight, and one path to go', async () => {
    const { page, complaints } = kept(await dashboard.browser.open(`${dashboard.address}/dashboard/sign-up`))
    await page.getByLabel('Email').fill(nextEmail())
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.getByText('RUB 100.00 trial balance').waitFor()
    expect(await page.getByRole('listitem').getByRole('heading').allTextContents()).toEqual([
      '1. Talk to the agent',
      '2. Edit the prompt',
      '3. Create an API key',
      '4. Bind a phone number',
    ])
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'home')
    expect(complaints).toEqual([])
  })

  it('loads less than 300 kB before one can talk', async () => {
    const email = nextEmail()
    const cookie = await signUp(dashboard.address, email)
    const opened = kept(await openWith(dashboard.browser, dashboard.address, cookie))
    await opened.page.getByText('trial balance').waitFor()
    const files = opened.requests.filter(url => url.startsWith(`${dashboard.address}/dashboard`))
    const sizes = await Promise.all(
      files.map(async url => gzipSync(new Uint8Array(await (await fetch(url)).arrayBuffer())).length),
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    console.log(`the first load: ${files.length} files, ${total} bytes of gzip`)
    expect(total).toBeLessThan(FIRST_LOAD_BYTES)
    expect(opened.requests.filter(url => !url.startsWith(dashboard.address) && !url.startsWith('data:'))).toEqual([])
  })

  it('leads who is not logged in to the log-in and back, and nowhere else', async () => {
    const email = nextEmail()
    await signUp(dashboard.address, email)
    const { page } = kept(await dashboard.browser.open(`${dashboard.address}/dashboard/account`))
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    expect(new URL(page.url()).searchParams.get('back')).toBe('/account')
    await page.getByLabel('Email').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong password')
    await page.getByRole('button', { name: 'Log in' }).click()
    await shown(() => page.getByRole('alert').textContent()).toContain('Incorrect email or password.')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor()
    await page.goto(`${dashboard.address}/dashboard/log-in?back=//evil.example`)
    await page.getByLabel('Email').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(new URL(page.url()).origin).toBe(dashboard.address)
  })

  it('sets a forgotten password with the code of the mail', async () => {
    const email = nextEmail()
    await signUp(dashboard.address, email)
    const { page } = kept(await dashboard.browser.open(`${dashboard.address}/dashboard/password`))
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Send code' }).click()
    await shown(() => dashboard.control.deps.mail.sent.some(({ to }) => to === email)).toBe(true)
    const mail = dashboard.control.deps.mail.sent.find(({ to }) => to === email)!
    await page.getByLabel('Code from the email').fill(/^\S{20,}$/m.exec(mail.text)![0])
    await page.getByRole('textbox', { name: 'New password' }).fill('another long password')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Your password has been changed.').waitFor()
    await page.goto(`${dashboard.address}/dashboard/password${/#code=\S+/.exec(mail.text)![0]}`)
    await page.reload()
    expect(await page.getByLabel('Code from the email').inputValue()).toMatch(/^\S{20,}$/)
    expect(await seriousViolations(page)).toEqual([])
  })

  it('keeps an account within limits that no key can change', async () => {
    const { page, complaints } = kept(await openAs(dashboard.browser, dashboard.address, '/account'))
    const destinations = page.getByLabel('Allowed destinations').and(page.locator('input:not([type=hidden])'))
    await destinations.fill('+7')
    await destinations.press('Enter')
    await destinations.fill('44')
    await destinations.press('Enter')
    await page.getByLabel('Daily spend limit (RUB)').fill('500,5')
    const save = page.locator('form').filter({ has: destinations }).getByRole('button', { name: 'Save' })
    await save.click()
    await page.getByText('must be a plus sign and the first digits of a number').waitFor()
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')])
    await destinations.press('Backspace')
    await save.click()
    await page.getByText('Saved').waitFor()
    await page.reload()
    await shown(() => page.getByLabel('Daily spend limit (RUB)').inputValue()).toBe('500.5000')
    expect(await page.getByText('+7', { exact: true }).isVisible()).toBe(true)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'account')
    expect(await overflow(page)).toBe(0)
  })

  it('logs out, and speaks Russian in the dark on a narrow screen', async () => {
    const { page, complaints } = kept(
      await openAs(dashboard.browser, dashboard.address, '', {
        locale: 'ru-RU',
        colorScheme: 'dark',
        viewport: { width: 380, height: 800 },
      }),
    )
    await page.getByRole('heading', { level: 1, name: 'Главная' }).waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('ru')
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Учётная запись и настройки' }).click()
    await page.getByRole('menuitem', { name: 'English' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.getByRole('button', { name: 'Account and settings' }).click()
    expect(complaints).toEqual([])
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await page.goto(`${dashboard.address}/dashboard`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
  })
})
