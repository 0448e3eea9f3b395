/** Keys, webhooks, MCP and spend in a real browser, checked by REST and by a webhook receiver. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { fund, toUnits } from '../../../control/billing/money.ts'
import { startWorkers, type Workers } from '../../../control/platform/jobs/jobs.ts'
import { finish } from '../../../control/telephony/calls/finish.ts'
import { deliver } from '../../../control/webhooks/deliver.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../../support/chromium.ts'
import { createControl, nextPhone, type TestControl } from '../../support/control.ts'
import { openWith, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'
import { onlyJobs } from '../../support/jobs.ts'
import { createReceiver, type Received, type Receiver } from '../../support/receiver.ts'
import { record } from '../../support/records.ts'

const HOSTILE = [
  '<img src=x onerror="window.pwned=1">',
  '"><script>window.pwned=1</script>',
  'javascript:window.pwned=1',
]

let control: TestControl
let workers: Workers
let address: string
let browser: TestBrowser
let receiver: Receiver
const pages: TestPage[] = []

beforeAll(async () => {
  control = await createControl()
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  workers = await startWorkers(control.deps, onlyJobs({ 'webhook.deliver': data => deliver(control.deps, data) }))
  receiver = await createReceiver()
  if (chromiumPath) browser = await openBrowser({ microphone: '/dev/null' })
})
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(async () => {
  await browser?.close()
  await receiver?.close()
  await workers?.stop()
  await control?.close()
})

async function open(path: string, options: Parameters<TestBrowser['open']>[1] = {}) {
  const cookie = await signUp(address)
  const opened = await openWith(browser, address, cookie, path, options)
  pages.push(opened)
  return {
    ...opened,
    cookie,
    call: (method: string, to: string, body?: unknown) => rest(address, cookie, method, to, body),
  }
}
type Opened = Awaited<ReturnType<typeof open>>

const narrow = { locale: 'ru-RU', colorScheme: 'dark', viewport: { width: 380, height: 800 } } as const
const withKey = (key: string) => fetch(`${address}/v1/public/projects`, { headers: { 'x-api-key': key } })
const pwned = (page: Page) => page.evaluate('window.pwned')

/** Amounts have spaces that do not break. */
const plain = (text: string | null) => text!.replaceAll('\u00a0', ' ')

/** A code block by what it is called. */
const block = (page: Page, name: string) => page.getByRole('region', { name }).textContent()

describe.skipIf(chromiumPath === null)('keys', () => {
  it('are made, shown once, work as the example says, and are refused once revoked', async () => {
    const { page, call, complaints } = await open('/access')
    await page.getByText('No API keys yet').waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    const form = page.getByRole('dialog', { name: 'Create key' })
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('Enter a name').waitFor()
    await form.getByLabel('Name').fill('Billing')
    await form.getByRole('checkbox', { name: 'write' }).uncheck()
    await form.getByLabel('Expires').selectOption('In 30 days')
    await screenshot(page, 'access-key-form')
    await form.getByRole('button', { name: 'Create key' }).click()
    const secret = page.getByRole('dialog', { name: 'API key created' })
    await secret.waitFor()
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    const value = (await block(page, 'Key value'))!
    expect(value).toMatch(/^svc_\w{43}$/)
    expect(await block(page, 'curl request')).toContain(`X-API-Key: ${value}`)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'access-key-made')
    expect((await withKey(value)).status).toBe(200)
    await secret.getByRole('button', { name: "I've copied it" }).click()
    await secret.waitFor({ state: 'hidden' })
    expect(await page.content()).not.toContain(value)
    const row = page.getByRole('row', { name: /Billing/ })
    expect(await row.textContent()).toContain(value.slice(0, 8))
    const { body } = await call('GET', '/keys')
    expect(body.items).toMatchObject([{ name: 'Billing', scopes: ['read'] }])
    const days = (Date.parse(body.items[0].expires_at) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29.9)
    expect(days).toBeLessThan(30.1)
    await row.getByRole('button', { name: 'Revoke key “Billing”' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('Revoked').waitFor()
    expect((await withKey(value)).status).toBe(401)
    await screenshot(page, 'access-keys')
    expect(await seriousViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('refuse a time in the past, and say so beside the field', async () => {
    const { page, call } = await open('/access')
    await page.getByRole('button', { name: 'Create key' }).click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('Old')
    await form.getByLabel('Expires').selectOption('Custom date and time')
    await form.getByLabel('Expires at').fill('2020-01-01T10:00')
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('Choose a time in the future').waitFor()
    expect((await call('GET', '/keys')).body.total).toBe(0)
  })
})

describe.skipIf(chromiumPath === null)('webhooks', () => {
  const add = async (page: Page, url: string) => {
    await page.getByRole('button', { name: 'Add webhook' }).click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Endpoint URL').fill(url)
    await form.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByRole('dialog', { name: 'Webhook added' }).waitFor()
    const secret = (await block(page, 'Signing secret'))!
    await page.getByRole('button', { name: "I've copied it" }).click()
    return secret
  }

  it('are added with a secret that proves a test to be ours, in Node and in Python', async () => {
    const { page, complaints } = await open('/access/webhooks')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await screenshot(page, 'access-webhook-form')
    await page.getByRole('dialog').getByLabel('Endpoint URL').fill('ftp://example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Add webhook' }).click()
    await page.getByText('Enter a URL that starts with http:// or https://').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    const url = `${receiver.url}/signed`
    const secret = await add(page, url)
    expect(secret).toMatch(/^whsec_/)
    await page.getByRole('link', { name: url }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhook' }).waitFor()
    await page.getByRole('button', { name: 'Send test event' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delivery' })
    await dialog.getByText('Delivered').waitFor()
    await dialog.getByText('HTTP 204').waitFor()
    const got = receiver.received.find(({ path }) => path === '/signed')!
    expect(await block(page, 'Request')).toContain(`webhook-id: ${got.headers['webhook-id']}`)
    expect(await block(page, 'Request')).toContain(`webhook-timestamp: ${got.headers['webhook-timestamp']}`)
    await screenshot(page, 'access-delivery')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Close' }).click()
    for (const [language, check] of [
      ['Node.js', inNode],
      ['Python', inPython],
    ] as const) {
      await page.getByRole('button', { name: `Verify the signature in ${language}` }).click()
      const snippet = (await block(page, `Code for ${language}`))!
      expect(check(snippet, got, secret)).toBe('genuine')
      expect(check(snippet, { ...got, body: `${got.body} ` }, secret)).toBe('forged')
      expect(check(snippet, got, `whsec_${Buffer.alloc(32, 1).toString('base64')}`)).toBe('forged')
    }
    await screenshot(page, 'access-webhook')
    expect(complaints).toEqual([])
  })

  it('show what was not taken, deliver it again, change their secret, are switched off and deleted', {
    skip: !inject('full'),
  }, async () => {
    const { page, call, complaints } = await open('/access/webhooks')
    const url = `${receiver.url}/moody`
    const secret = await add(page, url)
    receiver.answer(({ path }, response, index) => {
      const refuses = path === '/moody' && receiver.received.slice(0, index).every(one => one.path !== '/moody')
      response.writeHead(refuses ? 500 : 200).end(HOSTILE[0])
    })
    const { body: list } = await call('GET', '/webhooks')
    const { id } = list.items[0]
    await failedCall({ call })
    await page.getByRole('link', { name: url }).click()
    const row = page.getByRole('row', { name: /call\.failed/ })
    await row.getByText('HTTP 500').waitFor()
    expect(await row.textContent()).toContain('Pending')
    await row.getByRole('button', { name: /Open call\.failed/ }).click()
    const dialog = page.getByRole('dialog', { name: 'Delivery' })
    expect(await block(page, 'Response to attempt 1')).toBe(HOSTILE[0])
    await dialog.getByText('Next attempt').waitFor()
    await dialog.getByRole('button', { name: 'Resend' }).click()
    await dialog.getByText('HTTP 200').waitFor()
    const [again, first] = (await call('GET', `/webhooks/${id}/deliveries`)).body.items
    expect([again.status, first.status]).toEqual(['delivered', 'pending'])
    const bodies = receiver.received.filter(({ path }) => path === '/moody').map(({ body }) => body)
    expect(bodies[1]).toBe(bodies[0])
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByLabel('Status').selectOption('delivered')
    await shown(() => page.getByRole('row').count()).toBe(2)
    expect(new URL(page.url()).searchParams.get('status')).toBe('delivered')

    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('dialog', { name: 'Secret rotated' }).waitFor()
    const changed = await block(page, 'Signing secret')
    expect(changed).toMatch(/^whsec_/)
    expect(changed).not.toBe(secret)
    await page.getByRole('button', { name: "I've copied it" }).click()
    await page.getByRole('button', { name: 'Edit webhook' }).click()
    await page.getByRole('dialog').getByLabel('Enabled').uncheck({ force: true })
    await page.getByRole('dialog').getByRole('checkbox', { name: 'lead.created' }).uncheck()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Disabled', { exact: true }).waitFor()
    expect((await call('GET', `/webhooks/${id}`)).body).toMatchObject({
      enabled: false,
      events: ['call.completed', 'call.failed', 'account.stopped'],
    })
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet').waitFor()
    expect((await call('GET', '/webhooks')).body.total).toBe(0)
    expect(await pwned(page)).toBeUndefined()
    expect(complaints).toEqual([])
  })
})

const headersOf = ({ headers }: Received) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')))

function inNode(snippet: string, got: Received, secret: string): string {
  const given = [got.body, headersOf(got), secret].map(one => JSON.stringify(one)).join(', ')
  const program = `${snippet}\nconsole.log(isGenuine(${given}) ? 'genuine' : 'forged')`
  return ran(spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }))
}
function inPython(snippet: string, got: Received, secret: string): string {
  const [body, headers, key] = [got.body, headersOf(got), secret].map(one => JSON.stringify(one))
  const program = `${snippet}\nprint("genuine" if is_genuine(${body}.encode(), ${headers}, ${key}) else "forged")`
  return ran(spawnSync('python3', ['-c', program], { encoding: 'utf8' }))
}
const ran = ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout.trim() || stderr

/** The account gets a line first. */
async function callable({ call }: Pick<Opened, 'call'>): Promise<string> {
  const [project] = (await call('GET', '/projects')).body.projects
  const number = nextPhone()
  await call('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [number] })
  const bound = await call('POST', `/projects/${project.id}/numbers`, { number, direction: 'both' })
  if (bound.status !== 200 && bound.status !== 201) throw new Error(JSON.stringify(bound.body))
  return project.id
}
async function endedCall({ call }: Pick<Opened, 'call'>, project_id: string, how = record()): Promise<string> {
  const { body } = await call('POST', '/calls', { project_id, phone: nextPhone() })
  await finish(control.deps, body.id, how)
  return body.id
}
const failedCall = async (opened: Pick<Opened, 'call'>) =>
  endedCall(opened, await callable(opened), record({ status: 'failed', ended_reason: 'media_timeout' }))

describe.skipIf(chromiumPath === null)('MCP', () => {
  it('shows configurations that can be taken as they are', { skip: !inject('full') }, async () => {
    const { page, complaints } = await open('/access/mcp')
    expect(await block(page, 'MCP server URL')).toBe(`${address}/mcp`)
    for (const name of ['Claude Desktop', 'Cursor', 'VS Code', 'OpenAI Responses API']) {
      const text = await block(page, `Configuration for ${name}`)
      expect(JSON.stringify(JSON.parse(text!))).toContain(`${address}/mcp`)
    }
    expect(await block(page, 'Configuration for Claude Code')).toContain('Bearer svc_YOUR_KEY')
    const links = ['Tools (one per API operation)', 'OpenAPI document']
    for (const name of links) {
      const path = await page.getByRole('link', { name }).getAttribute('href')
      expect((await fetch(address + path)).status).toBe(200)
    }
    await screenshot(page, 'access-mcp')
    expect(await seriousViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('the balance', () => {
  it('shows what is left, what was spent by day, and every entry with what it was for', async () => {
    const opened = await open('/account')
    const { page, call, complaints } = opened
    await page.getByRole('heading', { level: 1 }).waitFor()
    const project = await callable(opened)
    const id = await endedCall(opened, project, record({ talked_ms: 45_000 }))
    await page.getByRole('link', { name: /^Balance:/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Balance' }).waitFor()
    await page.getByRole('img', { name: 'Spend by day' }).locator('canvas').waitFor()
    expect(await drawn(page)).toBeGreaterThan(100)
    const spend = (await call('GET', '/balance/spend')).body
    expect(spend.total.amount).toBe('3.7500')
    await page.getByText('Total: RUB 3.75').waitFor()
    await page.getByRole('button', { name: 'Show as table' }).click()
    const table = page.getByRole('region', { name: 'Spend by day' })
    await shown(() => table.getByRole('row').count()).toBe(2)
    expect(plain(await table.getByRole('row').last().textContent())).toContain('RUB 3.75')
    const entries = page.getByRole('region', { name: 'Transactions' })
    expect((await entries.getByRole('row').allTextContents()).map(plain)).toEqual([
      expect.stringContaining('Balance after'),
      expect.stringMatching(/Hold released.*Call.*\+RUB 1\.25.*RUB 96\.25/),
      expect.stringMatching(/On hold.*Call.*-RUB 5\.00.*RUB 95\.00/),
      expect.stringMatching(/Top-up.*—.*\+RUB 100\.00.*RUB 100\.00/),
    ])
    const link = await entries.getByRole('link', { name: 'Call' }).first().getAttribute('href')
    expect(link).toBe(`/dashboard/calls/${id}`)
    await screenshot(page, 'balance')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByLabel('Period').selectOption('Last 12 months')
    await shown(() => new URL(page.url()).searchParams.get('days')).toBe('365')
    await screenshot(page, 'balance-year')
    expect(complaints).toEqual([])
  })

  /** Points of the canvas that are neither empty nor grey: bars. */
  const drawn = (page: Page): Promise<number> =>
    page.evaluate(`(() => {
      const canvas = document.querySelector('[role=img] canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let coloured = 0
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) coloured++
      }
      return coloured
    })()`)
})

describe.skipIf(chromiumPath === null)('every page here', () => {
  it('shows what strangers wrote as text', { skip: !inject('full') }, async () => {
    const opened = await open('/account')
    const { page, call, cookie } = opened
    for (const name of HOSTILE) {
      expect((await call('POST', '/keys', { name, scopes: ['read'] })).status).toBe(201)
      const url = `https://example.com/${encodeURIComponent(name)}?${name.replaceAll(/\s/g, '')}`
      expect((await call('POST', '/webhooks', { url, events: ['call.failed'] })).status).toBe(201)
    }
    const session = await fetch(`${address}/auth/session`, { headers: { cookie } })
    const { account_id } = (await session.json()) as { account_id: string }
    await control.deps.sql.begin(tx => fund(tx, account_id, toUnits('1'), new Date(), HOSTILE[0]))
    const { body: hooks } = await call('GET', '/webhooks')
    for (const [path, text] of [
      ['/access', HOSTILE[1]!],
      ['/access/webhooks', '<imgsrc=x'],
      [`/access/webhooks/${hooks.items[0].id}`, 'javascript:window.pwned=1'],
      ['/balance', HOSTILE[0]!],
    ] as const) {
      await page.goto(`${address}/dashboard${path}`)
      await page.getByText(text).first().waitFor()
      expect(await pwned(page)).toBeUndefined()
    }
  })

  it('is usable in Russian, in the dark, on a narrow screen', { skip: !inject('full') }, async () => {
    const opened = await open('/access', narrow)
    const { page, call, complaints } = opened
    await call('POST', '/keys', { name: 'Очень длинное имя ключа для проверки', scopes: ['read', 'write'] })
    const { body: hook } = await call('POST', '/webhooks', {
      url: `${receiver.url}/a/very/long/path/that/does/not/end/anywhere/near`,
      events: ['call.completed', 'call.failed', 'lead.created'],
    })
    await endedCall(opened, await callable(opened), record({ talked_ms: 45_000 }))
    for (const [path, heading] of [
      ['/access', 'API и вебхуки'],
      ['/access/webhooks', 'API и вебхуки'],
      ['/access/mcp', 'API и вебхуки'],
      [`/access/webhooks/${hook.id}`, 'Вебхук'],
      ['/balance', 'Баланс'],
    ] as const) {
      await page.goto(`${address}/dashboard${path}`)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      await shown(() => page.getByRole('status').count()).toBe(0)
      expect([path, await overflow(page)]).toEqual([path, 0])
      expect(await seriousViolations(page)).toEqual([])
    }
    // Requests that a left page had pending are aborted, which is no error.
    expect(complaints.filter(text => !text.endsWith(': net::ERR_ABORTED'))).toEqual([])
  })
})

it('has a word in both languages for every value of the API', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
  const { schemas } = read('../../../control/openapi.json').components
  for (const language of ['en', 'ru']) {
    const access = read(`../../../control/dashboard/page/access/words.${language}.json`)
    const balance = read(`../../../control/dashboard/page/balance/words.${language}.json`)
    const delivery = schemas.WebhookDelivery.properties
    const camel = (text: string) => text.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase())
    expect(Object.keys(access.deliveries.statuses)).toEqual(delivery.status.enum)
    expect(Object.keys(access.events)).toEqual(schemas.Webhook.properties.events.items.enum.map(camel))
    expect(Object.keys(access.scopes)).toEqual(schemas.Key.properties.scopes.items.enum)
    expect(Object.keys(balance.entries.kinds)).toEqual(schemas.BalanceEntry.properties.kind.enum)
    expect(Object.keys(balance.subscriptions)).toEqual(schemas.Balance.properties.subscription.properties.status.enum)
    const { by_kind } = schemas.Spend.properties.items.items.properties
    expect(Object.keys(balance.spend.kinds)).toEqual(Object.keys(by_kind.properties))
  }
})
