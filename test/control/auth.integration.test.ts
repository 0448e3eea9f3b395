import { createHook } from 'node:async_hooks'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '../../control/access/accounts/service.ts'
import { matchPassword } from '../../control/access/login/passwords.ts'
import { buildApp } from '../../control/app.ts'
import { sweepOld } from '../../control/background/engine.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { type Answer, createControl, createTenant, request, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { base_url: 'https://control.test' } })
})
afterAll(() => control?.close())
beforeEach(() => void control.deps.mail.sent.splice(0))

const ORIGIN = { origin: 'https://control.test' }
const PASSWORD = 'correct horse battery'
let people = 0
const nextEmail = () => `person${people++}@example.com`

const cookieOf = (answer: Answer) => String(answer.headers['set-cookie']).split(';')[0]!
const post = (path: string, body?: object, headers: Record<string, string> = {}, remoteAddress = '127.0.0.1') =>
  request(control.app, {
    method: 'POST',
    url: `/auth${path}`,
    headers,
    remoteAddress,
    ...(body ? { payload: body } : {}),
  })
const get = (url: string, cookie: string, app = control.app) =>
  request(app, { method: 'GET', url, headers: { cookie } })

interface Person {
  email: string
  cookie: string
  id: string
}
async function signUp(email = nextEmail()): Promise<Person> {
  const answer = await post('/sign-up', { email, password: PASSWORD })
  expect(answer.status).toBe(201)
  return { email, cookie: cookieOf(answer), id: answer.body.account_id }
}
const logIn = (email: string, password = PASSWORD) => post('/log-in', { email, password })

describe('sign-up', () => {
  test('creates account, trial and example project, and logs in', async () => {
    const answer = await post('/sign-up', { email: 'Ada@Example.com', password: PASSWORD, name: 'Ada' })
    expect(answer).toMatchObject({ status: 201, body: { name: 'Ada', email: 'Ada@Example.com' } })
    expect(answer.headers['cache-control']).toBe('no-store')
    const cookie = String(answer.headers['set-cookie'])
    expect(cookie).toMatch(/^parley_session=[\w-]{43}; /)
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Secure', 'Path=/', `Max-Age=${30 * 24 * 3600}`]) {
      expect(cookie).toContain(part)
    }
    expect((await get('/auth/session', cookieOf(answer))).body).toEqual(answer.body)
    const { body } = await get('/v1/public/balance', cookieOf(answer))
    expect(body).toMatchObject({ balance: { amount: '100.0000' }, subscription: { status: 'active' } })
    expect((await get('/v1/public/projects', cookieOf(answer))).body.projects).toMatchObject([{ name: 'Example' }])
  })

  test('stores neither the password nor the token', async () => {
    const { email, cookie, id } = await signUp()
    const [row] = await control.deps.sql`select * from accounts where id = ${id}`
    expect(row).toMatchObject({ email })
    expect(row!['password_hash']).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    const sessions = await control.deps.sql`select * from sessions where owner_id = ${id}`
    expect(JSON.stringify(sessions)).not.toContain(cookie.split('=')[1])
    expect(JSON.stringify(control.deps.log.lines)).not.toMatch(/example\.com|correct horse/i)
  })

  test('accepts an e-mail once, case-insensitively, also from concurrent requests', async () => {
    const { email } = await signUp()
    const taken = { status: 409, body: { code: 'email_taken' } }
    expect(await post('/sign-up', { email: email.toUpperCase(), password: PASSWORD })).toMatchObject(taken)
    const both = { email: nextEmail(), password: PASSWORD }
    const answers = await Promise.all([post('/sign-up', both), post('/sign-up', both)])
    expect(answers.map(answer => answer.status).sort()).toEqual([201, 409])
  })

  test.each([
    [{ email: 'nobody', password: PASSWORD }, '/email'],
    [{ email: 'a@example.com', password: 'short' }, '/password'],
    [{ email: 'a@example.com', password: 'x'.repeat(257) }, '/password'],
    [{ email: 'a@example.com', password: PASSWORD, admin: true }, '/admin'],
  ])('returns 400 for the invalid body %o', async (body, pointer) => {
    expect(await post('/sign-up', body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer }] },
    })
  })

  test('sets a cookie without Secure where only HTTP is available', async () => {
    const config = { ...control.deps.config, base_url: 'http://127.0.0.1:8080' }
    const app = await buildApp({ ...control.deps, config })
    const payload = { email: nextEmail(), password: PASSWORD }
    const answer = await request(app, { method: 'POST', url: '/auth/sign-up', payload })
    expect(String(answer.headers['set-cookie'])).toMatch(/HttpOnly/)
    expect(String(answer.headers['set-cookie'])).not.toMatch(/Secure/)
    await app.close()
  })

  test('can be switched off', async () => {
    const app = await buildApp({ ...control.deps, config: { ...control.deps.config, sign_up: false } })
    const payload = { email: nextEmail(), password: PASSWORD }
    const answer = await request(app, { method: 'POST', url: '/auth/sign-up', payload })
    expect(answer).toMatchObject({ status: 403, body: { code: 'sign_up_closed' } })
    await app.close()
  })
})

describe('log-in', () => {
  test('opens a session of its own each time', async () => {
    const { email, id, cookie } = await signUp()
    const answer = await logIn(email)
    expect(answer).toMatchObject({ status: 200, body: { account_id: id, email } })
    expect(cookieOf(answer)).not.toBe(cookie)
    expect((await get('/auth/session', cookieOf(answer))).status).toBe(200)
    expect((await get('/auth/session', cookie)).status).toBe(200)
  })

  test('returns the same error for a wrong password, an unknown e-mail and an account without a password', async () => {
    const { email } = await signUp()
    const bare = nextEmail()
    await createAccount(control.deps, { name: 'Bare', email: bare })
    const answers = await Promise.all([logIn(email, 'not the password'), logIn(nextEmail()), logIn(bare)])
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
      expect({ ...answer.body, request_id: '' }).toEqual({ ...answers[0]!.body, request_id: '' })
    }
  })

  test('runs argon2 for an unknown e-mail, too', async () => {
    const cost = async (phc: string | null) => {
      const before = process.cpuUsage()
      for (let i = 0; i < 3; i++) await matchPassword('not the password', phc)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const { id } = await signUp()
    const [row] = await control.deps.sql`select password_hash from accounts where id = ${id}`
    const known = await cost(row!['password_hash'] as string)
    const unknown = await cost(null)
    expect(unknown / known).toBeGreaterThan(0.4)
    expect(unknown / known).toBeLessThan(2.5)
  })

  test('accepts a hash of the reference implementation, and rehashes outdated parameters', async () => {
    // From the test vectors of the argon2 reference implementation.
    const reference = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
    const email = nextEmail()
    const { id } = await createAccount(control.deps, { name: 'Old', email, password_hash: reference })
    expect((await logIn(email, 'passwore')).status).toBe(401)
    expect((await logIn(email, 'password')).status).toBe(200)
    const [row] = await control.deps.sql`select password_hash from accounts where id = ${id}`
    expect(row!['password_hash']).toContain('$m=19456,t=2,p=1$')
    expect((await logIn(email, 'password')).status).toBe(200)
  })

  test('accepts other Unicode normalisations of the same password', async () => {
    const email = nextEmail()
    await post('/sign-up', { email, password: 'pass\u00e9 compos\u00e9' })
    expect((await logIn(email, 'passe\u0301 compose\u0301')).status).toBe(200)
  })

  test('hashes two passwords at a time without blocking the event loop', async () => {
    const working = new Set<number>()
    let most = 0
    const hook = createHook({
      init(id, type) {
        if (type === 'ARGON2REQUEST') most = Math.max(most, working.add(id).size)
      },
      before: id => void working.delete(id),
    }).enable()
    const loop = monitorEventLoopDelay({ resolution: 5 })
    loop.enable()
    await Promise.all(Array.from({ length: 8 }, () => matchPassword('x', null)))
    loop.disable()
    hook.disable()
    expect(most).toBe(2)
    // One takes some 50 ms of a core; on the loop, none would let a timer through.
    expect(loop.percentile(50) / 1e6).toBeLessThan(25)
  })

  test('rejects sign-ups when too many wait for hashing', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 140 }, () => matchPassword('x', null)))
    const refused = tries.filter(one => one.status === 'rejected')
    expect(refused).toHaveLength(140 - 102)
    expect(refused[0]).toMatchObject({ reason: { code: 'service_unavailable' } })
  }, 180_000)
})

describe('guessing', () => {
  const LIMITED = { status: 429, body: { code: 'rate_limited' } }

  test.each(['known', 'unknown'])('locks the password of an e-mail that is %s after five attempts', async kind => {
    const email = kind === 'known' ? (await signUp()).email : nextEmail()
    for (let i = 0; i < 5; i++) expect((await logIn(email, `wrong guess ${i}`)).status).toBe(401)
    const answer = await logIn(email.toUpperCase(), PASSWORD)
    expect(answer).toMatchObject(LIMITED)
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(14 * 60)
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(15 * 60)
  })

  test('allows no extra attempts to concurrent requests', async () => {
    const { email } = await signUp()
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => logIn(email, `wrong guess ${i}`)))
    expect(answers.filter(answer => answer.status === 401)).toHaveLength(5)
  })

  test('resets the counter at a successful log-in', async () => {
    const { email } = await signUp()
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 4; i++) expect((await logIn(email, 'wrong guess')).status).toBe(401)
      expect((await logIn(email)).status).toBe(200)
    }
  })

  test('counts failed attempts per address across processes', async () => {
    const other = await buildApp({ ...control.deps })
    const from = (app: typeof other) =>
      request(app, {
        method: 'POST',
        url: '/auth/log-in',
        payload: { email: nextEmail(), password: 'wrong guess' },
        remoteAddress: '198.51.100.7',
      })
    for (let i = 0; i < 25; i++) {
      expect((await from(control.app)).status).toBe(401)
      expect((await from(other)).status).toBe(401)
    }
    expect(await from(control.app)).toMatchObject(LIMITED)
    expect(await from(other)).toMatchObject(LIMITED)
    expect((await logIn(nextEmail())).status).toBe(401)
    await other.close()
  }, 180_000)

  test('counts against the rate limit of the address', async () => {
    const config = {
      ...control.deps.config,
      rate_limit: { per_key: 10, per_session: 10, per_address: 2, window_ms: 60_000 },
    }
    const app = await buildApp({ ...control.deps, config })
    const ask = () => request(app, { method: 'GET', url: '/auth/session', remoteAddress: '198.51.100.8' })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([401, 401, 429])
    await app.close()
  })
})

describe('a session', () => {
  test('has both scopes of an API key', async () => {
    const { cookie } = await signUp()
    expect((await get('/v1/public/calls', cookie)).status).toBe(200)
    const answer = await request(control.app, {
      method: 'POST',
      url: '/v1/public/projects',
      headers: { cookie, ...ORIGIN },
      payload: { name: 'Mine', language: 'en', prompt: 'Hello.' },
    })
    expect(answer.status).toBe(201)
    const mine = (await get('/v1/public/projects', cookie)).body.projects
    expect(mine.map((project: { name: string }) => project.name).sort()).toEqual(['Example', 'Mine'])
  })

  test('does not replace an invalid API key in the same request', async () => {
    const { cookie } = await signUp()
    const headers = { cookie, 'x-api-key': `svc_${'a'.repeat(43)}` }
    expect((await request(control.app, { method: 'GET', url: '/v1/public/projects', headers })).status).toBe(401)
  })

  test.each([
    ['from another site', { origin: 'https://evil.test' }],
    ['from a neighbour', { 'sec-fetch-site': 'same-site' }],
    ['from a page without an origin', { origin: 'null' }],
    ['that tells nothing of where it comes from', {}],
  ])('rejects a cross-site request %s', async (_, headers: Record<string, string>) => {
    const { cookie } = await signUp()
    const forbidden = { status: 403, body: { code: 'cross_site' } }
    const project = { name: 'Theirs', language: 'en', prompt: 'Hello.' }
    const answer = await request(control.app, {
      method: 'POST',
      url: '/v1/public/projects',
      headers: { cookie, ...headers },
      payload: project,
    })
    expect(answer).toMatchObject(forbidden)
    expect(await post('/log-out', undefined, { cookie, ...headers })).toMatchObject(forbidden)
    expect((await get('/auth/session', cookie)).status).toBe(200)
  })

  test('accepts requests of our own pages, by either origin header', async () => {
    for (const headers of [ORIGIN, { 'sec-fetch-site': 'same-origin' }] as Record<string, string>[]) {
      const { cookie } = await signUp()
      expect((await post('/log-out', undefined, { cookie, ...headers })).body).toEqual({ sessions_ended: 1 })
    }
  })

  test('rejects a log-in that another site submits (CSRF)', async () => {
    const { email } = await signUp()
    const answer = await post('/log-in', { email, password: PASSWORD }, { origin: 'https://evil.test' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'cross_site' } })
    expect(answer.headers['set-cookie']).toBeUndefined()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const typed = await request(control.app, { method: 'POST', url: '/auth/log-in', headers: form, payload: 'email=a' })
    expect(typed).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  test('ends at log-out, at once in this process', async () => {
    const { cookie, email } = await signUp()
    const second = cookieOf(await logIn(email))
    expect((await get('/v1/public/projects', cookie)).status).toBe(200)
    const out = await post('/log-out', undefined, { cookie, ...ORIGIN })
    expect(out).toMatchObject({ status: 200, body: { sessions_ended: 1 } })
    expect(String(out.headers['set-cookie'])).toMatch(/^parley_session=; .*Expires=Thu, 01 Jan 1970/)
    expect((await get('/v1/public/projects', cookie)).status).toBe(401)
    expect((await get('/auth/session', cookie)).status).toBe(401)
    expect((await get('/auth/session', second)).status).toBe(200)
  })

  test('ends at log-out everywhere, within 5 s in other processes', async () => {
    const other = await buildApp({ ...control.deps })
    const { cookie, email } = await signUp()
    const second = cookieOf(await logIn(email))
    expect((await get('/auth/session', second, other)).status).toBe(200)
    const out = await post('/log-out-everywhere', undefined, { cookie, ...ORIGIN })
    expect(out.body).toEqual({ sessions_ended: 2 })
    expect((await get('/auth/session', second)).status).toBe(401)
    control.deps.clock.advance(4500)
    expect((await get('/auth/session', second, other)).status).toBe(401)
    await other.close()
  })

  test('lasts 30 days from its last use, and the cookie with it', async () => {
    const day = 24 * 3600 * 1000
    const { cookie } = await signUp()
    const before = (await get('/auth/session', cookie)).body.expires_at
    control.deps.clock.advance(20 * day)
    const used = await get('/auth/session', cookie)
    expect(String(used.headers['set-cookie'])).toContain(`Max-Age=${30 * 24 * 3600}`)
    expect(Date.parse(used.body.expires_at) - Date.parse(before)).toBeGreaterThan(19 * day)
    expect((await get('/auth/session', cookie)).headers['set-cookie']).toBeUndefined()
    await backgroundDone(control.deps)
    control.deps.clock.advance(20 * day)
    expect((await get('/auth/session', cookie)).status).toBe(200)
    await backgroundDone(control.deps)
    control.deps.clock.advance(31 * day)
    expect((await get('/auth/session', cookie)).status).toBe(401)
    await sweepOld(control.deps)
    expect(
      await control.deps.sql`select 1 from sessions where expires_at < ${new Date(control.deps.clock.wall())}`,
    ).toHaveLength(0)
  })

  test('has a rate limit like a key', async () => {
    const config = {
      ...control.deps.config,
      rate_limit: { per_key: 3, per_session: 3, per_address: 100, window_ms: 60_000 },
    }
    const app = await buildApp({ ...control.deps, config })
    const { cookie } = await signUp()
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await get('/v1/public/projects', cookie, app)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    await app.close()
  })

  test.each(['', 'x', `${'a'.repeat(43)}`, '%00', '%zz', 'a'.repeat(500)])(
    'returns 401 for a session that %s',
    async value => {
      expect((await get('/v1/public/projects', `parley_session=${value}`)).status).toBe(401)
    },
  )
})

describe('a password', () => {
  const codeOf = (text: string) => /^[\w-]{43}$/m.exec(text)![0]
  async function askReset(email: string) {
    const answer = await post('/password-reset', { email })
    await backgroundDone(control.deps)
    return answer
  }

  test('is changed with the current password; other sessions end', async () => {
    const { email, cookie } = await signUp()
    const second = cookieOf(await logIn(email))
    const change = (current: string) => post('/password', { current, new: 'another password' }, { cookie, ...ORIGIN })
    expect(await change('wrong guess')).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    expect(await change(PASSWORD)).toMatchObject({ status: 200, body: { email } })
    expect((await get('/auth/session', cookie)).status).toBe(200)
    expect((await get('/auth/session', second)).status).toBe(401)
    expect((await logIn(email)).status).toBe(401)
    expect((await logIn(email, 'another password')).status).toBe(200)
  })

  test('limits password guesses through a stolen session', async () => {
    const { cookie } = await signUp()
    const guess = () => post('/password', { current: 'wrong guess', new: 'another password' }, { cookie, ...ORIGIN })
    for (let i = 0; i < 5; i++) expect((await guess()).status).toBe(401)
    expect((await guess()).status).toBe(429)
  })

  test('is reset by a code from an e-mail, once; all sessions end', async () => {
    const { email, cookie } = await signUp()
    for (let i = 0; i < 5; i++) await logIn(email, 'forgotten it')
    expect(await askReset(email.toUpperCase())).toMatchObject({ status: 200, body: { sent: true } })
    expect(control.deps.mail.sent).toMatchObject([{ to: email }])
    const token = codeOf(control.deps.mail.sent[0]!.text)
    const confirm = () => post('/password-reset/confirm', { token, password: 'a new password' })
    expect(await confirm()).toMatchObject({ status: 200, body: { password_set: true } })
    expect((await get('/auth/session', cookie)).status).toBe(401)
    expect((await logIn(email, 'a new password')).status).toBe(200)
    expect(await confirm()).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    const rows = await control.deps.sql`select * from password_resets`
    expect(JSON.stringify([rows, control.deps.log.lines])).not.toContain(token)
  })

  test('accepts a reset code once when two requests use it concurrently', async () => {
    const { email } = await signUp()
    await askReset(email)
    const token = codeOf(control.deps.mail.sent[0]!.text)
    const confirm = (password: string) => post('/password-reset/confirm', { token, password })
    const answers = await Promise.all([confirm('the first password'), confirm('the second password')])
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 401])
  })

  test('rejects a reset code after an hour, or after a password change', async () => {
    const { email, cookie } = await signUp()
    await askReset(email)
    const late = codeOf(control.deps.mail.sent[0]!.text)
    control.deps.clock.advance(3_601_000)
    expect((await post('/password-reset/confirm', { token: late, password: 'a new password' })).status).toBe(401)
    await askReset(email)
    const undone = codeOf(control.deps.mail.sent[1]!.text)
    await post('/password', { current: PASSWORD, new: 'another password' }, { cookie, ...ORIGIN })
    expect((await post('/password-reset/confirm', { token: undone, password: 'a new password' })).status).toBe(401)
  })

  test('returns the same answer for known and unknown e-mails, and limits the mails', async () => {
    const { email } = await signUp()
    const known = await askReset(email)
    const unknown = await askReset(nextEmail())
    expect(unknown.status).toBe(known.status)
    expect(unknown.body).toEqual(known.body)
    for (let i = 0; i < 5; i++) expect((await askReset(email)).status).toBe(200)
    expect(control.deps.mail.sent).toHaveLength(3)
  })

  test('does not wait for the reset mail, and only logs a failed one', async () => {
    const { email } = await signUp()
    let fail: (error: Error) => void = () => {}
    const mail = { send: () => new Promise<void>((_, reject) => (fail = reject)) }
    const deps = { ...control.deps, mail }
    const app = await buildApp(deps)
    const answer = await request(app, { method: 'POST', url: '/auth/password-reset', payload: { email } })
    expect(answer.status).toBe(200)
    await expect
      .poll(
        () => control.deps.sql`select 1 from password_resets r join accounts a on a.id = r.owner_id
      where a.email = ${email}`,
      )
      .toHaveLength(1)
    await new Promise(resolve => setTimeout(resolve, 20))
    fail(new Error('no mail server'))
    await app.close()
    expect(control.deps.log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'password reset e-mail was not sent' }),
    )
    expect(JSON.stringify(control.deps.log.lines)).not.toContain(email)
  })
})

test('reads only data of its own owner', async () => {
  const theirs = await createTenant(control)
  const { cookie } = await signUp()
  expect((await get(`/v1/public/projects/${theirs.projectId}`, cookie)).status).toBe(404)
})
