/** Audio for waiting callers: seamless music, quiet enough to talk over, and ringing in the cadence of the country. */
import { describe, expect, it } from 'vitest'
import { concatPcm, rms } from '../../../media/audio/frames.ts'
import { createMusic, createRinging, type WaitingAudio } from '../../../media/audio/hold-audio.ts'

const taken = (sound: WaitingAudio, ms: number) => concatPcm(Array.from({ length: ms / 20 }, () => sound.next()))

describe('music', () => {
  it.each([8000, 16_000, 48_000])('at %i Hz plays endlessly without loud parts, long silence or clicks', rate => {
    const pcm = taken(createMusic(rate), 20_000)
    expect(pcm.length).toBe(rate * 20)
    expect(pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)).toBeLessThan(2000)
    for (let at = 0; at < pcm.length; at += rate / 4) expect(rms(pcm.subarray(at, at + rate / 4))).toBeGreaterThan(100)
    let steepest = 0
    for (let i = 1; i < pcm.length; i++) steepest = Math.max(steepest, Math.abs(pcm[i]! - pcm[i - 1]!))
    // A sine of the highest overtone that is heard, at full strength, and no more.
    expect(steepest).toBeLessThan((2 * Math.PI * 1600 * 1800) / rate)
  })
})

describe('ringing', () => {
  it.each([
    ['+12025550199', 2000, 4000],
    ['+4930123456', 1000, 4000],
    ['sip:a@b', 1000, 4000],
    ['+33123456789', 1500, 3500],
  ])('of %s sounds for %i ms and is silent for %i', (to, on, off) => {
    const sound = createRinging(16_000, to)
    for (let round = 0; round < 2; round++) {
      expect(rms(taken(sound, on))).toBeGreaterThan(500)
      expect(rms(taken(sound, off))).toBe(0)
    }
  })

  it('in Britain rings twice', () => {
    const sound = createRinging(8000, '+442071234567')
    const loud = [400, 200, 400, 2000].map(ms => rms(taken(sound, ms)) > 500)
    expect(loud).toEqual([true, false, true, false])
  })
})
