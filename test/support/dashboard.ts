/** The dashboard in a real Chromium, against a real control: who signs up, who is logged in, and what every page owes. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestBrowser, TestPage } from './chromium.ts'

export const PASSWORD = 'correct horse battery'
let people = 0
export const nextEmail = () => `person-${process.pid}-${people++}@example.com`

/** A page takes its time on a busy machine. */
export const shown = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 60_000 })

/** Signs up by REST and hands the session to a new profile of the browser; the page is the one at `path`. */
export async function openAs(
  browser: TestBrowser,
  address: string,
  path = '',
  options: BrowserContextOptions = {},
): Promise<TestPage & { email: string }> {
  const email = nextEmail()
  const cookie = await signUp(address, email)
  const opened = await openWith(browser, address, cookie, path, options)
  return { ...opened, email }
}

/** The session's cookie, as `name=value`. */
export async function signUp(address: string, email = nextEmail()): Promise<string> {
  const answer = await fetch(`${address}/auth/sign-up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  })
  if (answer.status !== 201) throw new Error(`sign-up: ${answer.status} ${await answer.text()}`)
  return answer.headers.get('set-cookie')!.split(';')[0]!
}

export async function openWith(
  browser: TestBrowser,
  address: string,
  cookie: string,
  path = '',
  options: BrowserContextOptions = {},
): Promise<TestPage> {
  const [name = '', value = ''] = cookie.split('=')
  const { hostname } = new URL(address)
  const session = { name, value, domain: hostname, path: '/', expires: -1, httpOnly: true, secure: false }
  return browser.open(`${address}/dashboard${path}`, {
    storageState: { cookies: [{ ...session, sameSite: 'Lax' }], origins: [] },
    ...options,
  })
}

const axe = () => {
  const { resolve } = createRequire(import.meta.url)
  return join(dirname(resolve('axe-core')), 'axe.min.js')
}

/** What axe-core finds serious or critical on the page as it stands (WCAG 2.2 A and AA). Our policy lets no script in, axe comes past it. */
export async function seriousViolations(page: Page): Promise<string[]> {
  const { readFileSync } = await import('node:fs')
  await page.evaluate(readFileSync(axe(), 'utf8'))
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  )) as { violations: { id: string; impact: string | null; help: string; nodes: { html: string }[] }[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** Nothing but tables and logs, which scroll by themselves, may be wider than the screen. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

/** As control's own tests: a REST answer with the session of the page. */
export async function rest(address: string, cookie: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${address}/v1/public${path}`, {
    method,
    headers: {
      cookie,
      origin: address,
      'sec-fetch-site': 'same-origin',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: response.status, body: (await response.json()) as any }
}

/** Where `PARLEY_SCREENSHOTS` names a folder, what the page looks like is kept there for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env['PARLEY_SCREENSHOTS']
  if (!folder) return
  const size = page.viewportSize()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true })
  }
  await page.setViewportSize({ width: 380, height: 800 })
  await page.emulateMedia({ colorScheme: 'light' })
  await page.screenshot({ path: join(folder, `${name}-narrow.png`), fullPage: true })
  if (size) await page.setViewportSize(size)
}
