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
const DIP = 3
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

/** Probabilities, one a window, in real order. */
async function ask(silero: Silero, pcm: Int16Array): Promise<number[]> {
  const probabilities: number[] = []
  const times: number[] = []
  for (const [i, window] of windowsOf(pcm).entries()) {
    await new Promise<void>(resolve => {
      const detector = (lines[0] ??= silero.detector((probability, atMs) => {
        probabilities.push(probability)
        times.push(atMs)
        answered()
      }))
      answered = resolve
      detector.hear(window, i)
    })
  }
  lines.splice(0)[0]?.release()
  expect(times).toEqual(times.map((_, i) => i))
  return probabilities
}
const lines: ReturnType<Silero['detector']>[] = []
let answered = () => {}

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

describe('the gate before the detector', async () => {
  const [every, gated] = await Promise.all([loadSilero(file, { gated: false }), loadSilero(file)])

  it.each([
    ['no noise at all', 0, false],
    ['a quiet line', belowSpeech(40), false],
    ['a room, 25 dB below', belowSpeech(25), true],
    ['an office, 15 dB below', belowSpeech(15), true],
    ['hiss, 15 dB below', belowSpeech(15), false],
    ['a car, 10 dB below', belowSpeech(10), true],
    ['hiss, 10 dB below', belowSpeech(10), false],
  ])('hears the same voice within a window, with %s', async (_, level, coloured) => {
    const sound = inRoom(talk, level, coloured)
    const [wanted, got] = [edges(await ask(every, sound)), edges(await ask(gated, sound))]
    console.log(JSON.stringify(wanted.map(e => e.at)), JSON.stringify(got.map(e => e.at)))
    expect(wanted.filter(edge => edge.voiced).length).toBeGreaterThanOrEqual(clips.length)
    expect(got.map(edge => edge.voiced)).toEqual(wanted.map(edge => edge.voiced))
    for (const [i, edge] of got.entries()) expect(Math.abs(edge.at - wanted[i]!.at)).toBeLessThanOrEqual(1)
  })
  it.each([0, 12, 60, 400])('works on a still line of loudness %d', async level => {
    const sound = inRoom(silence(20000), level, true)
    const b = gated.windows
    const n = (await ask(gated, sound)).length
    console.log(level, n, gated.windows - b)
  })
})
