/**
 * Person or machine by the cadence of the greeting: a person says a word or two and waits, a recording continues. Pure;
 * all times in ms. Words shift the limits, since a receptionist's greeting sounds like a recording's.
 */
import type { MachineKind, Words } from './phrases.ts'

export type CadenceRule =
  | 'words'
  /** A short greeting, followed by silence. */
  | 'short_greeting'
  /** The end of a longer greeting that contained nothing typical of a machine. */
  | 'waits'
  /** Speech without a pause that is too long for a person. */
  | 'long_greeting'
  /** Words that a machine may use, in continuous speech. */
  | 'likely_words'

export interface CadenceResult {
  result: 'human' | MachineKind
  rule: CadenceRule
}

/** The greeting as heard so far. */
export interface Cadence {
  words: Words
  /** False before the first transcription. */
  transcribed: boolean
  /** The transcription covers all of the greeting. */
  read: boolean
  /** STT failed, and has transcribed nothing yet. */
  deaf: boolean
  /** Time since the first and since the last voice. */
  sinceStartMs: number
  silenceMs: number
  /** Time from the first voice to the last. */
  spokenMs: number
  /** Duration of the current speech without a pause. */
  runMs: number
}

/** Silence in ms that is a pause; one within a sentence is shorter. */
export const PAUSE_MS = 350
/** Time in ms from the first voice to the result. */
export const DECIDE_MS = 2950
/** `SHORT_MS`: longest short greeting; the pauses are those after which a person is certain. */
const SHORT_MS = 1600
const SHORT_PAUSE_MS = 450
const LONG_PAUSE_MS = 600
/** Limits without a transcription. */
const DEAF_PAUSE_MS = 600
const DEAF_LONG_PAUSE_MS = 1000
const DEAF_LONGEST_MS = 2600
const DEAF_MACHINE_MS = 6000
const LIKELY_PAUSE_MS = 1500
/** Duration in ms of continuous speech that confirms likely words; receptionists use the same words, but then stop. */
const LIKELY_MS: Record<MachineKind, number> = { voicemail: 2300, screening: 2300, ivr: 4800 }
const LONG_GREETING_MS = 6500
/** Longest wait in ms for a transcription, so that unavailable STT does not delay a call with a person. */
const WAIT_FOR_WORDS_MS = 900

/** Returns null while the cadence shows nothing. */
export function evaluateCadence(cadence: Cadence): CadenceResult | null {
  const { words, transcribed, sinceStartMs, silenceMs, runMs } = cadence
  if (silenceMs >= PAUSE_MS) return evaluatePause(cadence)
  if (!transcribed) return runMs >= DEAF_MACHINE_MS ? { result: 'voicemail', rule: 'long_greeting' } : null
  // Somebody speaks to us, or has said hello in a noisy place.
  if (words.person || words.greetingOnly) return sinceStartMs >= DECIDE_MS ? { result: 'human', rule: 'words' } : null
  if (words.likely && sinceStartMs >= LIKELY_MS[words.likely]) return { result: words.likely, rule: 'likely_words' }
  return runMs >= LONG_GREETING_MS ? { result: 'voicemail', rule: 'long_greeting' } : null
}

function evaluatePause({ words, read, deaf, silenceMs, spokenMs }: Cadence): CadenceResult | null {
  const short = spokenMs <= SHORT_MS
  const rule = short ? 'short_greeting' : 'waits'
  if (!read) {
    // A transcription is pending, or STT is unavailable.
    const patience = deaf ? 0 : WAIT_FOR_WORDS_MS
    if (spokenMs > DEAF_LONGEST_MS) return null
    return silenceMs >= Math.max(patience, short ? DEAF_PAUSE_MS : DEAF_LONG_PAUSE_MS)
      ? { result: 'human', rule }
      : null
  }
  if (words.likely && !words.person) return silenceMs >= LIKELY_PAUSE_MS ? { result: 'human', rule: 'waits' } : null
  return silenceMs >= (short || words.person ? SHORT_PAUSE_MS : LONG_PAUSE_MS) ? { result: 'human', rule } : null
}
