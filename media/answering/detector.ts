/**
 * Answering machine detection: a person, or a machine and its kind. A pure function; time comes with the inputs
 * (arrival times in ms). Words decide where there are any, cadence where there are none: a person says a word or two
 * and waits, a recording continues. A person mistaken for a machine is hung up on, so every doubt favours the person.
 */
import { type MachineKind, readWords, type Words } from './phrases.ts'
import {
  isBeep,
  isFaxAnswer,
  isFaxCall,
  isSit,
  noTones,
  sounding,
  stepTones,
  type Tone,
  type ToneMeasure,
  type ToneState,
} from './tones.ts'

export type AnsweringResult = 'human' | MachineKind | 'fax' | 'unknown'

export type AnsweringRule =
  | 'words'
  /** A short greeting, followed by silence. */
  | 'short_greeting'
  /** The end of a longer greeting that contained nothing typical of a machine. */
  | 'waits'
  /** Speech without a pause that is too long for a person. */
  | 'long_greeting'
  /** Words that a machine may use, in continuous speech. */
  | 'likely_words'
  | 'fax_tone'
  /** Special information tones before a carrier's announcement. */
  | 'sit'
  /** A beep after a greeting that sounded like a person's. */
  | 'beep'
  /** Nobody has spoken: the agent should speak first. */
  | 'silence'
  | 'undecided'

export interface Evidence {
  result: AnsweringResult
  rule: AnsweringRule
  /** The phrase or tone that decided. */
  found: string | null
  atMs: number
}

export type AnsweringInput =
  /** From `agent/voice.ts`; `loudMs`: when the audio was last loud (`agent/loudness.ts`). */
  | { type: 'voice'; voiced: boolean; atMs: number; windowMs: number; loudMs: number }
  /** One per 20 ms frame, measured by `measureTone`. */
  | { type: 'sound'; measure: ToneMeasure; atMs: number }
  /** Text between two times; null when transcription failed. */
  | { type: 'transcript'; fromMs: number; toMs: number; text: string | null; atMs: number }
  | { type: 'tick'; atMs: number }

export type AnsweringEffect =
  /** May be revised: `unknown` becomes any other, and a "person" may turn out to be a recording. */
  | ({
      type: 'result'
      before: AnsweringResult | null
      /** The far end is still speaking: the agent waits for a pause. */
      talking: boolean
    } & Evidence)
  | { type: 'transcribe'; fromMs: number; toMs: number }
  /** A voicemail records from now on. */
  | { type: 'speak'; rule: 'beep' | 'silence' | 'timeout'; atMs: number }
  /** The voicemail takes no message. */
  | { type: 'no_message'; atMs: number }

export interface Greeting {
  startMs: number
  lastVoiceMs: number
  voicedMs: number
  /** Start of the current speech without a pause. */
  runMs: number
  /** Latest end for which a transcription was requested. */
  askedToMs: number
  /** A transcription was requested in the current pause. */
  askedInPause: boolean
  /** Latest transcription and its end; null and 0 before the first. */
  words: Words | null
  readToMs: number
}

export interface AnsweringState {
  answeredMs: number
  greeting: Greeting | null
  tones: ToneState
  sit: boolean
  /** True after the first transcription, false after a failed one, null before. */
  sttWorks: boolean | null
  decided: Evidence | null
  /** End of the last beep after speech. */
  beepMs: number | null
  machineSinceMs: number | null
  /** Detection is complete. */
  done: boolean
}

export interface AnsweringStep {
  state: AnsweringState
  effects: AnsweringEffect[]
}

/** Silence in ms that is a pause; one within a sentence is shorter. */
const PAUSE_MS = 350
/** Shorter sounds are clicks or notes of music. VAD lags by 150 ms, so a "yes" is always longer. */
const MIN_VOICED_MS = 160
const ASK_IN_PAUSE_MS = 180
/** Transcription times in ms during continuous speech: early enough for a result within three seconds. */
const ASK_AT_MS = [900, 1300, 1700, 2100, 2450, 2800, 3500, 4500, 6000, 8000, 11_000]
/** Window in ms: STT transcribes the latest seconds best, and older ones were evaluated before. */
const READ_MS = 8000
const PREROLL_MS = 320
const POSTROLL_MS = 160
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
const DECIDE_MS = 2950
const NO_VOICE_MS = 2500
/** Longest wait in ms for a transcription, so that unavailable STT does not delay a call with a person. */
const WAIT_FOR_WORDS_MS = 900
/** Time in ms after the answer in which words or a beep may still show that a "person" is a recording. */
const REVISE_MS = 12_000
const REFINE_MS = 4000
const BEEP_AFTER_PERSON_MS = 8000
/** Silence in ms that ends a voicemail greeting without a beep. */
const NO_BEEP_MS = 2500
const GREETING_LIMIT_MS = 45_000

const NO_WORDS = readWords('')

export const initialAnswering = (atMs: number): AnsweringState => ({
  answeredMs: atMs,
  greeting: null,
  tones: noTones,
  sit: false,
  sttWorks: null,
  decided: null,
  beepMs: null,
  machineSinceMs: null,
  done: false,
})

/** Maps the result to `answered_by` of the call record. */
export function answeredBy(result: AnsweringResult | null): 'human' | 'machine' | 'screening' | 'unknown' {
  if (result === null || result === 'unknown') return 'unknown'
  return result === 'human' || result === 'screening' ? result : 'machine'
}

export function stepAnswering(state: AnsweringState, input: AnsweringInput): AnsweringStep {
  if (state.done) return { state, effects: [] }
  if (settled(state, input.atMs)) return { state: { ...state, done: true }, effects: [] }
  const heard = take(state, input)
  const evaluated = evaluate(heard.state, input.atMs)
  const waited = awaitBeep(evaluated.state, input.atMs)
  return { state: waited.state, effects: [...heard.effects, ...evaluated.effects, ...waited.effects] }
}

/** True when further detection is useless; a voicemail has an end of its own. */
function settled({ decided, answeredMs, machineSinceMs }: AnsweringState, atMs: number): boolean {
  if (machineSinceMs !== null) return false
  return atMs - answeredMs >= (decided?.result === 'human' ? REVISE_MS : GREETING_LIMIT_MS)
}

function take(state: AnsweringState, input: AnsweringInput): AnsweringStep {
  switch (input.type) {
    case 'voice':
      return input.voiced ? onVoice(state, input) : onSilence(state, input.atMs)
    case 'sound':
      return onSound(state, input)
    case 'transcript':
      return { state: onTranscript(state, input), effects: [] }
    case 'tick':
      return onSilence(state, input.atMs)
  }
}

type VoiceInput = Extract<AnsweringInput, { type: 'voice' }>

function onVoice(state: AnsweringState, { atMs, windowMs, loudMs }: VoiceInput): AnsweringStep {
  // VAD takes some tones for speech.
  if (sounding(state.tones)) return { state, effects: [] }
  const before = state.greeting
  const startMs = atMs - 2 * windowMs
  if (!before) {
    const greeting: Greeting = {
      startMs,
      lastVoiceMs: atMs,
      voicedMs: 2 * windowMs,
      runMs: startMs,
      askedToMs: 0,
      askedInPause: false,
      words: null,
      readToMs: 0,
    }
    return { state: { ...state, greeting }, effects: [] }
  }
  const lastVoiceMs = Math.max(before.lastVoiceMs, Math.min(atMs, loudMs))
  const paused = lastVoiceMs - before.lastVoiceMs >= PAUSE_MS
  const voicedMs = before.voicedMs + windowMs
  const greeting = { ...before, lastVoiceMs, voicedMs, runMs: paused ? startMs : before.runMs }
  if (lastVoiceMs > before.lastVoiceMs) greeting.askedInPause = false
  return askWhileTalking({ ...state, greeting }, greeting, atMs)
}

function askWhileTalking(state: AnsweringState, greeting: Greeting, atMs: number): AnsweringStep {
  if (!listening(state, atMs)) return { state, effects: [] }
  const due = ASK_AT_MS.findLast(ms => atMs - greeting.startMs >= ms)
  if (due === undefined || greeting.askedToMs >= greeting.startMs + due) return { state, effects: [] }
  return ask(state, greeting, atMs)
}

function onSilence(state: AnsweringState, atMs: number): AnsweringStep {
  const { greeting } = state
  if (!greeting || greeting.askedInPause || !listening(state, atMs)) return { state, effects: [] }
  if (atMs - greeting.lastVoiceMs < ASK_IN_PAUSE_MS) return { state, effects: [] }
  return ask(state, { ...greeting, askedInPause: true }, greeting.lastVoiceMs + POSTROLL_MS)
}

function ask(state: AnsweringState, greeting: Greeting, toMs: number): AnsweringStep {
  // The machine's earlier words were evaluated: only what it says now matters.
  const judgedMs = state.decided?.result === 'screening' || state.decided?.result === 'ivr' ? state.decided.atMs : 0
  const fromMs = Math.max(greeting.startMs - PREROLL_MS, toMs - READ_MS, judgedMs - PREROLL_MS)
  return {
    state: { ...state, greeting: { ...greeting, askedToMs: toMs } },
    effects: [{ type: 'transcribe', fromMs, toMs }],
  }
}

/**
 * A fax says nothing; a voicemail's later words may say that it is full; others are transcribed while it may matter.
 */
function listening({ decided, answeredMs }: AnsweringState, atMs: number): boolean {
  if (decided === null || decided.result === 'unknown') return true
  return decided.result !== 'fax' && atMs - answeredMs < REVISE_MS
}

function onTranscript(state: AnsweringState, input: Extract<AnsweringInput, { type: 'transcript' }>): AnsweringState {
  const { greeting } = state
  if (input.text === null) return { ...state, sttWorks: state.sttWorks ?? false }
  if (!greeting || input.toMs < greeting.readToMs) return { ...state, sttWorks: true }
  return { ...state, sttWorks: true, greeting: { ...greeting, words: readWords(input.text), readToMs: input.toMs } }
}

function onSound(state: AnsweringState, { measure, atMs }: { measure: ToneMeasure; atMs: number }): AnsweringStep {
  const { state: tones, events } = stepTones(state.tones, measure, atMs)
  let next: AnsweringState = { ...state, tones }
  const effects: AnsweringEffect[] = []
  for (const event of events) {
    if (event.type === 'tone' && isFaxAnswer(event.tone)) {
      const decided = conclude(next, 'fax', 'fax_tone', `${Math.round(event.tone.hz)} Hz`, atMs)
      next = decided.state
      effects.push(...decided.effects)
    }
    if (event.type !== 'ended') continue
    const ended = onToneEnd(next, event.tone, atMs)
    next = ended.state
    effects.push(...ended.effects)
  }
  return { state: next, effects }
}

function onToneEnd(state: AnsweringState, tone: Tone, atMs: number): AnsweringStep {
  const { greeting, decided } = state
  const hz = `${Math.round(tone.hz)} Hz`
  if (isSit(state.tones.past)) return conclude({ ...state, sit: true }, 'ivr', 'sit', hz, atMs)
  if (!greeting) {
    return isFaxCall(tone) ? conclude(state, 'fax', 'fax_tone', hz, atMs) : { state, effects: [] }
  }
  if (!isBeep(tone) || tone.startMs < greeting.startMs) return { state, effects: [] }
  // VAD took the beep for speech: exclude it.
  const lastVoiceMs = Math.min(greeting.lastVoiceMs, Math.max(greeting.startMs, tone.startMs))
  const next = { ...state, beepMs: tone.endMs, greeting: { ...greeting, lastVoiceMs } }
  const taken = decided === null || decided.result === 'human' || decided.result === 'unknown'
  // A person's line may beep, too, but later: call waiting, a recorder.
  const latestMs = decided?.result === 'human' ? BEEP_AFTER_PERSON_MS : GREETING_LIMIT_MS
  if (!taken || tone.startMs - lastVoiceMs > NO_BEEP_MS || tone.endMs - state.answeredMs > latestMs)
    return { state: next, effects: [] }
  return conclude(next, 'voicemail', 'beep', hz, atMs)
}

function evaluate(state: AnsweringState, atMs: number): AnsweringStep {
  const { greeting, decided, answeredMs } = state
  if (!greeting) {
    if (decided || sounding(state.tones) || atMs - answeredMs < NO_VOICE_MS) return { state, effects: [] }
    return conclude(state, 'unknown', 'silence', null, atMs)
  }
  // For a voicemail keep the end of its greeting: the message waits for it.
  if (state.machineSinceMs === null && greeting.voicedMs < MIN_VOICED_MS && atMs - greeting.lastVoiceMs >= PAUSE_MS)
    return { state: { ...state, greeting: null }, effects: [] }
  const words = greeting.words ?? NO_WORDS
  if (words.sure && !words.person && mayBecome(state, words.sure, atMs)) {
    return conclude(state, words.sure, 'words', words.found, atMs, words.noMessage)
  }
  if (decided && decided.result !== 'unknown') {
    if (words.noMessage && decided.result === 'voicemail' && !state.done)
      return { state: { ...state, done: true }, effects: [{ type: 'no_message', atMs }] }
    return { state, effects: [] }
  }
  const cadence = evaluateCadence(state, greeting, words, atMs)
  if (cadence) return conclude(state, cadence.result, cadence.rule, words.found, atMs)
  if (decided || atMs - greeting.startMs < DECIDE_MS) return { state, effects: [] }
  return conclude(state, 'unknown', 'undecided', words.found, atMs)
}

/** Certain words may revise a person, or a less specific machine. */
function mayBecome({ decided, answeredMs }: AnsweringState, kind: MachineKind, atMs: number): boolean {
  switch (decided?.result) {
    case undefined:
    case 'unknown':
      return true
    case 'human':
      return atMs - answeredMs < REVISE_MS
    case 'screening':
      return kind === 'voicemail'
    case 'ivr':
      return kind === 'voicemail' || (kind === 'screening' && atMs - decided!.atMs < REFINE_MS)
    case 'voicemail':
      // "The person you are calling" may be either; a voicemail would not ask who is calling.
      return kind === 'screening' && decided!.rule === 'words' && atMs - decided!.atMs < REFINE_MS
    default:
      return false
  }
}

function evaluateCadence(
  state: AnsweringState,
  greeting: Greeting,
  words: Words,
  atMs: number,
): { result: AnsweringResult; rule: AnsweringRule } | null {
  const silenceMs = atMs - greeting.lastVoiceMs
  const spokenMs = greeting.lastVoiceMs - greeting.startMs
  const read = greeting.words !== null && greeting.readToMs >= greeting.lastVoiceMs - 60
  if (silenceMs >= PAUSE_MS) return evaluatePause(state, words, { silenceMs, spokenMs, read })
  const runMs = atMs - greeting.runMs
  if (greeting.words === null) return runMs >= DEAF_MACHINE_MS ? { result: 'voicemail', rule: 'long_greeting' } : null
  // Somebody speaks to us, or has said hello in a noisy place.
  if (words.person || words.greetingOnly)
    return atMs - greeting.startMs >= DECIDE_MS ? { result: 'human', rule: 'words' } : null
  if (words.likely && atMs - greeting.startMs >= LIKELY_MS[words.likely])
    return { result: words.likely, rule: 'likely_words' }
  return runMs >= LONG_GREETING_MS ? { result: 'voicemail', rule: 'long_greeting' } : null
}

function evaluatePause(
  { sttWorks }: AnsweringState,
  words: Words,
  { silenceMs, spokenMs, read }: { silenceMs: number; spokenMs: number; read: boolean },
): { result: AnsweringResult; rule: AnsweringRule } | null {
  const short = spokenMs <= SHORT_MS
  const rule: AnsweringRule = short ? 'short_greeting' : 'waits'
  if (!read) {
    // A transcription is pending, or STT is unavailable.
    const patience = sttWorks === false ? 0 : WAIT_FOR_WORDS_MS
    if (spokenMs > DEAF_LONGEST_MS) return null
    return silenceMs >= Math.max(patience, short ? DEAF_PAUSE_MS : DEAF_LONG_PAUSE_MS)
      ? { result: 'human', rule }
      : null
  }
  if (words.likely && !words.person) return silenceMs >= LIKELY_PAUSE_MS ? { result: 'human', rule: 'waits' } : null
  return silenceMs >= (short || words.person ? SHORT_PAUSE_MS : LONG_PAUSE_MS) ? { result: 'human', rule } : null
}

function conclude(
  state: AnsweringState,
  result: AnsweringResult,
  rule: AnsweringRule,
  found: string | null,
  atMs: number,
  noMessage = false,
): AnsweringStep {
  const before = state.decided?.result ?? null
  if (before === result) return { state, effects: [] }
  const decided: Evidence = { result, rule, found, atMs }
  const talking = state.greeting !== null && atMs - state.greeting.lastVoiceMs < PAUSE_MS
  const effects: AnsweringEffect[] = [{ type: 'result', before, talking, ...decided }]
  if (noMessage) effects.push({ type: 'no_message', atMs })
  return {
    state: {
      ...state,
      decided,
      machineSinceMs: result === 'voicemail' ? atMs : null,
      done: noMessage || result === 'fax',
    },
    effects,
  }
}

function awaitBeep(state: AnsweringState, atMs: number): AnsweringStep {
  const { greeting, machineSinceMs, beepMs, tones } = state
  if (state.done || machineSinceMs === null || !greeting) return { state, effects: [] }
  const speak = (rule: 'beep' | 'silence' | 'timeout'): AnsweringStep => ({
    state: { ...state, done: true },
    effects: [{ type: 'speak', rule, atMs }],
  })
  // Speech after the beep: the beep was part of the greeting.
  if (beepMs !== null && beepMs >= greeting.lastVoiceMs - 60) return speak('beep')
  if (atMs - machineSinceMs >= GREETING_LIMIT_MS) return speak('timeout')
  if (sounding(tones)) return { state, effects: [] }
  return atMs - greeting.lastVoiceMs >= NO_BEEP_MS ? speak('silence') : { state, effects: [] }
}
