/** The aligner with simulated time: audio that arrived at t is at t, whatever the network and the sender's clock do. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SETTLE_MS, Tape } from '../../../media/recording/tape.ts'
import { stretched, Track } from '../../../media/recording/track.ts'

const RATE = 8000
const FRAME = 160
const PER_MS = RATE / 1000
/** Frames that a track takes the middle of: three seconds. */
const LOOKED_AT = 150

interface Sent {
  pcm: Int16Array
  /** When the packet left, by the sender's clock. */
  sentMs: number
  atMs: number
  concealed?: boolean
}

/** A burst of a tone that starts and ends at zero: it has a middle that can be found, and any step in it would show. */
const BURST = 40
const beep = Int16Array.from({ length: FRAME }, (_, i) => 9000 * Math.sin((Math.PI * i) / FRAME) ** 2 * Math.sin(i))
const quiet = () => new Int16Array(FRAME)
const HZ = 440
/** Eleven periods. */
const SINE = Float64Array.from({ length: 200 }, (_, i) => Math.sin((2 * Math.PI * HZ * i) / RATE))
function tone(from: number, swell = 0): Int16Array {
  const pcm = new Int16Array(FRAME)
  for (let i = 0; i < FRAME; i++) {
    const strength = swell === 0 ? 2000 : 2000 + swell * Math.sin((Math.PI * i) / FRAME) ** 2
    pcm[i] = strength * SINE[(from + i) % 200]!
  }
  return pcm
}

function record(frames: readonly Sent[], endMs: number): Int16Array {
  const track = new Track({ sampleRate: RATE, startedMs: 0 })
  const push = ({ pcm, atMs, concealed }: Sent) => track.push(pcm, atMs, concealed)
  const parts: Int16Array[] = []
  let next = 0
  for (let nowMs = 0; nowMs < endMs; nowMs += 500) {
    for (; next < frames.length && frames[next]!.atMs <= nowMs; next++) push(frames[next]!)
    parts.push(track.take(Math.max(0, (nowMs - SETTLE_MS) * PER_MS)))
  }
  for (; next < frames.length; next++) push(frames[next]!)
  parts.push(track.take(endMs * PER_MS))
  const whole = new Int16Array(endMs * PER_MS)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  expect(at).toBe(whole.length)
  return whole
}

/** Most true values among any `width` consecutive ones. */
function mostOf(values: readonly boolean[], width: number): number {
  let [most, inside] = [0, 0]
  for (const [i, value] of values.entries()) {
    inside += Number(value) - Number(values[i - width] ?? false)
    most = Math.max(most, inside)
  }
  return most
}

/** Position of the beep near `ms`, by its centre of energy. */
function beepAt(pcm: Int16Array, ms: number, { around = 100, loudness = 0 } = {}): number {
  let [sum, energy] = [0, 0]
  const from = Math.round(Math.max(0, (ms - around) * PER_MS))
  for (let i = from; i < Math.min(pcm.length, (ms + 20 + around) * PER_MS); i++) {
    if (Math.abs(pcm[i]!) < loudness) continue
    energy += pcm[i]! ** 2
    sum += i * pcm[i]! ** 2
  }
  expect(energy, `no beep near ${ms} ms`).toBeGreaterThan(1e9)
  return sum / energy / PER_MS - 10
}

/** A caller who beeps every two seconds; `arrives` makes arrivals of departures. */
function beeper(seconds: number, ppm: number, arrives: (sentMs: number, index: number) => number): Sent[] {
  const frames: Sent[] = []
  let lastMs = 0
  for (let i = 0; i * 20 < seconds * 1000; i++) {
    const sentMs = i * 20 * (1 + ppm / 1e6)
    lastMs = Math.max(lastMs, arrives(sentMs, i)) // in order, as the jitter buffer gives them out
    frames.push({ pcm: i % 100 === BURST ? beep : quiet(), sentMs, atMs: lastMs })
  }
  return frames
}

const loudSteps = (pcm: Int16Array) => {
  let most = 0
  for (let i = 1; i < pcm.length; i++) most = Math.max(most, Math.abs(pcm[i]! - pcm[i - 1]!))
  return most
}

/** Lehmer's generator: the same jitter each time. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe('a track', () => {
  it('equals the input on a clean network', () => {
    const frames = Array.from({ length: 500 }, (_, i) => ({ pcm: tone(i * FRAME), sentMs: 0, atMs: 7 + i * 20 }))
    const out = record(frames, 10_100)
    const sine = frames.flatMap(({ pcm }) => [...pcm])
    // The first frame fades in; from there on every sample is the sender's.
    for (let i = FRAME; i < 500 * FRAME; i++) expect([i, out[7 * PER_MS + i]]).toEqual([i, sine[i]])
    expect(out.subarray(0, 7 * PER_MS).every(sample => sample === 0)).toBe(true)
    expect(out.subarray(-500).every(sample => sample === 0)).toBe(true)
  })

  it.each([-200, 200])(
    'stays within 20 ms of the wire for an hour of %i ppm, without a click',
    ppm => {
      const jitter = random(7)
      const frames: Sent[] = []
      for (let i = 0; i * 20 < 3_600_000; i++) {
        const sentMs = i * 20 * (1 + ppm / 1e6)
        // Never quiet, so that the track cannot mend itself unheard; swelling every ten seconds.
        const pcm = tone(i * FRAME, i % 500 === 250 ? 4000 : 0)
        frames.push({ pcm, sentMs, atMs: Math.max(frames.at(-1)?.atMs ?? 0, sentMs + 30 + 8 * jitter()) })
      }
      const out = record(frames, 3_601_000)
      let worst = 0
      for (let i = 250; i < frames.length; i += 500) {
        const at = frames[i]!.sentMs + 34
        worst = Math.max(worst, Math.abs(beepAt(out, at, { loudness: 2500 }) - at))
      }
      expect(worst).toBeLessThan(8)
      // A sine of 440 Hz and 6000 has steps of 2073 at most; a bent frame a little more, a click several times that.
      expect(loudSteps(out)).toBeLessThan(2150)
    },
    60_000,
  )

  it('distinguishes pauses from stalls', () => {
    const stalled = (sentMs: number) => (sentMs >= 5000 && sentMs < 5700 ? 5700 : sentMs) + 30
    const frames = beeper(20, 0, stalled)
      // Nothing is sent for 3.1 s, as with discontinuous transmission.
      .filter(({ sentMs }) => sentMs < 10_000 || sentMs >= 13_100)
    const loud = frames.map(frame => (frame.pcm === beep ? frame : { ...frame, pcm: tone(frame.sentMs * PER_MS) }))
    for (const sound of [frames, loud.map(({ pcm, ...rest }) => ({ ...rest, pcm: pcm === beep ? beep : quiet() }))]) {
      const out = record(sound, 20_100)
      for (const ms of [800, 2800, 4800, 6800, 8800, 14_800, 16_800, 18_800]) {
        expect(Math.abs(beepAt(out, ms + 30) - ms - 30)).toBeLessThan(2)
      }
    }
    const out = record(loud, 20_100)
    expect(loudSteps(out)).toBeLessThan(9500)
    expect(out.subarray(10_100 * PER_MS, 13_000 * PER_MS).every(sample => sample === 0)).toBe(true)
    expect(out.subarray(5000 * PER_MS, 5700 * PER_MS).some(sample => Math.abs(sample) > 1800)).toBe(true)
  })

  it('recovers after a long stall', () => {
    const frames = beeper(60, 0, sentMs => (sentMs >= 10_000 && sentMs < 16_000 ? 16_000 : sentMs) + 30)
    const out = record(frames, 60_100)
    for (const ms of [20_800, 30_800, 58_800]) expect(Math.abs(beepAt(out, ms + 30) - ms - 30)).toBeLessThan(20)
  })

  it('follows a changing delay', () => {
    const frames = beeper(60, 0, sentMs => sentMs + (sentMs < 15_000 || sentMs > 40_000 ? 20 : 180))
    const out = record(frames, 60_200)
    for (const ms of [10_800, 20_800, 30_800]) {
      const delay = ms < 15_000 ? 20 : 180
      expect(Math.abs(beepAt(out, ms + delay) - ms - delay)).toBeLessThan(20)
    }
    expect(Math.abs(beepAt(out, 50_820) - 50_820)).toBeLessThan(20)
  })

  it('fills losses with concealed audio of equal length', () => {
    const lossy = random(11)
    const frames = beeper(60, 0, sentMs => sentMs + 25).map(frame =>
      frame.pcm !== beep && lossy() < 0.1 ? { ...frame, atMs: frame.atMs + 60, concealed: true } : frame,
    )
    // The jitter buffer gives what waited behind a hole its own time of arrival.
    const out = record(frames, 60_200)
    for (let ms = 800; ms < 60_000; ms += 2000) expect(Math.abs(beepAt(out, ms + 25) - ms - 25)).toBeLessThan(5)
  })

  it('keeps packets of 60 ms and keys in their place', () => {
    const frames = beeper(30, 0, sentMs => Math.floor(sentMs / 60) * 60 + 40).filter(
      ({ sentMs }) => sentMs < 12_000 || sentMs >= 12_240, // a key: events in place of sound
    )
    const out = record(frames, 30_200)
    for (let ms = 800; ms < 30_000; ms += 2000) {
      const sent = Math.floor(ms / 60) * 60
      const late = ms - sent + 40 // its place in the packet
      expect(Math.abs(beepAt(out, sent + late) - sent - late)).toBeLessThan(5)
    }
  })

  it('bounds memory in a flood', () => {
    const track = new Track({ sampleRate: RATE, startedMs: 0 })
    const loud = tone(0)
    for (let i = 0; i < 200_000; i++) track.push(loud, i / 10)
    expect(track.take(20_000 * PER_MS)).toHaveLength(20_000 * PER_MS)
    expect(track.take(20_001 * PER_MS)).toHaveLength(PER_MS)
  })

  it('outputs every sample once, and keeps every beep', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 2 }),
        fc.integer({ min: -200, max: 200 }),
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 0, max: 12 }),
        (seed, ppm, jitterMs, stalls) => {
          const next = random(seed)
          const stalled = Array.from({ length: stalls }, () => ({ at: next() * 55_000, for: next() * 900 }))
          const late: boolean[] = []
          const frames = beeper(60, ppm, (sentMs, index) => {
            const stall = stalled.find(one => sentMs >= one.at && sentMs < one.at + one.for)
            late[index] = stall !== undefined
            return (stall ? stall.at + stall.for : sentMs) + 20 + jitterMs * next()
          })
          // When more than half are late, a median cannot separate the path from the stalls.
          fc.pre(mostOf(late, LOOKED_AT) <= LOOKED_AT / 2)
          const out = record(frames, 61_000)
          for (const frame of frames) {
            if (frame.pcm !== beep || frame.sentMs < 5000) continue
            const at = frame.sentMs + 20 + jitterMs / 2
            expect(Math.abs(beepAt(out, at) - at)).toBeLessThan(20)
          }
        },
      ),
      { numRuns: 60 },
    )
  }, 180_000)
})

describe('a time-scaled frame', () => {
  it('keeps its ends and its sound', () => {
    for (const length of [159, 161]) {
      const out = stretched(tone(0), length)
      expect([out[0], out.at(-1)]).toEqual([tone(0)[0], tone(0).at(-1)])
      for (let i = 0; i < length; i++) {
        const exact = 2000 * Math.sin((2 * Math.PI * HZ * ((i * 159) / (length - 1))) / RATE)
        expect(Math.abs(out[i]! - exact)).toBeLessThan(20)
      }
    }
  })
})

describe('a two-channel tape', () => {
  it('aligns both channels, with silence where nothing was pulled', () => {
    const tape = new Tape({ sampleRate: RATE, startedMs: 1000 })
    for (let i = 0; i < 250; i++) {
      tape.caller({ pcm: i === 100 ? beep : quiet(), atMs: 1005 + i * 20, concealed: false })
      // On hold for the third second.
      if (i < 100 || i >= 150) tape.agent(i === 160 ? beep : null, 1000 + i * 20)
    }
    const parts = [tape.take(4000), tape.take(6000), tape.take(6100), tape.finish(6000)]
    expect(parts.map(part => part.length / 2 / PER_MS)).toEqual([0, 2000, 100, 2900])
    const all = parts.flatMap(part => [...part])
    const side = (offset: number) => Int16Array.from(all.filter((_, i) => i % 2 === offset))
    expect(Math.abs(beepAt(side(0), 2005) - 2005)).toBeLessThan(1)
    expect(Math.abs(beepAt(side(1), 3200) - 3200)).toBeLessThan(1)
  })
})
