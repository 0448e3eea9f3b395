/** The detector that all calls share: as good as one each, and with a gate before it that nobody can hear. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../infra/config.ts'
import { demoLines } from '../../../infra/demo/script.ts'
import { modelsFolder } from '../../../infra/models.ts'
import { hear, silent } from '../../../media/agent/voice.ts'
import { concatPcm, createChunker, rms } from '../../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav } from '../../../media/audio/wav.ts'
import { loadSilero, type Silero, VAD_WINDOW } from '../../../media/models/speech/silero.ts'

const file = join(modelsFolder(readConfig().cache), 'vad/silero_vad.onnx')
const folder = join(import.meta.dirname, '../../../infra/demo/voice')
const clips = demoLines.map(line => decodeWav(readFileSync(join(folder, line.file))).pcm)
const RATE = 8000
const WINDOW_MS = 32
/** 128 ms: a pause inside a sentence. The model takes it for one or not, as its memory of the second before has it. */
const DIP = 4
const silence = (ms: number) => new Int16Array((ms * RATE) / 1000)

/** Always the same, so that a failure can be looked at. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}

/** White, or with more of the low frequencies, as in rooms and cars. */
function noise(samples: number, level: number, coloured: boolean, seed = 7): Float64Array {
  const random = createRandom(seed)
  const sound = new Float64Array(samples)
  for (let i = 0; i < samples; i++) sound[i] = random() + (coloured && i > 0 ? 0.92 * sound[i - 1]! : 0)
  const own = Math.sqrt(sound.reduce((sum, one) => sum + one * one, 0) / samples)
  return sound.map(one => (one * level) / own)
}

/** As it comes off the wire. */
function overTelephone(pcm: Int16Array): Int16Array {
  const bytes = Buffer.alloc(pcm.length)
  encodeG711('PCMU', pcm, bytes, 0)
  return decodeG711('PCMU', bytes)
}

/** What is said in a room of this loudness. */
function inRoom(speech: Int16Array, level: number, coloured: boolean): Int16Array {
  const room = noise(speech.length, level, coloured)
  return overTelephone(speech.map((one, i) => Math.max(-32_768, Math.min(32_767, one + room[i]!))))
}

const windowsOf = (pcm: Int16Array) => createChunker(VAD_WINDOW).push(createResampler(RATE, 16_000).push(pcm))

/** Probabilities, one a window; each window comes when the one before was judged, as on a real line. */
async function ask(silero: Silero, pcm: Int16Array): Promise<number[]> {
  const probabilities: number[] = []
  let answered = () => {}
  const detector = silero.detector((probability, atMs) => {
    expect(atMs).toBe(probabilities.length)
    probabilities.push(probability)
    answered()
  })
  for (const [i, window] of windowsOf(pcm).entries()) {
    await new Promise<void>(resolve => {
      answered = resolve
      detector.hear(window, i)
    })
  }
  detector.release()
  return probabilities
}

/** Windows at which the conversation would say that a voice begins (1) or ends (-1). */
function edges(probabilities: readonly number[]): { at: number; voiced: boolean }[] {
  let state = silent
  const found: { at: number; voiced: boolean }[] = []
  for (const [at, probability] of probabilities.entries()) {
    const next = hear(state, { probability, atMs: at * WINDOW_MS, windowMs: WINDOW_MS }).state
    if (next.speaking !== state.speaking) found.push({ at, voiced: next.speaking })
    state = next
  }
  // A dip of so few windows ends nothing: the turn machine waits for longer in every case.
  return found.filter((edge, i) => {
    const [before, after] = [found[i - 1], found[i + 1]]
    return (
      !(edge.voiced && before && edge.at - before.at <= DIP) && !(!edge.voiced && after && after.at - edge.at <= DIP)
    )
  })
}

const talk = concatPcm([silence(2500), ...clips.flatMap(clip => [clip, silence(2200)])])
const loudness = rms(concatPcm(clips))
const belowSpeech = (db: number) => loudness / 10 ** (db / 20)

const every = await loadSilero(file, { gated: false })
const gated = await loadSilero(file)

async function expectSameVoice(sound: Int16Array): Promise<void> {
  const [wanted, got] = [edges(await ask(every, sound)), edges(await ask(gated, sound))]
  expect(wanted.filter(edge => edge.voiced).length).toBeGreaterThanOrEqual(clips.length)
  expect(got.map(edge => edge.voiced)).toEqual(wanted.map(edge => edge.voiced))
  for (const [i, edge] of got.entries()) expect(Math.abs(edge.at - wanted[i]!.at)).toBeLessThanOrEqual(1)
}

describe('the gate before the detector', () => {
  it.each([
    ['no noise at all', 0, false],
    ['a quiet line', belowSpeech(40), false],
    ['a room, 25 dB below', belowSpeech(25), true],
    ['an office, 15 dB below', belowSpeech(15), true],
    ['hiss, 15 dB below', belowSpeech(15), false],
    ['a car, 10 dB below', belowSpeech(10), true],
    ['hiss, 10 dB below', belowSpeech(10), false],
  ])('hears the same voice within a window, with %s', async (_, level, coloured) => {
    await expectSameVoice(inRoom(talk, level, coloured))
  })

  it('hears a soft voice, after noise that was louder than it', async () => {
    const soft = talk.map(sample => sample / 5)
    const noisy = inRoom(silence(3000), 400, true)
    await expectSameVoice(concatPcm([noisy, inRoom(soft, 10, true)]))
  })

  it('is not deafened by clicks', async () => {
    const clicking = talk.map((sample, i) => (i % 5600 < 80 && sample === 0 ? (i % 2 ? 12_000 : -12_000) : sample))
    await expectSameVoice(inRoom(clicking, 15, true))
  })

  it.each([
    ['digital silence', 0, 0.05],
    ['hiss', 12, 0.15],
    ['a room', 60, 0.15],
    ['a loud room', 400, 0.15],
  ])('asks the model about few windows of %s', async (_, level, most) => {
    const before = gated.windows
    const { length } = await ask(gated, inRoom(silence(20_000), level, true))
    expect(gated.windows - before).toBeLessThan(length * most)
  })
})

describe('one detector for many lines', () => {
  it('tells each of them what it would tell it alone', async () => {
    const sounds = clips.map((clip, i) => inRoom(concatPcm([silence(100 * i), clip]), 20, true))
    const alone = []
    for (const sound of sounds) alone.push(await ask(every, sound))
    const together = await Promise.all(sounds.map(sound => ask(every, sound)))
    for (const [i, probabilities] of together.entries()) {
      expect(probabilities.length).toBe(alone[i]!.length)
      for (const [n, probability] of probabilities.entries()) expect(probability).toBeCloseTo(alone[i]![n]!, 3)
    }
  })

  it('serves more lines than run together, each in its order', async () => {
    const sound = inRoom(clips[0]!.subarray(0, RATE), 20, true)
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(every, sound)))
    for (const probabilities of all) {
      for (const [n, probability] of probabilities.entries()) expect(probability).toBeCloseTo(all[0]![n]!, 3)
    }
  })

  it('leaves sound out when it is far behind, and goes on in order', async () => {
    const windows = windowsOf(inRoom(talk.subarray(0, 8 * RATE), 20, true))
    const pushed = 1400
    const told: number[] = []
    await new Promise<void>(resolve => {
      const detector = every.detector((_, atMs) => {
        told.push(atMs)
        if (atMs === pushed - 1) resolve()
      })
      for (let i = 0; i < pushed; i++) detector.hear(windows[i % windows.length]!, i)
    })
    expect(told.length).toBeLessThan(1100)
    expect(told).toEqual([...told].sort((a, b) => a - b))
  })

  it('tells of windows that came in bursts in their order, gate or no gate', async () => {
    const windows = windowsOf(inRoom(talk, 20, true))
    const told: number[] = []
    let burst = () => {}
    const detector = gated.detector((_, atMs) => {
      told.push(atMs)
      if (told.length % 5 === 0) burst()
    })
    for (let at = 0; at + 5 <= windows.length; at += 5) {
      await new Promise<void>(resolve => {
        burst = resolve
        for (let i = at; i < at + 5; i++) detector.hear(windows[i]!, i)
      })
    }
    expect(told).toEqual(told.map((_, i) => i))
  })

  it('tells nothing after a call was released', async () => {
    let told = 0
    const gone = every.detector(() => told++)
    for (const [i, window] of windowsOf(clips[0]!.subarray(0, RATE)).entries()) gone.hear(window, i)
    gone.release()
    await ask(every, clips[1]!.subarray(0, RATE))
    expect(told).toBe(0)
  })
})
