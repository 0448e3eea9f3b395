/**
 * Turn detection as a pure function. Time comes with the inputs (arrival times in ms). The caller's words become a turn
 * when the silence has lasted as long as those words require; the answer is prepared before that is certain, and
 * discarded when the caller continues. The agent's audio pauses at the first sign of speech over it, and resumes where
 * it stopped when that was a backchannel ("uh-huh"), a cough or noise.
 */
import { endpointMs, isBackchannel } from './endpointing.ts'
import { expectationOf } from './expectation.ts'
import type { TurnEffect, TurnInput, TurnState, TurnStep, Utterance } from './turn-state.ts'

export const SPECULATE_AFTER_MS = 200
/** Speech over the agent is transcribed sooner, because the agent's audio is paused meanwhile. */
export const DECIDE_AFTER_MS = 120
/** Two VAD windows. A pause is cheap, since after a false alarm the audio resumes where it stopped. */
export const BARGE_IN_VOICE_MS = 60
/** Transcribe an interruption after this long, without waiting for its end. */
export const DECIDE_VOICE_MS = 640
/** Repeat the transcription of an "okay" that continues: it may become a sentence. */
const INTERIM_AGAIN_MS = 400
/** Repeat the transcription of noise: it may contain speech later. */
const INTERIM_NOISE_MS = 1500
/** Longest pause in ms of the agent's audio while STT does not answer. */
const HELD_MOST_MS = 1500
export const PREROLL_MS = 320
export const POSTROLL_MS = 160
/** Speech without a pause is transcribed in parts of about this length in ms. */
export const PART_MS = 20_000
export const SILENCE_PROMPT_MS = 9000
export const SILENCE_PROMPTS = 2
/** Shorter sounds without words are noise; longer ones were meant to be understood. */
const MEANT_VOICE_MS = 500
const UNCLEAR_AFTER_MS = 1000
const UNCLEAR_MOST = 2
/** A "yes" within this time before the end of a question answers it. */
const EARLY_ANSWER_MS = 1500
/** Milliseconds after the last key. */
export const KEYS_END_MS = 1800
/** Milliseconds after the last key when the agent asked for one key of a menu. */
const KEY_END_MS = 600
export const KEYS_MOST = 64
/** Milliseconds for which a VAD may take a key's tone for speech. */
const KEY_TONE_MS = 300

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
    interimMs: 0,
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
    // The caller continued: the transcribed and prepared text was half a sentence.
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
    const toMs = partOf(caller, atMs) ?? interimOf(state, caller, paused, atMs)
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

function interimOf(state: TurnState, caller: Utterance, paused: boolean, atMs: number): Utterance['ask'] {
  const over = paused || state.agent === 'speaking'
  return over && caller.voicedMs >= DECIDE_VOICE_MS && atMs >= caller.interimMs ? { kind: 'interim', toMs: atMs } : null
}

function onSilence(state: TurnState, atMs: number): TurnStep {
  if (!state.caller) return same(state)
  const caller = { ...state.caller, lastPauseMs: atMs }
  const silenceMs = atMs - caller.lastVoiceMs
  const mayAsk = caller.text === null && (caller.ask === null || caller.ask.kind === 'interim')
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

type Hypothesis = Extract<TurnInput, { type: 'hypothesis' }>

function onHypothesis(state: TurnState, input: Hypothesis): TurnStep {
  const { caller } = state
  if (!caller?.ask || caller.ask.toMs !== input.toMs) return same(state) // the utterance has continued since
  const words = input.echo ? '' : input.text.trim()
  switch (caller.ask.kind) {
    case 'part':
      return onPart(state, caller, words, input.toMs)
    case 'interim':
      return onInterim(state, { ...caller, ask: null }, words, input.atMs)
    case 'end':
      return onEnd(state, { ...caller, ask: null }, join(caller.said, words), input)
  }
}

/** Only words prove presence: a barking dog must not keep the agent from asking whether anybody is there. */
const present = (state: TurnState, atMs: number): TurnState => ({ ...state, quietSinceMs: atMs, prompts: 0 })

const join = (before: string, after: string) => [before, after].filter(text => text !== '').join(' ')

/** Gives the turn to the caller. */
function takeTurn(state: TurnState): TurnStep {
  if (state.agent !== 'speaking') return same(state)
  return { state: { ...state, agent: 'idle', paused: false }, effects: [{ type: 'cut' }] }
}

function resume(state: TurnState): TurnStep {
  return { state: { ...state, paused: false }, effects: state.paused ? [{ type: 'resume' }] : [] }
}

function onPart(state: TurnState, caller: Utterance, words: string, toMs: number): TurnStep {
  const said = join(caller.said, words)
  const next = { ...caller, ask: null, said, fromMs: toMs, lastPauseMs: toMs, wordless: said === '' }
  const { state: after, effects } = said === '' ? resume(state) : takeTurn(state)
  return { state: { ...(said === '' ? after : present(after, toMs)), caller: next }, effects }
}

/** Decides about the agent's audio while the caller is still talking; the final transcription follows at the end. */
function onInterim(state: TurnState, caller: Utterance, words: string, atMs: number): TurnStep {
  if (words === '' && caller.said === '') {
    const { state: after, effects } = resume(state)
    return { state: { ...after, caller: { ...caller, wordless: true, interimMs: atMs + INTERIM_NOISE_MS } }, effects }
  }
  const next = { ...caller, wordless: false, interimMs: atMs + INTERIM_AGAIN_MS }
  const here = present(state, atMs)
  if (isBackchannel(words)) return same({ ...here, caller: next })
  const { state: after, effects } = takeTurn(here)
  return { state: { ...after, caller: next }, effects }
}

function onEnd(state: TurnState, caller: Utterance, text: string, { atMs, failed, echo }: Hypothesis): TurnStep {
  if (state.agent !== 'idle' && (text === '' || isBackchannel(text))) {
    const nod = text === '' ? state.nod : { text, startMs: caller.startMs, endMs: caller.lastVoiceMs }
    return resume({ ...(text === '' ? state : present(state, atMs)), caller: null, nod })
  }
  if (text === '') {
    const meant = !echo && (failed || caller.voicedMs >= MEANT_VOICE_MS)
    return commitIfDue({ ...state, caller: meant ? { ...caller, text, failed: failed === true } : null }, atMs)
  }
  const taken = takeTurn(present(state, atMs))
  const idle = taken.state.agent === 'idle'
  const effects = idle ? [...taken.effects, { type: 'prepare', text } as const] : taken.effects
  const next = commitIfDue({ ...taken.state, caller: { ...caller, text }, speculative: idle }, atMs)
  return { state: next.state, effects: [...effects, ...next.effects] }
}

function commitIfDue(state: TurnState, atMs: number): TurnStep {
  const { caller } = state
  if (!caller || caller.text === null || state.agent === 'speaking') return same(state)
  if (state.keys) return same(state) // speech and keys get one answer
  const silenceMs = atMs - caller.lastVoiceMs
  if (caller.text === '') {
    if (silenceMs < UNCLEAR_AFTER_MS) return same(state)
    const next = { ...state, caller: null }
    const enough = state.unclear >= UNCLEAR_MOST && !caller.failed
    if (state.agent !== 'idle' || enough) return resume(next)
    return {
      state: { ...next, agent: 'busy', unclear: state.unclear + 1, quietSinceMs: atMs },
      effects: [{ type: 'unclear' }],
    }
  }
  if (silenceMs < endpointMs(caller.text, state.expects)) return same(state)
  return commit(state, { text: caller.text, keys: false, startMs: caller.startMs, endMs: caller.lastVoiceMs, atMs })
}

function commit(state: TurnState, turn: Omit<Extract<TurnEffect, { type: 'commit' }>, 'type'>): TurnStep {
  const { state: free, effects } = resume(state)
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

/** True when the caller speaks besides pressing keys; what VAD made of the tones themselves is not speech. */
function goesOn({ caller, keys }: TurnState): boolean {
  if (!caller || !keys || caller.wordless) return false
  const words = caller.said !== '' || (caller.text ?? '') !== ''
  return words || caller.startMs < keys.startMs || caller.lastVoiceMs > keys.lastMs + KEY_TONE_MS
}

// ---- the agent, keys, time ----

function onAgentIdle(state: TurnState, atMs: number): TurnStep {
  const { nod } = state
  const { state: free, effects } = resume({ ...state, agent: 'idle', quietSinceMs: atMs, nod: null })
  const answered = nod !== null && state.expects === 'yes_no' && nod.endMs >= atMs - EARLY_ANSWER_MS
  if (!answered || state.agent !== 'speaking' || state.caller) return { state: free, effects }
  const next = commit(free, { ...nod, keys: false, atMs })
  return { state: next.state, effects: [...effects, ...next.effects] }
}

function onKey(state: TurnState, { digit, atMs }: { digit: string; atMs: number }): TurnStep {
  const taken = takeTurn(state)
  const ends = digit === '#'
  const digits = (state.keys?.digits ?? '') + (ends ? '' : digit)
  const startMs = state.keys?.startMs ?? atMs
  const next = { ...taken.state, keys: { digits, startMs, lastMs: atMs }, quietSinceMs: atMs, prompts: 0 }
  if (!ends && digits.length < KEYS_MOST) return { state: next, effects: taken.effects }
  const done = commitKeys(next, atMs)
  return { state: done.state, effects: [...taken.effects, ...done.effects] }
}

function onTyped(state: TurnState, { text, atMs }: { text: string; atMs: number }): TurnStep {
  const taken = takeTurn(state)
  const prepared: TurnEffect[] = state.speculative ? [{ type: 'discard' }] : []
  const done = commit(taken.state, { text, keys: false, startMs: atMs, endMs: atMs, atMs })
  return { state: done.state, effects: [...taken.effects, ...prepared, ...done.effects] }
}

function commitKeys(state: TurnState, atMs: number): TurnStep {
  const { digits, startMs, lastMs } = state.keys!
  const effects: TurnEffect[] = state.speculative ? [{ type: 'discard' }] : []
  const done = commit(state, { text: digits || '#', keys: true, startMs, endMs: lastMs, atMs })
  return { state: done.state, effects: [...effects, ...done.effects] }
}

function onTick(state: TurnState, atMs: number): TurnStep {
  const { keys, caller } = state
  // VAD reports windows, ticks come with each frame: half a window sooner. While there is voice, `text` is null.
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
