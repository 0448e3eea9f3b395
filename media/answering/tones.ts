/**
 * Single tones in a caller's sound: a voicemail's beep, a fax (ITU-T T.30: CED, CNG), the three notes before a
 * carrier's announcement (ITU-T E.180 SIT). A frame is measured by Goertzel filters; runs of like frames are tones.
 */
import { rms } from '../audio/frames.ts'

/** What one 20 ms frame sounds like. */
export interface ToneMeasure {
  level: number
  /** The strongest frequency within the searched band; 0 when the frame is too quiet to tell. */
  hz: number
  /** How much of the frame's power is that one frequency: 0 to 1. */
  purity: number
}

export interface Tone {
  hz: number
  startMs: number
  endMs: number
}

interface Run extends Tone {
  level: number
  /** Frames in a row that did not belong. A fax turns its tone's phase around every 450 ms. */
  odd: number
}

export interface ToneState {
  run: Run | null
  /** The last tones that ended, newest last; enough for the three of a SIT. */
  past: readonly Tone[]
}

export type ToneEvent =
  /** A steady tone has lasted long enough not to be speech. */
  { type: 'tone'; tone: Tone } | { type: 'ended'; tone: Tone }

export const noTones: ToneState = { run: null, past: [] }

const LOWEST_HZ = 380
const HIGHEST_HZ = 2260
/** The width of a 20 ms frame's filter. */
const STEP_HZ = 50
/** About −48 dBFS. */
const MIN_LEVEL = 130
const PURE = 0.8
const SAME_HZ = 20
/** A tone is steady: 3 dB up or down. Vowels and notes of music are not, for so long. */
const STEADY = 1.42
export const MIN_TONE_MS = 100
/** A frame into which a tone begins or ends is half one; its sound still belongs to it. */
const MAX_ODD = 1
const KEPT = 4

// ---- one frame ----

/** Share of the power of `pcm` at `hz`; 1 for a pure tone of that frequency. */
function share(pcm: Int16Array, power: number, hz: number, sampleRate: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / sampleRate)
  let last = 0
  let before = 0
  for (let i = 0; i < pcm.length; i++) {
    const next = pcm[i]! + coefficient * last - before
    before = last
    last = next
  }
  const magnitude = last * last + before * before - coefficient * last * before
  return (2 * magnitude) / (pcm.length * power)
}

export function measureTone(pcm: Int16Array, sampleRate: number): ToneMeasure {
  const level = rms(pcm)
  if (level < MIN_LEVEL) return { level, hz: 0, purity: 0 }
  const power = level * level * pcm.length
  let purity = 0
  let hz = 0
  for (let f = LOWEST_HZ; f <= HIGHEST_HZ; f += STEP_HZ) {
    const found = share(pcm, power, f, sampleRate)
    if (found > purity) {
      purity = found
      hz = f
    }
  }
  // A tone halfway between two filters still gives each 0.4 of its power.
  if (purity < 0.3) return { level, hz, purity }
  for (let step = STEP_HZ / 2; step > 6; step /= 2) {
    const centre = share(pcm, power, hz, sampleRate)
    const below = share(pcm, power, hz - step, sampleRate)
    const above = share(pcm, power, hz + step, sampleRate)
    const bend = below - 2 * centre + above
    // A parabola through the three: exact enough after two rounds.
    const shift = bend < 0 ? (step * (below - above)) / (2 * bend) : above > below ? step : -step
    hz += Math.max(-step, Math.min(step, shift))
  }
  return { level, hz, purity: Math.min(1, share(pcm, power, hz, sampleRate)) }
}

// ---- runs of frames ----

/** `atMs` is the end of the frame, `frameMs` its length. */
export function stepTones(
  state: ToneState,
  measure: ToneMeasure,
  atMs: number,
  frameMs = 20,
): { state: ToneState; events: ToneEvent[] } {
  const { run } = state
  if (!run) {
    const begun =
      measure.purity >= PURE
        ? { hz: measure.hz, startMs: atMs - frameMs, endMs: atMs, level: measure.level, odd: 0 }
        : null
    return { state: { ...state, run: begun }, events: [] }
  }
  if (belongs(run, measure)) {
    const frames = (run.endMs - run.startMs) / frameMs
    const next: Run = {
      ...run,
      hz: (run.hz * frames + measure.hz) / (frames + 1),
      level: (run.level * frames + measure.level) / (frames + 1),
      endMs: atMs,
      odd: 0,
    }
    const certain = next.endMs - next.startMs >= MIN_TONE_MS
    return { state: { ...state, run: next }, events: certain ? [{ type: 'tone', tone: plain(next) }] : [] }
  }
  if (run.odd < MAX_ODD) return { state: { ...state, run: { ...run, odd: run.odd + 1 } }, events: [] }
  const fresh = stepTones({ ...state, run: null }, measure, atMs, frameMs).state
  if (run.endMs - run.startMs < MIN_TONE_MS) return { state: fresh, events: [] }
  const tone = plain(run)
  return { state: { ...fresh, past: [...state.past, tone].slice(-KEPT) }, events: [{ type: 'ended', tone }] }
}

function belongs(run: Run, { hz, purity, level }: ToneMeasure): boolean {
  return (
    purity >= PURE &&
    Math.abs(hz - run.hz) <= SAME_HZ &&
    level < run.level * STEADY &&
    // The first frame may hold only the tone's beginning.
    (level > run.level / STEADY || run.endMs - run.startMs <= 40)
  )
}

const plain = ({ hz, startMs, endMs }: Tone): Tone => ({ hz, startMs, endMs })

/** While a tone sounds, whatever the voice detector says is no voice. */
export const sounding = (state: ToneState) =>
  state.run !== null && state.run.endMs - state.run.startMs >= MIN_TONE_MS - 40

// ---- what a tone means ----

const lasts = ({ startMs, endMs }: Tone) => endMs - startMs
const near = (tone: Tone, hz: number, by: number) => Math.abs(tone.hz - hz) <= by

/** T.30: 2100 ± 15 Hz for 2.6 to 4 s. No beep is known that stays there for half a second. */
export const isFaxAnswer = (tone: Tone) => near(tone, 2100, 25) && lasts(tone) >= 500
/** T.30: 1100 ± 38 Hz, half a second on, three off. */
export const isFaxCall = (tone: Tone) => near(tone, 1100, 45) && lasts(tone) >= 400 && lasts(tone) <= 600

export const isBeep = (tone: Tone) => lasts(tone) >= 140 && lasts(tone) <= 1700

const SIT_HZ = [950, 1400, 1790] as const

/** Three rising notes in a row. */
export function isSit(past: readonly Tone[]): boolean {
  const notes = past.slice(-3)
  return (
    notes.length === 3 &&
    notes.every((note, i) => near(note, SIT_HZ[i]!, 70) && lasts(note) >= 200 && lasts(note) <= 450) &&
    notes.every((note, i) => i === 0 || note.startMs - notes[i - 1]!.endMs < 100)
  )
}
