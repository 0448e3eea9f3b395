/**
 * Who answered: a person, or a machine and which. A pure function; time comes with the inputs (wire milliseconds).
 * Words decide where there are any, cadence where there are none: a person says a word or two and waits, a recording
 * goes on. A person taken for a machine is hung up on, so every doubt speaks for the person.
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

export type Verdict = 'human' | MachineKind | 'fax' | 'unknown'

export type Rule =
  | 'words'
  /** A short greeting, then silence. */
  | 'short_greeting'
  /** The end of a longer one, which held nothing of a machine. */
  | 'waits'
  /** Nobody on the line talks so long without a pause. */
  | 'long_greeting'
  /** Words that a machine may say, said without end. */
  | 'likely_words'
  | 'fax_tone'
  /** The notes before a carrier's announcement. */
  | 'sit'
  /** A beep after a greeting that sounded like a person's. */
  | 'beep'
  /** Nobody has said anything: the agent had better speak. */
  | 'silence'
  | 'undecided'

export interface Evidence {
  verdict: Verdict
  rule: Rule
  /** The phrase or the tone. */
  found: string | null
  atMs: number
}

export type AnsweringInput =
  /** As `agent/voice.ts` reads it; `loudMs`: when the sound was last loud (`agent/loudness.ts`). */
  | { type: 'voice'; voiced: boolean; atMs: number; windowMs: number; loudMs: number }
  /** Every 20 ms frame, measured by `measureTone`. */
  | { type: 'sound'; measure: ToneMeasure; atMs: number }
  /** What was read between two times; null when recognition failed. */
  | { type: 'transcript'; fromMs: number; toMs: number; text: string | null; atMs: number }
  | { type: 'tick'; atMs: number }

export type AnsweringEffect =
  /** May come again with better knowledge: `unknown` becomes anything, a "person" may turn out to be a recording. */
  | ({
      type: 'verdict'
      before: Verdict | null
      /** Whoever it is has not finished yet: what the agent has to say waits for the pause. */
      talking: boolean
    } & Evidence)
  | { type: 'transcribe'; fromMs: number; toMs: number }
  /** A voicemail listens from now on. */
  | { type: 'speak'; rule: 'beep' | 'silence' | 'timeout'; atMs: number }
  /** A voicemail that takes no message. */
  | { type: 'no_message'; atMs: number }

export interface Greeting {
  startMs: number
  lastVoiceMs: number
  voicedMs: number
  /** When the present utterance without a pause began. */
  runMs: number
  /** The newest end that was asked for. */
  askedToMs: number
  /** Asked for the silence that lasts now. */
  askedInPause: boolean
  /** What was read, and how far; null and 0 before anything was. */
  words: Words | null
  readToMs: number
}

export interface AnsweringState {
  answeredMs: number
  greeting: Greeting | null
  tones: ToneState
  sit: boolean
  /** Recognition has answered at least once, or failed. */
  hears: boolean | null
  decided: Evidence | null
  /** The end of the last beep after a voice. */
  beepMs: number | null
  machineSinceMs: number | null
  /** Nothing more is to come. */
  done: boolean
}

export interface AnsweringStep {
  state: AnsweringState
  effects: AnsweringEffect[]
}

/** A pause inside a sentence is shorter. */
const PAUSE_MS = 350
/** Shorter is a click or a note of music; the detector of voices lags by 150 ms, so a "yes" is always longer. */
const MIN_VOICED_MS = 160
const ASK_IN_PAUSE_MS = 180
/** While it talks on: early enough that the answer is there within three seconds. */
const ASK_AT_MS = [900, 1300, 1700, 2100, 2450, 2800, 3500, 4500, 6000, 8000, 11_000]
/** Recognisers read the newest seconds best, and the oldest have been judged. */
const READ_MS = 8000
const PREROLL_MS = 320
const POSTROLL_MS = 160
/** How long a person's silence lasts before the agent may be sure of it. */
const SHORT_MS = 1600
const SHORT_PAUSE_MS = 450
const LONG_PAUSE_MS = 600
/** Without words. */
const DEAF_PAUSE_MS = 600
const DEAF_LONG_PAUSE_MS = 1000
const DEAF_LONGEST_MS = 2600
const DEAF_MACHINE_MS = 6000
const LIKELY_PAUSE_MS = 1500
/** Talking on for so long with what is likely a machine's; receptionists welcome and thank too, but then they stop. */
const LIKELY_MS: Record<MachineKind, number> = { voicemail: 2300, screening: 2300, ivr: 4800 }
const LONG_GREETING_MS = 6500
const DECIDE_MS = 2950
const NO_VOICE_MS = 2500
/** A recogniser that is away must not hold up a person. */
const WAIT_FOR_WORDS_MS = 900
/** So long after the answer, words or a beep may still show that a "person" is a recording. */
const REVISE_MS = 12_000
const REFINE_MS = 4000
const BEEP_AFTER_PERSON_MS = 8000
/** A greeting without a beep ends in silence. */
const NO_BEEP_MS = 2500
const GREETING_LIMIT_MS = 45_000

const NO_WORDS = readWords('')

export const initialAnswering = (atMs: number): AnsweringState => ({
  answeredMs: atMs,
  greeting: null,
  tones: noTones,
  sit: false,
  hears: null,
  decided: null,
  beepMs: null,
  machineSinceMs: null,
  done: false,
})

/** As the call's record has it. */
export function answeredBy(verdict: Verdict | null): 'human' | 'machine' | 'screening' | 'unknown' {
  if (verdict === null || verdict === 'unknown') return 'unknown'
  return verdict === 'human' || verdict === 'screening' ? verdict : 'machine'
}

export function stepAnswering(state: AnsweringState, input: AnsweringInput): AnsweringStep {
  if (state.done) return { state, effects: [] }
  if (settled(state, input.atMs)) return { state: { ...state, done: true }, effects: [] }
  const heard = take(state, input)
  const judged = judge(heard.state, input.atMs)
  const waited = awaitBeep(judged.state, input.atMs)
  return { state: waited.state, effects: [...heard.effects, ...judged.effects, ...waited.effects] }
}

/** After that, listening costs and says nothing more; a voicemail has its own end. */
function settled({ decided, answeredMs, machineSinceMs }: AnsweringState, atMs: number): boolean {
  if (machineSinceMs !== null) return false
  return atMs - answeredMs >= (decided?.verdict === 'human' ? REVISE_MS : GREETING_LIMIT_MS)
}

// ---- what comes in ----

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
  // The detector takes some tones for voices.
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
  // What a machine said has been judged: the question is what it says now.
  const judgedMs = state.decided?.verdict === 'screening' || state.decided?.verdict === 'ivr' ? state.decided.atMs : 0
  const fromMs = Math.max(greeting.startMs - PREROLL_MS, toMs - READ_MS, judgedMs - PREROLL_MS)
  return {
    state: { ...state, greeting: { ...greeting, askedToMs: toMs } },
    effects: [{ type: 'transcribe', fromMs, toMs }],
  }
}

/** A fax says nothing; a voicemail's later words may say that it is full; anybody else is read while it may matter. */
function listening({ decided, answeredMs }: AnsweringState, atMs: number): boolean {
  if (decided === null || decided.verdict === 'unknown') return true
  return decided.verdict !== 'fax' && atMs - answeredMs < REVISE_MS
}

function onTranscript(state: AnsweringState, input: Extract<AnsweringInput, { type: 'transcript' }>): AnsweringState {
  const { greeting } = state
  if (input.text === null) return { ...state, hears: state.hears ?? false }
  if (!greeting || input.toMs < greeting.readToMs) return { ...state, hears: true }
  return { ...state, hears: true, greeting: { ...greeting, words: readWords(input.text), readToMs: input.toMs } }
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
  // What the detector of voices had made of the beep itself is no voice.
  const lastVoiceMs = Math.min(greeting.lastVoiceMs, Math.max(greeting.startMs, tone.startMs))
  const next = { ...state, beepMs: tone.endMs, greeting: { ...greeting, lastVoiceMs } }
  const taken = decided === null || decided.verdict === 'human' || decided.verdict === 'unknown'
  // A person's line may beep too, later: a waiting call, a recorder.
  const latestMs = decided?.verdict === 'human' ? BEEP_AFTER_PERSON_MS : GREETING_LIMIT_MS
  if (!taken || tone.startMs - lastVoiceMs > NO_BEEP_MS || tone.endMs - state.answeredMs > latestMs)
    return { state: next, effects: [] }
  return conclude(next, 'voicemail', 'beep', hz, atMs)
}

// ---- who it is ----

function judge(state: AnsweringState, atMs: number): AnsweringStep {
  const { greeting, decided, answeredMs } = state
  if (!greeting) {
    if (decided || sounding(state.tones) || atMs - answeredMs < NO_VOICE_MS) return { state, effects: [] }
    return conclude(state, 'unknown', 'silence', null, atMs)
  }
  // Of a voicemail the end of the greeting must stay known: it is what its message waits for.
  if (state.machineSinceMs === null && greeting.voicedMs < MIN_VOICED_MS && atMs - greeting.lastVoiceMs >= PAUSE_MS)
    return { state: { ...state, greeting: null }, effects: [] }
  const words = greeting.words ?? NO_WORDS
  if (words.sure && !words.person && mayBecome(state, words.sure, atMs)) {
    return conclude(state, words.sure, 'words', words.found, atMs, words.noMessage)
  }
  if (decided && decided.verdict !== 'unknown') {
    if (words.noMessage && decided.verdict === 'voicemail' && !state.done)
      return { state: { ...state, done: true }, effects: [{ type: 'no_message', atMs }] }
    return { state, effects: [] }
  }
  const cadence = judgeCadence(state, greeting, words, atMs)
  if (cadence) return conclude(state, cadence.verdict, cadence.rule, words.found, atMs)
  if (decided || atMs - greeting.startMs < DECIDE_MS) return { state, effects: [] }
  return conclude(state, 'unknown', 'undecided', words.found, atMs)
}

/** Sure words take back a person and a lesser machine. */
function mayBecome({ decided, answeredMs }: AnsweringState, kind: MachineKind, atMs: number): boolean {
  switch (decided?.verdict) {
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
      // "The person you are calling" may be either; it takes a message only if it does not ask who we are.
      return kind === 'screening' && decided!.rule === 'words' && atMs - decided!.atMs < REFINE_MS
    default:
      return false
  }
}

function judgeCadence(
  state: AnsweringState,
  greeting: Greeting,
  words: Words,
  atMs: number,
): { verdict: Verdict; rule: Rule } | null {
  const silenceMs = atMs - greeting.lastVoiceMs
  const spokenMs = greeting.lastVoiceMs - greeting.startMs
  const read = greeting.words !== null && greeting.readToMs >= greeting.lastVoiceMs - 60
  if (silenceMs >= PAUSE_MS) return judgePause(state, words, { silenceMs, spokenMs, read })
  const runMs = atMs - greeting.runMs
  if (greeting.words === null) return runMs >= DEAF_MACHINE_MS ? { verdict: 'voicemail', rule: 'long_greeting' } : null
  // Somebody speaks to us, or has said hello in a noisy place.
  if (words.person || words.greetingOnly)
    return atMs - greeting.startMs >= DECIDE_MS ? { verdict: 'human', rule: 'words' } : null
  if (words.likely && atMs - greeting.startMs >= LIKELY_MS[words.likely])
    return { verdict: words.likely, rule: 'likely_words' }
  return runMs >= LONG_GREETING_MS ? { verdict: 'voicemail', rule: 'long_greeting' } : null
}

function judgePause(
  { hears }: AnsweringState,
  words: Words,
  { silenceMs, spokenMs, read }: { silenceMs: number; spokenMs: number; read: boolean },
): { verdict: Verdict; rule: Rule } | null {
  const short = spokenMs <= SHORT_MS
  const rule: Rule = short ? 'short_greeting' : 'waits'
  if (!read) {
    // Words are on their way, or there is nobody to read them.
    const patience = hears === false ? 0 : WAIT_FOR_WORDS_MS
    if (spokenMs > DEAF_LONGEST_MS) return null
    return silenceMs >= Math.max(patience, short ? DEAF_PAUSE_MS : DEAF_LONG_PAUSE_MS)
      ? { verdict: 'human', rule }
      : null
  }
  if (words.likely && !words.person) return silenceMs >= LIKELY_PAUSE_MS ? { verdict: 'human', rule: 'waits' } : null
  return silenceMs >= (short || words.person ? SHORT_PAUSE_MS : LONG_PAUSE_MS) ? { verdict: 'human', rule } : null
}

function conclude(
  state: AnsweringState,
  verdict: Verdict,
  rule: Rule,
  found: string | null,
  atMs: number,
  noMessage = false,
): AnsweringStep {
  const before = state.decided?.verdict ?? null
  if (before === verdict) return { state, effects: [] }
  const decided: Evidence = { verdict, rule, found, atMs }
  const talking = state.greeting !== null && atMs - state.greeting.lastVoiceMs < PAUSE_MS
  const effects: AnsweringEffect[] = [{ type: 'verdict', before, talking, ...decided }]
  if (noMessage) effects.push({ type: 'no_message', atMs })
  return {
    state: {
      ...state,
      decided,
      machineSinceMs: verdict === 'voicemail' ? atMs : null,
      done: noMessage || verdict === 'fax',
    },
    effects,
  }
}

// ---- when a voicemail listens ----

function awaitBeep(state: AnsweringState, atMs: number): AnsweringStep {
  const { greeting, machineSinceMs, beepMs, tones } = state
  if (state.done || machineSinceMs === null || !greeting) return { state, effects: [] }
  const speak = (rule: 'beep' | 'silence' | 'timeout'): AnsweringStep => ({
    state: { ...state, done: true },
    effects: [{ type: 'speak', rule, atMs }],
  })
  // Another voice after the beep: it was a sound of the greeting.
  if (beepMs !== null && beepMs >= greeting.lastVoiceMs - 60) return speak('beep')
  if (atMs - machineSinceMs >= GREETING_LIMIT_MS) return speak('timeout')
  if (sounding(tones)) return { state, effects: [] }
  return atMs - greeting.lastVoiceMs >= NO_BEEP_MS ? speak('silence') : { state, effects: [] }
}
