/**
 * Detects single tones: a voicemail's beep, a fax (ITU-T T.30: CED, CNG), and the special information tones before a
 * carrier's announcement (ITU-T E.180 SIT). Goertzel filters measure each frame; runs of similar frames are tones.
 */
import { rms } from '../audio/frames.ts'

/** Measurement of one 20 ms frame. */
export interface ToneMeasure {
  level: number
  /** Strongest frequency within the searched band in Hz; 0 when the frame is too quiet. */
  hz: number
  /** Share of the frame's power at that frequency, 0 to 1. */
  purity: number
}

export interface Tone {
  hz: number
  startMs: number
  endMs: number
}

interface Run extends Tone {
  level: number
  /** Consecutive frames that did not fit. A fax reverses the phase of its tone every 450 ms. */
  odd: number
}

export interface ToneState {
  run: Run | null
  /** The latest tones that ended, newest last; enough for the three of a SIT. */
  past: readonly Tone[]
}

export type ToneEvent =
  /** The tone has lasted too long to be speech. */
  { type: 'tone'; tone: Tone } | { type: 'ended'; tone: Tone }

export const noTones: ToneState = { run: null, past: [] }

const LOWEST_HZ = 380
const HIGHEST_HZ = 2260
/** Filter spacing in Hz: the bandwidth of a 20 ms frame. */
const STEP_HZ = 50
/** RMS of about −48 dBFS. */
const MIN_LEVEL = 130
const PURE = 0.8
const SAME_HZ = 20
/** Maximum change of level: 3 dB up or down. Vowels and musical notes vary more over this time. */
const STEADY = 1.42
export const MIN_TONE_MS = 100
/** A frame in which a tone begins or ends contains only part of it, but belongs to it. */
const MAX_ODD = 1
const KEPT = 4

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
  // A tone halfway between two filters still has 0.4 of its power in each.
  if (purity < 0.3) return { level, hz, purity }
  for (let step = STEP_HZ / 2; step > 6; step /= 2) {
    const centre = share(pcm, power, hz, sampleRate)
    const below = share(pcm, power, hz - step, sampleRate)
    const above = share(pcm, power, hz + step, sampleRate)
    const bend = below - 2 * centre + above
    // A parabola through the three points; two rounds are precise enough.
    const shift = bend < 0 ? (step * (below - above)) / (2 * bend) : above > below ? step : -step
    hz += Math.max(-step, Math.min(step, shift))
  }
  return { level, hz, purity: Math.min(1, share(pcm, power, hz, sampleRate)) }
}

/** `atMs` is the end of the frame, `frameMs` its length in ms. */
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
    // The first frame may contain only the beginning of the tone.
    (level > run.level / STEADY || run.endMs - run.startMs <= 40)
  )
}

const plain = ({ hz, startMs, endMs }: Tone): Tone => ({ hz, startMs, endMs })

/** True while a tone sounds; VAD results are then not speech. */
export const sounding = (state: ToneState) =>
  state.run !== null && state.run.endMs - state.run.startMs >= MIN_TONE_MS - 40

const lasts = ({ startMs, endMs }: Tone) => endMs - startMs
const near = (tone: Tone, hz: number, by: number) => Math.abs(tone.hz - hz) <= by

/** T.30: 2100 ± 15 Hz for 2.6 to 4 s. No known beep stays there for half a second. */
export const isFaxAnswer = (tone: Tone) => near(tone, 2100, 25) && lasts(tone) >= 500
/** T.30: 1100 ± 38 Hz, half a second on, three seconds off. */
export const isFaxCall = (tone: Tone) => near(tone, 1100, 45) && lasts(tone) >= 400 && lasts(tone) <= 600

export const isBeep = (tone: Tone) => lasts(tone) >= 140 && lasts(tone) <= 1700

const SIT_HZ = [950, 1400, 1790] as const

/** True for three rising tones in a row. */
export function isSit(past: readonly Tone[]): boolean {
  const notes = past.slice(-3)
  return (
    notes.length === 3 &&
    notes.every((note, i) => near(note, SIT_HZ[i]!, 70) && lasts(note) >= 200 && lasts(note) <= 450) &&
    notes.every((note, i) => i === 0 || note.startMs - notes[i - 1]!.endMs < 100)
  )
}
