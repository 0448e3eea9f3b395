/**
 * Whose turn it is, as a pure function. Time comes with the inputs (wire milliseconds). The caller's words become a
 * turn when silence has lasted as long as what was said asks for; work is started before that is sure, and thrown away
 * when the caller goes on. Sound stops at once when the caller talks over it, and resumes if it was only an "uh-huh".
 */
import { endpointMs, isBackchannel } from './endpointing.ts'

export const SPECULATE_AFTER_MS = 200
export const BARGE_IN_VOICE_MS = 160
/** Talking over the agent for so long is read without waiting for its end. */
export const DECIDE_VOICE_MS = 640
export const PREROLL_MS = 320
export const POSTROLL_MS = 160
export const SILENCE_PROMPT_MS = 9000
export const SILENCE_PROMPTS = 2
const DTMF_END_MS = 1800

export interface Stretch {
  startMs: number
  lastVoiceMs: number
  voicedMs: number
  /** End of the stretch that recognition was asked for; null when not asked since the last voice. */
  askedToMs: number | null
  /** Its text, once known. */
  text: string | null
}

export interface TurnState {
  /** What the caller has begun to say and that is not a turn yet. */
  caller: Stretch | null
  /** `speaking`: sound is leaving. `busy`: a committed answer is being thought or a tool runs. */
  agent: 'idle' | 'busy' | 'speaking'
  /** The agent's sound is held while it is unclear whether the caller objects. */
  paused: boolean
  /** An answer to `caller.text` is being prepared and may be thrown away. */
  speculative: boolean
  keys: { digits: string; lastMs: number } | null
  quietSinceMs: number
  prompts: number
}

export type TurnInput =
  /** `loudMs`: when the sound was last loud; the detector lags behind the end of speech, the sound does not. */
  | { type: 'voice'; voiced: boolean; atMs: number; windowMs: number; loudMs: number }
  | { type: 'hypothesis'; toMs: number; text: string; atMs: number }
  /** A committed answer is being worked on, or is not any more. */
  | { type: 'agent_busy'; atMs: number }
  | { type: 'agent_started'; atMs: number }
  | { type: 'agent_idle'; atMs: number }
  | { type: 'key'; digit: string; atMs: number }
  | { type: 'tick'; atMs: number }

export type TurnEffect =
  | { type: 'transcribe'; fromMs: number; toMs: number }
  | { type: 'prepare'; text: string }
  | { type: 'discard' }
  | { type: 'commit'; text: string; startMs: number; endMs: number; atMs: number }
  | { type: 'pause' }
  | { type: 'resume' }
  /** The caller took the floor: what is left of the agent's answer is not said. */
  | { type: 'cut' }
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
})

export function stepTurn(state: TurnState, input: TurnInput): TurnStep {
  switch (input.type) {
    case 'voice':
      return input.voiced ? onVoice(state, input) : onSilence(state, input.atMs)
    case 'hypothesis':
      return onHypothesis(state, input)
    case 'agent_busy':
      return { state: { ...state, agent: 'busy' }, effects: [] }
    case 'agent_started':
      return { state: { ...state, agent: 'speaking' }, effects: [] }
    case 'agent_idle':
      return { state: { ...state, agent: 'idle', paused: false, quietSinceMs: input.atMs }, effects: [] }
    case 'key':
      return onKey(state, input)
    case 'tick':
      return onTick(state, input.atMs)
  }
}

function onVoice(
  state: TurnState,
  { atMs, windowMs, loudMs }: { atMs: number; windowMs: number; loudMs: number },
): TurnStep {
  const effects: TurnEffect[] = []
  const before = state.caller
  const startMs = before?.startMs ?? atMs - 2 * windowMs
  const lastVoiceMs = Math.max(before?.lastVoiceMs ?? startMs, Math.min(atMs, loudMs))
  const caller: Stretch = before
    ? { ...before, lastVoiceMs, voicedMs: before.voicedMs + windowMs }
    : { startMs, lastVoiceMs, voicedMs: 2 * windowMs, askedToMs: null, text: null }
  let { speculative, paused } = state
  if (before && before.askedToMs !== null && !paused) {
    // The caller went on: what was read and prepared was half a sentence.
    caller.askedToMs = null
    caller.text = null
    if (speculative) effects.push({ type: 'discard' })
    speculative = false
  }
  if (state.agent === 'speaking' && !paused && caller.voicedMs >= BARGE_IN_VOICE_MS) {
    paused = true
    effects.push({ type: 'pause' })
  }
  if (paused && caller.askedToMs === null && caller.voicedMs >= DECIDE_VOICE_MS) {
    caller.askedToMs = atMs
    effects.push({ type: 'transcribe', fromMs: caller.startMs - PREROLL_MS, toMs: atMs })
  }
  return { state: { ...state, caller, paused, speculative, quietSinceMs: atMs, prompts: 0 }, effects }
}

function onSilence(state: TurnState, atMs: number): TurnStep {
  const { caller } = state
  if (!caller) return { state, effects: [] }
  const silenceMs = atMs - caller.lastVoiceMs
  if (silenceMs >= SPECULATE_AFTER_MS && (caller.askedToMs === null || caller.askedToMs < caller.lastVoiceMs)) {
    const toMs = caller.lastVoiceMs + POSTROLL_MS
    return {
      state: { ...state, caller: { ...caller, askedToMs: toMs, text: null } },
      effects: [{ type: 'transcribe', fromMs: caller.startMs - PREROLL_MS, toMs }],
    }
  }
  return commitIfDue(state, atMs)
}

function onHypothesis(state: TurnState, input: { toMs: number; text: string; atMs: number }): TurnStep {
  const { caller } = state
  if (!caller || caller.askedToMs !== input.toMs) return { state, effects: [] } // of a stretch that went on
  const stillTalking = input.toMs <= caller.lastVoiceMs
  const text = input.text.trim()
  const talkedOver = state.agent === 'speaking'
  if (text === '' || (talkedOver && isBackchannel(text))) {
    if (stillTalking) return { state: { ...state, caller: { ...caller, askedToMs: null } }, effects: [] }
    return {
      state: { ...state, caller: null, paused: false },
      effects: state.paused ? [{ type: 'resume' }] : [],
    }
  }
  const effects: TurnEffect[] = talkedOver ? [{ type: 'cut' }] : []
  const cut: TurnState = talkedOver ? { ...state, agent: 'idle', paused: false } : state
  // Read while still talking: it decided about the agent's sound; the words are read again at their end.
  if (stillTalking) return { state: { ...cut, caller: { ...caller, askedToMs: null, text: null } }, effects }
  if (cut.agent === 'idle') effects.push({ type: 'prepare', text })
  const next = commitIfDue({ ...cut, caller: { ...caller, text }, speculative: cut.agent === 'idle' }, input.atMs)
  return { state: next.state, effects: [...effects, ...next.effects] }
}

function commitIfDue(state: TurnState, atMs: number): TurnStep {
  const { caller } = state
  if (!caller?.text || state.agent === 'speaking') return { state, effects: [] }
  if (atMs - caller.lastVoiceMs < endpointMs(caller.text)) return { state, effects: [] }
  return {
    state: { ...state, caller: null, speculative: false, agent: 'busy', quietSinceMs: atMs },
    effects: [{ type: 'commit', text: caller.text, startMs: caller.startMs, endMs: caller.lastVoiceMs, atMs }],
  }
}

function onKey(state: TurnState, { digit, atMs }: { digit: string; atMs: number }): TurnStep {
  const effects: TurnEffect[] = state.agent === 'speaking' ? [{ type: 'cut' }] : []
  const agent = state.agent === 'speaking' ? 'idle' : state.agent
  const digits = (state.keys?.digits ?? '') + (digit === '#' ? '' : digit)
  const next: TurnState = {
    ...state,
    agent,
    paused: false,
    keys: { digits, lastMs: atMs },
    quietSinceMs: atMs,
    prompts: 0,
  }
  if (digit !== '#') return { state: next, effects }
  const done = commitKeys(next, atMs)
  return { state: done.state, effects: [...effects, ...done.effects] }
}

function commitKeys(state: TurnState, atMs: number): TurnStep {
  const keys = state.keys!
  const cleared: TurnState = { ...state, keys: null, agent: keys.digits === '' ? state.agent : 'busy' }
  if (keys.digits === '') return { state: cleared, effects: [] }
  const effects: TurnEffect[] = state.speculative ? [{ type: 'discard' }] : []
  effects.push({ type: 'commit', text: keys.digits, startMs: keys.lastMs, endMs: keys.lastMs, atMs })
  return { state: { ...cleared, caller: null, speculative: false }, effects }
}

function onTick(state: TurnState, atMs: number): TurnStep {
  if (state.keys && atMs - state.keys.lastMs >= DTMF_END_MS) return commitKeys(state, atMs)
  if (state.agent !== 'idle' || state.caller || state.keys || atMs - state.quietSinceMs < SILENCE_PROMPT_MS) {
    return { state, effects: [] }
  }
  if (state.prompts >= SILENCE_PROMPTS) return { state: { ...state, agent: 'busy' }, effects: [{ type: 'give_up' }] }
  const prompts = state.prompts + 1
  return {
    state: { ...state, agent: 'busy', prompts, quietSinceMs: atMs },
    effects: [{ type: 'prompt', count: prompts }],
  }
}
