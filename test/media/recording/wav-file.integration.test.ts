import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeWav } from '../../../media/audio/wav.ts'
import { repairWav, WavFile } from '../../../media/recording/wav-file.ts'

const STEREO = { sampleRate: 8000, channels: 2 }
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-wav-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const samples = (count: number, from = 0) => Int16Array.from({ length: count }, (_, i) => ((from + i) * 37) % 30_000)

/** Reads the file with Python's `wave`, which shares no code with ours. */
function readByPython(file: string): { channels: number; rate: number; width: number; sum: number; read: number } {
  const script = `import json, sys, wave, array
w = wave.open(sys.argv[1]); d = w.readframes(w.getnframes()); a = array.array('h', d[:len(d) // 2 * 2])
print(json.dumps(dict(channels=w.getnchannels(), rate=w.getframerate(), width=w.getsampwidth(), sum=sum(a), read=len(a))))`
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script, file], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}
const hasPython = spawnSync('python3', ['-c', 'import wave']).status === 0

describe('a WAVE file that grows', () => {
  it('is valid for our reader and another', async () => {
    const file = join(folder, 'whole.wav')
    const wav = new WavFile(file, STEREO)
    for (let i = 0; i < 20; i++) wav.write(samples(8000, i * 8000))
    expect(await wav.finish()).toEqual({ duration_ms: 10_000, bytes: 320_044 })
    expect(statSync(file).size).toBe(320_044)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(decodeWav(readFileSync(file))).toEqual({ ...STEREO, pcm: samples(160_000) })
    if (!hasPython) return
    const sum = samples(160_000).reduce((total, sample) => total + sample, 0)
    expect(readByPython(file)).toEqual({ channels: 2, rate: 8000, width: 2, sum, read: 160_000 })
  })

  it('is playable while growing, and recoverable after a crash', async () => {
    const file = join(folder, 'cut.wav')
    const other = new WavFile(join(folder, 'other.wav'), STEREO)
    other.write(samples(16_000))
    await other.finish()
    // As a process that died in the middle of a write left it.
    const bytes = readFileSync(join(folder, 'other.wav'))
    bytes.writeUInt32LE(0xffff_ffff, 4)
    bytes.writeUInt32LE(0xffff_ffff, 40)
    writeFileSync(file, bytes.subarray(0, 44 + 20_003))
    expect(decodeWav(readFileSync(file)).pcm).toHaveLength(10_001)
    if (hasPython) expect(readByPython(file).read).toBeGreaterThanOrEqual(10_000)
    expect(await repairWav(file)).toEqual({ duration_ms: 625, bytes: 20_044 })
    expect(decodeWav(readFileSync(file)).pcm).toEqual(samples(10_000))
    if (hasPython) expect(readByPython(file)).toMatchObject({ read: 10_000 })
    expect(await repairWav(file)).toEqual({ duration_ms: 625, bytes: 20_044 }) // one that is whole stays as it is
    truncateSync(file, 44)
    await expect(repairWav(file)).rejects.toMatchObject({ code: 'empty' })
    truncateSync(file, 10)
    await expect(repairWav(file)).rejects.toMatchObject({ code: 'empty' })
    writeFileSync(file, 'x'.repeat(100))
    await expect(repairWav(file)).rejects.toMatchObject({ code: 'not_wav' })
  })

  it('ends at the largest size, with whole frames', async () => {
    const file = join(folder, 'large.wav')
    const wav = new WavFile(file, STEREO, 1047)
    for (let i = 0; i < 5; i++) wav.write(samples(200, i * 200))
    expect(await wav.finish()).toEqual({ duration_ms: 31, bytes: 1044 })
    expect(decodeWav(readFileSync(file)).pcm).toEqual(samples(500))
  })

  it('reports write failures without throwing', async () => {
    const wav = new WavFile(join(folder, 'no', 'where.wav'), STEREO)
    wav.write(samples(100))
    await expect(wav.finish()).rejects.toMatchObject({ code: 'ENOENT' })
    expect(wav.failure).toMatchObject({ code: 'ENOENT' })
  })

  it('bounds data that is not yet on disk', async () => {
    const wav = new WavFile(join(folder, 'slow.wav'), STEREO)
    // All in one turn: nothing can be written meanwhile.
    for (let i = 0; i < 100; i++) wav.write(samples(8000))
    expect(wav.failure).toMatchObject({ code: 'too_slow' })
    await expect(wav.finish()).rejects.toMatchObject({ code: 'too_slow' })
  })
})
