/** Several people in one account: invitations by mail, roles, removal, and their names in the audit log. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildApp } from '../../control/app.ts'
import { eraseClosed } from '../../control/data/accounts/closed.ts'
import { backgroundDone } from '../../control/platform/jobs/background.ts'
import { type Answer, createControl, request, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())
beforeEach(() => void control.deps.mail.sent.splice(0))

const PASSWORD = 'correct horse battery'
let people = 0
const nextEmail = () => `team${people++}@example.com`
const cookieOf = (answer: Answer) => String(answer.headers['set-cookie']).split(';')[0]!

interface Person {
  email: string
  cookie: string
  accountId: string
  id: string
}
const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, cookie?: string, payload?: object) =>
  request(control.app, {
    method,
    url,
    headers: { origin: 'http://control.test', ...(cookie ? { cookie } : {}) },
    ...(payload ? { payload } : {}),
  })
const api = (person: Person, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
  send(method, `/v1/public${path}`, person.cookie, body)
const asPerson = (email: string, answer: Answer): Person => ({
  email,
  cookie: cookieOf(answer),
  accountId: answer.body.account_id,
  id: answer.body.person_id,
})

async function signUp(email = nextEmail()): Promise<Person> {
  return asPerson(email, await send('POST', '/auth/sign-up', undefined, { email, password: PASSWORD }))
}
async function codeFor(email: string): Promise<string | null> {
  await backgroundDone(control.deps)
  const text = control.deps.mail.sent.findLast(message => message.to === email)?.text ?? ''
  return /#code=([\w-]{43})/.exec(text)?.[1] ?? null
}
const accept = (token: string | null, more: object = {}) =>
  send('POST', '/auth/accept-invitation', undefined, { token, password: PASSWORD, ...more })
async function join(owner: Person, role: string, email = nextEmail()): Promise<Person> {
  expect(await api(owner, 'POST', '/invitations', { email, role })).toMatchObject({
    status: 201,
    body: { email, role },
  })
  const answer = await accept(await codeFor(email))
  expect(answer).toMatchObject({ status: 201, body: { role, email, account_id: owner.accountId } })
  return asPerson(email, answer)
}
const statusOf = async (person: Person) => (await send('GET', '/auth/session', person.cookie)).status

describe('an invitation', () => {
  test('lets a person in once, with a role and a password of their own', async () => {
    const owner = await signUp()
    const email = nextEmail()
    const invited = await api(owner, 'POST', '/invitations', { email, role: 'developer' })
    expect(invited).toMatchObject({ status: 201, body: { email, role: 'developer', invited_by: owner.email } })
    const code = await codeFor(email)
    expect(JSON.stringify(invited.body)).not.toContain(code)
    expect((await api(owner, 'GET', '/invitations')).body).toMatchObject({ total: 1, items: [{ email }] })
    const both = await Promise.all([accept(code, { name: 'Bea' }), accept(code, { name: 'Bea' })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 401])
    expect((await accept(code)).body.code).toBe('invalid_credentials')
    expect((await api(owner, 'GET', '/invitations')).body.total).toBe(0)
    const list = (await api(owner, 'GET', '/members')).body
    expect(list).toMatchObject({
      total: 2,
      items: [
        { email: owner.email, role: 'owner', first_owner: true },
        { email, name: 'Bea', role: 'developer', first_owner: false },
      ],
    })
    const entered = await send('POST', '/auth/log-in', undefined, { email: email.toUpperCase(), password: PASSWORD })
    expect(entered).toMatchObject({
      status: 200,
      body: { account_id: owner.accountId, role: 'developer', name: 'Bea' },
    })
    expect(JSON.stringify(await control.deps.sql`select * from invitations`)).not.toContain(code)
  })

  test.each(['expired', 'revoked', 'replaced', 'sent by a person who has left', 'made up'])(
    'lets nobody in when it is %s',
    async how => {
      const owner = await signUp()
      const admin = await join(owner, 'admin')
      const email = nextEmail()
      const { id } = (await api(admin, 'POST', '/invitations', { email, role: 'admin' })).body
      const code = await codeFor(email)
      if (how === 'expired') {
        await control.deps
          .sql`update invitations set expires_at = ${new Date(control.deps.clock.wall())} where id = ${id}`
      }
      if (how === 'revoked') expect((await api(owner, 'DELETE', `/invitations/${id}`)).status).toBe(200)
      if (how === 'replaced') await api(owner, 'POST', '/invitations', { email: email.toUpperCase(), role: 'billing' })
      if (how === 'sent by a person who has left') await api(owner, 'DELETE', `/members/${admin.id}`)
      const answer = await accept(how === 'made up' ? 'x'.repeat(43) : code)
      expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
      expect(answer.headers['set-cookie']).toBeUndefined()
    },
  )

  test('does not tell whether the e-mail has a log-in elsewhere, and changes nothing about that log-in', async () => {
    const [owner, stranger] = [await signUp(), await signUp()]
    const known = await api(owner, 'POST', '/invitations', { email: stranger.email, role: 'admin' })
    const unknown = await api(owner, 'POST', '/invitations', { email: nextEmail(), role: 'admin' })
    expect([known.status, Object.keys(known.body)]).toEqual([unknown.status, Object.keys(unknown.body)])
    expect(await codeFor(stranger.email)).toBeNull()
    expect(control.deps.mail.sent.find(({ to }) => to === stranger.email)!.text).toContain('already has a log-in')
    const entered = await send('POST', '/auth/log-in', undefined, { email: stranger.email, password: PASSWORD })
    expect(entered.body.account_id).toBe(stranger.accountId)
  })

  test('is refused when the e-mail got a log-in meanwhile, by sign-up or in another account', async () => {
    const [owner, other] = [await signUp(), await signUp()]
    const email = nextEmail()
    await api(owner, 'POST', '/invitations', { email, role: 'developer' })
    const code = await codeFor(email)
    await signUp(email)
    expect(await accept(code)).toMatchObject({ status: 409, body: { code: 'email_taken' } })
    const twice = nextEmail()
    await api(owner, 'POST', '/invitations', { email: twice, role: 'developer' })
    const first = await codeFor(twice)
    await api(other, 'POST', '/invitations', { email: twice, role: 'developer' })
    const second = await codeFor(twice)
    const answers = await Promise.all([accept(first), accept(second)])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  test('keeps the e-mail of a member from being signed up again', async () => {
    const owner = await signUp()
    const member = await join(owner, 'billing')
    const again = await send('POST', '/auth/sign-up', undefined, {
      email: member.email.toUpperCase(),
      password: PASSWORD,
    })
    expect(again).toMatchObject({ status: 409, body: { code: 'email_taken' } })
    const email = nextEmail()
    await api(owner, 'POST', '/invitations', { email, role: 'developer' })
    const code = await codeFor(email)
    const race = await Promise.all([
      accept(code),
      send('POST', '/auth/sign-up', undefined, { email, password: PASSWORD }),
    ])
    expect(race.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  test('to a person of the account is refused, and a role of its own making is a bad request', async () => {
    const owner = await signUp()
    const member = await join(owner, 'operator')
    expect(await api(owner, 'POST', '/invitations', { email: member.email, role: 'admin' })).toMatchObject({
      status: 409,
      body: { code: 'email_taken' },
    })
    const bad = await api(owner, 'POST', '/invitations', { email: nextEmail(), role: 'root' })
    expect(bad).toMatchObject({ status: 400, body: { errors: [{ pointer: '/role' }] } })
  })

  test('is limited to 50 a day for an account', async () => {
    const owner = await signUp()
    const key = `${control.deps.config.redis_prefix}:invitations:${owner.accountId}`
    await control.deps.redis.set(key, '50')
    const answer = await api(owner, 'POST', '/invitations', { email: nextEmail(), role: 'billing' })
    expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  })
})

describe('a role', () => {
  test('is changed at once, for the sessions and keys of the person', async () => {
    const owner = await signUp()
    const member = await join(owner, 'developer')
    const { value } = (await api(member, 'POST', '/keys', { name: 'Mine', scopes: ['read', 'write'] })).body
    const project = { name: 'P', language: 'en', prompt: 'Hello.' }
    const withKey = () =>
      request(control.app, {
        method: 'POST',
        url: '/v1/public/projects',
        headers: { 'x-api-key': value },
        payload: project,
      })
    expect([(await api(member, 'POST', '/projects', project)).status, (await withKey()).status]).toEqual([201, 201])
    const changed = await api(owner, 'PATCH', `/members/${member.id}`, { role: 'read_only' })
    expect(changed).toMatchObject({ status: 200, body: { id: member.id, role: 'read_only' } })
    expect(await api(member, 'POST', '/projects', project)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_role' },
    })
    expect(await withKey()).toMatchObject({ status: 403, body: { code: 'insufficient_role' } })
    expect((await api(member, 'GET', '/projects')).status).toBe(200)
  })

  test('is not raised by an admin to owner, nor is an owner changed by one', async () => {
    const owner = await signUp()
    const [admin, second] = [await join(owner, 'admin'), await join(owner, 'owner')]
    const low = { status: 403, body: { code: 'insufficient_role' } }
    expect(await api(admin, 'POST', '/invitations', { email: nextEmail(), role: 'owner' })).toMatchObject(low)
    expect(await api(admin, 'PATCH', `/members/${admin.id}`, { role: 'owner' })).toMatchObject(low)
    expect(await api(admin, 'PATCH', `/members/${second.id}`, { role: 'billing' })).toMatchObject(low)
    expect(await api(admin, 'DELETE', `/members/${second.id}`)).toMatchObject(low)
    const { id } = (await api(owner, 'POST', '/invitations', { email: nextEmail(), role: 'owner' })).body
    expect(await api(admin, 'DELETE', `/invitations/${id}`)).toMatchObject(low)
    expect((await api(second, 'PATCH', `/members/${admin.id}`, { role: 'owner' })).status).toBe(200)
  })

  test('of the person who opened the account stays owner', async () => {
    const owner = await signUp()
    const second = await join(owner, 'owner')
    const refused = { status: 409, body: { code: 'first_owner' } }
    expect(await api(second, 'PATCH', `/members/${owner.id}`, { role: 'billing' })).toMatchObject(refused)
    expect(await api(second, 'DELETE', `/members/${owner.id}`)).toMatchObject(refused)
    expect(await api(owner, 'DELETE', `/members/${owner.id}`)).toMatchObject(refused)
  })

  test('of billing sees no calls, of developer revokes only keys of its own', async () => {
    const owner = await signUp()
    const [billing, developer] = [await join(owner, 'billing'), await join(owner, 'developer')]
    expect((await api(billing, 'GET', '/calls')).status).toBe(403)
    expect((await api(billing, 'GET', '/balance/entries')).status).toBe(200)
    const theirs = (await api(owner, 'POST', '/keys', { name: 'Owner', scopes: ['read'] })).body.id
    const mine = (await api(developer, 'POST', '/keys', { name: 'Dev', scopes: ['read'] })).body.id
    expect((await api(developer, 'DELETE', `/keys/${theirs}`)).status).toBe(404)
    expect((await api(developer, 'DELETE', `/keys/${mine}`)).status).toBe(200)
    expect(
      (await api(owner, 'GET', '/keys')).body.items.find((key: { id: string }) => key.id === theirs).revoked_at,
    ).toBe(null)
  })
})

describe('a person', () => {
  test('sees this account only, and loses sessions and keys by removal, everywhere within 5 s', async () => {
    const other = await buildApp({ ...control.deps })
    const [owner, neighbour] = [await signUp(), await signUp()]
    const member = await join(owner, 'developer')
    const project = (await api(neighbour, 'GET', '/projects')).body.projects[0].id
    expect((await api(member, 'GET', `/projects/${project}`)).status).toBe(404)
    const { value } = (await api(member, 'POST', '/keys', { name: 'Mine', scopes: ['read'] })).body
    const elsewhere = () =>
      request(other, { method: 'GET', url: '/v1/public/projects', headers: { cookie: member.cookie } })
    expect((await elsewhere()).status).toBe(200)
    expect(await api(owner, 'DELETE', `/members/${member.id}`)).toMatchObject({
      status: 200,
      body: { id: member.id, deleted: true },
    })
    expect(await statusOf(member)).toBe(401)
    const withKey = await request(control.app, {
      method: 'GET',
      url: '/v1/public/projects',
      headers: { 'x-api-key': value },
    })
    expect(withKey.status).toBe(401)
    control.deps.clock.advance(4500)
    expect((await elsewhere()).status).toBe(401)
    const again = await send('POST', '/auth/log-in', undefined, { email: member.email, password: PASSWORD })
    expect(again).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    expect(await statusOf(owner)).toBe(200)
    await other.close()
  })

  test('has sessions, a password and a reset of their own', async () => {
    const owner = await signUp()
    const member = await join(owner, 'operator')
    expect((await api(member, 'GET', '/sessions')).body.total).toBe(1)
    const { id } = (await api(owner, 'GET', '/sessions')).body.items[0]
    expect((await api(member, 'DELETE', `/sessions/${id}`)).status).toBe(404)
    expect((await send('POST', '/auth/log-out-everywhere', member.cookie)).body).toEqual({ sessions_ended: 1 })
    expect([await statusOf(owner), await statusOf(member)]).toEqual([200, 401])
    await send('POST', '/auth/password-reset', undefined, { email: member.email })
    await backgroundDone(control.deps)
    const [message] = control.deps.mail.sent.filter(({ subject }) => subject.startsWith('Reset'))
    expect(message!.to).toBe(member.email)
    const token = /^[\w-]{43}$/m.exec(message!.text)![0]
    const password = 'another long password'
    expect((await send('POST', '/auth/password-reset/confirm', undefined, { token, password })).status).toBe(200)
    expect(await statusOf(owner)).toBe(200)
    const entered = await send('POST', '/auth/log-in', undefined, { email: member.email, password })
    expect(entered.body).toMatchObject({ person_id: member.id, account_id: owner.accountId, role: 'operator' })
    expect((await send('POST', '/auth/log-in', undefined, { email: owner.email, password })).status).toBe(401)
  })

  test('is named in the audit log, also after leaving', async () => {
    const owner = await signUp()
    const admin = await join(owner, 'admin')
    await api(admin, 'POST', '/projects', { name: 'Theirs', language: 'en', prompt: 'Hello.' })
    await api(owner, 'DELETE', `/members/${admin.id}`)
    const { items } = (await api(owner, 'GET', '/audit?limit=10')).body
    const done = items.map((entry: Record<string, string>) => [entry['operation'], entry['person'], entry['outcome']])
    expect(done).toEqual([
      ['remove_member', owner.email, 'done'],
      ['create_project', admin.email, 'done'],
      ['accept_invitation', admin.email, 'done'],
      ['invite_member', owner.email, 'done'],
      ['sign_up', owner.email, 'done'],
    ])
  })

  test('cannot change who did something in the log', async () => {
    const owner = await signUp()
    await expect(
      control.deps.sql`update audit_log set person_id = null where owner_id = ${owner.accountId}`,
    ).rejects.toThrow('append-only')
  })

  test('is out when the account is closed, and erased with it', async () => {
    const owner = await signUp()
    const member = await join(owner, 'operator')
    await api(owner, 'POST', '/invitations', { email: nextEmail(), role: 'billing' })
    expect((await send('POST', '/auth/delete-account', member.cookie, { password: PASSWORD })).status).toBe(403)
    expect((await send('POST', '/auth/delete-account', owner.cookie, { password: PASSWORD })).status).toBe(200)
    expect(await statusOf(member)).toBe(401)
    const entered = await send('POST', '/auth/log-in', undefined, { email: member.email, password: PASSWORD })
    expect(entered.status).toBe(401)
    const erased = eraseClosed(control.deps, { owner_id: owner.accountId })
    await control.deps.clock.advance(6000)
    await Promise.race([erased, new Promise(resolve => setTimeout(resolve, 50))])
    control.deps.clock.advance(6000)
    await erased
    const { sql } = control.deps
    expect(await sql`select 1 from members where owner_id = ${owner.accountId}`).toHaveLength(0)
    expect(await sql`select 1 from invitations where owner_id = ${owner.accountId}`).toHaveLength(0)
    await signUp(member.email)
  })
})
