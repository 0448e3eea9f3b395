/** The benchmarks' recordings as µ-law frames of 20 ms: those of the demo, with room noise between them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoLines } from '../../infra/demo/script.ts'
import { createChunker, rms } from '../../media/audio/frames.ts'
import { encodeG711 } from '../../media/audio/g711.ts'
import { decodeWav } from '../../media/audio/wav.ts'

/** Samples, and bytes, per frame. */
export const FRAME = 160
/** Level relative to the peak (−26 dB) below which frames are trimmed from both ends of a recording. */
const UNDER_PEAK = 0.05
const ROOM_LEVEL = 12

/** Recordings by file name. */
export const loadClips = () => new Map(demoLines.map(({ file }) => [file, loadClip(file)]))

function loadClip(file: string): Uint8Array[] {
  const { pcm } = decodeWav(readFileSync(join(import.meta.dirname, '../../infra/demo/voice', file)))
  const frames = framesOf(pcm)
  const levels = frames.map(rms)
  const limit = Math.max(...levels) * UNDER_PEAK
  const loud = (level: number) => level > limit
  return frames.slice(levels.findIndex(loud), levels.findLastIndex(loud) + 1).map(encoded)
}

/** Room noise of a quiet line: ten seconds of rumble. */
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
