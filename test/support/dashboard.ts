/** The dashboard in a real Chromium, against a real control: sign-up, login, and checks that apply to every page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from './chromium.ts'
import { createControl, type TestControl } from './control.ts'

export const PASSWORD = 'correct horse battery'
let people = 0
export const nextEmail = () => `person-${process.pid}-${people++}@example.com`

/** Polls for a minute, because a page is slow on a busy machine. */
export const shown = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 60_000 })

/** Signs up by REST and opens `path` in a new browser profile with that session. */
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

/** Signs up and returns the session's cookie as `name=value`. */
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

/**
 * The serious and critical findings of axe-core on the current page (WCAG 2.2 A and AA). axe is injected past our
 * content security policy.
 */
export async function seriousViolations(page: Page): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(readFileSync(axe(), 'utf8'))
  // An element that fades in has lower contrast meanwhile.
  await page.evaluate(
    `Promise.race([
      Promise.allSettled(document.getAnimations().map(animation => animation.finished)),
      new Promise(resolve => setTimeout(resolve, 1000)),
    ])`,
  )
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  )) as { violations: { id: string; impact: string | null; help: string; nodes: { html: string }[] }[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/**
 * Waits for a toast with this text and closes it as a person would; otherwise the next click would wait for seconds.
 */
export async function toldAndClosed(page: Page, text: string): Promise<void> {
  const word = page.getByRole('alert').filter({ has: page.getByText(text, { exact: true }) })
  await word.getByRole('button', { name: 'Close' }).click()
  await word.waitFor({ state: 'detached' })
}

/** Pixels by which the page is wider than the screen, ignoring tables and logs, which scroll. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

export interface Dashboard {
  control: TestControl
  address: string
  browser: TestBrowser
  /** Closes the page with the test. */
  kept<T extends TestPage>(opened: T): T
  /** Opens `path` with this session; closes with the test. */
  open(cookie: string, path?: string, options?: BrowserContextOptions): Promise<TestPage>
}

/**
 * For the calling file: a listening control, a Chromium, and pages that close after each test. `start` runs additional
 * servers and returns their stop functions, called in reverse order.
 */
export function dashboardRig({
  start = () => [],
  ...options
}: Parameters<typeof createControl>[0] & {
  start?(control: TestControl, address: string): Closers | Promise<Closers>
} = {}): Dashboard {
  let [control, address, browser]: Partial<[TestControl, string, TestBrowser]> = []
  const pages: TestPage[] = []
  const closers: Closers = []
  beforeAll(async () => {
    control = await createControl(options)
    address = await control.app.listen({ port: 0, host: '127.0.0.1' })
    closers.push(...(await start(control, address)))
    if (chromiumPath) browser = await openBrowser({ microphone: '/dev/null' })
  })
  afterEach(async () => {
    for (const { close } of pages.splice(0)) await close()
  })
  afterAll(async () => {
    await browser?.close()
    for (const close of closers.splice(0).reverse()) await close()
    await control?.close()
  })
  const kept = <T extends TestPage>(opened: T): T => {
    pages.push(opened)
    return opened
  }
  return {
    get control() {
      return control!
    },
    get address() {
      return address!
    },
    get browser() {
      return browser!
    },
    kept,
    open: async (cookie, path, how) => kept(await openWith(browser!, address!, cookie, path, how)),
  }
}

type Closers = (() => unknown)[]

/** Sends a REST request with the page's session. */
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

/** Saves a screenshot to the directory in `PARLEY_SCREENSHOTS`, if set. */
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
