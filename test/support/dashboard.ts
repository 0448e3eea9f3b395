/** The dashboard in a real Chromium, against a real control: who signs up, who is logged in, and what every page owes. */
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
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(readFileSync(axe(), 'utf8'))
  // What fades in has less contrast on its way.
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

/** What was done is told in a corner, over what stands there: closed as people close it, or the next click waits for seconds. */
export async function toldAndClosed(page: Page, text: string): Promise<void> {
  const word = page.getByRole('alert').filter({ has: page.getByText(text, { exact: true }) })
  await word.getByRole('button', { name: 'Close' }).click()
  await word.waitFor({ state: 'detached' })
}

/** Nothing but tables and logs, which scroll by themselves, may be wider than the screen. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

export interface Dashboard {
  readonly control: TestControl
  readonly address: string
  readonly browser: TestBrowser
  /** Closes with the test. */
  kept<T extends TestPage>(opened: T): T
  /** The page at `path` for who has this session; closes with the test. */
  open(cookie: string, path?: string, options?: BrowserContextOptions): Promise<TestPage>
}

/**
 * For the file that calls it: a control that listens, a Chromium, and pages that close after each test. `start`: what
 * runs beside them; answers how each is stopped, and the last is stopped first.
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
