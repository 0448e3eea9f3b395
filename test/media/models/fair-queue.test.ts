/** Turns of calls in the speech process. Each job takes as long as it says, on a clock of its own. */
import { expect, it } from 'vitest'
import { FairQueue } from '../../../media/models/speech/fair-queue.ts'
import { settle } from '../../fakes/line.ts'

function open() {
  let nowMs = 0
  const queue = new FairQueue(() => nowMs)
  const done: { line: string; atMs: number }[] = []
  const add = (line: string, ms: number, after?: () => void): boolean =>
    queue.add({
      line,
      async run() {
        await settle()
        nowMs += ms
        done.push({ line, atMs: nowMs })
        after?.()
      },
    })
  const finished = async (count: number) => {
    while (done.length < count) await settle()
    return done.map(({ line }) => line).join('')
  }
  return { add, done, finished }
}

it('does the jobs of one call in order, and those of several in turns', async () => {
  const { add, finished } = open()
  for (const line of ['a', 'a', 'a', 'b', 'b', 'c']) add(line, 100)
  expect(await finished(6)).toBe('abcaba')
})

it('lets a quiet call wait for the job that runs only, however often another asks', async () => {
  const { add, done, finished } = open()
  // A call with noise asks again as soon as it is answered.
  const again = () => void add('noisy', 300, done.length < 100 ? again : undefined)
  for (let n = 0; n < 4; n++) again()
  await finished(10)
  const askedMs = done.at(-1)!.atMs
  add('quiet', 100)
  await finished(13)
  const quiet = done.find(({ line }) => line === 'quiet')!
  expect(quiet.atMs - askedMs).toBeLessThanOrEqual(300 + 100)
})

it('gives a new call no credit for the time before it came', async () => {
  const { add, done, finished } = open()
  add('old', 5000)
  await finished(1)
  for (let n = 0; n < 4; n++) add('new', 100)
  for (let n = 0; n < 4; n++) add('old', 100)
  await finished(9)
  expect(done.slice(1, 5).filter(({ line }) => line === 'new').length).toBeLessThan(4)
})

it('goes by time, not by jobs', async () => {
  const { add, finished } = open()
  const long = (left: number): void => void add('L', 400, left > 0 ? () => long(left - 1) : undefined)
  const short = (left: number): void => void add('s', 100, left > 0 ? () => short(left - 1) : undefined)
  long(4)
  short(19)
  const order = (await finished(15)).slice(0, 15)
  expect(order.split('L').length - 1).toBeLessThanOrEqual(4)
})

it('refuses more than four of one call, and 256 together', async () => {
  const { add, finished } = open()
  add('running', 1)
  for (let n = 0; n < 4; n++) expect(add('a', 1)).toBe(true)
  expect(add('a', 1)).toBe(false)
  for (let n = 0; n < 252; n++) add(`call ${n}`, 1)
  expect(add('last', 1)).toBe(false)
  await finished(257)
  expect(add('last', 1)).toBe(true)
})
