/** What an engine leaves for the next of its name: the dialogs that a drachtio-server still holds. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keepOpenDialogs } from '../../infra/open-dialogs.ts'
import { quietLog, until } from '../support/world.ts'

let home: string
const files = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])
const texts = (folder: string) => files(folder).map(name => readFileSync(join(folder, name), 'utf8'))
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'parley-dialogs-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

it('are those that have not ended, whatever a caller wrote in his Call-ID', async () => {
  const folder = join(home, 'some')
  const killed = await keepOpenDialogs(folder, quietLog)
  expect(killed.all()).toEqual([])
  const ids = [`../../${'x'.repeat(300)}@192.0.2.1;from-tag=a;uac`, 'b1c2@host;uas', 'c1d2@host;uac']
  // First, so that there are three files only when all is done.
  const gone = ['ended@host;uas', 'at once@host;uas']
  for (const id of gone) killed.opened(id)
  for (const id of gone) killed.ended(id)
  for (const id of ids) killed.opened(id)
  await until(() => files(folder).length === 3 && texts(folder).every(text => text !== ''), 'three files')

  const next = await keepOpenDialogs(folder, quietLog)
  expect([...next.all()].sort()).toEqual(ids.toSorted())
  for (const id of next.all()) next.ended(id)
  expect(next.all()).toEqual([])
  await until(() => !existsSync(folder), 'no folder')
  next.opened(ids[0]!)
  await until(() => texts(folder).join() === ids[0], 'a file again')
})

it('are none where a process was killed before it had written which', async () => {
  const folder = join(home, 'torn')
  const killed = await keepOpenDialogs(folder, quietLog)
  killed.opened('a@host;uas')
  await until(() => texts(folder).join() === 'a@host;uas', 'a file')
  writeFileSync(join(folder, readdirSync(folder)[0]!), '')
  expect((await keepOpenDialogs(folder, quietLog)).all()).toEqual([])
  expect(files(folder)).toEqual([])
})
