/** The second factor: codes of an app, recovery codes, passkeys, proof for changes, and the requirement of an account. */
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sensitiveOperations } from '../../control/access/permissions/fresh.ts'
import { rolesByOperation } from '../../control/access/permissions/table.ts'
import { hashRecoveryCode, readRecoveryCode } from '../../control/access/second-factor/recovery.ts'
import { totpStep } from '../../control/access/second-factor/totp.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { createAuthenticator } from '../fakes/authenticator.ts'
import { type Answer, createControl, request, type TestControl } from '../support/control.ts'

const ORIGIN = 'https://parley.example.com'
const RP_ID = 'parley.example.com'
const PASSWORD = 'correct horse battery'
const MINUTE_MS = 60_000

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { base_url: ORIGIN } })
})
afterAll(() => control?.close())

let people = 0
const cookieOf = (answer: Answer) => String(answer.headers['set-cookie']).split(';')[0]!
const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object, cookie?: string, address = '') =>
  request(control.app, {
    method,
    url,
    headers: { origin: ORIGIN, ...(cookie ? { cookie } : {}) },
    ...(address ? { remoteAddress: address } : {}),
    ...(body ? { payload: body } : {}),
  })
const api = (cookie: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
  send(method, `/v1/public${path}`, body, cookie)

interface Person {
  email: string
  cookie: string
}
async function signUp(): Promise<Person> {
  const email = `factor${people++}@example.com`
  const answer = await send('POST', '/auth/sign-up', { email, password: PASSWORD })
  expect(answer.status).toBe(201)
  return { email, cookie: cookieOf(answer) }
}
const logIn = (email: string, code?: string, address = '') =>
  send('POST', '/auth/log-in', { email, password: PASSWORD, ...(code ? { code } : {}) }, undefined, address)

/** The code of an app whose clock is `offset` ms off. */
const codeOf = (secret: string, offset = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: control.deps.clock.wall() + offset })
/** A code that was not used yet. */
function nextCode(secret: string): string {
  control.deps.clock.advance(30_000)
  return codeOf(secret)
}

async function withTotp(): Promise<Person & { secret: string; recovery: string[] }> {
  const person = await signUp()
  const started = await api(person.cookie, 'POST', '/second-factor/totp', { password: PASSWORD })
  expect(started.status).toBe(200)
  const secret = new URL(started.body.uri).searchParams.get('secret')!
  const confirmed = await api(person.cookie, 'POST', '/second-factor/totp/confirm', { code: codeOf(secret) })
  expect(confirmed).toMatchObject({ status: 200, body: { totp: true } })
  return { ...person, secret, recovery: confirmed.body.recovery_codes }
}
const required = { status: 403, body: { code: 'second_factor_required' } }
const incorrect = { status: 401, body: { code: 'invalid_credentials' } }

describe('codes of an app', () => {
  test('are needed at a log-in once the set-up is confirmed, and not before', async () => {
    const person = await signUp()
    const { body } = await api(person.cookie, 'POST', '/second-factor/totp', { password: PASSWORD })
    expect(body.uri).toMatch(/^otpauth:\/\/totp\/Parley:factor\d+%40example\.com\?.*secret=[A-Z2-7]{32}/)
    expect((await logIn(person.email)).status).toBe(200)
    const secret = new URL(body.uri).searchParams.get('secret')!
    expect(await api(person.cookie, 'POST', '/second-factor/totp/confirm', { code: '000000' })).toMatchObject(incorrect)
    expect((await logIn(person.email)).status).toBe(200)
    const done = await api(person.cookie, 'POST', '/second-factor/totp/confirm', { code: codeOf(secret) })
    expect(done.body.recovery_codes).toHaveLength(10)
    const refused = await logIn(person.email)
    expect(refused).toMatchObject(required)
    expect(refused.headers['set-cookie']).toBeUndefined()
    const entered = await logIn(person.email, nextCode(secret))
    expect(entered.status).toBe(200)
    expect((await api(cookieOf(entered), 'GET', '/second-factor')).body).toEqual({
      totp: true,
      passkeys: [],
      recovery_codes_left: 10,
      required: false,
    })
  })

  test('work once, also at the same time, and no earlier code works after a later one', async () => {
    const { email, secret } = await withTotp()
    expect(await logIn(email, codeOf(secret))).toMatchObject(incorrect) // used by the confirmation
    const code = nextCode(secret)
    const both = await Promise.all([logIn(email, code), logIn(email, code)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    control.deps.clock.advance(MINUTE_MS)
    expect((await logIn(email, codeOf(secret, 30_000))).status).toBe(200)
    expect(await logIn(email, codeOf(secret))).toMatchObject(incorrect)
  })

  test.each([
    [-30_000, true],
    [0, true],
    [30_000, true],
    [-61_000, false],
    [61_000, false],
    [-3_600_000, false],
  ])('of a clock that is %d ms off are accepted: %s', (offset, accepted) => {
    const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
    const now = 1_800_000_015_000
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now + offset })
    const step = totpStep(secret, code, now)
    expect(step).toBe(accepted ? Math.floor((now + offset) / 30_000) : null)
  })

  test('cannot be guessed: with the right password, ten wrong ones from many addresses lock codes for an hour', async () => {
    const { email, secret, cookie } = await withTotp()
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) statuses.push((await logIn(email, '000000', `198.51.${i}.7`)).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    expect((await logIn(email, nextCode(secret), '203.0.113.5')).status).toBe(429)
    const disable = { password: PASSWORD, code: nextCode(secret) }
    expect((await api(cookie, 'POST', '/second-factor/totp/disable', disable)).status).toBe(429)
  })

  test('cannot be guessed from one address: five wrong ones, even with log-ins without a code between them', async () => {
    const { email } = await withTotp()
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      expect((await logIn(email, undefined, '198.51.100.9')).status).toBe(i < 5 ? 403 : 429)
      statuses.push((await logIn(email, '000000', '198.51.100.9')).status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  test('are not replaced by a stolen session, and start only with the password', async () => {
    const person = await withTotp()
    const wrong = { password: 'not the password' }
    expect(await api(person.cookie, 'POST', '/second-factor/totp', wrong)).toMatchObject(incorrect)
    expect(await api(person.cookie, 'POST', '/second-factor/totp', { password: PASSWORD })).toMatchObject(required)
    const again = { password: PASSWORD, code: nextCode(person.secret) }
    expect(await api(person.cookie, 'POST', '/second-factor/totp', again)).toMatchObject({
      status: 409,
      body: { code: 'second_factor_exists' },
    })
  })

  test('are turned off with the password and a code, and the person gets a mail', async () => {
    const { cookie, email, secret } = await withTotp()
    const path = '/second-factor/totp/disable'
    expect(await api(cookie, 'POST', path, { password: PASSWORD })).toMatchObject(required)
    expect(await api(cookie, 'POST', path, { password: PASSWORD, code: '000000' })).toMatchObject(incorrect)
    const off = await api(cookie, 'POST', path, { password: PASSWORD, code: nextCode(secret) })
    expect(off).toMatchObject({ status: 200, body: { totp: false, recovery_codes_left: 0 } })
    expect((await logIn(email)).status).toBe(200)
    await backgroundDone(control.deps)
    const subjects = control.deps.mail.sent.filter(({ to }) => to === email).map(({ subject }) => subject)
    expect(subjects).toEqual(['A second factor was added', 'Codes of an app were turned off'])
  })

  test('are stored sealed, and not shown again by an idempotent replay', async () => {
    const person = await signUp()
    const headers = { origin: ORIGIN, cookie: person.cookie, 'idempotency-key': 'totp' }
    const start = () =>
      request(control.app, {
        method: 'POST',
        url: '/v1/public/second-factor/totp',
        headers,
        payload: { password: PASSWORD },
      })
    const secret = new URL((await start()).body.uri).searchParams.get('secret')!
    expect((await start()).body).toEqual({})
    const rows = await control.deps.sql`select t::text as row from second_factors t`
    expect(JSON.stringify(rows)).not.toContain(secret)
  })
})

describe('recovery codes', () => {
  test('work once each, in any writing, and are stored as hashes of their person', async () => {
    const { email, recovery, cookie } = await withTotp()
    expect(new Set(recovery).size).toBe(10)
    for (const code of recovery) expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
    const [first = '', second = ''] = recovery
    expect((await logIn(email, ` ${first.toLowerCase().replaceAll('-', ' ')} `)).status).toBe(200)
    expect(await logIn(email, first)).toMatchObject(incorrect)
    const both = await Promise.all([logIn(email, second), logIn(email, second)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect((await api(cookie, 'GET', '/second-factor')).body.recovery_codes_left).toBe(8)
    const rows = await control.deps.sql`select t::text as row from recovery_codes t`
    for (const code of recovery) expect(JSON.stringify(rows)).not.toContain(readRecoveryCode(code))
    expect(hashRecoveryCode('a', first).equals(hashRecoveryCode('b', first))).toBe(false)
  })

  test('of another person open nothing', async () => {
    const [one, two] = [await withTotp(), await withTotp()]
    expect(await logIn(one.email, two.recovery[0])).toMatchObject(incorrect)
  })

  test('are renewed with a proof; the earlier ones stop working', async () => {
    const { email, cookie, secret, recovery } = await withTotp()
    const path = '/second-factor/recovery-codes'
    expect(await api(cookie, 'POST', path, { password: PASSWORD })).toMatchObject(required)
    const renewed = await api(cookie, 'POST', path, { password: PASSWORD, code: nextCode(secret) })
    expect(renewed.body.recovery_codes).toHaveLength(10)
    expect(await logIn(email, recovery[0])).toMatchObject(incorrect)
    expect((await logIn(email, renewed.body.recovery_codes[0])).status).toBe(200)
    const without = await signUp()
    expect(await api(without.cookie, 'POST', path, { password: PASSWORD })).toMatchObject(required)
  })
})

describe('passkeys', () => {
  const options = (cookie: string, proof: object = { password: PASSWORD }) =>
    api(cookie, 'POST', '/second-factor/passkeys/options', proof)
  const challenge = async () => (await send('POST', '/auth/passkey-options')).body.challenge as string
  const enter = (response: object) => send('POST', '/auth/log-in/passkey', { response })

  async function withPasskey() {
    const person = await signUp()
    const authenticator = createAuthenticator()
    const { body } = await options(person.cookie)
    const response = authenticator.create({ challenge: body.challenge, origin: ORIGIN, rpId: RP_ID })
    const added = await api(person.cookie, 'POST', '/second-factor/passkeys', { name: 'Laptop', response })
    expect(added).toMatchObject({ status: 201, body: { passkey: { name: 'Laptop', last_used_at: null } } })
    expect(added.body.recovery_codes).toHaveLength(10)
    return { ...person, authenticator, passkeyId: added.body.passkey.id as string, recovery: added.body.recovery_codes }
  }

  test('start with a fresh challenge for our host, and demand user verification', async () => {
    const { cookie } = await signUp()
    const [one, two] = [await options(cookie), await options(cookie)]
    expect(one.body).toMatchObject({
      rp: { id: RP_ID, name: 'Parley' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    expect(one.body.challenge).not.toBe(two.body.challenge)
    expect(await options(cookie, { password: 'not the password' })).toMatchObject(incorrect)
    expect((await send('POST', '/auth/passkey-options')).body).toMatchObject({
      rpId: RP_ID,
      userVerification: 'required',
    })
  })

  test('log in without a password, and are then needed beside it', async () => {
    const { email, authenticator, recovery } = await withPasskey()
    const entered = await enter(authenticator.get({ challenge: await challenge(), origin: ORIGIN, rpId: RP_ID }))
    expect(entered).toMatchObject({ status: 200, body: { email } })
    expect((await api(cookieOf(entered), 'GET', '/projects')).status).toBe(200)
    expect(await logIn(email)).toMatchObject(required)
    expect((await logIn(email, recovery[0])).status).toBe(200)
    const log = await api(cookieOf(entered), 'GET', '/audit?limit=2')
    expect(log.body.items[1]).toMatchObject({ operation: 'log_in_with_passkey', person: email })
  })

  test.each<[string, (authenticator: ReturnType<typeof createAuthenticator>, challenge: string) => object]>([
    ['another origin', (one, c) => one.get({ challenge: c, origin: 'https://evil.test', rpId: RP_ID })],
    ['another relying party', (one, c) => one.get({ challenge: c, origin: ORIGIN, rpId: 'evil.test' })],
    ['a challenge of its own', one => one.get({ challenge: 'bWFkZSB1cA', origin: ORIGIN, rpId: RP_ID })],
    ['a touch only', (one, c) => one.get({ challenge: c, origin: ORIGIN, rpId: RP_ID, verified: false })],
    ['an unknown key', (_, c) => createAuthenticator().get({ challenge: c, origin: ORIGIN, rpId: RP_ID })],
    [
      'a signature of another key',
      (one, c) => {
        const own = one.get({ challenge: c, origin: ORIGIN, rpId: RP_ID })
        const other = createAuthenticator().get({ challenge: c, origin: ORIGIN, rpId: RP_ID })
        return { ...own, response: { ...own.response, signature: other.response.signature } }
      },
    ],
    ['a counter that goes back', (one, c) => one.get({ challenge: c, origin: ORIGIN, rpId: RP_ID }, 3)],
  ])('are refused with %s', async (_, answer) => {
    const { authenticator } = await withPasskey()
    authenticator.get({ challenge: 'x', origin: ORIGIN, rpId: RP_ID }, 8)
    const first = await enter(authenticator.get({ challenge: await challenge(), origin: ORIGIN, rpId: RP_ID }))
    expect(first.status).toBe(200)
    const refused = await enter(answer(authenticator, await challenge()))
    expect(refused).toMatchObject(incorrect)
    expect(refused.headers['set-cookie']).toBeUndefined()
  })

  test('answer each challenge once', async () => {
    const { authenticator } = await withPasskey()
    const response = authenticator.get({ challenge: await challenge(), origin: ORIGIN, rpId: RP_ID })
    const both = await Promise.all([enter(response), enter(response)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect(await enter(response)).toMatchObject(incorrect)
  })

  test('are not added with the challenge of another person or of a log-in, nor twice', async () => {
    const [one, two] = [await signUp(), await signUp()]
    const authenticator = createAuthenticator()
    const add = (cookie: string, value: string) =>
      api(cookie, 'POST', '/second-factor/passkeys', {
        name: 'x',
        response: authenticator.create({ challenge: value, origin: ORIGIN, rpId: RP_ID }),
      })
    expect(await add(two.cookie, (await options(one.cookie)).body.challenge)).toMatchObject(incorrect)
    expect(await add(one.cookie, await challenge())).toMatchObject(incorrect)
    expect((await add(one.cookie, (await options(one.cookie)).body.challenge)).status).toBe(201)
    expect(await add(two.cookie, (await options(two.cookie)).body.challenge)).toMatchObject(incorrect)
  })

  test('are removed after a proof, by the person alone', async () => {
    const person = await withPasskey()
    const stranger = await signUp()
    const path = `/second-factor/passkeys/${person.passkeyId}`
    expect(await api(person.cookie, 'DELETE', path)).toMatchObject(required)
    const prove = async (cookie: string) =>
      api(cookie, 'POST', '/second-factor/verify', {
        response: person.authenticator.get({ challenge: await challenge(), origin: ORIGIN, rpId: RP_ID }),
      })
    expect(await prove(stranger.cookie)).toMatchObject(incorrect)
    expect((await prove(person.cookie)).status).toBe(200)
    expect((await api(stranger.cookie, 'DELETE', path)).status).toBe(404)
    expect((await api(person.cookie, 'DELETE', path)).status).toBe(200)
    expect((await api(person.cookie, 'GET', '/second-factor')).body).toMatchObject({
      passkeys: [],
      recovery_codes_left: 0,
    })
    expect((await logIn(person.email)).status).toBe(200)
  })
})

describe('a change of the log-in', () => {
  test('needs a code in the same request: password, deletion of the account', async () => {
    const { cookie, secret } = await withTotp()
    const change = { current: PASSWORD, new: 'another long password' }
    expect(await send('POST', '/auth/password', change, cookie)).toMatchObject(required)
    expect(await send('POST', '/auth/password', { ...change, code: '000000' }, cookie)).toMatchObject(incorrect)
    expect((await send('POST', '/auth/password', { ...change, code: nextCode(secret) }, cookie)).status).toBe(200)
    const leave = { password: change.new }
    expect(await send('POST', '/auth/delete-account', leave, cookie)).toMatchObject(required)
    const left = await send('POST', '/auth/delete-account', { ...leave, code: nextCode(secret) }, cookie)
    expect(left).toMatchObject({ status: 200, body: { closed: true } })
  })

  test('needs no second code for two minutes after a proof', async () => {
    const { cookie, secret } = await withTotp()
    const verified = await api(cookie, 'POST', '/second-factor/verify', { code: nextCode(secret) })
    const leftMs = Date.parse(verified.body.verified_until) - control.deps.clock.wall()
    expect(Math.abs(leftMs - 2 * MINUTE_MS)).toBeLessThan(1000)
    const renew = () => api(cookie, 'POST', '/second-factor/recovery-codes', { password: PASSWORD })
    expect((await renew()).status).toBe(200)
    control.deps.clock.advance(2 * MINUTE_MS)
    expect(await renew()).toMatchObject(required)
  })

  test('by a password reset does not get past the second factor', async () => {
    const { email, secret } = await withTotp()
    await send('POST', '/auth/password-reset', { email })
    await backgroundDone(control.deps)
    const token = /^[\w-]{43}$/m.exec(control.deps.mail.sent.findLast(({ to }) => to === email)!.text)![0]
    expect((await send('POST', '/auth/password-reset/confirm', { token, password: PASSWORD })).status).toBe(200)
    expect(await logIn(email)).toMatchObject(required)
    expect((await logIn(email, nextCode(secret))).status).toBe(200)
  })

  test('of any other kind that is sensitive needs a proof of the last 15 minutes', async () => {
    const { cookie, secret } = await withTotp()
    const key = () => api(cookie, 'POST', '/keys', { name: 'K', scopes: ['read'] })
    expect((await key()).status).toBe(201)
    control.deps.clock.advance(15 * MINUTE_MS)
    expect(await key()).toMatchObject(required)
    expect(await api(cookie, 'PATCH', '/limits', { max_spend_a_day: null })).toMatchObject(required)
    expect((await api(cookie, 'POST', '/projects', { name: 'P', language: 'en' })).status).toBe(201)
    expect((await api(cookie, 'POST', '/second-factor/verify', { code: nextCode(secret) })).status).toBe(200)
    expect((await key()).status).toBe(201)
  })

  test('is on the list of sensitive operations by an id that exists', () => {
    for (const id of sensitiveOperations) expect([id, rolesByOperation.has(id)]).toEqual([id, true])
  })
})

describe('an account', () => {
  test('may require a second factor of everybody: people without one can only set one up', async () => {
    const owner = await withTotp()
    const email = `required${people++}@example.com`
    await api(owner.cookie, 'POST', '/invitations', { email, role: 'admin' })
    await backgroundDone(control.deps)
    const token = /#code=([\w-]{43})/.exec(control.deps.mail.sent.findLast(({ to }) => to === email)!.text)![1]
    const member = cookieOf(await send('POST', '/auth/accept-invitation', { token, password: PASSWORD }))
    expect((await api(member, 'GET', '/projects')).status).toBe(200)
    expect(await api(member, 'PATCH', '/second-factor', { required: true })).toMatchObject(required)
    const on = await api(owner.cookie, 'PATCH', '/second-factor', { required: true })
    expect(on).toMatchObject({ status: 200, body: { required: true } })
    expect(await api(member, 'GET', '/projects')).toMatchObject(required)
    expect(await send('POST', '/auth/delete-account', { password: PASSWORD }, member)).toMatchObject({ status: 403 })
    expect((await send('GET', '/auth/session', undefined, member)).status).toBe(200)
    expect((await api(owner.cookie, 'GET', '/projects')).status).toBe(200)
    const { uri } = (await api(member, 'POST', '/second-factor/totp', { password: PASSWORD })).body
    const secret = new URL(uri).searchParams.get('secret')!
    expect((await api(member, 'POST', '/second-factor/totp/confirm', { code: codeOf(secret) })).status).toBe(200)
    expect((await api(member, 'GET', '/projects')).status).toBe(200)
  })

  test('is not locked out by a requirement of a person who has none', async () => {
    const person = await signUp()
    expect(await api(person.cookie, 'PATCH', '/second-factor', { required: true })).toMatchObject(required)
    expect((await api(person.cookie, 'PATCH', '/second-factor', { required: false })).status).toBe(200)
  })
})
