/**
 * The VAD that all calls share: as accurate as one per call, with an energy gate in front that does not affect results.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { demoLines } from '../../../infra/demo/script.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { silent, stepVad } from '../../../media/agent/vad-hysteresis.ts'
import { concatPcm, createChunker, rms } from '../../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav } from '../../../media/audio/wav.ts'
import { createGate, type Gate } from '../../../media/models/speech/gate.ts'
import { loadSilero, VAD_WINDOW } from '../../../media/models/speech/silero.ts'
import { openVadSession } from '../../../media/models/speech/vad-session.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'

const file = join(modelsFolder(readConfig().cache), 'vad/silero_vad.onnx')
const folder = join(import.meta.dirname, '../../../infra/demo/voice')
const clips = demoLines.map(line => decodeWav(readFileSync(join(folder, line.file))).pcm)
const RATE = 8000
const WINDOW_MS = 32
const FRAME_MS = 20
/** A pause inside a sentence. The model takes it for one or not, as its memory of the second before has it. */
const DIP_MS = 128
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

/** Adds room noise of this level to speech. */
function inRoom(speech: Int16Array, level: number, coloured: boolean): Int16Array {
  const room = noise(speech.length, level, coloured)
  return overTelephone(speech.map((one, i) => Math.max(-32_768, Math.min(32_767, one + room[i]!))))
}

const windowsOf = (pcm: Int16Array) => createChunker(VAD_WINDOW).push(createResampler(RATE, 16_000).push(pcm))

/** Probabilities, one a window; each window comes when the one before was judged. */
async function ask(pcm: Int16Array): Promise<number[]> {
  const probabilities: number[] = []
  let answered = () => {}
  const detector = silero.detector((probability, atMs) => {
    expect(atMs).toBe(probabilities.length)
    probabilities.push(probability)
    answered()
  })
  for (const [atMs, window] of windowsOf(pcm).entries()) {
    await new Promise<void>(resolve => {
      answered = resolve
      detector.push(window, { atMs, fresh: false })
    })
  }
  detector.release()
  return probabilities
}

/** A line of 20 ms frames processed by engine and speech process; answers come `late` frames later. */
async function listen(pcm: Int16Array, { gated = true, late = 1 } = {}): Promise<VoiceFrame[]> {
  const told: VoiceFrame[] = []
  const onVoice = (voice: VoiceFrame) => void told.push(voice)
  let [asked, answered] = [0, 0]
  const detector = silero.detector((probability, atMs) => {
    answered++
    const voice = { probability, atMs, windowMs: WINDOW_MS }
    if (gated) gate.answered(voice)
    else onVoice(voice)
  })
  const ear = openVadSession(RATE, {
    release: detector.release,
    push(window, to) {
      if (to.atMs !== null) asked++
      detector.push(window, to)
    },
  })
  const gate: Gate = createGate({ sampleRate: RATE, onVoice, send: (sound, to) => ear.push(sound, to) })
  for (const [i, frame] of createChunker((RATE * FRAME_MS) / 1000)
    .push(pcm)
    .entries()) {
    const atMs = (i + 1) * FRAME_MS
    if (gated) gate.push({ pcm: frame, atMs, concealed: false })
    else ear.push(frame, { atMs, fresh: false })
    if (i % late === 0) while (answered < asked) await new Promise(setImmediate)
  }
  while (answered < asked) await new Promise(setImmediate)
  ear.close()
  return told
}

/** When the conversation would say that a voice begins or ends. */
function edges(frames: readonly VoiceFrame[]): { atMs: number; voiced: boolean }[] {
  let state = silent
  const found: { atMs: number; voiced: boolean }[] = []
  for (const frame of frames) {
    const next = stepVad(state, frame).state
    if (next.speaking !== state.speaking) found.push({ atMs: frame.atMs, voiced: next.speaking })
    state = next
  }
  // A short dip ends nothing: the turn machine waits for longer in every case.
  return found.filter((edge, i) => {
    const [before, after] = [found[i - 1], found[i + 1]]
    const dips = before && edge.voiced && edge.atMs - before.atMs <= DIP_MS
    return !dips && !(after && !edge.voiced && after.atMs - edge.atMs <= DIP_MS)
  })
}

const talk = concatPcm([silence(2500), ...clips.flatMap(clip => [clip, silence(2200)])])
const loudness = rms(concatPcm(clips))
const belowSpeech = (db: number) => loudness / 10 ** (db / 20)

const silero = await loadSilero(file)

async function expectSameVoice(sound: Int16Array): Promise<void> {
  const [wanted, got] = [edges(await listen(sound, { gated: false })), edges(await listen(sound))]
  expect(wanted.filter(edge => edge.voiced).length).toBeGreaterThanOrEqual(clips.length)
  expect(got.map(edge => edge.voiced)).toEqual(wanted.map(edge => edge.voiced))
  // One window of doubt, and after a gap the windows begin at another sample.
  for (const [i, { atMs }] of got.entries()) expect(Math.abs(atMs - wanted[i]!.atMs)).toBeLessThanOrEqual(2 * WINDOW_MS)
}

describe('the energy gate', () => {
  it.each([
    ['no noise at all', 0, false],
    ['a quiet line', belowSpeech(40), false],
    ['a room, 25 dB below', belowSpeech(25), true],
    ['an office, 15 dB below', belowSpeech(15), true],
    ['hiss, 15 dB below', belowSpeech(15), false],
    ['a car, 10 dB below', belowSpeech(10), true],
    ['hiss, 10 dB below', belowSpeech(10), false],
  ])('detects the same voice, within two windows, with %s', async (_, level, coloured) => {
    await expectSameVoice(inRoom(talk, level, coloured))
  })

  it('detects soft voice after loud noise', async () => {
    const soft = talk.map(sample => sample / 5)
    const noisy = inRoom(silence(3000), 400, true)
    await expectSameVoice(concatPcm([noisy, inRoom(soft, 10, true)]))
  })

  it('adapts after clicks', async () => {
    const clicking = talk.map((sample, i) => (i % 5600 < 80 && sample === 0 ? (i % 2 ? 12_000 : -12_000) : sample))
    await expectSameVoice(inRoom(clicking, 15, true))
  })

  it.each([
    ['digital silence', 0, 0.05],
    ['hiss', 12, 0.15],
    ['a room', 60, 0.15],
    ['a loud room', 400, 0.15],
  ])('evaluates few windows of %s', async (_, level, most) => {
    const before = silero.windows
    const sound = inRoom(silence(20_000), level, true)
    await listen(sound)
    expect(silero.windows - before).toBeLessThan((20_000 / WINDOW_MS) * most)
  })

  it.each([1, 3, 7])('reports each window once and in order, %i frames late', async late => {
    const told = (await listen(inRoom(talk, 20, true), { late })).map(({ atMs }) => atMs)
    expect(told).toEqual([...new Set(told)].sort((one, other) => one - other))
    expect(told.at(-1)).toBeGreaterThan((talk.length / RATE) * 1000 - WINDOW_MS - FRAME_MS)
    for (const [i, atMs] of told.slice(1).entries()) expect(atMs - told[i]!).toBeLessThanOrEqual(2 * FRAME_MS)
  })
})

describe('a VAD shared by lines', () => {
  it('gives each line the result it would have alone', async () => {
    const sounds = clips.map((clip, i) => inRoom(concatPcm([silence(100 * i), clip]), 20, true))
    const alone = []
    for (const sound of sounds) alone.push(await ask(sound))
    const together = await Promise.all(sounds.map(sound => ask(sound)))
    for (const [i, probabilities] of together.entries()) {
      expect(probabilities.length).toBe(alone[i]!.length)
      for (const [n, probability] of probabilities.entries()) expect(probability).toBeCloseTo(alone[i]![n]!, 3)
    }
  })

  it('serves more lines than one batch', async () => {
    const sound = inRoom(clips[0]!.subarray(0, RATE), 20, true)
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(sound)))
    for (const probabilities of all) {
      for (const [n, probability] of probabilities.entries()) expect(probability).toBeCloseTo(all[0]![n]!, 3)
    }
  })

  it('skips audio when far behind', async () => {
    const windows = windowsOf(inRoom(talk.subarray(0, 8 * RATE), 20, true))
    const pushed = 1400
    const told: number[] = []
    await new Promise<void>(resolve => {
      const detector = silero.detector((_, atMs) => {
        told.push(atMs)
        if (atMs === pushed - 1) resolve()
      })
      for (let i = 0; i < pushed; i++) detector.push(windows[i % windows.length]!, { atMs: i, fresh: false })
    })
    expect(told.length).toBeLessThan(1100)
    expect(told).toEqual([...told].sort((a, b) => a - b))
  })

  it('reports nothing after release', async () => {
    let told = 0
    const gone = silero.detector(() => told++)
    for (const [atMs, window] of windowsOf(clips[0]!.subarray(0, RATE)).entries())
      gone.push(window, { atMs, fresh: false })
    gone.release()
    await ask(clips[1]!.subarray(0, RATE))
    expect(told).toBe(0)
  })
})
