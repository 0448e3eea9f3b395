/** The speech client and a speech process that hangs: every request ends, and no call delays others. */
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSpeechClient } from '../../../media/models/speech/client.ts'
import { createDecoder, encodeFrame, type SpeechAnswer, SpeechRequest } from '../../../media/models/speech/protocol.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { quietLog, until } from '../../support/world.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** Says hello and nothing else. */
async function hung() {
  const asked: SpeechRequest[] = []
  let broken = 0
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    const decode = createDecoder(SpeechRequest)
    socket.on('data', data => {
      try {
        asked.push(...decode(data).map(({ head }) => head))
      } catch {
        broken++
      }
    })
    socket.write(encodeFrame({ type: 'hello', stt_languages: ['en'], tts_languages: ['en'] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const clock = fakeClock()
  const { port } = server.address() as { port: number }
  const client = createSpeechClient({ host: '127.0.0.1', port, clock, log: quietLog })
  open.push(() => {
    client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await client.ready
  const answer = (answer: SpeechAnswer) => sockets[0]!.write(encodeFrame(answer))
  return { client, clock, asked, answer, broken: () => broken }
}
const { signal } = new AbortController()

describe('a hanging speech process', () => {
  it('fails a sentence in time', async () => {
    const { client, clock, asked } = await hung()
    const spoken = (async () => {
      for await (const _ of client.tts.speak({ text: 'Goodbye.', voice: null, language: 'en' }, signal));
    })().then(
      () => 'spoken',
      () => 'failed',
    )
    await settle()
    clock.advance(11_000)
    expect(await Promise.race([spoken, new Promise(resolve => setTimeout(resolve, 500, 'waiting'))])).toBe('failed')
    await until(() => asked.some(ask => ask.type === 'cancel'))
  })

  it('is notified of aborted recognitions', async () => {
    const { client, asked } = await hung()
    const ear = client.stt.open({ sampleRate: 8000, language: 'en' })
    for (let atMs = 20; atMs <= 400; atMs += 20) ear.push({ pcm: new Int16Array(160), atMs, concealed: false })
    const controller = new AbortController()
    const heard = ear.transcribe(0, 400, controller.signal).catch(error => error)
    await until(() => asked.some(ask => ask.type === 'stt'))
    controller.abort()
    expect(await heard).toBeInstanceOf(Error)
    await until(() => asked.some(ask => ask.type === 'cancel'))
  })

  it('receives no oversized text', async () => {
    const { client, asked, broken } = await hung()
    const text = 'long '.repeat(2000)
    void client.tts
      .speak({ text, voice: null, language: 'en' }, signal)
      [Symbol.asyncIterator]()
      .next()
      .catch(() => {})
    await until(() => asked.length + broken() > 0)
    expect(broken()).toBe(0)
  })
})

describe('batches for the VAD', () => {
  const sound = (atMs: number) => ({ pcm: new Int16Array(160), atMs, concealed: false })

  it('is sent every 20 ms for several calls', async () => {
    const { client, clock, asked } = await hung()
    const kinds = () => asked.map(({ type }) => type)
    clock.advance(100)
    const stt = [1, 2].map(() => client.vad.open({ sampleRate: 8000, onVoice: () => {} }))
    stt[0]!.push(sound(0))
    await until(() => asked.length === 3, 'the first frame')
    for (let n = 0; n < 20; n++) stt[n % 2]!.push(sound(n))
    clock.advance(19)
    // A request on another connection has completed meanwhile: these messages were not sent.
    await (await hung()).client.ready
    expect(kinds()).toEqual(['vad.open', 'vad.open', 'vad.sound'])
    clock.advance(1)
    await until(() => asked.length === 23, 'the others')
  })

  it('is sent at once for a single call', async () => {
    const { client, asked } = await hung()
    const ear = client.vad.open({ sampleRate: 8000, onVoice: () => {} })
    for (let n = 0; n < 5; n++) ear.push(sound(n))
    await until(() => asked.length === 6, 'all of it')
  })

  it('is sent at once where voice may start, with what is pending', async () => {
    const { client, clock, asked, answer } = await hung()
    clock.advance(100)
    const unasked: number[] = []
    const onVoice = ({ windowMs, atMs }: VoiceFrame) => void (windowMs === 20 && unasked.push(atMs))
    const [quiet, busy] = [0, 1].map(() => client.vad.open({ sampleRate: 8000, onVoice }))
    const loud = (atMs: number) => ({ ...sound(atMs), pcm: new Int16Array(160).fill(3000) })
    const leftAt = () => asked.flatMap(ask => (ask.type === 'vad.sound' && ask.at_ms !== null ? [ask.at_ms] : []))
    for (let n = 1; n <= 25; n++) quiet!.push(sound(n * 20))
    clock.advance(20)
    await until(() => leftAt().length === 25, 'the silence')
    // The model calls it no speech: the gate of that line shuts.
    const id = asked.find(ask => ask.type === 'vad.open')!.id
    for (let n = 1; n <= 15; n++) answer({ type: 'voice', id, at_ms: n * 32, window_ms: 32, probability: 0.01 })
    let atMs = 500
    await until(() => {
      atMs += 20
      quiet!.push(sound(atMs))
      return unasked.length > 0
    }, 'the gate')
    clock.advance(20)
    const onset = Array.from({ length: 6 }, (_, n) => atMs + 20 + n * 20)
    busy!.push(loud(1))
    busy!.push(loud(2))
    for (const at of onset) quiet!.push(loud(at))
    await until(() => leftAt().at(-1) === onset.at(-1), 'the onset')
    expect(leftAt().slice(-8)).toEqual([1, 2, ...onset])
    quiet!.push(loud(atMs + 140))
    await (await hung()).client.ready
    expect(leftAt().at(-1)).toBe(onset.at(-1))
    clock.advance(20)
    await until(() => leftAt().at(-1) === atMs + 140, 'what comes after it')
  })

  it('keeps order with requests', async () => {
    const { client, asked } = await hung()
    const ear = client.vad.open({ sampleRate: 8000, onVoice: () => {} })
    for (let n = 0; n < 5; n++) ear.push(sound(n))
    ear.close()
    await until(() => asked.at(-1)?.type === 'vad.close', 'the end of the detector')
    expect(asked.map(({ type }) => type)).toEqual(['vad.open', ...Array(5).fill('vad.sound'), 'vad.close'])
  })
})
