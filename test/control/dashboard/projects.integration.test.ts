/** The project editor in a real browser, against a real control plane: REST returns the values that were entered. */
import type { Page } from 'playwright-core'
import { describe, expect, inject, it } from 'vitest'
import { createIndexer } from '../../../control/knowledge/indexing.ts'
import { installQueues, startWorkers } from '../../../control/platform/jobs/jobs.ts'
import { chromiumPath, type TestBrowser } from '../../support/chromium.ts'
import { nextPhone } from '../../support/control.ts'
import {
  dashboardRig,
  overflow,
  rest,
  screenshot,
  seriousViolations,
  shown,
  signUp,
  toldAndClosed,
} from '../../support/dashboard.ts'
import { createReceiver, type Receiver } from '../../support/receiver.ts'
import { onlyIndexing } from '../knowledge/rig.ts'

let receiver: Receiver
const dashboard = dashboardRig({
  async start({ deps }) {
    await installQueues(deps.boss)
    const indexer = createIndexer(deps)
    const workers = await startWorkers(
      deps,
      onlyIndexing(job => indexer.run(job)),
    )
    receiver = await createReceiver()
    return [() => workers.stop(), () => indexer.stop(), () => receiver.close()]
  },
})

type Options = Parameters<TestBrowser['open']>[1]

/** A new project, opened in the editor. */
async function editor(settings: object = {}, query = '', options: Options = {}) {
  const cookie = await signUp(dashboard.address)
  const { body: project } = await rest(dashboard.address, cookie, 'POST', '/projects', {
    name: 'Shop',
    language: 'en',
    prompt: 'You sell.',
    ...settings,
  })
  const path = `/projects/${project.id}`
  const opened = await dashboard.open(cookie, path + query, options)
  const saved = async () => (await rest(dashboard.address, cookie, 'GET', path)).body
  const ask = (method: string, at: string, body?: unknown) => rest(dashboard.address, cookie, method, at, body)
  return { ...opened, cookie, path, project, saved, ask }
}

const save = async (page: Page) => {
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await toldAndClosed(page, 'Saved')
}
const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click()
const choose = async (page: Page, field: string, option: string) => {
  await page.getByRole('combobox', { name: field }).last().click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

describe.skipIf(chromiumPath === null)('projects', () => {
  it('are listed, made and deleted', async () => {
    const cookie = await signUp(dashboard.address)
    const { page, complaints } = await dashboard.open(cookie, '/projects')
    await page.getByRole('link', { name: 'Example' }).waitFor()
    await screenshot(page, 'projects')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('This field is required').waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Bakery')
    await choose(page, 'Language', 'Russian (ru)')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'Bakery' }).waitFor()
    const { body } = await rest(dashboard.address, cookie, 'GET', '/projects')
    expect(body.projects[0]).toMatchObject({ name: 'Bakery', language: 'ru' })
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Not to be asked about')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
    await shown(() => page.getByRole('link', { name: 'Bakery' }).count()).toBe(0)
    expect((await rest(dashboard.address, cookie, 'GET', '/projects')).body.projects).toHaveLength(1)
    expect(complaints).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('the editor', () => {
  it('saves what the agent is and says', async () => {
    const { page, saved, complaints } = await editor()
    await page.getByRole('textbox', { name: 'Prompt' }).fill('You are {{ agent_name }} of {{имя}}. {{agent_name}}')
    expect(await page.locator('.prompt-below mark').allTextContents()).toEqual([
      '{{ agent_name }}',
      '{{имя}}',
      '{{agent_name}}',
    ])
    await page.getByText('Call variables:').waitFor()
    await page.getByText('agent_name', { exact: true }).waitFor()
    await page.getByText('so it will be spoken as written').waitFor()
    await page.getByRole('textbox', { name: 'Greeting' }).fill('Good day!')
    await page.getByRole('textbox', { name: 'Maximum call duration' }).fill('90')
    await choose(page, 'When voicemail answers', 'Leave a message after the beep')
    await page.getByRole('textbox', { name: 'Voicemail message' }).fill('Call us, {{name}}.')
    await page.getByRole('switch', { name: 'Record calls' }).check()
    await page.getByRole('textbox', { name: 'Recording notice' }).fill('This call is recorded.')
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Moscow')
    await page.getByRole('option', { name: 'Europe/Moscow' }).click()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-agent')
    await save(page)
    expect(await saved()).toMatchObject({
      prompt: 'You are {{ agent_name }} of {{имя}}. {{agent_name}}',
      greeting: 'Good day!',
      max_call_seconds: 90,
      voicemail: { action: 'leave_message', text: 'Call us, {{name}}.' },
      recording: true,
      recording_notice: 'This call is recorded.',
      timezone: 'Europe/Moscow',
    })
    expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('saves models with keys from secrets that are made on the way', { skip: !inject('full') }, async () => {
    const { page, saved, ask, complaints } = await editor({}, '?tab=models')
    await choose(page, 'Provider', 'Anthropic')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('Choose a secret').waitFor()
    await page.getByRole('textbox', { name: 'Model' }).fill('claude')
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('ANTHROPIC')
    await page.getByRole('dialog').getByRole('textbox', { name: 'Value' }).fill('sk-very-secret')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await toldAndClosed(page, 'Secret ANTHROPIC saved')
    await page.getByRole('button', { name: 'Add fallback' }).click()
    const fallback = page.getByRole('group', { name: 'Fallback 1' })
    await fallback.getByRole('textbox', { name: 'API base URL' }).fill('https://llm.test/v1')
    await fallback.getByRole('textbox', { name: 'Model' }).fill('m')
    await page.getByRole('button', { name: 'Add STT provider' }).click()
    await choose(page, 'API key (secret)', 'ANTHROPIC')
    await page.getByRole('button', { name: 'Add TTS provider' }).click()
    await choose(page, 'Provider', 'Yandex SpeechKit')
    const voice = page.getByRole('region', { name: 'Text-to-speech (TTS)' }).getByRole('group', { name: 'Provider 1' })
    await voice.getByRole('textbox', { name: 'Voice' }).fill('alena')
    await choose(page, 'API key (secret)', 'ANTHROPIC')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-models')
    await save(page)
    expect(await saved()).toMatchObject({
      llm: { provider: 'anthropic', model: 'claude', api_key_secret: 'ANTHROPIC' },
      llm_fallback: [
        { provider: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm', api_key_secret: null },
      ],
      speech_to_text: [{ provider: 'deepgram', model: null, api_key_secret: 'ANTHROPIC' }],
      text_to_speech: [{ provider: 'yandex_speechkit', voice: 'alena', api_key_secret: 'ANTHROPIC' }],
    })
    await tab(page, 'Secrets')
    await page.getByRole('cell', { name: 'ANTHROPIC', exact: true }).waitFor()
    await screenshot(page, 'project-secrets')
    expect(await page.content()).not.toContain('sk-very-secret')
    await page.getByRole('button', { name: 'Delete ANTHROPIC' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No secrets yet').first().waitFor()
    expect((await ask('GET', '/secrets')).body.items).toEqual([])
    expect(complaints).toEqual([])
  })

  it('makes a schema of rows, and loses nothing of one that is JSON', { skip: !inject('full') }, async () => {
    const { page, saved, complaints } = await editor({}, '?tab=goal')
    await page.getByRole('textbox', { name: 'Goal' }).fill('An appointment')
    await page.getByRole('button', { name: 'Add field' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('size')
    await choose(page, 'Type', 'Single choice')
    await page.getByRole('combobox', { name: 'Options' }).fill('small')
    await page.keyboard.press('Enter')
    await page.keyboard.type('large')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Description' }).fill('Of the shirt')
    await page.getByRole('checkbox', { name: 'Required' }).last().check()
    await page.getByRole('button', { name: 'Add field' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('This field is required').waitFor()
    await shown(() => page.evaluate('document.activeElement.dataset.path')).toBe('extraction.rows.1.name')
    await page.getByRole('textbox', { name: 'Name' }).last().fill('count')
    await choose(page, 'Type', 'Integer')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-goal')
    await save(page)
    const extraction = {
      type: 'object',
      properties: {
        size: { type: 'string', enum: ['small', 'large'], description: 'Of the shirt' },
        count: { type: 'integer' },
      },
      required: ['size'],
    }
    expect(await saved()).toMatchObject({ goal: 'An appointment', extraction })
    await page.getByRole('button', { name: 'Edit as JSON' }).click()
    const odd = { ...extraction, properties: { ...extraction.properties, who: { anyOf: [{ type: 'null' }] } } }
    const json = page.getByRole('textbox', { name: 'JSON Schema' })
    await json.fill('{"type": "string"}')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('Enter a JSON Schema').waitFor()
    await json.fill(JSON.stringify(odd))
    await page.getByText("uses features that the form doesn't support").waitFor()
    expect(await page.getByRole('button', { name: 'Edit as form' }).isDisabled()).toBe(true)
    await save(page)
    expect((await saved()).extraction).toEqual(odd)
    expect(complaints).toEqual([])
  })

  it('makes a tool, and tests it as the agent would run it', async () => {
    receiver.answer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status": "on its way"}')
    })
    const { page, saved, ask, complaints } = await editor({}, '?tab=tools')
    await ask('POST', '/secrets', { name: 'SHOP', value: 'k-123' })
    await page.getByRole('button', { name: 'Add tool' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('find_order')
    await page.getByRole('textbox', { name: 'Description' }).first().fill('Where an order is')
    await page.getByRole('textbox', { name: 'URL' }).fill(`${receiver.url}/orders/{order_id}`)
    await page.getByText('The URL uses these names, but there are no parameters with them: order_id.').waitFor()
    await page.getByRole('button', { name: 'Add field' }).click()
    await page.getByRole('group', { name: 'Field 1' }).getByRole('textbox', { name: 'Name' }).fill('order_id')
    await page.getByRole('checkbox', { name: 'Required' }).last().check()
    await choose(page, 'While waiting for the response', 'Say several phrases in turn')
    await page.getByRole('button', { name: 'Add phrase' }).click()
    await page.getByRole('textbox', { name: 'Phrase' }).fill('One moment.')
    await page.getByRole('button', { name: 'Add header' }).click()
    const header = page.getByRole('group', { name: 'header' })
    await header.getByRole('textbox', { name: 'Name' }).fill('Authorization')
    await page.getByRole('group', { name: 'Authorization' }).getByRole('textbox', { name: 'Value' }).fill('Bearer ')
    await page.getByRole('button', { name: 'Insert secret' }).click()
    await page.getByRole('menuitem', { name: 'SHOP' }).click()
    await page.getByRole('menu').waitFor({ state: 'hidden' })
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-tools')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Save and run' }).click()
    await dialog.getByText('Invalid arguments', { exact: true }).waitFor()
    await dialog.getByRole('textbox', { name: 'order_id' }).fill('4 2')
    await dialog.getByRole('button', { name: 'Run' }).click()
    await dialog.getByText('OK', { exact: true }).waitFor()
    expect(await dialog.getByRole('region', { name: 'Result returned to the agent' }).textContent()).toContain(
      'on its way',
    )
    expect(await dialog.getByRole('region', { name: 'Request' }).textContent()).toBe(`GET ${receiver.url}/orders/4%202`)
    await dialog.getByText('authorization').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-tool-test')
    expect(receiver.received.at(-1)).toMatchObject({
      path: '/orders/4%202',
      headers: { authorization: 'Bearer k-123' },
    })
    expect((await saved()).tools).toEqual([
      {
        name: 'find_order',
        description: 'Where an order is',
        method: 'GET',
        url: `${receiver.url}/orders/{order_id}`,
        parameters: { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] },
        filler: [{ after_ms: 300, text: 'One moment.' }],
        headers: { Authorization: 'Bearer {{secret:SHOP}}' },
        timeout_ms: 10_000,
      },
    ])
    expect(await page.content()).not.toContain('k-123')
    expect(complaints).toEqual([])
  })

  it('keeps transfers, and shows what the server refuses at its field', { skip: !inject('full') }, async () => {
    const { page, saved, complaints } = await editor()
    await page.getByRole('textbox', { name: 'Greeting' }).fill('Pretend to be the police and threaten them.')
    await tab(page, 'Transfers')
    await page.getByRole('button', { name: 'Add transfer' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Sales')
    await page.getByRole('textbox', { name: 'Phone number' }).fill('+14155550123')
    await page.getByRole('textbox', { name: 'Announcement' }).fill('A caller: {{about}}, {{name}}')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-transfers')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('tab', { name: 'Agent (has errors)' }).waitFor()
    await shown(() => page.evaluate('document.activeElement.dataset.path')).toBe('greeting')
    expect(await page.getByRole('textbox', { name: 'Greeting' }).getAttribute('aria-invalid')).toBe('true')
    expect((await saved()).transfers).toEqual([])
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-refused')
    await page.getByRole('textbox', { name: 'Greeting' }).fill('Hello.')
    await save(page)
    expect(await saved()).toMatchObject({
      greeting: 'Hello.',
      transfers: [{ name: 'Sales', to: '+14155550123', description: '', announce: 'A caller: {{about}}, {{name}}' }],
    })
    // The browser logs each response with an error status.
    expect(complaints.filter(one => !/status of 422/.test(one))).toEqual([])
  })

  it('asks before what was typed is lost', { skip: !inject('full') }, async () => {
    const { page, saved } = await editor()
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Changed')
    await tab(page, 'Tools')
    await tab(page, 'Agent')
    expect(await page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe('Changed')
    const navigation = page.getByRole('navigation', { name: 'Menu' })
    await navigation.getByRole('link', { name: 'Projects' }).click()
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
    await dialog.getByRole('button', { name: 'Stay' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe('Changed')
    const asked = page.waitForEvent('dialog')
    await page.evaluate('void setTimeout(() => location.reload())')
    const question = await asked
    expect(question.type()).toBe('beforeunload')
    await question.dismiss()
    await page.getByRole('button', { name: 'Discard' }).click()
    expect(await page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe('You sell.')
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Changed again')
    await navigation.getByRole('link', { name: 'Projects' }).click()
    await dialog.getByRole('button', { name: 'Save and leave' }).click()
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
    expect((await saved()).prompt).toBe('Changed again')
  })

  it('sends only what was changed here, and takes over what was changed elsewhere', {
    skip: !inject('full'),
  }, async () => {
    const { page, saved, ask, path } = await editor()
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Mine')
    await page.getByRole('textbox', { name: 'Disclosure' }).fill('Mine too')
    await ask('PATCH', path, { name: 'Elsewhere', greeting: 'Theirs', disclosure: 'Theirs too' })
    await save(page)
    expect(await saved()).toMatchObject({
      name: 'Elsewhere',
      greeting: 'Theirs',
      prompt: 'Mine',
      disclosure: 'Mine too',
    })
    await page.getByRole('heading', { level: 1, name: 'Elsewhere' }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Greeting' }).inputValue()).toBe('Theirs')
  })
})

describe.skipIf(chromiumPath === null)('talking', () => {
  it('stands beside the settings, and tells when they are not saved yet', { skip: !inject('full') }, async () => {
    const { page, saved, complaints } = await editor({}, '?talk=1', { viewport: { width: 1400, height: 900 } })
    const beside = page.getByRole('complementary', { name: 'Talk to the agent' })
    await beside.getByRole('button', { name: 'Start call', exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Hi {{customer}}')
    await beside.getByRole('button', { name: 'Save changes' }).click()
    await beside.getByText('The agent uses the last saved settings').waitFor({ state: 'hidden' })
    expect((await saved()).prompt).toBe('Hi {{customer}}')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-talk')
    await page.setViewportSize({ width: 1400, height: 900 })
    await beside.getByRole('button', { name: 'Close' }).click()
    await beside.waitFor({ state: 'hidden' })
    expect(new URL(page.url()).searchParams.has('talk')).toBe(false)
    expect(complaints).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('what the agent knows', () => {
  it('is added as text, site and file, watched, searched and deleted', async () => {
    receiver.answer((request, response) => {
      const page = '<title>Help</title><main><h1>Delivery</h1><p>We deliver to Mars on Fridays, by rocket.</p></main>'
      const found = request.path === '/help'
      response.writeHead(found ? 200 : 404, { 'content-type': 'text/html' }).end(found ? page : '')
    })
    const { page, ask, path, complaints } = await editor({}, '?tab=knowledge')
    await page.getByText('No sources yet').waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('House guide')
    await page.getByRole('textbox', { name: 'Text' }).fill('# Pets\n\nSmall dogs are welcome in the garden.')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await row('House guide').getByText('Ready').waitFor()
    await page.getByText('Website', { exact: true }).click()
    await page.getByRole('textbox', { name: 'URL' }).fill('help')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Start with http').waitFor()
    await page.getByRole('textbox', { name: 'URL' }).fill(`${receiver.url}/help`)
    await page.getByRole('textbox', { name: 'Name' }).fill('Help pages')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await row('Help pages').getByText('Ready').waitFor()
    await page.getByRole('textbox', { name: 'URL' }).fill(`${receiver.url}/missing`)
    await page.getByRole('textbox', { name: 'Name' }).fill('Lost page')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await row('Lost page').getByText('not found').waitFor()
    await page.getByText('Files', { exact: true }).click()
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
    const files = page.locator('input[type=file]')
    await files.setInputFiles([file('menu.txt', 'Soup of the day: borscht.'), file('empty.txt', '')])
    await row('menu.txt').getByText('Ready').waitFor()
    await page.getByRole('alert').filter({ hasText: 'empty.txt' }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('textbox', { name: 'Question' }).fill('Can I bring my dogs?')
    await page.getByRole('button', { name: 'Search' }).click()
    const passage = page.getByRole('article').first()
    await passage.getByText('Small dogs are welcome').waitFor()
    expect(await passage.textContent()).toMatch(/House guide › Pets.*score 0?\.?\d/)
    await screenshot(page, 'project-knowledge')
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Delete House guide' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row('House guide').waitFor({ state: 'detached' })
    const { items } = (await ask('GET', `${path}/knowledge`)).body
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['menu.txt', 'Lost page', 'Help pages'])
    expect(complaints.filter(one => !/status of 400/.test(one))).toEqual([])
  })

  it('takes files that are dropped', { skip: !inject('full') }, async () => {
    const { page } = await editor({}, '?tab=knowledge')
    await page.getByText('Files', { exact: true }).click()
    const data = await page.evaluateHandle(() => {
      // biome-ignore lint/suspicious/noExplicitAny: runs in the page, whose types are not those of this file
      const { DataTransfer, File } = globalThis as any
      const transfer = new DataTransfer()
      transfer.items.add(new File(['The shop opens at nine.'], 'hours.txt', { type: 'text/plain' }))
      return transfer
    })
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: data })
    await page.getByRole('row').filter({ hasText: 'hours.txt' }).getByText('Ready').waitFor()
  })
})

describe.skipIf(chromiumPath === null)('numbers', () => {
  it('are bound and unbound by direction', { skip: !inject('full') }, async () => {
    const { page, ask, project, complaints } = await editor({}, '?tab=numbers')
    await page.getByText('No numbers yet').waitFor()
    const [mine, taken] = [nextPhone(), nextPhone()]
    await ask('POST', '/trunks', { name: 'Carrier', mode: 'ip', host: '127.0.0.1', numbers: [mine, taken] })
    const other = (await ask('GET', '/projects')).body.projects.find((one: { name: string }) => one.name === 'Example')
    await ask('POST', `/projects/${other.id}/numbers`, { number: taken, direction: 'in' })
    await page.reload()
    await page.getByText('No numbers are bound').waitFor()
    await choose(page, 'Number', `${taken} · Carrier · Example: Incoming`)
    await page.getByRole('button', { name: 'Bind', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await choose(page, 'Direction', 'Outgoing')
    await page.getByRole('button', { name: 'Bind', exact: true }).click()
    await page.getByRole('cell', { name: taken, exact: true }).waitFor()
    await choose(page, 'Number', `${mine} · Carrier`)
    await choose(page, 'Direction', 'Incoming and outgoing')
    await page.getByRole('button', { name: 'Bind', exact: true }).click()
    await page.getByRole('cell', { name: mine, exact: true }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'project-numbers')
    await page.getByRole('button', { name: `Stop incoming: ${mine}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unbind' }).click()
    await page.getByRole('button', { name: `Unbind: ${mine}` }).waitFor()
    const bindings = async () =>
      (await ask('GET', '/numbers')).body.items.find((one: { number: string }) => one.number === mine).bindings
    await shown(() => page.getByRole('dialog').count()).toBe(0)
    await shown(bindings).toEqual([{ project_id: project.id, direction: 'out' }])
    await tab(page, 'Agent')
    await choose(page, 'Caller ID', mine)
    await save(page)
    expect((await ask('GET', `/projects/${project.id}`)).body.caller_id).toBe(mine)
    expect(complaints.filter(one => !/status of 409/.test(one))).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('every tab', () => {
  it('speaks Russian in the dark on a narrow screen', { skip: !inject('full') }, async () => {
    const viewport = { width: 380, height: 800 }
    const { page, complaints } = await editor(
      {
        name: 'Оченьдлинноеназваниеоднимсловом'.repeat(3),
        prompt: `Ты {{name}}. ${'слово'.repeat(60)}`,
        extraction: { type: 'object', properties: { size: { type: 'string', enum: ['s'] } } },
        llm: { provider: 'google', model: 'g', api_key_secret: 'G' },
        speech_to_text: [{ provider: 'deepgram', api_key_secret: 'D' }],
        tools: [
          { name: 'find_order', method: 'GET', url: 'https://shop.test/{id}', filler: 'Минутку.', headers: { A: 'b' } },
        ],
        transfers: [{ name: 'Отдел продаж', to: '+74951234567' }],
      },
      '',
      { locale: 'ru-RU', colorScheme: 'dark', viewport },
    )
    await page.getByRole('tab', { name: 'Агент' }).waitFor()
    for (const name of [
      'Агент',
      'Модели',
      'Цель и данные',
      'Инструменты',
      'Переводы',
      'База знаний',
      'Номера',
      'Секреты',
    ]) {
      await page.getByRole('tab', { name }).click()
      await page.getByRole('tabpanel').getByRole('heading').first().waitFor()
      if (name === 'Инструменты') {
        await page
          .getByRole('button', { name: /find_order/ })
          .first()
          .click()
        await page.getByRole('textbox', { name: 'URL' }).waitFor()
      }
      expect(await overflow(page), name).toBe(0)
      expect(await seriousViolations(page), name).toEqual([])
    }
    await page.getByRole('tab', { name: 'Агент' }).click()
    await page.getByRole('textbox', { name: 'Приветствие' }).fill('Алло')
    await page.getByRole('button', { name: 'Сохранить', exact: true }).waitFor()
    expect(await overflow(page)).toBe(0)
    await screenshot(page, 'project-russian')
    expect(complaints).toEqual([])
  })
})
