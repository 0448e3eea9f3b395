import { expect, it } from 'vitest'
import { Transcriber } from '../../../media/agent/transcriber.ts'
import type { Transcript } from '../../../media/ports/speech.ts'
import { fakeClock } from '../../fakes/line.ts'
import { quietLog } from '../../support/world.ts'

function open(answer: (toMs: number, signal: AbortSignal) => Promise<Transcript>) {
  const clock = fakeClock()
  const stt = { transcribe: (_from: number, toMs: number, signal: AbortSignal) => answer(toMs, signal) }
  const reader = new Transcriber({ stt, clock, log: quietLog, signal: new AbortController().signal })
  return { clock, reader }
}
const said = (text: string): Transcript => ({ text, confidence: null })

it('gives up a part of the words when more of them are asked for', async () => {
  const given: number[] = []
  const { reader } = open((toMs, signal) => {
    if (toMs === 900) return Promise.resolve(said('four seven one nine'))
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        given.push(toMs)
        reject(signal.reason)
      }),
    )
  })
  const part = reader.read(0, 500)
  expect(await reader.read(0, 900)).toEqual({ text: 'four seven one nine', failed: false })
  expect(await part).toBeNull()
  expect(given).toEqual([500])
  expect(reader.out).toBe(false)
})

it('is out after three failures in a row, but not before ten seconds', async () => {
  const { clock, reader } = open(() => Promise.reject(new Error('busy')))
  for (let n = 0; n < 5; n++) expect(await reader.read(0, 500)).toEqual({ text: '', failed: true })
  expect(reader.out).toBe(false)
  await clock.advance(10_000)
  expect(reader.out).toBe(true)
})

it('counts anew after words', async () => {
  let up = false
  const { clock, reader } = open(() => (up ? Promise.resolve(said('yes')) : Promise.reject(new Error('busy'))))
  for (let n = 0; n < 3; n++) await reader.read(0, 500)
  up = true
  await clock.advance(20_000)
  await reader.read(0, 900)
  up = false
  await reader.read(0, 1200)
  expect(reader.out).toBe(false)
})
