/** What the benchmarks' callers say, as µ-law frames of 20 ms: the demo's recordings, and a room between them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoLines } from '../../infra/demo/script.ts'
import { createChunker, rms } from '../../media/audio/frames.ts'
import { encodeG711 } from '../../media/audio/g711.ts'
import { decodeWav } from '../../media/audio/wav.ts'

/** Samples, and bytes, of a frame. */
export const FRAME = 160
/** Frames 26 dB below a recording's loudest are cut off both ends: what is left begins and ends with voice. */
const UNDER_PEAK = 0.05
const ROOM_LEVEL = 12

/** By the file's name. */
export const loadClips = () => new Map(demoLines.map(({ file }) => [file, loadClip(file)]))

function loadClip(file: string): Uint8Array[] {
  const { pcm } = decodeWav(readFileSync(join(import.meta.dirname, '../../infra/demo/voice', file)))
  const frames = framesOf(pcm)
  const levels = frames.map(rms)
  const limit = Math.max(...levels) * UNDER_PEAK
  const loud = (level: number) => level > limit
  return frames.slice(levels.findIndex(loud), levels.findLastIndex(loud) + 1).map(encoded)
}

/** Nobody's line is silent: a room's rumble, ten seconds of it. */
export function makeRoom(): Uint8Array[] {
  const pcm = new Int16Array(FRAME * 500)
  let last = 0
  for (let i = 0; i < pcm.length; i++) {
    last = 0.92 * last + (Math.random() * 2 - 1)
    pcm[i] = Math.round((last * ROOM_LEVEL) / 1.47)
  }
  return framesOf(pcm).map(encoded)
}

const framesOf = (pcm: Int16Array) => createChunker(FRAME).push(pcm)

function encoded(pcm: Int16Array): Uint8Array {
  const bytes = new Uint8Array(FRAME)
  encodeG711('PCMU', pcm, bytes)
  return bytes
}
