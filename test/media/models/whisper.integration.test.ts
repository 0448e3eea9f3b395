/**
 * Speech-to-text for Russian with the real model and a human voice (test/corpus/russian/README.md names the speaker).
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { whisperPath } from '../../../infra/models/whisper.ts'
import { createChunker } from '../../../media/audio/frames.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { createSpeechClient, type SpeechClient } from '../../../media/models/speech/client.ts'
import { type SpeechServer, startSpeechServer } from '../../../media/models/speech/server.ts'
import { loadModels } from '../../../media/models/speech/sherpa.ts'
import { cleanTranscript, createWhisper } from '../../../media/models/speech/whisper.ts'
import { wordErrors } from '../../support/stack-speech.ts'
import { quietLog } from '../../support/world.ts'

const folder = new URL('../../corpus/russian/', import.meta.url)
const all = JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')) as { file: string; text: string }[]
const clips = inject('full') ? all : all.slice(0, 6)

let server: SpeechServer
let client: SpeechClient
beforeAll(async () => {
  const { cache } = readConfig()
  const whisper = createWhisper(whisperPath(cache))
  const models = await loadModels(modelsFolder(cache), 1)
  server = await startSpeechServer({ host: '127.0.0.1', port: 0, models, whisper, log: quietLog })
  client = createSpeechClient({ host: '127.0.0.1', port: server.port, clock: systemClock, log: quietLog })
  await client.ready
})
afterAll(async () => {
  client.close()
  await server.close()
})

async function read(sound: Int16Array, language: string): Promise<string> {
  const stream = client.stt.open({ sampleRate: 8000, language })
  let atMs = 0
  for (const pcm of createChunker(160).push(sound)) {
    atMs += 20
    stream.push({ pcm, atMs, concealed: false })
  }
  const { text } = await stream.transcribe(0, atMs, new AbortController().signal)
  stream.close()
  return text
}

describe('Russian on the telephone', () => {
  it('has a word error rate of at most 25 %', async () => {
    let words = 0
    let wrong = 0
    for (const { file, text } of clips) {
      const heard = await read(decodeG711('PCMU', readFileSync(new URL(file, folder))), 'ru-RU')
      const count = text.split(/\s+/).length
      words += count
      wrong += wordErrors(text, heard) * count
    }
    console.log(`Russian words wrong: ${((100 * wrong) / words).toFixed(1)} % of ${words}`)
    expect(wrong / words).toBeLessThan(0.25)
  }, 300_000)

  it('transcribes silence as empty', async () => {
    const noise = new Int16Array(8000 * 2).map((_, i) => ((i * 7919) % 200) - 100)
    expect(await read(noise, 'ru')).toBe('')
  }, 180_000)
})

describe('hallucinations', () => {
  it.each([
    'Продолжение следует...',
    ' Субтитры создавал DimaTorzok',
    '[музыка]',
    'СПОКОЙНАЯ МУЗЫКА',
    'Thank you.',
    'Спасибо за просмотр!',
  ])('discards %j', text => expect(cleanTranscript(text)).toBe(''))
  it('never repeats endlessly', () => {
    expect(cleanTranscript('да, не дебеса, не дебеса, не дебеса, не дебеса, не дебеса,').length).toBeLessThan(30)
  })
  it.each(['Спасибо большое.', 'Да.', 'Нет, нет, нет.', 'Номер один, один, два'])('%j is kept', text =>
    expect(cleanTranscript(text)).toBe(text),
  )
})
