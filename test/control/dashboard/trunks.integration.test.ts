/**
 * Trunks in the dashboard, with a carrier that speaks real SIP: created, checked, registered and bound, verified by
 * REST.
 */
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { type Control, startControl } from '../../../control/app.ts'
import type { EngineBus } from '../../../media/bus/engine-bus.ts'
import type { SipMessage, SipRequest } from '../../../sip/text/message.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { type Peer, reply } from '../../sip/peer.ts'
import { Bench } from '../../sip/trunk/bench.ts'
import { proofIn } from '../../sip/trunk/digest-server.ts'
import { chromiumPath, openBrowser, type TestBrowser, type TestPage } from '../../support/chromium.ts'
import { createControl, type TestControl } from '../../support/control.ts'
import { openWith, overflow, rest, screenshot, seriousViolations, shown, signUp } from '../../support/dashboard.ts'

const USER = 'aurora'
const PASSWORD = 'what the carrier gave'

/** A browser, a SIP server and a database on a busy machine. */
vi.setConfig({ testTimeout: 240_000 })

let control: TestControl
let running: Control
let address: string
let browser: TestBrowser
let bench: Bench
let carrier: Peer
const closers: (() => unknown)[] = []
const pages: TestPage[] = []

beforeAll(async () => {
  control = await createControl({ config: { sip: { host: 'sip.test', port: 5080, transports: ['udp', 'tcp'] } } })
  running = await startControl(control.deps)
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  await openEngine(control.engine())
  if (chromiumPath) browser = await openBrowser({ microphone: '/dev/null' })
})
afterEach(async () => {
  for (const { close } of pages.splice(0)) await close()
})
afterAll(async () => {
  await browser?.close()
  for (const close of closers.splice(0).reverse()) await close()
  await running?.stop()
  await control?.close()
})

/** An engine's edge on a SIP server of its own: it registers the trunks that control publishes, and examines them. */
async function openEngine(engine: EngineBus): Promise<void> {
  bench = await Bench.start(
    { timers: { t1: 50, t2: 200, t4: 200 } },
    {
      onTrunkStatus: ({ trunkId, ownerId, registration, lastError, hosts }) => {
        const told = hosts.map(({ optionsMs, targets: _none, ...host }) => ({
          ...host,
          options_ms: optionsMs,
          targets: [],
        }))
        const status = { trunk_id: trunkId, owner_id: ownerId, registration, last_error: lastError, hosts: told }
        void engine.emitTrunkStatus(status)
      },
    },
  )
  carrier = await bench.rig.udpPeer()
  void serve(carrier)
  engine.onTrunkCheck(trunk => bench.edge.check(trunk))
  const commands = engine.onCommand(() => {})
  const directory = await engine.trunks()
  const follow = () => bench.setTrunks(...directory.all())
  directory.onChange(follow)
  follow()
  const beat = () => engine.heartbeat({ calls: 0, capacity: 5, stt_ready: true, rooms: false })
  await beat()
  const beating = setInterval(() => void beat(), 1000)
  closers.push(
    () => bench.close(),
    () => directory.stop(),
    () => commands.stop(),
    () => clearInterval(beating),
  )
}

/** A carrier that answers all requests, and registers clients with the right password. */
async function serve(peer: Peer): Promise<void> {
  const isRequest = (message: SipMessage): message is SipRequest => message.kind === 'request'
  for (;;) {
    const request = await peer.next(isRequest)
    if (request.method === 'OPTIONS') reply(peer, request, '200 OK')
    if (request.method !== 'REGISTER') continue
    const contact = headerOf(request, 'Contact')
    const challenge = 'WWW-Authenticate: Digest realm="carrier.example", nonce="n", qop="auth"'
    if (proofIn(request, PASSWORD)?.right)
      reply(peer, request, '200 OK', contact === null ? [] : [`Contact: ${contact}`])
    else reply(peer, request, '401 Unauthorized', [challenge])
  }
}

const kept = <T extends TestPage>(opened: T): T => {
  pages.push(opened)
  return opened
}

/** A new account, and its pages. */
async function newOwner() {
  const cookie = await signUp(address)
  return {
    open: async (path: string, options: Parameters<typeof openWith>[4] = {}) =>
      kept(await openWith(browser, address, cookie, path, options)),
    rest: (method: string, path: string, body?: unknown) => rest(address, cookie, method, path, body),
  }
}
type Owner = Awaited<ReturnType<typeof newOwner>>

const projectOf = async (owner: Owner): Promise<{ id: string; name: string }> =>
  (await owner.rest('GET', '/projects')).body.projects[0]

let numbers = 0
const nextNumber = () => `+1415556${String(1000 + numbers++)}`

/** Without a carrier behind it. */
async function addTrunk(owner: Owner, over: object = {}): Promise<{ id: string; numbers: string[] }> {
  const body = { name: 'Line', mode: 'ip', host: '127.0.0.1', port: carrier.port, numbers: [nextNumber()], ...over }
  const made = await owner.rest('POST', '/trunks', body)
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return made.body
}

describe.skipIf(chromiumPath === null)('trunks', () => {
  it('go from a preset to a bound number, with the doctor in between', async () => {
    const owner = await newOwner()
    const { page, complaints } = await owner.open('/trunks')
    await page.getByText('No trunks yet').waitFor()
    await screenshot(page, 'trunks-empty')
    await page.getByRole('link', { name: 'Add trunk' }).click()

    await page.getByRole('combobox', { name: 'Carrier or PBX' }).click()
    await page.getByRole('option', { name: 'Telnyx' }).click()
    await page.getByText('In Mission Control, create a SIP connection').waitFor()
    const server = page.getByRole('textbox', { name: 'Server' })
    expect(await server.inputValue()).toBe('sip.telnyx.com')
    await screenshot(page, 'trunk-new')

    await page.getByRole('button', { name: 'Save and check' }).click()
    await page.getByText('This field is required').waitFor()
    const number = nextNumber()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('My carrier')
    await server.fill('127.0.0.1')
    await page.getByRole('textbox', { name: 'Port', exact: true }).fill(String(carrier.port))
    await page.getByRole('textbox', { name: 'User name' }).fill(USER)
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill('wrong')
    await page.getByRole('textbox', { name: 'Trunk numbers' }).fill(number)
    await page.getByRole('button', { name: 'Save and check' }).click()

    await page.getByRole('heading', { level: 1, name: 'My carrier' }).waitFor()
    await page.getByText('Problems found', { exact: true }).waitFor()
    await page.getByText(`does not accept the password of the user “${USER}”`).first().waitFor()
    await page.getByText('Enter the SIP user name and password again').first().waitFor()
    await page.getByText('Registration failed').waitFor()
    await page.getByText('The carrier did not accept the user name or password.').waitFor()
    await page.getByRole('button', { name: /\d+ SIP messages/ }).click()
    await page
      .getByRole('button', { name: /REGISTER sip:127\.0\.0\.1/ })
      .last()
      .click()
    await page.getByText('evidence').first().waitFor()
    expect(await page.getByText(/^CSeq: \d+ REGISTER/m).count()).toBeGreaterThan(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'trunk-wrong-password')

    const password = page.getByRole('textbox', { name: 'Password', exact: true })
    expect(await password.inputValue()).toBe('')
    await page.getByText('A password is set. Enter a new one to replace it.').waitFor()
    await password.fill(PASSWORD)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('No problems found').waitFor()
    await page.getByText('Registered', { exact: true }).waitFor()
    const { items } = (await owner.rest('GET', '/trunks')).body
    expect(items).toMatchObject([
      { name: 'My carrier', host: '127.0.0.1', port: carrier.port, mode: 'register', numbers: [number] },
    ])
    expect(items[0].status.registration).toBe('registered')
    await screenshot(page, 'trunk-registered')

    await page.getByRole('link', { name: 'Trunks and numbers' }).click()
    await page.getByRole('cell', { name: 'Registered' }).waitFor()
    await page.getByRole('button', { name: `Bind ${number}` }).click()
    const dialog = page.getByRole('dialog', { name: `Bind ${number}` })
    await dialog.getByRole('radio', { name: 'Incoming and outgoing' }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'number-bind')
    await dialog.getByRole('button', { name: 'Bind' }).click()
    await dialog.waitFor({ state: 'detached' })
    const project = await projectOf(owner)
    expect((await owner.rest('GET', '/numbers')).body.items).toMatchObject([
      { number, status: 'bound', bindings: [{ project_id: project.id, direction: 'both' }] },
    ])
    await page.getByRole('cell', { name: project.name }).first().waitFor()
    await page.getByRole('link', { name: 'Home' }).click()
    const step = page.getByRole('listitem').filter({ hasText: '4. Bind a phone number' })
    await step.getByText('Done').waitFor()
    expect(complaints).toEqual([])
  })

  it('keep what was set, in every field of theirs, and say beside each what the API does not take', {
    skip: !inject('full'),
  }, async () => {
    const owner = await newOwner()
    const taken = await addTrunk(owner)
    const { id, numbers: own } = await addTrunk(owner, { name: 'Office' })
    const { page } = await owner.open(`/trunks/${id}`)
    await page.getByRole('button', { name: 'Transfers and rejected calls' }).click()
    await page.getByRole('textbox', { name: 'Fallback number' }).fill(own[0]!)
    await page.getByRole('button', { name: 'Transfers and rejected calls' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('calls to it would return here').waitFor()
    await page.getByRole('textbox', { name: 'Fallback number' }).fill('+1 415 555 0999')
    await page.getByRole('textbox', { name: 'Trunk numbers' }).fill(`${own[0]}\n${taken.numbers[0]}`)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('One of these numbers is on another trunk of yours.').waitFor()
    expect(await seriousViolations(page)).toEqual([])

    const added = nextNumber()
    await page.getByRole('textbox', { name: 'Trunk numbers' }).fill(added)
    await page.getByRole('button', { name: 'Codecs and encryption' }).click()
    await page.getByRole('checkbox', { name: 'opus' }).check()
    await page.getByRole('button', { name: 'Move PCMU up' }).click()
    await page.getByRole('button', { name: 'Backup servers, monitoring and allowed addresses' }).click()
    await page.getByRole('button', { name: 'Add server' }).click()
    await page.getByRole('textbox', { name: 'Backup server 1', exact: true }).fill('backup.example.com')
    await page.getByRole('textbox', { name: 'Allowed source addresses' }).fill('192.0.2.0/24\n198.51.100.7')
    await page.getByRole('button', { name: 'Limits' }).click()
    await page.getByRole('textbox', { name: 'Concurrent calls' }).fill('12')
    await page.getByRole('button', { name: 'Number format and caller ID' }).click()
    await page.getByRole('textbox', { name: 'Country of national numbers' }).fill('de')
    await page.getByText('Germany').waitFor()
    await screenshot(page, 'trunk-form')
    // A number goes, and that is asked about.
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove numbers?' })
    await dialog.getByText(own[0]!).waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await shown(async () => (await owner.rest('GET', `/trunks/${id}`)).body).toMatchObject({
      name: 'Office',
      codecs: ['PCMU', 'PCMA', 'G722', 'opus'],
      max_calls: 12,
      region: 'DE',
      hosts: [{ host: 'backup.example.com', port: 5060, transport: 'udp' }],
      allowed_ips: ['192.0.2.0/24', '198.51.100.7'],
      fallback_number: '+14155550999',
      numbers: [added],
      options_interval_seconds: null,
    })

    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const goodbye = page.getByRole('dialog', { name: 'Delete trunk “Office”?' })
    await goodbye.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Trunks and numbers' }).waitFor()
    expect((await owner.rest('GET', `/trunks/${id}`)).status).toBe(404)
  })

  it('have numbers that say who has them, and give one direction back', async () => {
    const owner = await newOwner()
    const { numbers: own } = await addTrunk(owner)
    const number = own[0]!
    const first = await projectOf(owner)
    const other = (await owner.rest('POST', '/projects', { name: 'Night desk', language: 'en' })).body
    const { page } = await owner.open('/trunks')
    const bind = (project: string, direction: string) =>
      owner.rest('POST', `/projects/${project}/numbers`, { number, direction })

    await page.getByRole('button', { name: `Bind ${number}` }).click()
    const dialog = page.getByRole('dialog', { name: `Bind ${number}` })
    await dialog.getByRole('combobox', { name: 'Project' }).click()
    await page.getByRole('option', { name: 'Night desk' }).click()
    // Somebody else is quicker.
    expect((await bind(first.id, 'in')).status).toBe(200)
    await dialog.getByRole('button', { name: 'Bind' }).click()
    await dialog.getByText(`Incoming calls go to “${first.name}”.`).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('radio', { name: 'Outgoing only' }).check()
    await dialog.getByRole('button', { name: 'Bind' }).click()
    await dialog.waitFor({ state: 'detached' })
    const bindings = async () => (await owner.rest('GET', '/numbers')).body.items[0].bindings
    expect(await bindings()).toEqual(
      expect.arrayContaining([
        { project_id: first.id, direction: 'in' },
        { project_id: other.id, direction: 'out' },
      ]),
    )
    await screenshot(page, 'trunks')
    await page.getByRole('button', { name: `Unbind incoming calls of ${number} from ${first.name}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unbind' }).click()
    await shown(bindings).toEqual([{ project_id: other.id, direction: 'out' }])
    await page.getByRole('cell', { name: 'Not bound' }).waitFor()
  })

  it('are examined ten times a minute, and say so when one asks too often', { skip: !inject('full') }, async () => {
    const owner = await newOwner()
    const { id } = await addTrunk(owner)
    for (let i = 0; i < 10; i++) expect((await owner.rest('POST', `/trunks/${id}/check`)).status).toBe(200)
    const { page } = await owner.open(`/trunks/${id}`)
    await page.getByRole('button', { name: 'Run diagnostics' }).click()
    await page.getByRole('alert').getByText('Trunks can be checked 10 times per minute.').waitFor()
    await page.goto(`${address}/dashboard/trunks/0195f2bf-90d3-7e61-9f40-7a1c4b8e6f23`)
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
  })
})

describe.skipIf(chromiumPath === null)('softphones', () => {
  it('are made with a password that is shown once, and how to set one up', async () => {
    const owner = await newOwner()
    const { page, complaints } = await owner.open('/trunks')
    await page.getByText('No softphones yet').waitFor()
    await page.getByRole('button', { name: 'Add softphone' }).click()
    const form = page.getByRole('dialog', { name: 'New softphone' })
    await form.getByRole('button', { name: 'Create' }).click()
    await form.getByText('This field is required').waitFor()
    await form.getByRole('textbox', { name: 'Name' }).fill('Desk')
    await form.getByRole('button', { name: 'Create' }).click()
    const setup = page.getByRole('dialog', { name: 'Set up “Desk”' })
    const made = async () => (await owner.rest('GET', '/softphones')).body.items[0]
    await setup.getByRole('cell', { name: 'sip.test:5080' }).waitFor()
    const { username, id } = await made()
    await setup.getByRole('cell', { name: username, exact: true }).waitFor()
    const password = await setup
      .getByRole('row', { name: /^Password/ })
      .getByRole('code')
      .textContent()
    expect(password).toMatch(/^(?:[a-z2-9]{4}-){3}[a-z2-9]{4}$/)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'softphone-setup')
    await setup.getByRole('combobox', { name: 'Phone' }).click()
    await page.getByRole('option', { name: 'baresip' }).click()
    await setup.getByText(`<sip:${username}@sip.test:5080;transport=udp>;auth_pass=${password}`).waitFor()
    await setup.getByRole('button', { name: "I've saved the password" }).click()
    await setup.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('cell', { name: username }).waitFor()
    expect(await page.content()).not.toContain(password)

    const softphones = await control.engine('engine-softphones').softphones()
    const contact = {
      uri: 'sip:p@10.0.0.4',
      instance: null,
      host: '203.0.113.9',
      port: 40_111,
      transport: 'udp',
    } as const
    const at = control.deps.clock.wall()
    const more = { user_agent: 'Linphone', call_id: 'c', cseq: 1, expires_at: at + 600_000 }
    await softphones.change(id, () => ({ seen_at: at, contacts: [{ ...contact, ...more }] }))
    await page.getByText('Linphone · 203.0.113.9:40111 · UDP').waitFor()
    await page.getByRole('button', { name: 'New password for Desk' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create new password' }).click()
    const again = await setup
      .getByRole('row', { name: /^Password/ })
      .getByRole('code')
      .textContent()
    expect(again).not.toBe(password)
    await setup.getByRole('button', { name: "I've saved the password" }).click()
    await softphones.stop()

    await page.getByRole('button', { name: 'Edit Desk' }).click()
    const edit = page.getByRole('dialog', { name: 'Edit Desk' })
    await edit.getByRole('textbox', { name: 'Name' }).fill('Kitchen')
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.waitFor({ state: 'detached' })
    expect((await made()).name).toBe('Kitchen')
    await page.getByRole('button', { name: 'Delete Kitchen' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No softphones yet').waitFor()
    expect((await owner.rest('GET', '/softphones')).body.total).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe.skipIf(chromiumPath === null)('what others have written', () => {
  const evil = [
    '<img src=x onerror="window.pwned=1">',
    '"><script>window.pwned=1</script>',
    'javascript:window.pwned=1',
  ]

  it('is shown as text, in Russian, in the dark and on a narrow screen', { skip: !inject('full') }, async () => {
    const owner = await newOwner()
    const project = await projectOf(owner)
    expect((await owner.rest('PATCH', `/projects/${project.id}`, { name: evil[0] })).status).toBe(200)
    for (const text of evil) {
      const { numbers: own } = await addTrunk(owner, {
        name: text,
        username: text,
        password: text,
        realm: text,
        outbound_proxy: text,
        refusal_announcement: text,
        mode: 'register',
        from_user: /[<>]/.test(text) ? null : text,
      })
      const bound = await owner.rest('POST', `/projects/${project.id}/numbers`, { number: own[0], direction: 'both' })
      expect(bound.status).toBe(200)
      expect((await owner.rest('POST', '/softphones', { name: text, project_id: project.id })).status).toBe(201)
    }
    // So do telephones in their names, and a carrier may in its errors.
    const [softphone] = (await owner.rest('GET', '/softphones')).body.items
    const softphones = await control.engine('engine-telephones').softphones()
    const contact = {
      uri: 'sip:p@10.0.0.4',
      instance: null,
      host: '203.0.113.9',
      port: 5060,
      transport: 'udp',
    } as const
    const at = control.deps.clock.wall()
    const more = { user_agent: evil[1]!, call_id: 'c', cseq: 1, expires_at: at + 600_000 }
    await softphones.change(softphone.id, () => ({ seen_at: at, contacts: [{ ...contact, ...more }] }))
    await softphones.stop()
    const { items } = (await owner.rest('GET', '/trunks')).body
    const trunk = items.at(-1)
    const [row] = await control.deps.sql<{ owner_id: string }[]>`select owner_id from trunks where id = ${trunk.id}`
    const narrow = { locale: 'ru-RU', colorScheme: 'dark', viewport: { width: 380, height: 800 } } as const
    const { page, complaints } = await owner.open('/trunks', narrow)
    await control.engine('engine-evil').emitTrunkStatus({
      trunk_id: trunk.id,
      owner_id: row!.owner_id,
      registration: 'failed',
      last_error: evil[0]!,
      hosts: [],
    })
    for (const text of evil) await page.getByText(text, { exact: true }).first().waitFor()
    await page.getByRole('heading', { level: 1, name: 'Транки и номера' }).waitFor()
    await page.getByText('Ошибка регистрации').first().waitFor()
    await page.getByText(`${evil[1]} · 203.0.113.9:5060 · UDP`).waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'trunks-ru')

    for (const { id, name } of items) {
      await page.goto(`${address}/dashboard/trunks/${id}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      for (const button of ['Параметры аутентификации', 'Переводы и отклонённые звонки']) {
        await page.getByRole('button', { name: button }).click()
      }
      expect(await page.getByRole('textbox', { name: 'Realm' }).inputValue()).toBe(name)
      expect(await page.evaluate('window.pwned')).toBeUndefined()
    }
    await page.getByRole('button', { name: 'Запустить диагностику' }).click()
    await page.getByText('Найдены проблемы').waitFor()
    await page.getByRole('button', { name: /сообщени[яей] SIP|сообщение SIP/ }).click()
    await page
      .getByRole('button', { name: /REGISTER/ })
      .last()
      .click()
    await page.getByText('CSeq: 1 REGISTER').locator('visible=true').first().waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'trunk-ru')
    await page.goto(`${address}/dashboard/trunks/new`)
    await page.getByRole('heading', { level: 1, name: 'Новый транк' }).waitFor()
    expect(await overflow(page)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'trunk-new-ru')
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })
})
