/**
 * Real speech on both sides with a simulated echo: delayed, attenuated, with room reverberation, line noise and µ-law.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { EchoDetector, isOwnWords } from '../../../media/agent/echo.ts'
import { rms } from '../../../media/audio/frames.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav } from '../../../media/audio/wav.ts'

const FRAME = 160
const load = (name: string): Int16Array => {
  const { pcm, sampleRate } = decodeWav(readFileSync(new URL(`../../../infra/demo/voice/${name}.wav`, import.meta.url)))
  const resampler = createResampler(sampleRate, 8000)
  return Int16Array.from([...resampler.push(pcm), ...resampler.flush()])
}
const agent = load('book')
const others = ['name', 'change', 'confirm'].map(load)

function random(seed: number) {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return state / 0x7fffffff - 0.5
  }
}

interface Line {
  delayMs: number
  /** Gain of the echo; 0 for no echo. */
  gain: number
  caller: Int16Array | null
  noise?: number
  jitterMs?: number
}

/** Share of loud frames that are classified as echo; with a caller, of those in which the caller is louder. */
function judge({ delayMs, gain, caller, noise = 20, jitterMs = 0 }: Line): number {
  const judged = new EchoDetector(8000)
  const noisy = random(delayMs + 1)
  const at = (sound: Int16Array, i: number) => sound[i] ?? 0
  let loud = 0
  let echoes = 0
  for (let start = 0; start + FRAME <= agent.length; start += FRAME) {
    const atMs = (start / FRAME) * 20
    judged.played(agent.subarray(start, start + FRAME), atMs + 20)
    const line = new Int16Array(FRAME)
    for (let i = 0; i < FRAME; i++) {
      const t = start + i - delayMs * 8
      const room = at(agent, t) + 0.3 * at(agent, t - 37) - 0.15 * at(agent, t - 121)
      line[i] = Math.max(
        -32_768,
        Math.min(32_767, gain * room + (caller ? at(caller, start + i) : 0) + noise * noisy()),
      )
    }
    const wire = Buffer.alloc(FRAME)
    encodeG711('PCMU', line, wire, 0)
    const pcm = decodeG711('PCMU', wire)
    const arrivedMs = atMs + 20 + Math.abs(noisy()) * jitterMs
    judged.heard(pcm, arrivedMs)
    const own = caller ? rms(caller.subarray(start, start + FRAME)) : Number.POSITIVE_INFINITY
    const echo = rms(agent.subarray(Math.max(0, start - delayMs * 8), start - delayMs * 8 + FRAME)) * gain
    if (start < 16 * FRAME || rms(pcm) < 300 || own < 2 * echo) continue
    loud++
    if (judged.isEcho(arrivedMs)) echoes++
  }
  expect(loud).toBeGreaterThan(10)
  return echoes / loud
}

describe("the agent's own voice", () => {
  it.each([
    [20, 0.5],
    [130, 0.25],
    [130, 0.8],
    [390, 0.3],
    [700, 0.4],
  ])('after %i ms at a gain of %f is detected', (delayMs, gain) => {
    expect(judge({ delayMs, gain, caller: null })).toBeGreaterThan(0.95)
  })
  it('is detected with packet jitter', () => {
    expect(judge({ delayMs: 200, gain: 0.4, caller: null, jitterMs: 40 })).toBeGreaterThan(0.9)
  })
})

describe('a person', () => {
  it('is not taken for an echo when the voices are equal', () => {
    for (const caller of others) expect(judge({ delayMs: 0, gain: 0, caller })).toBeLessThan(0.03)
  })
  it('who talks over an echo is recognised', () => {
    for (const caller of others) expect(judge({ delayMs: 130, gain: 0.12, caller })).toBeLessThan(0.2)
  })
})

describe('words', () => {
  const said = 'Your table is booked for eight in the evening. Is there anything else I can do for you?'
  it.each(['table is booked for eight', 'is there anything else', 'booked for ate in the evening'])(
    'recognises %j as its own words',
    text => expect(isOwnWords(text, said)).toBe(true),
  )
  it.each(['yes', 'eight', 'no make it nine in the morning', 'I need a table for nine', 'for you'])(
    'does not recognise %j as its own words',
    text => expect(isOwnWords(text, said)).toBe(false),
  )
})
