/** DTMF in audio, by the limits of ITU-T Q.24, through µ-law; and audio that must not be mistaken for DTMF. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createDtmfDetector } from '../../../media/audio/dtmf-detector.ts'
import { concatPcm } from '../../../media/audio/frames.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { DtmfSender } from '../../../media/rtp/dtmf-sender.ts'
import { RATE, silence, throughUlaw, tone } from '../../corpus/answering/sounds.ts'

const KEYS = '123A456B789C*0#D'
const LOW = [697, 770, 852, 941]
const HIGH = [1209, 1336, 1477, 1633]
/** Amplitude of a sine; +3.17 dBm0 is the maximum of µ-law. */
const amplitude = (dbm0: number) => 32_124 * 10 ** ((dbm0 - 3.17) / 20)

interface Press {
  ms?: number
  /** Level of each tone, in dBm0. */
  low?: number
  high?: number
  /** Off the nominal frequencies. */
  off?: number
}

function press(key: string, { ms = 50, low = -10, high = -10, off = 0 }: Press = {}): Int16Array {
  const at = KEYS.indexOf(key)
  const [f1, f2] = [LOW[at >> 2]! * (1 + off), HIGH[at & 3]! * (1 + off)]
  return Int16Array.from({ length: (ms * RATE) / 1000 }, (_, i) => {
    const t = (2 * Math.PI * i) / RATE
    return amplitude(low) * Math.sin(f1 * t) + amplitude(high) * Math.sin(f2 * t + 1)
  })
}

function keysIn(pcm: Int16Array, rate = RATE, frame = rate / 50): string {
  const detector = createDtmfDetector(rate)
  let keys = ''
  for (let at = 0; at < pcm.length; at += frame) keys += detector.push(pcm.subarray(at, at + frame)) ?? ''
  return keys
}

/** The press at eight places against the detector's windows, through µ-law. */
const heard = (pcm: Int16Array) =>
  [0, 1, 2, 3, 4, 5, 6, 7].map(shift => keysIn(throughUlaw(concatPcm([silence(40 + shift * 0.625), pcm, silence(60)]))))
const always = (keys: string) => Array<string>(8).fill(keys)

let seed = 1
const random = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
  return seed / 0x7fffffff
}
/** Adds noise `db` dB below one tone of −10 dBm0. */
const noisy = (pcm: Int16Array, db: number) => {
  const rms = (amplitude(-10) / Math.SQRT2) * 10 ** (-db / 20)
  return pcm.map(sample => sample + rms * Math.sqrt(12) * (random() - 0.5))
}

describe('a key', () => {
  it('is reported once, from 40 ms', () => {
    for (const key of KEYS) expect(heard(press(key, { ms: 40 })), key).toEqual(always(key))
  })

  it.each([-3.2, -5, -20, -25, -29])('of %i dBm0 a tone', low => {
    for (const key of '159D') expect(heard(press(key, { ms: 40, low, high: low })), key).toEqual(always(key))
  })

  it.each([
    [-10, -18],
    [-14, -10],
    [-17, -25],
    [-25, -21],
  ])('whose tones differ, of %i and %i dBm0', (low, high) => {
    for (const key of '159D#') expect(heard(press(key, { ms: 40, low, high })), key).toEqual(always(key))
  })

  it.each([-0.015, 0.015])('whose frequencies are off by %f', off => {
    for (const key of '15D*') expect(heard(press(key, { ms: 40, off })), key).toEqual(always(key))
  })

  it('in noise 15 dB below a tone', () => {
    const keys = [...'0123456789*#'.repeat(8)]
    const sound = concatPcm(keys.flatMap(key => [silence(60), press(key, { ms: 60 })]))
    expect(keysIn(throughUlaw(noisy(concatPcm([sound, silence(80)]), 15)))).toBe(keys.join(''))
  })

  it('counts twice after 40 ms, once when held, and once across a 10 ms drop-out', () => {
    expect(heard(concatPcm([press('5', { ms: 40 }), silence(40), press('5', { ms: 40 })]))).toEqual(always('55'))
    expect(heard(press('5', { ms: 3000 }))).toEqual(always('5'))
    const broken = press('5', { ms: 120 })
    broken.fill(0, 400, 480)
    expect(heard(broken)).toEqual(always('5'))
  })

  it.each([16_000, 48_000])('at %i Hz, as our own sender makes it', rate => {
    const sender = new DtmfSender(rate)
    void sender.press('1#9,0')
    const frames: Int16Array[] = []
    for (let i = 0; i < 120; i++) {
      const frame = sender.next(0, false)
      frames.push(frame?.kind === 'tone' ? frame.pcm : new Int16Array(rate / 50))
    }
    expect(keysIn(concatPcm(frames), rate)).toBe('1#90')
  })

  it('is detected in chunks of any size', () => {
    const sound = throughUlaw(concatPcm([silence(30), press('7'), silence(50), press('8'), silence(50)]))
    for (const frame of [1, 7, 80, 333]) expect(keysIn(sound, RATE, frame)).toBe('78')
  })
})

describe('other sounds', () => {
  it('include tones that are short, weak, off-frequency or single', () => {
    const wrong: Press[] = [{ ms: 20 }, { low: -45, high: -45 }, { off: 0.035 }, { off: -0.035 }]
    const sided: Press[] = [{ high: -22 }, { low: -18 }]
    for (const how of [...wrong, ...sided]) {
      for (const key of '159D') expect(heard(press(key, { ms: 50, ...how })), JSON.stringify(how)).toEqual(always(''))
    }
  })

  it.each([
    ['one tone', [1336]],
    ['ringing', [440, 480]],
    ['busy', [480, 620]],
    ['two of one group', [697, 852]],
    ['three', [697, 1209, 1477]],
    ['a fax', [2100]],
  ])('is %s', (_, hz) => {
    expect(keysIn(throughUlaw(tone(hz, 2000)))).toBe('')
  })

  it('include noise', () => {
    expect(keysIn(throughUlaw(noisy(silence(30_000), 0)))).toBe('')
  })

  it('include speech at any level', () => {
    const corpus = join(import.meta.dirname, '../../corpus')
    const files = readdirSync(corpus, { recursive: true, encoding: 'utf8' }).filter(name => /\.(ul|wav)$/.test(name))
    let seconds = 0
    const found: string[] = []
    for (const name of files) {
      const bytes = readFileSync(join(corpus, name))
      const pcm = decodeG711('PCMU', name.endsWith('.wav') ? bytes.subarray(46) : bytes)
      seconds += pcm.length / RATE
      for (const gain of [1, 0.3]) {
        const keys = keysIn(pcm.map(sample => sample * gain))
        if (keys !== '') found.push(`${name} ${keys}`)
      }
      // Faster and higher: another set of voices.
      const higher = keysIn(createResampler(RATE, 7000).push(pcm))
      if (higher !== '') found.push(`${name} higher ${higher}`)
    }
    expect(found).toEqual([])
    expect(seconds).toBeGreaterThan(600)
  }, 180_000)
})
