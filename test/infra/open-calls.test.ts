/** Calls that a drachtio-server still holds when an engine restarts under the same name. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keepOpenCalls } from '../../infra/adapters/open-calls.ts'
import type { OpenCall } from '../../sip/trunk/requests/open-calls.ts'
import { quietLog, until } from '../support/world.ts'

let home: string
const files = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])
const texts = (folder: string) => files(folder).map(name => readFileSync(join(folder, name), 'utf8'))
const answered = (id: string): OpenCall => ({ endedBy: 'BYE', id })
const ringing = (id: string): OpenCall => ({ endedBy: 'CANCEL', id })
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'parley-calls-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

it('are calls without an end, whatever the Call-ID contains', async () => {
  const folder = join(home, 'some')
  const killed = await keepOpenCalls(folder, quietLog)
  expect(killed.all()).toEqual([])
  const left = [
    answered(`../../${'x'.repeat(300)}@192.0.2.1;from-tag=a;uac`),
    answered('b1c2 @host;uas'),
    ringing('b1c2 @host;uas'),
    ringing('3e8c5d1a'),
  ]
  // First, so that there are as many files as are left only when all is done.
  const gone = [answered('ended@host;uas'), ringing('at once')]
  for (const call of gone) killed.opened(call)
  for (const call of gone) killed.ended(call)
  for (const call of left) killed.opened(call)
  const isWhole = (text: string) => text.endsWith('\n')
  await until(() => files(folder).length === left.length && texts(folder).every(isWhole), 'all files')

  const next = await keepOpenCalls(folder, quietLog)
  expect(new Set(next.all())).toEqual(new Set(left))
  for (const call of next.all()) next.ended(call)
  expect(next.all()).toEqual([])
  await until(() => !existsSync(folder), 'no folder')
  next.opened(left[0]!)
  await until(() => texts(folder).join() === `BYE ${left[0]!.id}\n`, 'a file again')
})

it('are none when a process was killed before writing', async () => {
  const folder = join(home, 'torn')
  const killed = await keepOpenCalls(folder, quietLog)
  killed.opened(answered('a@host;uas'))
  await until(() => texts(folder).join() === 'BYE a@host;uas\n', 'a file')
  writeFileSync(join(folder, readdirSync(folder)[0]!), 'BYE a@ho')
  expect((await keepOpenCalls(folder, quietLog)).all()).toEqual([])
  expect(files(folder)).toEqual([])
})
