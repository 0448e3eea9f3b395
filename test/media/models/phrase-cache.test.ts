import { describe, expect, it } from 'vitest'
import { createPhraseCache } from '../../../media/models/phrase-cache.ts'
import type { SpeechChunk, Tts } from '../../../media/ports/speech.ts'
import { fakeClock, settle } from '../../fakes/line.ts'

const never = new AbortController().signal
const options = (text: string, keep = true) => ({ text, voice: null, language: 'en', ...(keep ? { keep } : {}) })
const collect = async (sound: AsyncIterable<SpeechChunk>) => {
  const samples: number[] = []
  for await (const { pcm } of sound) samples.push(...pcm)
  return samples
}

function counted(samples = 4) {
  const asked: string[] = []
  let fail = false
  const gates: (() => void)[] = []
  const tts: Tts = {
    async *speak({ text }) {
      asked.push(text)
      yield { pcm: new Int16Array(samples).fill(1), sampleRate: 8000 }
      if (text === 'slow') await new Promise<void>(resolve => gates.push(resolve))
      if (fail) throw new Error('503')
      yield { pcm: new Int16Array(samples).fill(2), sampleRate: 8000 }
    },
  }
  return { tts, asked, open: () => gates.map(gate => gate()), break: (on: boolean) => (fail = on) }
}

describe('kept phrases', () => {
  it('are synthesized once', async () => {
    const { tts, asked } = counted()
    const cached = createPhraseCache({ clock: fakeClock() })(tts, 'a')
    const first = await collect(cached.speak(options('One moment.'), never))
    expect(await collect(cached.speak(options('One moment.'), never))).toEqual(first)
    expect(first).toHaveLength(8)
    expect(asked).toEqual(['One moment.'])
  })
  it('are keyed by voice and language; uncacheable ones are not kept', async () => {
    const { tts, asked } = counted()
    const cached = createPhraseCache({ clock: fakeClock() })(tts, 'a')
    await collect(cached.speak(options('Hi.'), never))
    await collect(cached.speak({ ...options('Hi.'), voice: 'mary' }, never))
    await collect(cached.speak({ ...options('Hi.'), language: 'ru' }, never))
    await collect(cached.speak(options('Hi.', false), never))
    expect(asked).toHaveLength(4)
  })
  it('are keyed by vendor', async () => {
    const cache = createPhraseCache({ clock: fakeClock() })
    const [first, second] = [counted(4), counted(6)]
    const [a, b] = [cache(first.tts, 'a'), cache(second.tts, 'b')]
    for (let times = 0; times < 2; times++) {
      expect(await collect(a.speak(options('Hi.'), never))).toHaveLength(8)
      expect(await collect(b.speak(options('Hi.'), never))).toHaveLength(12)
    }
    expect([first.asked, second.asked]).toEqual([['Hi.'], ['Hi.']])
  })
  it('in progress are shared, and continue without the first listener', async () => {
    const { tts, asked, open } = counted()
    const cached = createPhraseCache({ clock: fakeClock() })(tts, 'a')
    const left = new AbortController()
    const first = collect(cached.speak(options('slow'), left.signal))
    const second = collect(cached.speak(options('slow'), never))
    await settle()
    left.abort()
    expect(await first).toHaveLength(4)
    open()
    expect(await second).toHaveLength(8)
    expect(asked).toEqual(['slow'])
  })
  it('are retried after a failure', async () => {
    const { tts, asked, break: breaks } = counted()
    const cached = createPhraseCache({ clock: fakeClock() })(tts, 'a')
    breaks(true)
    await expect(collect(cached.speak(options('Hi.'), never))).rejects.toThrow('503')
    breaks(false)
    expect(await collect(cached.speak(options('Hi.'), never))).toHaveLength(8)
    expect(asked).toHaveLength(2)
  })
  it('time out, and are retried', async () => {
    const clock = fakeClock()
    const { tts, asked } = counted()
    const cached = createPhraseCache({ clock })(tts, 'a')
    const first = collect(cached.speak(options('slow'), never)).catch(error => error)
    await settle()
    clock.advance(15_000)
    expect(await first).toBeInstanceOf(Error)
    void collect(cached.speak(options('slow'), never))
    await settle()
    expect(asked).toEqual(['slow', 'slow'])
  })
  it('are evicted least recently used first', async () => {
    const { tts, asked } = counted()
    const cached = createPhraseCache({ mostBytes: 40, clock: fakeClock() })(tts, 'a') // two phrases of 16 bytes
    for (const text of ['a', 'b', 'a', 'c', 'a']) await collect(cached.speak(options(text), never))
    await settle()
    expect(asked).toEqual(['a', 'b', 'c'])
    await collect(cached.speak(options('b'), never))
    expect(asked).toEqual(['a', 'b', 'c', 'b'])
  })
})
