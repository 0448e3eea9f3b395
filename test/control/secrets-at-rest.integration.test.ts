/**
 * Fills every field that takes a secret with a searchable value and collects every value that is shown once; then
 * searches all tables, all of Redis and every log line for them. None may occur in any encoding.
 */
import { inspect } from 'node:util'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControl } from '../../control/app.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { createReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/world.ts'
import { fieldsOf, type Walk, walkDocument } from './owasp/walk.ts'

let control: TestControl
let owner: Tenant
let receiver: Receiver
let walk: Walk
let session: Record<string, string>
let running: { stop(): Promise<void> }
/** Values that must not be stored in clear, by kind. */
const secrets = new Map<string, string>()
/** In clear wherever it is kept, so that the search is known to find things. */
const OPEN = 'NOT-SECRET-0b5d4c'

const marker = (what: string): string => {
  const value = `MARK-${what}-7f3a91c2e8`
  secrets.set(what, value)
  return value
}

beforeAll(async () => {
  receiver = await createReceiver()
  control = await createControl()
  owner = await createTenant(control, { money: '1000' })
  walk = await walkDocument(control)
  running = await startControl(control.deps)
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
  await receiver?.close()
})

type Method = 'POST' | 'PATCH'
let keys = 0

/** Sends a POST with an Idempotency-Key, whose answer is stored. */
async function ask(method: Method, path: string, body?: object, by: 'key' | 'session' = 'key') {
  keys += 1
  const again = method === 'POST' ? { 'idempotency-key': `rest-${keys}` } : {}
  const auth = by === 'key' ? { 'x-api-key': owner.key } : session
  const answer = await request(control.app, {
    method,
    url: path.startsWith('/auth') ? path : `/v1/public${path}`,
    headers: { ...auth, ...again },
    ...(body ? { payload: body } : {}),
  })
  expect([path, answer.status, answer.body]).toEqual([
    path,
    expect.toSatisfy((status: number) => status < 300),
    answer.body,
  ])
  return answer
}

const shown = (what: string, value: unknown): void => {
  expect([what, typeof value]).toEqual([what, 'string'])
  secrets.set(what, value as string)
}

/** Sign-up, log-in, a change and a reset of the password; a key. */
async function fillAccess(): Promise<void> {
  const [first, second, third] = [marker('sign-up'), marker('changed'), marker('reset')]
  const email = 'sealed@example.com'
  const enter = (path: string, password: string) =>
    request(control.app, { method: 'POST', url: path, payload: { email, password } })
  const cookieOf = (answer: Awaited<ReturnType<typeof enter>>) => String(answer.headers['set-cookie']).split(';')[0]!
  const use = (answer: Awaited<ReturnType<typeof enter>>, what: string) => {
    session = { cookie: cookieOf(answer), origin: control.deps.config.base_url }
    shown(what, session['cookie']!.split('=')[1])
  }
  use(await enter('/auth/sign-up', first), 'session of the sign-up')
  await enter('/auth/log-in', marker('wrong password'))
  await ask('POST', '/auth/password', { current: first, new: second }, 'session')
  await request(control.app, { method: 'POST', url: '/auth/password-reset', payload: { email } })
  const mail = await until(() => control.deps.mail.sent.at(-1), 'the mail with the code')
  const token = /[A-Za-z0-9_-]{30,}/.exec(mail.text)![0]
  shown('code of the reset', token)
  const payload = { token, password: third }
  await request(control.app, { method: 'POST', url: '/auth/password-reset/confirm', payload })
  use(await enter('/auth/log-in', third), 'session of the log-in')
  await ask('POST', '/invitations', { email: 'invited@example.com', role: 'developer' }, 'session')
  const invitation = await until(
    () => control.deps.mail.sent.find(({ to }) => to === 'invited@example.com'),
    'the mail with the invitation',
  )
  const code = /#code=([\w-]{43})/.exec(invitation.text)![1]!
  shown('code of the invitation', code)
  const joined = { token: code, password: marker('invited person') }
  const accepted = await request(control.app, { method: 'POST', url: '/auth/accept-invitation', payload: joined })
  shown('session of the invited person', cookieOf(accepted).split('=')[1])
  shown('key', (await ask('POST', '/keys', { name: OPEN, scopes: ['read'] }, 'session')).body.value)
  secrets.set('key of the tenant', owner.key)
  await fillSecondFactor(third)
}

/** A second factor of the person who is logged in, whose password is `password`. */
async function fillSecondFactor(password: string): Promise<void> {
  const { uri } = (await ask('POST', '/second-factor/totp', { password }, 'session')).body
  const secret = new URL(uri).searchParams.get('secret')!
  shown('secret of the app', secret)
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: control.deps.clock.wall() })
  const confirmed = await ask('POST', '/second-factor/totp/confirm', { code }, 'session')
  const [used, kept] = confirmed.body.recovery_codes
  shown('recovery code, used', used)
  shown('recovery code', kept)
  shown('recovery code without dashes', kept.replaceAll('-', ''))
  const renewed = await ask('POST', '/second-factor/recovery-codes', { password, code: used }, 'session')
  shown('recovery code, renewed', renewed.body.recovery_codes[0])
}

async function fillTelephony(): Promise<void> {
  const trunk = { name: OPEN, mode: 'register', host: 'sip.carrier.test', username: 'u', numbers: [] }
  const made = await ask('POST', '/trunks', { ...trunk, password: marker('trunk') })
  await ask('PATCH', `/trunks/${made.body.id}`, { password: marker('trunk changed') })
  const phone = await ask('POST', '/softphones', { name: 'Desk', project_id: owner.projectId })
  shown('softphone', phone.body.password)
  shown('softphone renewed', (await ask('POST', `/softphones/${phone.body.id}/password`)).body.password)
}

async function fillWebhook(): Promise<void> {
  const hook = await ask('POST', '/webhooks', { url: receiver.url, events: ['call.failed'] })
  shown('webhook', hook.body.secret)
  shown('webhook rotated', (await ask('POST', `/webhooks/${hook.body.id}/rotate`)).body.secret)
  await ask('POST', `/webhooks/${hook.body.id}/test`)
  await receiver.arrived(1)
}

/** Sets each named secret of a project, and makes a call plan that contains all of them. */
async function fillProject(): Promise<void> {
  for (const name of ['LLM', 'FALLBACK', 'STT', 'VOICE', 'TOOL'])
    await ask('POST', '/secrets', { name, value: marker(`secret ${name}`) })
  await ask('PATCH', `/projects/${owner.projectId}`, {
    name: OPEN,
    llm: { provider: 'anthropic', model: 'm', api_key_secret: 'LLM' },
    llm_fallback: [{ provider: 'google', model: 'm', api_key_secret: 'FALLBACK' }],
    speech_to_text: [{ provider: 'deepgram', model: 'nova-3', api_key_secret: 'STT' }],
    text_to_speech: [{ provider: 'elevenlabs', voice: 'v', api_key_secret: 'VOICE' }],
    tools: [{ name: 'look', method: 'GET', url: receiver.url, headers: { Authorization: 'Bearer {{secret:TOOL}}' } }],
  })
  await ask('POST', `/projects/${owner.projectId}/tools/look/test`, { arguments: {} })
  expect(receiver.received.at(-1)?.headers.authorization).toBe(`Bearer ${secrets.get('secret TOOL')}`)
  await ask('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
}

/** All tables, those of the job queue too, row by row as text. */
async function everyRow(): Promise<string[]> {
  const { sql } = control.deps
  const tables = await sql<{ schema: string; name: string }[]>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`
  expect(tables.length).toBeGreaterThan(40)
  const rows: string[] = []
  for (const { schema, name } of tables) {
    const found = await sql<{ row: string }[]>`select t::text as row from ${sql(schema)}.${sql(name)} t`
    rows.push(...found.map(({ row }) => `${schema}.${name} ${row}`))
  }
  return rows
}

async function everyEntry(): Promise<string[]> {
  const { redis, config } = control.deps
  const entries: string[] = []
  for (const key of await redis.keys(`${config.redis_prefix}*`)) {
    const type = await redis.type(key)
    const read: Record<string, () => Promise<unknown>> = {
      string: () => redis.get(key),
      hash: () => redis.hgetall(key),
      stream: () => redis.xrange(key, '-', '+'),
      zset: () => redis.zrange(key, 0, -1),
      set: () => redis.smembers(key),
      list: () => redis.lrange(key, 0, -1),
    }
    entries.push(`${key} ${JSON.stringify(await read[type]!())}`)
  }
  return entries
}

/** As it is, and as bytes, Base64, a URL or JSON would have it; Base64 of a longer text begins at any of three places. */
function writings(value: string): string[] {
  const bytes = Buffer.from(value)
  const inner = [0, 1, 2].map(shift =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4)
      .replace(/=+$/, '')
      .slice(0, -2),
  )
  return [
    value,
    bytes.toString('hex'),
    encodeURIComponent(value),
    ...inner,
    ...inner.map(one => one.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

function found(places: readonly string[], value: string): string[] {
  const wanted = writings(value)
  return places.filter(place => wanted.some(one => place.includes(one))).map(place => place.slice(0, 60))
}

test('each field that takes a secret, and each that is shown once, is among what is filled', () => {
  const taken = walk.targets
    .filter(({ body }) => body !== null)
    .flatMap(({ id, body }) => fieldsOf(walk, body!.schema).map(({ name }) => `${id} ${name}`))
    .filter(name =>
      /(?:password|secret|token|credential|private_key|headers|\bvalue|\bkey|change_password \w+)$/i.test(name),
    )
  expect([...new Set(taken)].filter(name => !name.includes('api_key_secret')).sort()).toEqual([
    'accept_invitation password',
    'accept_invitation token',
    'change_password code',
    'change_password current',
    'change_password new',
    'confirm_password_reset password',
    'confirm_password_reset token',
    'create_project tools[].headers',
    'create_trunk password',
    'delete_account password',
    'disable_totp password',
    'log_in password',
    'renew_recovery_codes password',
    'set_secret value',
    'sign_up password',
    'start_passkey password',
    'start_totp password',
    'update_project tools[].headers',
    'update_trunk password',
  ])
  const once = control.app.operations.filter(({ secret }) => secret !== undefined).map(({ id }) => id)
  expect(once.sort()).toEqual([
    'add_passkey', // its recovery codes are those of confirm_totp
    'confirm_totp',
    'create_key',
    'create_realtime_session', // needs LiveKit; its token is signed, and kept nowhere
    'create_softphone',
    'create_webhook',
    'monitor_call', // the same
    'renew_recovery_codes',
    'renew_softphone_password',
    'rotate_webhook_secret',
    'start_totp',
  ])
})

test('none of them is in any table, in Redis, or in any line of the log', async () => {
  await fillAccess()
  await fillTelephony()
  await fillWebhook()
  await fillProject()
  const { redis, config } = control.deps
  // Trunks, softphones and the call's plan have gone the way to the engines.
  await until(async () => (await redis.keys(`${config.redis_prefix}*`)).length >= 3, 'control to publish')
  await until(async () => {
    const rows = await control.deps.sql`select 1 from calls where owner_id = ${owner.ownerId} and status <> 'queued'`
    return rows.length > 0 || (await everyEntry()).some(entry => entry.includes('call.place'))
  }, 'the plan to be offered')
  const [rows, entries] = [await everyRow(), await everyEntry()]
  const lines = control.deps.log.lines.map(line => inspect(line, { depth: null, maxStringLength: null }))
  expect(secrets.size).toBeGreaterThan(18)
  expect(found(rows, OPEN).length).toBeGreaterThan(2)
  expect(lines.length).toBeGreaterThan(20)
  for (const [what, value] of secrets) {
    expect([what, found(rows, value)]).toEqual([what, []])
    expect([what, found(entries, value)]).toEqual([what, []])
    expect([what, found(lines, value)]).toEqual([what, []])
  }
})

test('what is sealed opens by its own key and for its own owner alone', async () => {
  const { sql, sealer } = control.deps
  const [row] = await sql<{ sealed: string }[]>`select * from secrets where name = 'TOOL'`
  const name = `secret:${owner.ownerId}:TOOL`
  expect(sealer.open(row!.sealed, name)).toBe(secrets.get('secret TOOL'))
  expect(() => sealer.open(row!.sealed, `secret:${owner.ownerId}:LLM`)).toThrow()
  expect(() => createSealer('another secret').open(row!.sealed, name)).toThrow()
})
