import { describe, expect, it } from 'vitest'
import { PendingAudio } from '../../../media/audio/pending.ts'
import { createResampler } from '../../../media/audio/resample.ts'

const sine = (samples: number, rate: number, hz = 300) =>
  Int16Array.from({ length: samples }, (_, i) => 9000 * Math.sin((2 * Math.PI * hz * i) / rate))

function drain(sound: PendingAudio, frame: number): Int16Array {
  const all: number[] = []
  while (sound.available > 0) all.push(...sound.take(Math.min(frame, sound.available)))
  return Int16Array.from(all)
}

describe('pending audio', () => {
  it.each([
    [22_050, 48_000],
    [24_000, 8000],
    [8000, 48_000],
    [8000, 8000],
  ])('from %i Hz is the same at %i Hz for any chunks', (from, to) => {
    const pcm = sine(from / 2, from)
    const resampler = createResampler(from, to)
    const whole = [...resampler.push(pcm), ...resampler.flush()]
    const sound = new PendingAudio(to)
    for (let at = 0; at < pcm.length; at += 777) sound.write(pcm.subarray(at, at + 777), from)
    sound.end()
    expect(sound.length).toBe(to / 2)
    expect([...drain(sound, to / 50)]).toEqual(whole.slice(0, to / 2))
  })

  it('outputs only what is final, and everything in the end', () => {
    const sound = new PendingAudio(48_000)
    sound.write(sine(441, 22_050), 22_050)
    const early = sound.available
    expect(early).toBeGreaterThan(900)
    expect(early).toBeLessThan(960)
    const first = drain(sound, 480)
    expect(first).toHaveLength(early)
    expect(Math.abs(first.at(-1)! - first.at(-2)!)).toBeLessThan(800) // no cut to silence
    sound.end()
    expect(drain(sound, 480)).toHaveLength(960 - early)
  })

  it('supports a change of rate', () => {
    const sound = new PendingAudio(8000)
    sound.write(sine(1600, 16_000), 16_000)
    sound.write(sine(2205, 22_050), 22_050)
    sound.end()
    const pcm = drain(sound, 160)
    expect(pcm).toHaveLength(1600)
    expect(Math.max(...pcm.subarray(0, 700).map(Math.abs))).toBeGreaterThan(8000)
    expect(Math.max(...pcm.subarray(900, 1500).map(Math.abs))).toBeGreaterThan(8000)
  })
})
