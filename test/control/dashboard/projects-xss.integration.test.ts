/** Untrusted text in every field of projects, secrets, knowledge and numbers is shown as text and never executed. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIndexer } from '../../../control/knowledge/indexing.ts'
import { installQueues, startWorkers, type Workers } from '../../../control/platform/jobs/jobs.ts'
import { chromiumPath, openBrowser, type TestBrowser } from '../../support/chromium.ts'
import { createControl, nextPhone, type TestControl } from '../../support/control.ts'
import { openWith, rest, shown, signUp } from '../../support/dashboard.ts'
import { onlyIndexing } from '../knowledge/rig.ts'

const IMAGE = '<img src=x onerror="window.pwned=1">'
const SCRIPT = '"><script>window.pwned=1</script>'
const LINK = 'javascript:window.pwned=1'
const ALL = `${IMAGE}${SCRIPT} ${LINK} {{name}} {{${IMAGE}}}`

const settings = {
  name: ALL.slice(0, 200),
  language: 'en',
  prompt: ALL,
  greeting: ALL,
  disclosure: ALL,
  recording: true,
  recording_notice: ALL,
  voicemail: { action: 'leave_message', text: ALL },
  voice: ALL,
  goal: ALL,
  llm: { provider: 'openai_realtime', model: ALL, voice: ALL, api_key_secret: 'NONE' },
  llm_fallback: [
    { provider: 'openai_compatible', base_url: `https://llm.test/?${SCRIPT}`, model: ALL, api_key_secret: IMAGE },
  ],
  speech_to_text: [{ provider: 'deepgram', model: ALL, api_key_secret: 'NONE' }],
  text_to_speech: [{ provider: 'openai', voice: ALL, model: ALL, api_key_secret: 'NONE' }],
  extraction: {
    type: 'object',
    properties: { [ALL]: { type: 'string', enum: [IMAGE, SCRIPT], description: ALL, [SCRIPT]: 1 } },
    required: [ALL],
  },
  tools: [
    {
      name: 'hostile',
      description: ALL,
      method: 'POST',
      url: `https://shop.test/{x}?${SCRIPT}`,
      parameters: { type: 'object', properties: { [ALL]: { type: 'array', items: { type: 'string', enum: [ALL] } } } },
      filler: [{ after_ms: 300, text: ALL }],
      headers: { A: `${ALL}{{secret:NONE}}` },
    },
    {
      name: 'as_json',
      method: 'GET',
      url: 'https://shop.test/',
      parameters: { type: 'object', properties: { [ALL]: { $ref: ALL } } },
      filler: ALL,
    },
  ],
  transfers: [{ name: ALL.slice(0, 100), to: 'sip:a@b.test', description: ALL, announce: ALL }],
}

let control: TestControl
let address: string
let browser: TestBrowser
let workers: Workers
let stopIndexing: () => void

beforeAll(async () => {
  if (chromiumPath === null) return
  control = await createControl()
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  await installQueues(control.deps.boss)
  const indexer = createIndexer(control.deps)
  stopIndexing = () => indexer.stop()
  workers = await startWorkers(
    control.deps,
    onlyIndexing(job => indexer.run(job)),
  )
  browser = await openBrowser({ microphone: '/dev/null' })
})
afterAll(async () => {
  await browser?.close()
  stopIndexing?.()
  await workers?.stop()
  await control?.close()
})

/** Values of the fields on the page, by their path in the project. */
const valuesOf = (page: Page) =>
  page
    .locator('[role=tabpanel] :is(input, textarea)')
    .evaluateAll(fields => fields.map(field => (field as unknown as { value: string }).value))

const pwned = (page: Page) => page.evaluate('window.pwned')

describe.skipIf(chromiumPath === null)('what customers write', () => {
  it('is text in the editor', async () => {
    const cookie = await signUp(address)
    const ask = (method: string, path: string, body?: unknown) => rest(address, cookie, method, path, body)
    const made = await ask('POST', '/projects', settings)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const path = `/projects/${made.body.id}`
    const phone = nextPhone()
    await ask('POST', '/trunks', { name: ALL.slice(0, 100), mode: 'ip', host: '127.0.0.1', numbers: [phone] })
    await ask('POST', `${path}/numbers`, { number: phone, direction: 'both' })
    const content = `# ${ALL}\n\nSmall dogs are welcome. ${ALL}`
    expect((await ask('POST', `${path}/knowledge`, { type: 'text', title: ALL, content })).status).toBe(201)
    expect((await ask('POST', `${path}/knowledge`, { type: 'url', url: LINK })).status).toBe(400)
    const tool = { name: 'x', method: 'GET', url: LINK }
    expect((await ask('PATCH', path, { tools: [tool] })).status).toBe(400)

    const { page, close } = await openWith(browser, address, cookie, '/projects')
    await page.getByRole('link', { name: IMAGE }).waitFor()
    expect(await pwned(page)).toBeUndefined()
    await page.getByRole('link', { name: IMAGE }).click()
    await page.getByRole('heading', { level: 1, name: IMAGE }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe(ALL)
    expect((await valuesOf(page)).filter(value => value === ALL)).toHaveLength(6)
    for (const [name, count] of Object.entries({ Models: 7, 'Goal and data': 3, Tools: 0, Transfers: 2 })) {
      await page.getByRole('tab', { name }).click()
      if (name === 'Tools') {
        await page.getByRole('button', { name: 'hostile' }).first().click()
        await page.getByRole('button', { name: 'as_json' }).first().click()
      }
      await shown(async () => (await valuesOf(page)).filter(value => value === ALL).length).toBeGreaterThanOrEqual(
        count,
      )
      expect(await pwned(page), name).toBeUndefined()
    }
    await page.getByRole('tab', { name: 'Knowledge' }).click()
    await page.getByRole('cell', { name: 'Ready' }).waitFor()
    await page.getByRole('textbox', { name: 'Question' }).fill('dogs welcome')
    await page.getByRole('button', { name: 'Search' }).click()
    expect(await page.getByRole('article').first().textContent()).toContain(IMAGE)
    await page.getByRole('tab', { name: 'Numbers' }).click()
    await page.getByRole('region', { name: 'Bound numbers' }).getByText(IMAGE).waitFor()
    await page.getByRole('tab', { name: 'Secrets' }).click()
    await page.getByText('No secrets yet').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText(IMAGE).waitFor()
    expect(await pwned(page)).toBeUndefined()
    expect(await page.locator('img, script:not([src])').count()).toBe(0)
    await close()
  })

  it('is text where a tool answers with it', async () => {
    const cookie = await signUp(address)
    const { body } = await rest(address, cookie, 'POST', '/projects', {
      name: 'Shop',
      language: 'en',
      tools: [{ name: 'hostile', method: 'POST', url: `${address}/health/${encodeURIComponent(ALL)}` }],
    })
    const { page, close } = await openWith(browser, address, cookie, `/projects/${body.id}?tab=tools`)
    await page.getByRole('button', { name: 'hostile' }).first().click()
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('HTTP error').waitFor()
    expect(await pwned(page)).toBeUndefined()
    await close()
  })
})
