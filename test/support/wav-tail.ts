/** Reads the audio that a phone is receiving from the files that it writes during a call. */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { shareOf } from '../media/audio/sound.ts'
import { until } from './world.ts'

const JUDGED_SECONDS = 0.4
const WAV_HEADER_BYTES = 44

/** The files in which baresip's sndfile module stores received audio. */
export const ofBaresip = (name: string): boolean => name.endsWith('-dec.wav')

/** Resolves when one of the active calls receives this tone. */
export async function hearsNow(folder: string, isHeard: (name: string) => boolean, hz: number): Promise<void> {
  const sizes = new Map<string, number>()
  const heard = (name: string): boolean => {
    const { size, rate, pcm } = tail(join(folder, name))
    const grew = size > (sizes.get(name) ?? size)
    sizes.set(name, size)
    return grew && pcm.length >= rate * JUDGED_SECONDS && shareOf(hz, pcm, rate) > 0.9
  }
  await until(() => readdirSync(folder).filter(isHeard).some(heard), `${hz} Hz at the phone`)
}

/** The end of a growing file, whose header has no length yet. */
function tail(path: string): { size: number; rate: number; pcm: Int16Array } {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const header = Buffer.alloc(WAV_HEADER_BYTES)
    if (size < WAV_HEADER_BYTES || readSync(file, header, 0, WAV_HEADER_BYTES, 0) < WAV_HEADER_BYTES)
      return { size, rate: 1, pcm: new Int16Array(0) }
    // Linphone writes the header last.
    const [channels, rate] = [header.readUInt16LE(22) || 1, header.readUInt32LE(24) || 8000]
    const frame = 2 * channels
    const frames = Math.min(Math.floor((size - WAV_HEADER_BYTES) / frame), Math.ceil(rate * JUDGED_SECONDS))
    const bytes = Buffer.alloc(frames * frame)
    readSync(file, bytes, 0, bytes.length, size - ((size - WAV_HEADER_BYTES) % frame) - bytes.length)
    return { size, rate, pcm: Int16Array.from({ length: frames }, (_, i) => bytes.readInt16LE(i * frame)) }
  } finally {
    closeSync(file)
  }
}
