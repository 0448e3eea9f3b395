/** Transcription of a speaker who gets no reply. */
import { describe, expect, it } from 'vitest'
import { type Dictated, Dictation } from '../../../media/agent/dictation.ts'
import type { Stt, Transcript, Vad } from '../../../media/ports/speech.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { recordingLog } from '../../support/world.ts'

let seed = 1
const voice = () =>
  Int16Array.from({ length: 160 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed & 0x10000 ? 5000 : -5000
  })

const vad: Vad = {
  open: ({ onVoice }) => ({
    push: ({ pcm, atMs }) => onVoice({ probability: pcm[0] === 0 ? 0 : 1, atMs, windowMs: 20 }),
    close() {},
  }),
}

type Reading = (fromMs: number, toMs: number) => Promise<Transcript>
const words = (text: string): Transcript => ({ text, confidence: 1 })

function world(read: Reading) {
  const clock = fakeClock()
  const log = recordingLog()
  const said: Dictated[] = []
  const asked: { fromMs: number; toMs: number; signal: AbortSignal }[] = []
  let closed = 0
  const stt: Stt = {
    open: () => ({
      push() {},
      close: () => void closed++,
      transcribe(fromMs, toMs, signal) {
        asked.push({ fromMs, toMs, signal })
        return read(fromMs, toMs)
      },
    }),
  }
  const dictation = new Dictation({
    vad,
    stt,
    sampleRate: 8000,
    language: 'en',
    clock,
    log,
    onSaid: one => said.push(one),
  })
  const pass = async (ms: number, sound: 'voice' | 'silence' | 'nothing') => {
    for (let done = 0; done < ms; done += 20) {
      clock.advance(20)
      const pcm = sound === 'voice' ? voice() : new Int16Array(160)
      if (sound !== 'nothing') dictation.push({ pcm, atMs: clock.now(), concealed: false })
      dictation.tick(clock.now())
      await settle()
    }
  }
  return { clock, log, said, asked, dictation, pass, closed: () => closed }
}

describe('a dictation', () => {
  it('is transcribed after a pause, with some audio around it', async () => {
    const w = world(async () => words(' Hello. '))
    await w.pass(500, 'silence')
    const fromMs = w.clock.now()
    await w.pass(1000, 'voice')
    await w.pass(600, 'silence')
    expect(w.asked).toEqual([])
    await w.pass(400, 'silence')
    expect(w.said.map(({ text }) => text)).toEqual(['Hello.'])
    const [{ startMs, endMs }] = w.said as [Dictated]
    expect(Math.abs(startMs - fromMs)).toBeLessThanOrEqual(40)
    expect(Math.abs(endMs - fromMs - 1000)).toBeLessThanOrEqual(40)
    expect(w.asked[0]).toMatchObject({ fromMs: startMs - 250, toMs: endMs + 250 })
  })

  it('is transcribed when the microphone is muted', async () => {
    const w = world(async () => words('Hello.'))
    await w.pass(1000, 'voice')
    await w.pass(1500, 'nothing')
    expect(w.said.length).toBe(1)
  })

  it('without a pause is transcribed in parts', async () => {
    const w = world(async () => words('And so on.'))
    await w.pass(40_000, 'voice')
    expect(w.asked.length).toBe(2)
    expect(w.asked[1]!.fromMs).toBeLessThan(w.asked[0]!.toMs)
  })

  it('keeps the order of speech, however long transcription takes', async () => {
    const settles: ((transcript: Transcript) => void)[] = []
    const w = world(() => new Promise(resolve => settles.push(resolve)))
    for (let i = 0; i < 2; i++) {
      await w.pass(500, 'voice')
      await w.pass(1000, 'silence')
    }
    settles[1]!(words('Second.'))
    await settle()
    expect(w.said).toEqual([])
    settles[0]!(words('First.'))
    await settle()
    expect(w.said.map(({ text }) => text)).toEqual(['First.', 'Second.'])
  })

  it('reports a failed transcription and continues with the next', async () => {
    let round = 0
    const w = world(async () => {
      if (round++ === 0) throw new Error('no')
      return words(round === 2 ? '' : 'Words.')
    })
    for (let i = 0; i < 3; i++) {
      await w.pass(500, 'voice')
      await w.pass(1000, 'silence')
    }
    expect(w.said.map(({ text }) => text)).toEqual(['Words.'])
    expect(w.log.lines.length).toBe(1)
  })

  it('transcribes pending speech within the limit when closed', async () => {
    const w = world(async () => words('Last words.'))
    await w.pass(500, 'voice')
    await w.dictation.close(1000)
    expect(w.said.length).toBe(1)
    expect(w.closed()).toBe(1)

    let late = (_: Transcript) => {}
    const slow = world(() => new Promise(resolve => (late = resolve)))
    await slow.pass(500, 'voice')
    let closed = false
    void slow.dictation.close(1000).then(() => (closed = true))
    await slow.pass(980, 'nothing')
    expect(closed).toBe(false)
    await slow.pass(40, 'nothing')
    expect(closed).toBe(true)
    expect(slow.asked[0]!.signal.aborted).toBe(true)
    late(words('Too late.'))
    await settle()
    expect(slow.said).toEqual([])
    slow.dictation.push({ pcm: voice(), atMs: slow.clock.now(), concealed: false })
    expect(slow.log.lines).toEqual([])
  })
})
