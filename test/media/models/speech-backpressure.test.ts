/** Transcripts that Whisper invents of noise, and a speech process that stops reading. */
import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createSpeechClient } from '../../../media/models/speech/client.ts'
import { encodeFrame } from '../../../media/models/speech/protocol.ts'
import { cleanTranscript } from '../../../media/models/speech/whisper.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { effortOf } from '../../support/effort.ts'
import { quietLog } from '../../support/world.ts'

describe('hallucinations', () => {
  it.each([
    'Запишите меня на завтра. Спасибо за внимание.',
    'Да, мой номер пять. Продолжение следует...',
    'Привет [музыка]',
  ])("keeps the caller's words around it: %j", text => {
    expect(cleanTranscript(text)).not.toBe('')
  })
  it.each(['Продолжение следует... Спасибо за внимание!', '[музыка] *** Thank you.', '♪ ♪ ♪', '(смех)'])(
    'is discarded when alone: %j',
    text => expect(cleanTranscript(text)).toBe(''),
  )
  it('are detected in bounded time', () => {
    for (const text of [`${'* '.repeat(200)}да`, `${'♪ '.repeat(200)}да`, `${'[a] '.repeat(100)}да`]) {
      expect(effortOf(() => cleanTranscript(text))).toBeLessThan(50)
    }
  })
})

it('falls back to energy VAD when the speech process stops reading', async () => {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(encodeFrame({ type: 'hello', stt_languages: ['en'], tts_languages: ['en'] }))
    socket.pause()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const client = createSpeechClient({ host: '127.0.0.1', port, clock: fakeClock(), log: quietLog })
  try {
    await client.ready
    const heard: VoiceFrame[] = []
    const line = client.vad.open({ sampleRate: 48_000, onVoice: frame => heard.push(frame) })
    const pcm = new Int16Array(960).map((_, i) => (i % 8 < 4 ? 6000 : -6000))
    for (let i = 0; i < 10_000 && heard.length === 0; i++) {
      line.push({ pcm, atMs: i * 20, concealed: false })
      if (i % 100 === 0) await settle()
    }
    expect(heard.some(({ probability }) => probability > 0.5)).toBe(true)
  } finally {
    client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})
