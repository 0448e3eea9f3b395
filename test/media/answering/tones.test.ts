/** Tone detection: beeps, faxes, tones of carriers; and audio that must not be mistaken for one. */
import { describe, expect, it } from 'vitest'
import {
  isBeep,
  isFaxAnswer,
  isFaxCall,
  isSit,
  measureTone,
  noTones,
  stepTones,
  type Tone,
} from '../../../media/answering/tones.ts'
import { concatPcm } from '../../../media/audio/frames.ts'
import { babbleOf, gain, index, RATE, silence, soundOf, throughUlaw, tone } from '../../corpus/answering/sounds.ts'
import { framesOf } from './listening.ts'

function tonesIn(pcm: Int16Array): Tone[] {
  const found: Tone[] = []
  let state = noTones
  for (const { pcm: frame, atMs } of framesOf(throughUlaw(pcm))) {
    const step = stepTones(state, measureTone(frame, RATE), atMs)
    state = step.state
    for (const event of step.events) if (event.type === 'ended') found.push(event.tone)
  }
  return found
}
const around = (pcm: Int16Array) => concatPcm([silence(310), pcm, silence(300)])
const noisy = (pcm: Int16Array, level: number) => pcm.map(sample => sample + (Math.random() - 0.5) * level)

describe('a silent frame', () => {
  it.each([400, 437, 850, 1004, 1400, 2100, 2200])('of %i Hz is measured within a few Hz', hz => {
    const { hz: found, purity } = measureTone(throughUlaw(tone([hz], 60)).subarray(160, 320), RATE)
    expect(Math.abs(found - hz)).toBeLessThan(6)
    expect(purity).toBeGreaterThan(0.95)
  })

  it('excludes DTMF', () => {
    expect(measureTone(tone([770, 1336], 60).subarray(160, 320), RATE).purity).toBeLessThan(0.7)
  })

  it('is not analysed', () => {
    expect(measureTone(silence(20), RATE)).toEqual({ level: 0, hz: 0, purity: 0 })
  })
})

describe('a tone', () => {
  it.each([
    [440, 150],
    [1000, 400],
    [1400, 250],
    [2180, 1500],
  ])('of %i Hz and %i ms is a beep, exact to two frames', (hz, ms) => {
    const [beep, ...more] = tonesIn(around(tone([hz], ms)))
    expect(more).toEqual([])
    expect(isBeep(beep!)).toBe(true)
    expect(Math.abs(beep!.startMs - 310)).toBeLessThanOrEqual(30)
    expect(Math.abs(beep!.endMs - 310 - ms)).toBeLessThanOrEqual(30)
  })

  it('is detected at 12 dB below noise, and when faint', () => {
    expect(tonesIn(noisy(around(tone([1000], 400)), 4000)).filter(isBeep)).toHaveLength(1)
    expect(tonesIn(around(tone([1000], 400, 400))).filter(isBeep)).toHaveLength(1)
  })

  it('of an answering fax is no other tone', () => {
    expect(tonesIn(around(tone([2100], 2600))).map(isFaxAnswer)).toEqual([true])
    expect(tonesIn(around(tone([2000], 2600))).map(isFaxAnswer)).toEqual([false])
    expect(tonesIn(around(tone([2100], 300))).map(isFaxAnswer)).toEqual([false])
  })

  it('of an answering fax tolerates phase reversals every 450 ms', () => {
    const half = tone([2100], 450)
    const turned = gain(half, -1)
    expect(tonesIn(around(concatPcm([half, turned, half, turned]))).some(isFaxAnswer)).toBe(true)
  })

  it('of a fax that calls lasts half a second', () => {
    expect(tonesIn(around(tone([1100], 500))).map(isFaxCall)).toEqual([true])
    expect(tonesIn(around(tone([1100], 1500))).map(isFaxCall)).toEqual([false])
  })

  it('with two rising ones precedes an announcement (SIT)', () => {
    const notes = (...hz: number[]) => tonesIn(around(concatPcm(hz.map(f => tone([f], 330)))))
    expect(isSit(notes(950, 1400, 1800))).toBe(true)
    expect(isSit(notes(914, 1371, 1777))).toBe(true)
    expect(isSit(notes(1800, 1400, 950))).toBe(false)
    expect(isSit(notes(950, 1400))).toBe(false)
  })
})

describe('other sounds', () => {
  it('includes all speech of the corpus', () => {
    const clips = index().filter(clip => clip.file !== null && !clip.before && !clip.after)
    const wrong = clips
      .map(clip => ({ id: clip.id, tones: tonesIn(soundOf(clip, babbleOf(clips, clip.split)).pcm).filter(isBeep) }))
      .filter(({ tones }) => tones.length > 0)
    expect(clips.length).toBeGreaterThan(50)
    expect(wrong).toEqual([])
  })

  it('includes whistles, warbles and noise', () => {
    const slide = silence(800)
    for (let i = 0, phase = 0; i < slide.length; i++) {
      phase += (2 * Math.PI * (600 + i / 5)) / RATE
      slide[i] = Math.round(7000 * Math.sin(phase))
    }
    const warble = concatPcm(Array.from({ length: 10 }, (_, i) => tone([i % 2 === 0 ? 900 : 1100], 60)))
    expect(tonesIn(around(slide)).filter(isBeep)).toEqual([])
    expect(tonesIn(around(warble)).filter(isBeep)).toEqual([])
    expect(tonesIn(noisy(silence(2000), 8000))).toEqual([])
  })
})
