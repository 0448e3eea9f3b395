/** The detector in a call: real audio, a scripted recogniser, and a clock that the audio drives. */
import { describe, expect, it } from 'vitest'
import { AnsweringListener, type ListenerOptions } from '../../../media/answering/listener.ts'
import { concatPcm } from '../../../media/audio/frames.ts'
import { RATE, silence, tone } from '../../corpus/answering/sounds.ts'
import { framesOf } from './listening.ts'

function setUp(read: (fromMs: number, toMs: number) => Promise<string>) {
  let nowMs = 0
  const told: string[] = []
  const stopped = new AbortController()
  const options: ListenerOptions = {
    sampleRate: RATE,
    clock: { now: () => nowMs, wall: () => 0, after: () => () => {} },
    stt: { transcribe: async (fromMs, toMs) => ({ text: await read(fromMs, toMs), confidence: null }) },
    signal: stopped.signal,
    onResult: ({ result, rule }) => told.push(`${result} by ${rule}`),
    onSpeak: rule => told.push(`speak after ${rule}`),
    onNoMessage: () => told.push('no message'),
  }
  const listener = new AnsweringListener(options)
  /** Sound that is voice as a whole, or not at all. */
  const play = async (pcm: Int16Array, voiced: boolean) => {
    const startMs = nowMs
    for (const frame of framesOf(pcm)) {
      nowMs = startMs + frame.atMs
      listener.sound({ ...frame, atMs: nowMs })
      listener.voice({ voiced, atMs: nowMs, windowMs: 20 }, voiced ? nowMs : startMs)
      listener.tick(nowMs)
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  return { listener, told, play, stopped }
}

/** Loud and not a tone: two that beat. */
const voiceLike = (ms: number) => tone([180, 310, 700, 1230], ms)

describe('the listener', () => {
  it('detects a person from transcribed words', async () => {
    const { listener, told, play } = setUp(async () => 'Hello?')
    await play(silence(400), false)
    await play(voiceLike(500), true)
    await play(silence(1500), false)
    expect(told).toEqual(['human by short_greeting'])
    expect(listener.result).toBe('human')
    expect(listener.done).toBe(false)
    await play(silence(12_000), false)
    expect(listener.done).toBe(true)
  })

  it('detects voicemail and its recording start by a real beep', async () => {
    const { listener, told, play } = setUp(async () => 'Please leave a message')
    await play(concatPcm([silence(300)]), false)
    await play(voiceLike(1500), true)
    await play(silence(400), false)
    await play(tone([1000], 400), false)
    await play(silence(300), false)
    expect(told).toEqual(['voicemail by words', 'speak after beep'])
    expect(listener.done).toBe(true)
  })

  it('uses cadence without STT', async () => {
    const { told, play } = setUp(() => Promise.reject(new Error('language')))
    await play(voiceLike(500), true)
    await play(silence(1500), false)
    expect(told).toEqual(['human by short_greeting'])
  })

  it('reports nothing after the end', async () => {
    let answer = (_text: string) => {}
    const { told, play, stopped } = setUp(() => new Promise(resolve => (answer = resolve)))
    await play(voiceLike(1200), true)
    stopped.abort()
    answer("You've reached the voicemail")
    await Promise.resolve()
    await play(silence(2000), false)
    expect(told).toEqual([])
  })
})
