/** The people of the account, the sessions and the second factor, in the dashboard. */
import { Secret, TOTP } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../../support/chromium.ts'
import {
  dashboardRig,
  nextEmail,
  openAs,
  overflow,
  PASSWORD,
  seriousViolations,
  shown,
} from '../../support/dashboard.ts'

const dashboard = dashboardRig()
const { kept } = dashboard

const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate()
const codeFor = (email: string) =>
  /#code=([\w-]{43})/.exec(dashboard.control.deps.mail.sent.findLast(({ to }) => to === email)?.text ?? '')?.[1]

describe.skipIf(chromiumPath === null)('the team', () => {
  it('is invited by mail, joins with a password, and sees what the role allows', async () => {
    const { page, complaints } = kept(await openAs(dashboard.browser, dashboard.address, '/team'))
    const email = nextEmail()
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const form = page.getByRole('dialog', { name: 'Invite a person' })
    await form.getByLabel('Email').fill(email)
    await form.getByLabel('Role').selectOption('Billing')
    await form.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByRole('row', { name: new RegExp(email) }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await shown(() => codeFor(email)).toMatch(/^[\w-]{43}$/)
    const link = `${dashboard.address}/dashboard/invitation#code=${codeFor(email)}`
    const joined = kept(await dashboard.browser.open(link))
    await joined.page.getByLabel('Your name').fill('Bea')
    await joined.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    expect(await seriousViolations(joined.page)).toEqual([])
    await joined.page.getByRole('button', { name: 'Join' }).click()
    await joined.page.getByRole('heading', { level: 1, name: 'Balance' }).waitFor()
    expect(await joined.page.getByRole('navigation').getByRole('link').allTextContents()).toEqual(['Balance'])
    await page.reload()
    await page.getByRole('row', { name: /Bea/ }).getByRole('button', { name: 'Remove Bea' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Person removed').waitFor()
    expect([...complaints, ...joined.complaints]).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('the account', () => {
  it('lists sessions and sets up app codes, which the next log-in needs', async () => {
    const opened = kept(await openAs(dashboard.browser, dashboard.address, '/account'))
    const { page, complaints, email } = { ...opened, email: opened.email }
    await page.getByText('This session').waitFor()
    await page.getByRole('button', { name: 'Set up app codes' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set up app codes' })
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Next' }).click()
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    const secret = (await dialog.getByRole('region', { name: 'Secret' }).textContent())!
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByLabel('Code of the app').fill(codeOf(secret))
    await dialog.getByRole('button', { name: 'Finish' }).click()
    const codes = page.getByRole('region', { name: 'Recovery codes' })
    await codes.waitFor()
    const [recovery = ''] = (await codes.textContent())!.split('\n')
    expect(recovery).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await page.getByText('Recovery codes left: 10').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    const entering = kept(await dashboard.browser.open(`${dashboard.address}/dashboard/log-in`))
    await entering.page.getByLabel('Email').fill(email)
    await entering.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
    await entering.page.getByRole('button', { name: 'Log in', exact: true }).click()
    await entering.page.getByRole('textbox', { name: /^Code/ }).fill(recovery)
    await entering.page.getByRole('button', { name: 'Log in', exact: true }).click()
    await entering.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(complaints).toEqual([])
  })
})
