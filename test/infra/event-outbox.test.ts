/** Events that Redis did not accept: the process waits, is killed, or has a full disk. */
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openEventOutbox } from '../../infra/adapters/event-outbox.ts'
import { createEventSender } from '../../media/bus/event-sender.ts'
import type { EventOutbox } from '../../media/ports/event-outbox.ts'
import { fakeClock } from '../fakes/line.ts'
import { quietLog, recordingLog, until } from '../support/world.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-outbox-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A Redis that rejects everything until it is back, and then accepts all events in order. */
function startRedis() {
  const taken: string[] = []
  const waiting: (() => void)[] = []
  let away = true
  return {
    taken,
    back() {
      away = false
      for (const take of waiting.splice(0)) take()
    },
    add: (text: string) =>
      new Promise<void>(resolve => {
        const take = () => {
          taken.push(text)
          resolve()
        }
        if (away) waiting.push(take)
        else take()
      }),
  }
}

const files = () => readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
const kept = () => files().join('')
const lines = (count: number, of = 'e') => Array.from({ length: count }, (_, n) => `{"${of}":${n + 1}}`)

async function startSender(outbox?: EventOutbox, startedMs = 1000) {
  const redis = startRedis()
  const clock = fakeClock()
  const on = outbox ?? openEventOutbox(folder, startedMs, quietLog)
  return { redis, clock, sender: createEventSender({ add: redis.add, outbox: on, clock, log: quietLog }) }
}

it('writes nothing while Redis accepts events', async () => {
  const { redis, clock, sender } = await startSender()
  redis.back()
  await sender.send({ e: 1 })
  clock.advance(1000)
  expect([redis.taken, files()]).toEqual([['{"e":1}'], []])
})

it('spools delayed events to disk in order, and deletes the file afterwards', async () => {
  const { redis, clock, sender } = await startSender()
  const send = sender.inOrder()
  const sent = [send({ e: 1 }), send({ e: 2 })]
  clock.advance(300)
  sent.push(send({ e: 3 }))
  await until(() => kept() === `${lines(3).join('\n')}\n`, 'three lines')
  expect(statSync(join(folder, readdirSync(folder)[0]!)).mode & 0o777).toBe(0o600)
  redis.back()
  await Promise.all(sent)
  expect(redis.taken).toEqual(lines(3))
  await until(() => files().length === 0, 'no file')
})

it("sends a dead process's events once, without a torn line", async () => {
  const first = await startSender()
  const send = first.sender.inOrder()
  for (let e = 1; e <= 3; e++) void send({ e })
  first.clock.advance(300)
  await until(() => kept().endsWith('{"e":3}\n'), 'three lines')
  appendFileSync(join(folder, readdirSync(folder)[0]!), '{"e":4')

  const second = await startSender(undefined, 2000)
  second.redis.back()
  await second.sender.recover()
  expect(second.redis.taken).toEqual(lines(3))
  expect(files()).toEqual([])
  await second.sender.recover()
  expect(second.redis.taken).toHaveLength(3)
})

it('sends files of dead processes oldest first, and keeps them until Redis has the last event', async () => {
  writeFileSync(join(folder, '000000000002000-1.ndjson'), `${lines(1, 'b').join('\n')}\n`)
  writeFileSync(join(folder, '000000000001000-9.ndjson'), `${lines(2, 'a').join('\n')}\n`)
  const { redis, sender } = await startSender(undefined, 3000)
  const recovered = sender.recover()
  expect(files()).toHaveLength(2)
  redis.back()
  await recovered
  expect(redis.taken).toEqual([...lines(2, 'a'), ...lines(1, 'b')])
  expect(files()).toEqual([])
})

it('retries a rejected event before later ones', async () => {
  const taken: string[] = []
  let refusals = 2
  const clock = fakeClock()
  const add = async (text: string) => {
    if (refusals-- > 0) throw new Error('MISCONF disk is full')
    taken.push(text)
  }
  const send = createEventSender({ add, outbox: null, clock, log: quietLog }).inOrder()
  const sent = Promise.all([send({ e: 1 }), send({ e: 2 })])
  for (let i = 0; i < 3; i++) {
    await new Promise(resolve => setImmediate(resolve))
    clock.advance(1000)
  }
  await sent
  expect(taken).toEqual(lines(2))
})

it('logs a disk failure and loses no event', async () => {
  const log = recordingLog()
  writeFileSync(join(folder, 'file'), '')
  const outbox = openEventOutbox(join(folder, 'file', 'events'), 1, log)
  const { redis, clock, sender } = await startSender(outbox)
  await sender.recover()
  const sent = sender.send({ e: 1 })
  clock.advance(300)
  redis.back()
  await sent
  expect(redis.taken).toEqual(lines(1))
  expect(existsSync(join(folder, 'file', 'events'))).toBe(false)
  await until(() => log.lines.length > 0, 'a word in the log')
})
