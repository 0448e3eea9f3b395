/** The speech process with the real offline models: it transcribes what it synthesizes. */
import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { concatPcm, createChunker } from '../../../media/audio/frames.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { createSpeechClient, type SpeechClient } from '../../../media/models/speech/client.ts'
import { type SpeechServer, startSpeechServer } from '../../../media/models/speech/server.ts'
import { loadModels } from '../../../media/models/speech/sherpa.ts'
import { speakable } from '../../../media/models/speech/speakable.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'
import { lacks } from '../../support/needs.ts'
import { wordErrors } from '../../support/stack-speech.ts'
import { quietLog, until } from '../../support/world.ts'

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

const { signal } = new AbortController()
async function say(text: string, language = 'en'): Promise<Int16Array> {
  const parts: Int16Array[] = []
  let resampler: ReturnType<typeof createResampler> | null = null
  for await (const { pcm, sampleRate } of client.tts.speak({ text, voice: null, language }, signal)) {
    resampler ??= createResampler(sampleRate, 8000)
    parts.push(resampler.push(pcm))
  }
  return concatPcm(parts)
}
const silence = (ms: number) => new Int16Array(ms * 8)
/** Pushes sound as 20 ms frames of a clock that starts at 0. */
function listen(pcm: Int16Array, push: (frame: { pcm: Int16Array; atMs: number; concealed: boolean }) => void): number {
  let atMs = 0
  for (const frame of createChunker(160).push(pcm)) {
    atMs += 20
    push({ pcm: frame, atMs, concealed: false })
  }
  return atMs
}

describe('the speech process', () => {
  it('synthesizes a long text in pieces', async () => {
    const story =
      'Yesterday I went to the market to buy apples for my mother, and on the way home I met an old friend. ' +
      'We talked about the summer, and about the house by the river, and then it began to rain very hard. ' +
      'So we waited in a small shop until the evening, and in the end we took the last bus back to the village.'
    const sound = await say(story)
    expect(sound.length).toBeGreaterThan(8000 * 11)
    const stt = client.stt.open({ sampleRate: 8000, language: 'en' })
    const endMs = listen(sound, frame => stt.push(frame))
    const { text } = await stt.transcribe(0, endMs, signal)
    stt.close()
    expect(wordErrors(story, text)).toBeLessThan(0.2)
  })

  it('transcribes its own TTS at telephone quality', async () => {
    // The voice is never twice the same, and the recogniser is small: judged by words over several sentences.
    const sentences = [
      'I would like to order two large pizzas, please.',
      'The weather will be sunny and warm tomorrow.',
      'My sister lives in a small house by the river.',
    ]
    let errors = 0
    for (const said of sentences) {
      const stream = client.stt.open({ sampleRate: 8000, language: 'en' })
      const endMs = listen(concatPcm([await say(said), silence(300)]), frame => stream.push(frame))
      errors += wordErrors(said, (await stream.transcribe(0, endMs, signal)).text)
      stream.close()
    }
    expect(errors / sentences.length).toBeLessThan(0.2)
  })

  it('reports start and end of speech', async () => {
    const frames: VoiceFrame[] = []
    const vad = client.vad.open({ sampleRate: 8000, onVoice: frame => frames.push(frame) })
    const speech = await say('Good morning to everybody.')
    const speechMs = speech.length / 8
    const endMs = listen(concatPcm([silence(1000), speech, silence(1000)]), frame => vad.push(frame))
    await until(() => (frames.at(-1)?.atMs ?? 0) > endMs - 64)
    const voiced = frames.filter(frame => frame.probability > 0.5)
    expect(voiced[0]!.atMs).toBeGreaterThan(900)
    expect(voiced[0]!.atMs).toBeLessThan(1400)
    expect(voiced.at(-1)!.atMs).toBeGreaterThan(1000 + speechMs - 500)
    expect(voiced.at(-1)!.atMs).toBeLessThan(1000 + speechMs + 200)
    vad.close()
  })

  it('streams the first audio of a long sentence early', async () => {
    const chunks: number[] = []
    for await (const { pcm } of client.tts.speak(
      {
        text: 'First this, then something much longer, which goes on and on, and at last that.',
        voice: null,
        language: 'en',
      },
      signal,
    ))
      chunks.push(pcm.length)
    expect(chunks.length).toBeGreaterThan(1)
  })

  it('stops synthesis on abort', async () => {
    const controller = new AbortController()
    let chunks = 0
    for await (const _ of client.tts.speak(
      { text: 'One is here. Two is here. Three is here. Four is here.', voice: null, language: 'en' },
      controller.signal,
    )) {
      chunks++
      controller.abort()
    }
    expect(chunks).toBe(1)
  })

  it.skipIf(lacks('espeak-ng'))('uses espeak-ng for other languages, and reports missing STT', async () => {
    expect((await say('Добрый день', 'ru')).length).toBeGreaterThan(4000)
    const stream = client.stt.open({ sampleRate: 8000, language: 'ru' })
    listen(silence(500).fill(1000), frame => stream.push(frame))
    await expect(stream.transcribe(0, 500, signal)).rejects.toThrow('language')
  })

  it('disconnects a client with another protocol', async () => {
    const stranger = connect(server.port, '127.0.0.1')
    const gone = new Promise<void>(resolve => stranger.on('close', () => resolve()))
    stranger.on('error', () => {})
    stranger.resume()
    stranger.write('GET / HTTP/1.1\r\n\r\n')
    await gone
    expect((await say('Yes.')).length).toBeGreaterThan(1000)
  })
})

describe('the client', () => {
  it('reconnects after the process died, and fails pending requests', async () => {
    const file = join(import.meta.dirname, '../../../media/models/speech/main.ts')
    const start = (port: number) => {
      const child = fork(file, ['--port', String(port)], { stdio: ['ignore', 'pipe', 'ignore', 'ipc'] })
      return new Promise<{ child: typeof child; port: number }>(resolve =>
        child.stdout!.on('data', data => {
          const line = String(data)
            .split('\n')
            .find(text => text.startsWith('{"ready"'))
          if (line) resolve({ child, port: JSON.parse(line).port })
        }),
      )
    }
    const first = await start(0)
    const own = createSpeechClient({ host: '127.0.0.1', port: first.port, clock: systemClock, log: quietLog })
    try {
      await own.ready
      expect(own.sttReady()).toBe(false)
      const spoken = async () => {
        let samples = 0
        for await (const { pcm } of own.tts.speak({ text: 'Guten Tag', voice: null, language: 'de' }, signal))
          samples += pcm.length
        return samples
      }
      expect(await spoken()).toBeGreaterThan(4000)
      first.child.kill('SIGKILL')
      await until(
        async () =>
          !(await spoken().then(
            () => true,
            () => false,
          )),
      )
      const second = await start(first.port)
      try {
        await until(() =>
          spoken().then(
            samples => samples > 4000,
            () => false,
          ),
        )
      } finally {
        second.child.kill('SIGKILL')
      }
    } finally {
      own.close()
      first.child.kill('SIGKILL')
    }
  })
})

describe('pieces for speaking', () => {
  it.each([
    ['Hello.', ['Hello.']],
    [
      'Let me read that back: date Sunday, time seven. Is that right?',
      ['Let me read that back:', 'date Sunday, time seven.', 'Is that right?'],
    ],
    ['— … —', []],
    ['', []],
  ])('of %j', (text, pieces) => {
    expect(speakable(text)).toEqual(pieces)
  })
})
