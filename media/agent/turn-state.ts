/** State, inputs and effects of turn detection, which `turn.ts` computes. */
import type { Expectation } from './expectation.ts'

export interface Utterance {
  startMs: number
  lastVoiceMs: number
  voicedMs: number
  /** Words of its transcribed parts; `fromMs` is the start of the rest. */
  said: string
  fromMs: number
  /** Last time without speech in the current part. */
  lastPauseMs: number
  /**
   * Pending transcription: `end` of the utterance, a `part` of long speech, or an `interim` result of ongoing speech.
   */
  ask: { toMs: number; kind: 'end' | 'part' | 'interim' } | null
  interimMs: number
  /** All of its words, once it is transcribed to its end. */
  text: string | null
  /** STT failed. */
  failed: boolean
  /** No word was found in it: it neither pauses the agent's audio nor delays the silence prompts. */
  wordless: boolean
}

export interface TurnState {
  /** Speech of the caller that is not a turn yet. */
  caller: Utterance | null
  /** `speaking`: audio is being sent. `busy`: a committed answer is in progress or a tool runs. */
  agent: 'idle' | 'busy' | 'speaking'
  /** The agent's audio is paused until it is clear whether the caller interrupts. */
  paused: boolean
  /** An answer to `caller.text` is being prepared and may be discarded. */
  speculative: boolean
  keys: { digits: string; startMs: number; lastMs: number } | null
  quietSinceMs: number
  prompts: number
  /** Number of consecutive turns that could not be transcribed. */
  unclear: number
  /** The kind of answer that the agent's last words ask for. */
  expects: Expectation
  /** A backchannel such as "yes" spoken over the agent. */
  nod: { text: string; startMs: number; endMs: number } | null
}

export type TurnInput =
  /** `loudMs`: when the audio was last loud; VAD lags behind the end of speech, the energy does not. */
  | { type: 'voice'; voiced: boolean; atMs: number; windowMs: number; loudMs: number }
  /** `failed`: STT failed. `echo`: the words are the agent's own. */
  | { type: 'hypothesis'; toMs: number; text: string; atMs: number; failed?: boolean; echo?: boolean }
  /** A committed answer is in progress; `agent_idle` ends it. */
  | { type: 'agent_busy'; atMs: number }
  | { type: 'agent_started'; atMs: number }
  /** Text of the agent's turn that was played; sent before `agent_idle`. */
  | { type: 'agent_said'; text: string }
  | { type: 'agent_idle'; atMs: number }
  | { type: 'key'; digit: string; atMs: number }
  /** Typed text, which is a complete turn. */
  | { type: 'typed'; text: string; atMs: number }
  | { type: 'tick'; atMs: number }

export type TurnEffect =
  | { type: 'transcribe'; fromMs: number; toMs: number }
  | { type: 'prepare'; text: string }
  | { type: 'discard' }
  | { type: 'commit'; text: string; keys: boolean; startMs: number; endMs: number; atMs: number }
  | { type: 'pause' }
  | { type: 'resume' }
  /** The caller took the turn: the rest of the agent's answer is dropped. */
  | { type: 'cut' }
  /** Something was said that could not be transcribed. */
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
