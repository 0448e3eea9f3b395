/**
 * Whose turn it is, as a pure function. Time comes with the inputs (wire milliseconds). The caller's words become a
 * turn when silence has lasted as long as what was said asks for; work is started before that is sure, and thrown away
 * when the caller goes on. Sound stops at the first sign of a voice over it, and goes on where it stopped when that was
 * an "uh-huh", a cough, or noise.
 */
import { endpointMs, isBackchannel } from './endpointing.ts'
import { type Expectation, expectationOf } from './expectation.ts'

export const SPECULATE_AFTER_MS = 200
/** Voice over the agent is read sooner: its sound is held meanwhile. */
export const DECIDE_AFTER_MS = 120
/** Two windows of a detector. To stop is cheap, since what was no objection lets the sound go on where it stopped. */
export const BARGE_IN_VOICE_MS = 60
/** Talking over the agent for so long is read without waiting for its end. */
export const DECIDE_VOICE_MS = 640
/** An "okay" that goes on may become a sentence: looked at again. */
const LOOK_AGAIN_MS = 400
/** So is noise: a voice may come out of it. */
const LOOK_AT_NOISE_MS = 1500
/** The agent's sound is held no longer than that for a recogniser that does not answer. */
const HELD_MOST_MS = 1500
export const PREROLL_MS = 320
export const POSTROLL_MS = 160
/** Speech without a pause is read in parts of about this length. */
export const PART_MS = 20_000
export const SILENCE_PROMPT_MS = 9000
export const SILENCE_PROMPTS = 2
/** Shorter sounds without a word in them are noise; longer ones were meant to be heard. */
const MEANT_VOICE_MS = 500
const UNCLEAR_AFTER_MS = 1000
const UNCLEAR_MOST = 2
/** A "yes" over the last words of a question answers it. */
const EARLY_ANSWER_MS = 1500
const KEYS_END_MS = 1800
/** For one of a menu. */
const KEY_END_MS = 600
const KEYS_MOST = 64
/** A detector of voices may take a key's tone for one, till so long after it. */
const KEY_TONE_MS = 300

export interface Utterance {
  startMs: number
  lastVoiceMs: number
  voicedMs: number
  /** Words of its earlier parts, and where the part that was not read begins. */
  said: string
  fromMs: number
  /** The last moment without voice in that part. */
  lastPauseMs: number
  /** What recognition was asked for: all to its `end`, a `part` of long speech, or a `look` at what goes on. */
  ask: { toMs: number; kind: 'end' | 'part' | 'look' } | null
  lookMs: number
  /** All of its words, once read to its end. */
  text: string | null
  /** The recogniser could not tell. */
  failed: boolean
  /** No word was found in it: it does not hold the agent's sound, nor the silence prompts. */
  wordless: boolean
}

export interface TurnState {
  /** What the caller has begun to say and that is not a turn yet. */
  caller: Utterance | null
  /** `speaking`: sound is leaving. `busy`: a committed answer is being thought or a tool runs. */
  agent: 'idle' | 'busy' | 'speaking'
  /** The agent's sound is held while it is unclear whether the caller objects. */
  paused: boolean
  /** An answer to `caller.text` is being prepared and may be thrown away. */
  speculative: boolean
  keys: { digits: string; startMs: number; lastMs: number } | null
  quietSinceMs: number
  prompts: number
  /** Times in a row that the caller was not understood. */
  unclear: number
  /** What the agent's last words ask for. */
  expects: Expectation
  /** A "yes" said over the agent. */
  nod: { text: string; startMs: number; endMs: number } | null
}

export type TurnInput =
  /** `loudMs`: when the sound was last loud; the detector lags behind the end of speech, the sound does not. */
  | { type: 'voice'; voiced: boolean; atMs: number; windowMs: number; loudMs: number }
  /** `failed`: the recogniser could not tell. `echo`: the words are the agent's own. */
  | { type: 'hypothesis'; toMs: number; text: string; atMs: number; failed?: boolean; echo?: boolean }
  /** A committed answer is being worked on, or is not any more. */
  | { type: 'agent_busy'; atMs: number }
  | { type: 'agent_started'; atMs: number }
  /** What was heard of the agent's turn; comes before `agent_idle`. */
  | { type: 'agent_said'; text: string }
  | { type: 'agent_idle'; atMs: number }
  | { type: 'key'; digit: string; atMs: number }
  /** Words that were typed: a whole turn. */
  | { type: 'typed'; text: string; atMs: number }
  | { type: 'tick'; atMs: number }

export type TurnEffect =
  | { type: 'transcribe'; fromMs: number; toMs: number }
  | { type: 'prepare'; text: string }
  | { type: 'discard' }
  | { type: 'commit'; text: string; keys: boolean; startMs: number; endMs: number; atMs: number }
  | { type: 'pause' }
  | { type: 'resume' }
  /** The caller took the floor: what is left of the agent's answer is not said. */
  | { type: 'cut' }
  /** Something was said that could not be understood. */
  | { type: 'unclear' }
  | { type: 'prompt'; count: number }
  | { type: 'give_up' }

export interface TurnStep {
  state: TurnState
  effects: TurnEffect[]
}

export const initialTurn = (atMs: number): TurnState => ({
  caller: null,
  agent: 'idle',
  paused: false,
  speculative: false,
  keys: null,
  quietSinceMs: atMs,
  prompts: 0,
  unclear: 0,
  expects: 'anything',
  nod: null,
})

export function stepTurn(state: TurnState, input: TurnInput): TurnStep {
  switch (input.type) {
    case 'voice':
      return input.voiced ? onVoice(state, input) : onSilence(state, input.atMs)
    case 'hypothesis':
      return onHypothesis(state, input)
    case 'agent_busy':
      return same({ ...state, agent: 'busy' })
    case 'agent_started':
      return same({ ...state, agent: 'speaking', nod: null })
    case 'agent_said':
      return same({ ...state, expects: expectationOf(input.text) })
    case 'agent_idle':
      return onAgentIdle(state, input.atMs)
    case 'key':
      return onKey(state, input)
    case 'typed':
      return onTyped(state, input)
    case 'tick':
      return onTick(state, input.atMs)
  }
}

const same = (state: TurnState): TurnStep => ({ state, effects: [] })

// ---- the caller's sound ----

function begin(atMs: number, windowMs: number, loudMs: number): Utterance {
  const startMs = atMs - 2 * windowMs
  return {
    startMs,
    lastVoiceMs: Math.max(startMs, Math.min(atMs, loudMs)),
    voicedMs: 2 * windowMs,
    said: '',
    fromMs: startMs,
    lastPauseMs: startMs,
    ask: null,
    lookMs: 0,
    text: null,
    failed: false,
    wordless: false,
  }
}

function onVoice(
  state: TurnState,
  { atMs, windowMs, loudMs }: { atMs: number; windowMs: number; loudMs: number },
): TurnStep {
  const effects: TurnEffect[] = []
  const before = state.caller
  const caller: Utterance = before
    ? {
        ...before,
        lastVoiceMs: Math.max(before.lastVoiceMs, Math.min(atMs, loudMs)),
        voicedMs: before.voicedMs + windowMs,
      }
    : begin(atMs, windowMs, loudMs)
  let { speculative, paused } = state
  if (caller.text !== null || caller.ask?.kind === 'end') {
    // The caller went on: what was read and prepared was half a sentence.
    caller.ask = null
    caller.text = null
    if (speculative) effects.push({ type: 'discard' })
    speculative = false
  }
  if (state.agent !== 'idle' && !paused && !caller.wordless && caller.voicedMs >= BARGE_IN_VOICE_MS) {
    paused = true
    effects.push({ type: 'pause' })
  }
  if (caller.ask === null) {
    const toMs = partOf(caller, atMs) ?? lookOf(state, caller, paused, atMs)
    if (toMs !== null) {
      caller.ask = toMs
      effects.push({ type: 'transcribe', fromMs: caller.fromMs - PREROLL_MS, toMs: toMs.toMs })
    }
  }
  return { state: { ...state, caller, paused, speculative }, effects }
}

function partOf(caller: Utterance, atMs: number): Utterance['ask'] {
  if (atMs - caller.fromMs < PART_MS) return null
  return { kind: 'part', toMs: caller.lastPauseMs > caller.fromMs + PART_MS / 2 ? caller.lastPauseMs : atMs }
}

function lookOf(state: TurnState, caller: Utterance, paused: boolean, atMs: number): Utterance['ask'] {
  const over = paused || state.agent === 'speaking'
  return over && caller.voicedMs >= DECIDE_VOICE_MS && atMs >= caller.lookMs ? { kind: 'look', toMs: atMs } : null
}

function onSilence(state: TurnState, atMs: number): TurnStep {
  if (!state.caller) return same(state)
  const caller = { ...state.caller, lastPauseMs: atMs }
  const silenceMs = atMs - caller.lastVoiceMs
  const mayAsk = caller.text === null && (caller.ask === null || caller.ask.kind === 'look')
  if (mayAsk && silenceMs >= (state.paused ? DECIDE_AFTER_MS : SPECULATE_AFTER_MS)) {
    const toMs = caller.lastVoiceMs + Math.min(POSTROLL_MS, silenceMs)
    return {
      state: { ...state, caller: { ...caller, ask: { toMs, kind: 'end' } } },
      effects: [{ type: 'transcribe', fromMs: caller.fromMs - PREROLL_MS, toMs }],
    }
  }
  if (state.paused && state.agent === 'speaking' && silenceMs >= HELD_MOST_MS) {
    return {
      state: { ...state, paused: false, caller: { ...caller, wordless: true } },
      effects: [{ type: 'resume' }],
    }
  }
  return commitIfDue({ ...state, caller }, atMs)
}

// ---- what recognition says ----

type Hypothesis = Extract<TurnInput, { type: 'hypothesis' }>

function onHypothesis(state: TurnState, input: Hypothesis): TurnStep {
  const { caller } = state
  if (!caller?.ask || caller.ask.toMs !== input.toMs) return same(state) // of a utterance that went on
  const words = input.echo ? '' : input.text.trim()
  switch (caller.ask.kind) {
    case 'part':
      return onPart(state, caller, words, input.toMs)
    case 'look':
      return onLook(state, { ...caller, ask: null }, words, input.atMs)
    case 'end':
      return onEnd(state, { ...caller, ask: null }, join(caller.said, words), input)
  }
}

/** Words, not sound: a dog must not keep the agent from asking whether anybody is there. */
const present = (state: TurnState, atMs: number): TurnState => ({ ...state, quietSinceMs: atMs, prompts: 0 })

const join = (before: string, after: string) => [before, after].filter(text => text !== '').join(' ')

/** The floor is the caller's. */
function takeFloor(state: TurnState): TurnStep {
  if (state.agent !== 'speaking') return same(state)
  return { state: { ...state, agent: 'idle', paused: false }, effects: [{ type: 'cut' }] }
}

function letGoOn(state: TurnState): TurnStep {
  return { state: { ...state, paused: false }, effects: state.paused ? [{ type: 'resume' }] : [] }
}

function onPart(state: TurnState, caller: Utterance, words: string, toMs: number): TurnStep {
  const said = join(caller.said, words)
  const next = { ...caller, ask: null, said, fromMs: toMs, lastPauseMs: toMs, wordless: said === '' }
  const { state: after, effects } = said === '' ? letGoOn(state) : takeFloor(state)
  return { state: { ...(said === '' ? after : present(after, toMs)), caller: next }, effects }
}

/** Read while still talking: it decides about the agent's sound; the words are read again at their end. */
function onLook(state: TurnState, caller: Utterance, words: string, atMs: number): TurnStep {
  if (words === '' && caller.said === '') {
    const { state: after, effects } = letGoOn(state)
    return { state: { ...after, caller: { ...caller, wordless: true, lookMs: atMs + LOOK_AT_NOISE_MS } }, effects }
  }
  const next = { ...caller, wordless: false, lookMs: atMs + LOOK_AGAIN_MS }
  const here = present(state, atMs)
  if (isBackchannel(words)) return same({ ...here, caller: next })
  const { state: after, effects } = takeFloor(here)
  return { state: { ...after, caller: next }, effects }
}

function onEnd(state: TurnState, caller: Utterance, text: string, { atMs, failed, echo }: Hypothesis): TurnStep {
  if (state.agent !== 'idle' && (text === '' || isBackchannel(text))) {
    const nod = text === '' ? state.nod : { text, startMs: caller.startMs, endMs: caller.lastVoiceMs }
    return letGoOn({ ...(text === '' ? state : present(state, atMs)), caller: null, nod })
  }
  if (text === '') {
    const meant = !echo && (failed || caller.voicedMs >= MEANT_VOICE_MS)
    return commitIfDue({ ...state, caller: meant ? { ...caller, text, failed: failed === true } : null }, atMs)
  }
  const floor = takeFloor(present(state, atMs))
  const idle = floor.state.agent === 'idle'
  const effects = idle ? [...floor.effects, { type: 'prepare', text } as const] : floor.effects
  const next = commitIfDue({ ...floor.state, caller: { ...caller, text }, speculative: idle }, atMs)
  return { state: next.state, effects: [...effects, ...next.effects] }
}

function commitIfDue(state: TurnState, atMs: number): TurnStep {
  const { caller } = state
  if (!caller || caller.text === null || state.agent === 'speaking') return same(state)
  if (state.keys) return same(state) // answered together
  const silenceMs = atMs - caller.lastVoiceMs
  if (caller.text === '') {
    if (silenceMs < UNCLEAR_AFTER_MS) return same(state)
    const next = { ...state, caller: null }
    const enough = state.unclear >= UNCLEAR_MOST && !caller.failed
    if (state.agent !== 'idle' || enough) return letGoOn(next)
    return {
      state: { ...next, agent: 'busy', unclear: state.unclear + 1, quietSinceMs: atMs },
      effects: [{ type: 'unclear' }],
    }
  }
  if (silenceMs < endpointMs(caller.text, state.expects)) return same(state)
  return commit(state, { text: caller.text, keys: false, startMs: caller.startMs, endMs: caller.lastVoiceMs, atMs })
}

function commit(state: TurnState, turn: Omit<Extract<TurnEffect, { type: 'commit' }>, 'type'>): TurnStep {
  const { state: free, effects } = letGoOn(state)
  return {
    state: {
      ...free,
      caller: turn.keys && goesOn(state) ? state.caller : null,
      keys: turn.keys ? null : state.keys,
      nod: null,
      speculative: false,
      agent: 'busy',
      unclear: 0,
      quietSinceMs: turn.atMs,
      prompts: 0,
    },
    effects: [...effects, { type: 'commit', ...turn }],
  }
}

/** Somebody speaks besides pressing keys; what the detector made of the tones themselves is nobody. */
function goesOn({ caller, keys }: TurnState): boolean {
  if (!caller || !keys || caller.wordless) return false
  const words = caller.said !== '' || (caller.text ?? '') !== ''
  return words || caller.startMs < keys.startMs || caller.lastVoiceMs > keys.lastMs + KEY_TONE_MS
}

// ---- the agent, keys, time ----

function onAgentIdle(state: TurnState, atMs: number): TurnStep {
  const { nod } = state
  const { state: free, effects } = letGoOn({ ...state, agent: 'idle', quietSinceMs: atMs, nod: null })
  const answered = nod !== null && state.expects === 'yes_no' && nod.endMs >= atMs - EARLY_ANSWER_MS
  if (!answered || state.agent !== 'speaking' || state.caller) return { state: free, effects }
  const next = commit(free, { ...nod, keys: false, atMs })
  return { state: next.state, effects: [...effects, ...next.effects] }
}

function onKey(state: TurnState, { digit, atMs }: { digit: string; atMs: number }): TurnStep {
  const floor = takeFloor(state)
  const ends = digit === '#'
  const digits = (state.keys?.digits ?? '') + (ends ? '' : digit)
  const startMs = state.keys?.startMs ?? atMs
  const next = { ...floor.state, keys: { digits, startMs, lastMs: atMs }, quietSinceMs: atMs, prompts: 0 }
  if (!ends && digits.length < KEYS_MOST) return { state: next, effects: floor.effects }
  const done = commitKeys(next, atMs)
  return { state: done.state, effects: [...floor.effects, ...done.effects] }
}

function onTyped(state: TurnState, { text, atMs }: { text: string; atMs: number }): TurnStep {
  const floor = takeFloor(state)
  const prepared: TurnEffect[] = state.speculative ? [{ type: 'discard' }] : []
  const done = commit(floor.state, { text, keys: false, startMs: atMs, endMs: atMs, atMs })
  return { state: done.state, effects: [...floor.effects, ...prepared, ...done.effects] }
}

function commitKeys(state: TurnState, atMs: number): TurnStep {
  const { digits, startMs, lastMs } = state.keys!
  const effects: TurnEffect[] = state.speculative ? [{ type: 'discard' }] : []
  const done = commit(state, { text: digits || '#', keys: true, startMs, endMs: lastMs, atMs })
  return { state: done.state, effects: [...effects, ...done.effects] }
}

function onTick(state: TurnState, atMs: number): TurnStep {
  const { keys, caller } = state
  // A detector tells windows, a tick comes with each frame: half a window sooner. While there is voice, `text` is null.
  if (caller && caller.text !== null) {
    const due = commitIfDue(state, atMs)
    if (due.effects.length > 0) return due
  }
  if (keys && atMs - keys.lastMs >= (state.expects === 'key' ? KEY_END_MS : KEYS_END_MS)) return commitKeys(state, atMs)
  const silent = caller === null || caller.wordless
  if (state.agent !== 'idle' || !silent || keys || atMs - state.quietSinceMs < SILENCE_PROMPT_MS) return same(state)
  if (state.prompts >= SILENCE_PROMPTS) return { state: { ...state, agent: 'busy' }, effects: [{ type: 'give_up' }] }
  const prompts = state.prompts + 1
  return {
    state: { ...state, agent: 'busy', prompts, quietSinceMs: atMs },
    effects: [{ type: 'prompt', count: prompts }],
  }
}
