/** `node infra/bin/backup.ts` as a separate process. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../control/platform/db/connect.ts'
import { recordingKey } from '../../media/contract/recordings.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'
import { createDatabase } from '../support/database.ts'
import { fillPersonal, IVAN } from '../support/personal.ts'

const program = join(import.meta.dirname, '../../infra/bin/backup.ts')
const SECRET = 'test secret of a backup'
let control: TestControl
let owner: Tenant
let home: string
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control)
  await fillPersonal(control, owner)
  home = await mkdtemp(join(tmpdir(), 'parley-backup-'))
})
afterAll(async () => {
  await control?.close()
  await rm(home, { recursive: true, force: true })
})

function run(args: string[], env: NodeJS.ProcessEnv): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, PARLEY_HOME: home, PARLEY_SECRET: SECRET, ...env },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', data => (out += String(data)))
  child.stderr.on('data', data => (err += String(data)))
  return new Promise(resolve => child.on('close', code => resolve({ code, out, err })))
}

test('makes a backup and restores it, and says what it did', async () => {
  const [call] = await control.deps.sql`select id from calls where owner_id = ${owner.ownerId}`
  const backup = join(home, 'backup')
  // Its blobs are elsewhere: those of this control lie in a folder of its own.
  const made = await run(['make', backup], { DATABASE_URL: control.databaseUrl })
  expect([made.code, made.err]).toEqual([0, ''])
  expect(made.out).toMatch(/5\d tables as of 20.*Z, 0 files\. 2 files no longer existed/)
  expect((await stat(backup)).mode & 0o777).toBe(0o700)
  expect(await run(['make', backup], { DATABASE_URL: control.databaseUrl })).toMatchObject({ code: 2, out: '' })

  const target = await createDatabase({ empty: true })
  const wrong = await run(['restore', backup], { DATABASE_URL: target.url, PARLEY_SECRET: 'another secret altogether' })
  expect(wrong).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('PARLEY_SECRET differs from the one used for the backup'),
  })
  const restored = await run(['restore', backup], { DATABASE_URL: target.url })
  expect([restored.code, restored.err]).toEqual([0, ''])
  expect(restored.out).toContain('Before you start Parley, empty Redis')
  const sql = connect({ url: target.url, max: 1 })
  expect(await sql`select to_phone, recording ->> 'key' as key from calls`).toEqual([
    { to_phone: IVAN.phone, key: recordingKey(owner.ownerId, call!['id']) },
  ])
  await sql.end()
  const full = await run(['restore', backup], { DATABASE_URL: target.url })
  expect(full).toMatchObject({ code: 1, err: expect.stringContaining('The database has accounts') })
  await target.drop()
}, 300_000)

test('says what it does not understand, and where there is nothing', async () => {
  expect(await run([], {})).toMatchObject({ code: 2, out: '', err: expect.stringContaining('restore <folder>') })
  const none = await run(['make', join(home, 'other')], { DATABASE_URL: '' })
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining('is not running in this directory') })
}, 120_000)
