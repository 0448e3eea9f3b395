/** `npm run admin`, with a control plane on the same database. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isOwned } from '../../control/data/accounts/export.ts'
import { ownedTables } from '../../control/data/accounts/owned-tables.ts'
import { createTerminalMail, showMail } from '../../infra/adapters/mail.ts'
import { runAdmin } from '../../infra/admin/admin.ts'
import { lockHome } from '../../infra/embedded/home.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'
import { fillPersonal, IVAN } from '../support/personal.ts'
import { until } from '../support/world.ts'

const program = join(import.meta.dirname, '../../infra/bin/admin.ts')
let control: TestControl
let home: string
beforeAll(async () => {
  control = await createControl()
  home = await mkdtemp(join(tmpdir(), 'parley-admin-'))
})
afterAll(async () => {
  await control?.close()
  await rm(home, { recursive: true, force: true })
})

interface Ran {
  code: number | null
  out: string
  err: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any
}

interface Given {
  input?: string
  env?: NodeJS.ProcessEnv
}

const settings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...process.env,
  PARLEY_HOME: home,
  DATABASE_URL: control.databaseUrl,
  MINUTE_PRICE: '5',
  ...env,
})
const answered = (args: string[], ran: Omit<Ran, 'json'>): Ran => ({
  ...ran,
  json: args.includes('--json') && ran.out ? JSON.parse(ran.out) : null,
})

/** Runs the command within this process. */
async function run(args: string[], { env = {} }: Pick<Given, 'env'> = {}): Promise<Ran> {
  let [out, err] = ['', '']
  const code = await runAdmin(args, {
    env: settings(env),
    print: text => (out += `${text}\n`),
    printError: text => (err += `${text}\n`),
    readPassword: () => Promise.reject(new Error('no terminal')),
  })
  return answered(args, { code, out, err })
}

/** Runs the command as its own process. */
function runProgram(args: string[], { input = '', env = {} }: Given = {}): Promise<Ran> {
  const child = spawn(process.execPath, [program, ...args], { env: settings(env) })
  child.stdin.end(input)
  let [out, err] = ['', '']
  child.stdout.on('data', data => (out += String(data)))
  child.stderr.on('data', data => (err += String(data)))
  return new Promise(resolve => child.on('close', code => resolve(answered(args, { code, out, err }))))
}

describe('accounts', () => {
  test('are made with a password from standard input, listed, and shown by e-mail', async () => {
    const made = await runProgram(
      ['create-account', '--email', 'Op@example.com', '--name', 'Операторская', '--password', '--json'],
      {
        input: 'a long password\n',
        env: { SIGN_UP: 'off' },
      },
    )
    expect(made).toMatchObject({
      code: 0,
      json: { email: 'Op@example.com', balance: '100.0000', subscription: 'active' },
    })
    const payload = { email: 'op@example.com', password: 'a long password' }
    expect((await request(control.app, { method: 'POST', url: '/auth/log-in', payload })).status).toBe(200)

    const again = await runProgram(['create-account', '--email', 'op@example.com'])
    expect(again).toMatchObject({ code: 1, out: '', err: 'An account with this e-mail already exists.\n' })
    const short = await runProgram(['create-account', '--email', 'b@example.com', '--password'], { input: 'short' })
    expect(short.code).toBe(2)

    const list = await run(['accounts'])
    expect(list.code).toBe(0)
    const [head, ...rows] = list.out.trimEnd().split('\n')
    const column = head!.indexOf('balance')
    const row = rows.find(text => text.includes('Op@example.com'))!
    expect(row.slice(column)).toMatch(/^100\.0000 /)
    expect((await run(['accounts', '--json'])).json).toContainEqual(
      expect.objectContaining({ id: made.json.id, held: '0.0000', subscription: 'active' }),
    )
    expect((await run(['account', 'OP@example.com', '--json'])).json).toEqual(made.json)
  })

  test('receive balance, price and subscription, visible in the API', async () => {
    const tenant = await createTenant(control)
    const id = tenant.ownerId
    expect((await run(['top-up', id, '50.5', '--reference', 'Invoice 7', '--json'])).json).toMatchObject({
      balance: '150.5000',
    })
    const entries = await tenant.call('GET', '/balance/entries')
    expect(JSON.stringify(entries.body)).toContain('Invoice 7')
    expect((await run(['set-price', id, '2.25', '--json'])).json).toMatchObject({
      minute_price: '2.2500',
      own_price: true,
    })
    expect((await tenant.call('GET', '/balance')).body).toMatchObject({
      balance: { amount: '150.5000' },
      held: { amount: '0.0000' },
      minute_price: { amount: '2.2500' },
    })
    expect((await run(['set-price', id, 'default', '--json'])).json).toMatchObject({ minute_price: '5.0000' })

    const paid = await run(['set-subscription', id, 'active', '--until', '2099-01-31', '--plan', 'gold', '--json'])
    expect(paid.json).toMatchObject({ subscription: 'active', ends_at: '2099-01-31T00:00:00.000Z' })
    expect((await run(['set-subscription', id, 'inactive', '--json'])).json).toMatchObject({ subscription: 'inactive' })
    expect((await tenant.call('GET', '/balance')).body.subscription).toEqual({ status: 'inactive', ends_at: null })
    const [row] = await control.deps.sql`select plan from subscriptions where owner_id = ${id}`
    expect(row).toEqual({ plan: 'gold' })
    const over = await run(['set-subscription', id, 'active', '--until', '2020-01-01', '--json'])
    expect(over.json).toMatchObject({ subscription: 'inactive' })
  })

  test('have keys, created and revoked', async () => {
    const tenant = await createTenant(control)
    const made = await run(['create-key', tenant.ownerId, '--name', 'CI', '--scopes', 'read', '--json'])
    expect(made).toMatchObject({ code: 0, json: { name: 'CI', scopes: ['read'] } })
    const headers = { 'x-api-key': made.json.value }
    const use = () => request(control.app, { method: 'GET', url: '/v1/public/projects', headers })
    expect((await use()).status).toBe(200)
    const list = await run(['keys', tenant.ownerId])
    expect(list.out).toContain(made.json.prefix)
    expect(list.out).not.toContain(made.json.value)
    expect((await run(['revoke-key', made.json.id])).code).toBe(0)
    control.deps.clock.advance(5000)
    expect((await use()).status).toBe(401)
    expect((await run(['revoke-key', randomUUID()])).code).toBe(1)
  })
})

describe('arguments', () => {
  test('exits with 2 for invalid arguments and 1 for failures', async () => {
    const help = await runProgram(['--help'])
    expect(help.code).toBe(0)
    for (const name of ['top-up <id|email> <amount>', 'delete <id|email> --yes', 'export'])
      expect(help.out).toContain(name)
    expect((await run(['top-up', '--help'])).out).toContain('top-up <id|email> <amount> [--reference <text>]')
    const wrong: [string[], number, RegExp][] = [
      [[], 2, /<command>/],
      [['fly'], 2, /Unknown command "fly"/],
      [['toString'], 2, /Unknown command/],
      [['account'], 2, /Wrong number of arguments/],
      [['accounts', '--loud'], 2, /--loud/],
      [['top-up', randomUUID(), 'much'], 2, /not an amount/],
      [['top-up', randomUUID(), '99999999999999999999'], 2, /exceeds the maximum/],
      [['set-subscription', randomUUID(), 'active', '--until', 'soon'], 2, /not a date/],
      [['create-key', randomUUID(), '--name', 'a', '--scopes', 'read,admin'], 2, /Unknown scope "admin"/],
      [['delete', 'nobody@example.com', '--yes'], 1, /not found/],
      [['account', randomUUID()], 1, /not found/],
    ]
    for (const [args, code, words] of wrong) {
      const ran = await run(args)
      expect([args, ran.code, ran.out]).toEqual([args, code, ''])
      expect(ran.err).toMatch(words)
    }
  }, 180_000)

  test('uses the installation of the folder, and reports a missing one', async () => {
    const env = { DATABASE_URL: '' }
    const none = await run(['accounts'], { env })
    expect(none).toMatchObject({ code: 1, out: '' })
    expect(none.err).toMatch(/is not running in this directory .*npm start/)

    const parley = await lockHome(home)
    expect((await run(['accounts'], { env })).code).toBe(1) // it has not come so far
    parley.publish({ database_url: control.databaseUrl, redis_url: 'redis://127.0.0.1:1' })
    expect((await stat(join(home, 'connections.json'))).mode & 0o777).toBe(0o600)
    expect((await run(['accounts', '--json'], { env })).json.length).toBeGreaterThan(0)
    parley.release()
    expect((await run(['accounts'], { env })).code).toBe(1)

    // One that was killed left its files behind; another process may have its number now.
    await writeFile(join(home, 'running.json'), JSON.stringify({ pid: process.pid, started: '1', children: [] }))
    await writeFile(join(home, 'connections.json'), JSON.stringify({ database_url: control.databaseUrl }))
    expect((await run(['accounts'], { env })).code).toBe(1)
  }, 30_000)

  test('rejects an invalid setting by name', async () => {
    const ran = await run(['accounts'], { env: { SIGN_UP: 'perhaps', SESSION_DAYS: '0' } })
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.err).toMatch(/SIGN_UP.*\n.*SESSION_DAYS/)
  })

  test('reports an unreachable database', async () => {
    const ran = await run(['accounts'], { env: { DATABASE_URL: 'postgres://nobody:secret-word@127.0.0.1:1/none' } })
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.err).toMatch(/Couldn’t connect to the database/)
    expect(ran.err).not.toContain('secret-word')
  })
})

// ---- all data of an account ----

const PHONE = IVAN.phone
const fill = (tenant: Tenant) => fillPersonal(control, tenant)

async function rowsOf(ownerId: string): Promise<Record<string, number>> {
  const { sql } = control.deps
  const counts: Record<string, number> = {}
  for (const table of ownedTables) {
    const [row] = await sql`select count(*)::int as n from ${sql(table.name)} where ${isOwned(sql, ownerId, table)}`
    counts[table.name] = row!['n'] as number
  }
  return counts
}

describe('account data', () => {
  test('covers every table', async () => {
    const tables = await control.deps.sql<{ name: string; owned: boolean }[]>`
      select tables.table_name as name, columns.column_name is not null as owned
      from information_schema.tables left join information_schema.columns
        on columns.table_schema = tables.table_schema and columns.table_name = tables.table_name
        and columns.column_name = 'owner_id'
      where tables.table_schema = 'parley' and tables.table_type = 'BASE TABLE'`
    const ours = ['accounts', 'schema_migrations', 'trunks_version', 'knowledge_models']
    expect(ownedTables.map(table => table.name).sort()).toEqual(
      tables
        .map(table => table.name)
        .filter(name => !ours.includes(name))
        .sort(),
    )
    for (const { name, owned } of tables) {
      const known = ownedTables.find(table => table.name === name)
      if (known) expect([name, known.through === undefined]).toEqual([name, owned])
    }
  })

  test('exports all rows of any size, without secrets, and never overwrites a file', async () => {
    const tenant = await createTenant(control)
    await fill(tenant)
    await control.deps.sql`
      insert into contacts (id, owner_id, phone, name, created_at)
      select gen_random_uuid(), ${tenant.ownerId}, '+7999' || n, 'Contact ' || n, now() from generate_series(1, 1000) n`
    await fill(await createTenant(control))
    const counts = await rowsOf(tenant.ownerId)
    const file = join(home, 'export.json')
    const ran = await run(['export', tenant.ownerId, file, '--json'])
    expect(ran).toMatchObject({ code: 0, json: { file } })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const text = await readFile(file, 'utf8')
    expect(Buffer.byteLength(text)).toBe(ran.json.bytes)
    const data = JSON.parse(text)
    expect(data.account).toMatchObject({ id: tenant.ownerId, name: 'Test', email: null })
    for (const table of ownedTables) {
      if (table.exported) expect([table.name, data[table.name].length]).toEqual([table.name, counts[table.name]])
      else expect(data).not.toHaveProperty(table.name)
    }
    expect(data.calls[0]).toMatchObject({ to_phone: PHONE, cost: '1.2345', transcript: [{ text: 'It is Ivan' }] })
    expect(new Set(data.contacts.map((contact: { phone: string }) => contact.phone)).size).toBe(1001)
    expect(data.secrets).toMatchObject([{ name: 'CRM' }])
    expect(data.ledger_entries[0]).toMatchObject({ amount: expect.stringMatching(/^-?100\.0000$/) })
    expect(text).not.toMatch(/sealed|hash|"password/)

    const again = await run(['export', tenant.ownerId, file])
    expect(again).toMatchObject({ code: 1, err: `${file} already exists.\n` })
    expect(await readFile(file, 'utf8')).toBe(text)
    expect((await run(['export', tenant.ownerId, join(home, 'no', 'where')])).code).toBe(1)
  }, 30_000)

  test('erases everything except the ledger; other accounts stay', async () => {
    const tenant = await createTenant(control)
    const other = await createTenant(control)
    await fill(tenant)
    await fill(other)
    await control.deps.sql`update accounts set email = 'gone@example.com' where id = ${tenant.ownerId}`
    const before = await rowsOf(tenant.ownerId)
    for (const [name, rows] of Object.entries(before)) expect([name, rows > 0]).toEqual([name, true])
    const others = await rowsOf(other.ownerId)
    expect((await tenant.call('GET', '/projects')).status).toBe(200)

    const unsure = await run(['delete', tenant.ownerId])
    expect(unsure).toMatchObject({ code: 2, out: '' })
    await control.deps.sql`update calls set ended_at = null where owner_id = ${tenant.ownerId}`
    const live = await run(['delete', 'gone@example.com', '--yes'])
    expect(live).toMatchObject({ code: 1, err: expect.stringContaining('The account has 1 calls in progress') })
    expect(await rowsOf(tenant.ownerId)).toEqual(before)
    expect((await tenant.call('GET', '/projects')).status).toBe(200)
    await control.deps.sql`update calls set ended_at = now() where owner_id = ${tenant.ownerId}`
    const [version] = await control.deps.sql`select version from trunks_version`

    // Another process believes the key a little longer; what is made with it in that time must not stay.
    const statuses: number[] = []
    const running = runProgram(['delete', 'gone@example.com', '--yes', '--json'])
    const late = setInterval(() => {
      const body = { name: 'Late', language: 'en', prompt: 'Hello.' }
      void tenant.call('POST', '/projects', body).then(({ status }) => statuses.push(status))
    }, 50)
    const ran = await running
    clearInterval(late)
    expect(new Set(statuses)).toEqual(new Set([201, 401]))
    expect(statuses.indexOf(401)).toBeGreaterThan(20)
    expect(ran).toMatchObject({ code: 0, json: { deleted: true, balance: '100.0000' } })
    const after = await rowsOf(tenant.ownerId)
    // The audit log keeps the entry of the erasure itself.
    const left = (name: string, erased: boolean) => (name === 'audit_log' ? 1 : erased ? 0 : before[name])
    for (const { name, erased } of ownedTables) expect([name, after[name]]).toEqual([name, left(name, erased)])
    expect(await rowsOf(other.ownerId)).toEqual(others)
    const [row] = await control.deps.sql`select * from accounts where id = ${tenant.ownerId}`
    expect(row).toMatchObject({ name: '', email: null, password_hash: null, deleted_at: expect.any(Date) })
    const [raised] = await control.deps.sql`select version from trunks_version`
    expect(raised!['version']).toBeGreaterThan(version!['version'] as number)
    const jobs = await control.deps
      .sql`select 1 from parley_jobs.job where name = 'trunks.publish' and state = 'created'`
    expect(jobs.length).toBeGreaterThan(0)

    control.deps.clock.advance(5000)
    expect((await tenant.call('GET', '/projects')).status).toBe(401)
    expect((await run(['top-up', tenant.ownerId, '1'])).code).toBe(1)
    expect((await run(['account', tenant.ownerId, '--json'])).json.deleted_at).not.toBeNull()
    expect((await run(['accounts'])).out).not.toContain(tenant.ownerId)
    const payload = { email: 'gone@example.com', password: 'a long password' }
    expect((await request(control.app, { method: 'POST', url: '/auth/sign-up', payload })).status).toBe(201)
  }, 180_000)
})

test('prints mail on the terminal; its file is readable by its owner only', async () => {
  const folder = join(home, 'mail')
  const shown: string[] = []
  const watching = showMail(folder, text => shown.push(text))
  await createTerminalMail(folder).send({ to: 'a@example.com', subject: 'Hello', text: 'The code is 42.' })
  await until(() => shown.length > 0, 'the mail')
  expect(shown).toEqual(['To: a@example.com\nSubject: Hello\n\nThe code is 42.\n'])
  await watching.stop()
  const [name] = (await import('node:fs')).readdirSync(folder)
  expect((await stat(join(folder, name!))).mode & 0o777).toBe(0o600)
})
