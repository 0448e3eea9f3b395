/**
 * The corpus as audio: reads and writes µ-law files, and applies the deterministic effects of line and room to a clean
 * voice.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { concatPcm, rms } from '../../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import type { Entry } from './catalogue.ts'

export const RATE = 8000
const PER_MS = RATE / 1000
export const FOLDER = import.meta.dirname

/** A catalogue entry with what is known of its file. */
export interface Clip extends Entry {
  /** Null when nobody speaks. */
  file: string | null
  voice_ms: number
  synthetic: boolean
  source: string
  license: string
}

/** WAVE with 8-bit µ-law (format 7). */
export function encodeUlawWav(pcm: Int16Array): Buffer {
  const header = Buffer.alloc(46)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(38 + pcm.length, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(18, 16)
  header.writeUInt16LE(7, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(RATE, 24)
  header.writeUInt32LE(RATE, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write('data', 38, 'latin1')
  header.writeUInt32LE(pcm.length, 42)
  const body = Buffer.alloc(pcm.length)
  encodeG711('PCMU', pcm, body)
  return Buffer.concat([header, body])
}

const readVoice = (file: string) => decodeG711('PCMU', readFileSync(join(FOLDER, 'clips', file)).subarray(46))

export const index = (): Clip[] => JSON.parse(readFileSync(join(FOLDER, 'index.json'), 'utf8')).clips

export interface Sound {
  pcm: Int16Array
  /** When the far end begins to speak, or its first tone that counts; from the start of the sound. */
  voiceMs: number
}

/** The clip as it comes down the line: 8 kHz, through µ-law. */
export function soundOf(clip: Clip, babble: () => Int16Array[]): Sound {
  const random = randomOf(clip.id)
  const voice = clip.file === null ? new Int16Array(0) : gain(readVoice(clip.file), 10 ** ((clip.gain_db ?? 0) / 20))
  const before = concatPcm([BEFORE[clip.before ?? 'none'], silence(300 + Math.floor(random() * 900))])
  const after = (clip.after ?? []).map(part =>
    'again' in part ? voice : 'tone' in part ? tone([part.tone[0]], part.tone[1]) : silence(part.silence_ms),
  )
  const dry = concatPcm([before, voice, ...after, silence(2500)])
  const noise = clip.noise
    ? scaledNoise(
        NOISES[clip.noise.kind](dry.length, random, babble),
        voice.length > 0 ? rms(voice) : 2000,
        clip.noise.snr_db,
      )
    : hiss(dry.length, random)
  for (let i = 0; i < dry.length; i++) dry[i] = clamp(dry[i]! + noise[i]!)
  return { pcm: throughUlaw(dry), voiceMs: before.length / PER_MS }
}

// ---- parts ----

export const silence = (ms: number) => new Int16Array(Math.round(ms * PER_MS))

/** Sines of equal strength, with 5 ms of rise and fall. */
export function tone(hz: readonly number[], ms: number, peak = 7000): Int16Array {
  const pcm = silence(ms)
  const edge = 5 * PER_MS
  for (let i = 0; i < pcm.length; i++) {
    const slope = Math.min(1, i / edge, (pcm.length - i) / edge)
    const sum = hz.reduce((total, f) => total + Math.sin((2 * Math.PI * f * i) / RATE), 0)
    pcm[i] = Math.round((slope * peak * sum) / hz.length)
  }
  return pcm
}

const BEFORE: Record<'none' | NonNullable<Clip['before']>, Int16Array> = {
  none: silence(0),
  // The tail of the last ring, as carriers let it through after the answer.
  ringback: tone([440, 480], 800, 3000),
  ringback_eu: tone([425], 700, 3000),
  sit: concatPcm([tone([950], 330), tone([1400], 330), tone([1800], 330)]),
  music: music(2500),
}

function music(ms: number): Int16Array {
  const notes = [262, 330, 392, 523, 440, 349, 294, 392]
  const parts: Int16Array[] = []
  for (let at = 0; at < ms; at += 250) {
    const note = notes[(at / 250) % notes.length]!
    parts.push(tone([note, note * 2, note * 1.5], 250, 4000))
  }
  return concatPcm(parts)
}

const NOISES: Record<
  'street' | 'babble' | 'music',
  (length: number, random: () => number, babble: () => Int16Array[]) => Int16Array
> = {
  street(length, random) {
    const pcm = new Int16Array(length)
    let low = 0
    for (let i = 0; i < length; i++) {
      low = low * 0.97 + (random() - 0.5) * 0.6
      pcm[i] = Math.round(low * 3000 * (0.7 + 0.3 * Math.sin(i / 9000)))
    }
    return pcm
  },
  babble(length, _random, babble) {
    const pcm = new Int16Array(length)
    for (const [n, voice] of babble().entries())
      for (let i = 0; i < length; i++) pcm[i] = clamp(pcm[i]! + voice[(i + n * 3777) % voice.length]! / 3)
    return pcm
  },
  music: length => music(length / PER_MS + 250).subarray(0, length),
}

function scaledNoise(noise: Int16Array, level: number, snrDb: number): Int16Array {
  return gain(noise, level / 10 ** (snrDb / 20) / Math.max(1, rms(noise)))
}

/** A quiet line, about -60 dBFS. */
function hiss(length: number, random: () => number): Int16Array {
  const pcm = new Int16Array(length)
  for (let i = 0; i < length; i++) pcm[i] = Math.round((random() - 0.5) * 60)
  return pcm
}

export function gain(pcm: Int16Array, factor: number): Int16Array {
  return pcm.map(sample => clamp(sample * factor))
}

const clamp = (sample: number) => Math.max(-32_768, Math.min(32_767, Math.round(sample)))

export function throughUlaw(pcm: Int16Array): Int16Array {
  const bytes = new Uint8Array(pcm.length)
  encodeG711('PCMU', pcm, bytes)
  return decodeG711('PCMU', bytes)
}

/** mulberry32, seeded by the clip's name. */
function randomOf(seed: string): () => number {
  let a = [...seed].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 16_777_619), 2_166_136_261)
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Three voices of the same split, speaking at once. */
export function babbleOf(clips: Clip[], split: Clip['split']): () => Int16Array[] {
  let made: Int16Array[] | null = null
  return () => {
    made ??= clips
      .filter(clip => clip.split === split && clip.label === 'voicemail' && clip.file !== null)
      .slice(0, 3)
      .map(clip => readVoice(clip.file!))
    return made
  }
}
