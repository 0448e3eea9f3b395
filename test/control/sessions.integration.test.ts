/** Sessions of people: listed with device, address and last use, and ended one by one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deviceOf } from '../../control/access/sessions/device.ts'
import { buildApp } from '../../control/app.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { type Answer, createControl, createTenant, request, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const ORIGIN = { origin: 'http://control.test' }
const PASSWORD = 'correct horse battery'
let people = 0

const cookieOf = (answer: Answer) => String(answer.headers['set-cookie']).split(';')[0]!
const enter = (path: string, email: string, from: { address?: string; agent?: string } = {}) =>
  request(control.app, {
    method: 'POST',
    url: `/auth/${path}`,
    headers: { 'user-agent': from.agent ?? FIREFOX },
    remoteAddress: from.address ?? '198.51.100.7',
    payload: { email, password: PASSWORD },
  })
const ask = (method: 'GET' | 'DELETE', path: string, cookie: string, address = '198.51.100.7', app = control.app) =>
  request(app, {
    method,
    url: `/v1/public/sessions${path}`,
    headers: { cookie, 'user-agent': FIREFOX, ...ORIGIN },
    remoteAddress: address,
  })
async function signUp() {
  const email = `sitter${people++}@example.com`
  return { email, cookie: cookieOf(await enter('sign-up', email)) }
}

describe('sessions', () => {
  test('are listed with device, address and last use, and the current one is marked', async () => {
    const { email, cookie } = await signUp()
    const second = cookieOf(await enter('log-in', email, { address: '203.0.113.9', agent: 'curl/8.5.0' }))
    const { status, body } = await ask('GET', '', cookie)
    expect(status).toBe(200)
    expect(body).toMatchObject({ total: 2, limit: 50, offset: 0 })
    const current = body.items.filter((session: { current: boolean }) => session.current)
    expect(current).toMatchObject([{ device: 'Firefox, Windows', address: '198.51.100.7' }])
    expect(body.items).toContainEqual(expect.objectContaining({ device: 'curl/8.5.0', address: '203.0.113.9' }))
    expect(JSON.stringify(body)).not.toContain(cookie.split('=')[1])
    expect((await ask('GET', '?limit=1', second)).body.items).toHaveLength(1)
  })

  test('show a use from another address at once, and a use from the same one after a minute', async () => {
    const { cookie } = await signUp()
    const before = (await ask('GET', '', cookie)).body.items[0]
    control.deps.clock.advance(30_000)
    await ask('GET', '', cookie)
    await backgroundDone(control.deps)
    expect((await ask('GET', '', cookie)).body.items[0].last_used_at).toBe(before.last_used_at)
    await ask('GET', '', cookie, '203.0.113.77')
    await backgroundDone(control.deps)
    const moved = (await ask('GET', '', cookie, '203.0.113.77')).body.items[0]
    expect(moved.address).toBe('203.0.113.77')
    expect(Date.parse(moved.last_used_at)).toBeGreaterThan(Date.parse(before.last_used_at))
    control.deps.clock.advance(61_000)
    await ask('GET', '', cookie, '203.0.113.77')
    await backgroundDone(control.deps)
    const later = (await ask('GET', '', cookie, '203.0.113.77')).body.items[0]
    expect(Date.parse(later.last_used_at)).toBeGreaterThan(Date.parse(moved.last_used_at))
  })

  test('end one by one, at once here and within 5 s in other processes', async () => {
    const other = await buildApp({ ...control.deps })
    const { email, cookie } = await signUp()
    const second = cookieOf(await enter('log-in', email))
    const third = cookieOf(await enter('log-in', email))
    expect((await ask('GET', '', second, undefined, other)).status).toBe(200)
    const { id } = (await ask('GET', '', second)).body.items.find((one: { current: boolean }) => one.current)
    expect(await ask('DELETE', `/${id}`, cookie)).toMatchObject({ status: 200, body: { id, deleted: true } })
    const statuses = async (app = control.app) =>
      Promise.all([cookie, second, third].map(async one => (await ask('GET', '', one, undefined, app)).status))
    expect(await statuses()).toEqual([200, 401, 200])
    control.deps.clock.advance(4500)
    expect(await statuses(other)).toEqual([200, 401, 200])
    expect((await ask('DELETE', `/${id}`, cookie)).status).toBe(404)
    await other.close()
  })

  test('are not found by another account, and not reached by a key', async () => {
    const [one, two] = [await signUp(), await signUp()]
    const { id } = (await ask('GET', '', one.cookie)).body.items[0]
    expect((await ask('DELETE', `/${id}`, two.cookie)).status).toBe(404)
    expect((await ask('GET', '', one.cookie)).status).toBe(200)
    const tenant = await createTenant(control)
    expect((await tenant.call('GET', '/sessions')).status).toBe(403)
    expect((await tenant.call('DELETE', `/sessions/${id}`)).status).toBe(403)
  })

  test('end only with a request of our own page, and the log names who ended which', async () => {
    const { email, cookie } = await signUp()
    await enter('log-in', email)
    const { id } = (await ask('GET', '', cookie)).body.items.find((one: { current: boolean }) => !one.current)
    const foreign = await request(control.app, {
      method: 'DELETE',
      url: `/v1/public/sessions/${id}`,
      headers: { cookie, origin: 'https://evil.test' },
    })
    expect(foreign).toMatchObject({ status: 403, body: { code: 'cross_site' } })
    await ask('DELETE', `/${id}`, cookie)
    const log = await request(control.app, { method: 'GET', url: '/v1/public/audit?limit=1', headers: { cookie } })
    expect(log.body.items).toMatchObject([
      { operation: 'end_session', resource: id, outcome: 'done', address: '198.51.100.7' },
    ])
  })
})

test.each([
  [FIREFOX, 'Firefox, Windows'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 15_1) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Safari, macOS',
  ],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0',
    'Edge, Linux',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0',
    'Chrome, iPhone',
  ],
  [
    'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36',
    'Chrome, Android',
  ],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['python-requests/2.32 (x)', 'python-requests/2.32'],
  [`x${'y'.repeat(300)}`, `x${'y'.repeat(59)}`],
  ['  ', null],
  [null, null],
])('the device of %j is %j', (agent, device) => {
  expect(deviceOf(agent)).toBe(device)
})
