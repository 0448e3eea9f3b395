/** Text that the agent marks as heard, compared with the transcription of the audio up to the interruption. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { heardText, paceOf } from '../../../media/agent/heard.ts'
import { fromFirstSound } from '../../../media/agent/speech-output.ts'
import { concatPcm, createChunker } from '../../../media/audio/frames.ts'
import { createSpeechClient, type SpeechClient } from '../../../media/models/speech/client.ts'
import { type SpeechServer, startSpeechServer } from '../../../media/models/speech/server.ts'
import { loadModels } from '../../../media/models/speech/sherpa.ts'
import type { SpokenWord } from '../../../media/ports/speech.ts'
import { quietLog } from '../../support/world.ts'

const SENTENCES = [
  'Your table for four people is booked for tomorrow at seven in the evening.',
  'The museum is open every day from nine in the morning until six in the evening.',
  'I am sorry, we do not have a free room for that night, but there is one on Sunday.',
  'Please bring your passport, your ticket, and the letter that we sent you last week.',
  'The doctor can see you on Monday at half past ten, or on Wednesday in the afternoon.',
  'We will send the new card to your home address within the next five working days.',
]
const SHARES = [0.2, 0.35, 0.5, 0.65, 0.8]

let server: SpeechServer
let client: SpeechClient
beforeAll(async () => {
  const models = await loadModels(modelsFolder(readConfig().cache), 1)
  server = await startSpeechServer({ host: '127.0.0.1', port: 0, models, log: quietLog })
  client = createSpeechClient({ host: '127.0.0.1', port: server.port, clock: systemClock, log: quietLog })
  await client.ready
})
afterAll(async () => {
  client.close()
  await server.close()
})

const never = new AbortController().signal
async function say(text: string): Promise<{ pcm: Int16Array; rate: number }> {
  const parts: Int16Array[] = []
  let rate = 0
  for await (const { pcm, sampleRate } of client.tts.speak({ text, voice: null, language: 'en' }, never)) {
    parts.push(pcm)
    rate = sampleRate
  }
  return { pcm: fromFirstSound(concatPcm(parts), rate), rate }
}
async function read(pcm: Int16Array, sampleRate: number): Promise<string> {
  const stream = client.stt.open({ sampleRate, language: 'en' })
  let atMs = 0
  for (const frame of createChunker(sampleRate / 50).push(pcm)) {
    atMs += 20
    stream.push({ pcm: frame, atMs, concealed: false })
  }
  const { text } = await stream.transcribe(0, atMs, never)
  stream.close()
  return text
}
const count = (text: string) => text.split(/\s+/).filter(Boolean).length

describe('position of an interruption', () => {
  it('is estimated with a median error of at most one word, with full or partial audio', async () => {
    const errors: number[] = []
    // As a playout learns it from the sentence before.
    let pace: number | undefined
    for (const text of SENTENCES) {
      const { pcm, rate } = await say(text)
      const totalMs = (pcm.length * 1000) / rate
      for (const share of SHARES) {
        const playedMs = totalMs * share
        const truth = count(await read(pcm.subarray(0, (playedMs * rate) / 1000), rate))
        errors.push(Math.abs(count(heardText({ text, playedMs, totalMs })) - truth))
        errors.push(Math.abs(count(heardText({ text, playedMs, totalMs: null, ...(pace ? { pace } : {}) })) - truth))
      }
      pace = paceOf(text, totalMs)
    }
    errors.sort((a, b) => a - b)
    const at = (share: number) => errors[Math.floor((errors.length - 1) * share)]!
    console.log(`word of the cut: median error ${at(0.5)}, p90 ${at(0.9)}, worst ${at(1)} of ${errors.length} cuts`)
    expect(at(0.5)).toBeLessThanOrEqual(1)
    expect(at(0.9)).toBeLessThanOrEqual(2)
  }, 300_000)
})

describe("a vendor's word times", () => {
  const text = 'Your table, no. 42, is booked for "eight" o\'clock.'
  const times = (...words: string[]): SpokenWord[] =>
    words.map((word, i) => ({ text: word, startMs: i * 300, endMs: i * 300 + 280 }))
  const said = times('Your', 'table,', 'no.', 'forty-two', 'is', 'booked', 'for', 'eight', "o'clock.")
  it.each([
    [100, ''],
    [200, 'Your'],
    [500, 'Your table,'],
    [1100, 'Your table, no.'],
    [1400, 'Your table, no. 42, is'],
    [2300, 'Your table, no. 42, is booked for "eight"'],
  ])('yield after %i ms the heard text %j', (playedMs, heard) => {
    expect(heardText({ text, playedMs, totalMs: 2700, words: said })).toBe(heard)
  })
  it('are extrapolated when they end before the audio', () => {
    expect(heardText({ text, playedMs: 2700, totalMs: 2700, words: said.slice(0, 3) })).toBe(text)
  })
})
