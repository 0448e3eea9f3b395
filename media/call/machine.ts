/**
 * The life of a call as a pure function: `dialing → ringing → opening → talking → closing → ended`. Inbound calls enter
 * at `ringing`, web calls at `opening`. Inputs after `ended` have no effect.
 */
import type { EndedReason, FinalStatus } from '../contract/messages.ts'
import type { DialFailure } from '../ports/dialer.ts'

export type CallState =
  | { phase: 'dialing' | 'ringing'; cancel: EndedReason | null }
  /** The leg is connected; the agent has not been asked to speak yet. */
  | { phase: 'opening' }
  | { phase: 'talking' }
  /**
   * `goodbye`: the last words are being spoken. `wrapping`: the leg has ended, the summary is being written.
   * `handedOver`: the reason for the end concerns the transfer target to whom the caller was given.
   */
  | { phase: 'closing'; stage: 'goodbye' | 'hanging_up' | 'wrapping'; reason: EndedReason; handedOver?: boolean }
  | { phase: 'ended'; outcome: CallOutcome }

export interface CallOutcome {
  status: FinalStatus
  reason: EndedReason
  sipCode: number | null
}

export type CallInput =
  | { type: 'ringing' }
  | { type: 'answered' }
  | { type: 'dial_failed'; failure: DialFailure }
  | { type: 'started' }
  | { type: 'leg_ended'; reason: EndedReason; handedOver?: boolean }
  /** A request to end the call: the API, the agent, a limit, the engine's shutdown. */
  | { type: 'end'; reason: EndedReason }
  /** The last words were spoken, or took too long. */
  | { type: 'goodbye_over' }
  | { type: 'wrapped_up' }

export type CallEffect =
  | { type: 'emit_ringing' }
  | { type: 'start_conversation' }
  | { type: 'cancel_dial' }
  | { type: 'say_goodbye'; reason: EndedReason }
  | { type: 'hang_up'; reason: EndedReason }
  | { type: 'wrap_up' }
  | { type: 'finish'; outcome: CallOutcome }

export interface CallStep {
  state: CallState
  effects: CallEffect[]
}

export const dialing: CallState = { phase: 'dialing', cancel: null }
/** An inbound call whose answer is in progress; ending it meanwhile works as for a dial. */
export const answering: CallState = { phase: 'ringing', cancel: null }
export const opening: CallState = { phase: 'opening' }

/** Reasons that are announced by the agent first, so that the far end is not cut off in silence. */
const POLITE: ReadonlySet<EndedReason> = new Set([
  'max_duration',
  'balance_exhausted',
  'engine_shutdown',
  'connection_lost',
])
/** Reasons that make an answered call `failed` instead of `completed`. */
const BROKEN: ReadonlySet<EndedReason> = new Set([
  'media_timeout',
  'connection_lost',
  'encryption_failed',
  'model_error',
  'engine_lost',
  'internal_error',
  'trunk_unreachable',
])

export function stepCall(state: CallState, input: CallInput): CallStep {
  switch (state.phase) {
    case 'dialing':
    case 'ringing':
      return onDialing(state, input)
    case 'opening':
    case 'talking':
      return onConnected(state, input)
    case 'closing':
      return onClosing(state, input)
    case 'ended':
      return { state, effects: [] }
  }
}

function onDialing(state: Extract<CallState, { phase: 'dialing' | 'ringing' }>, input: CallInput): CallStep {
  switch (input.type) {
    case 'ringing':
      if (state.phase === 'ringing') return same(state)
      return { state: { ...state, phase: 'ringing' }, effects: [{ type: 'emit_ringing' }] }
    case 'answered':
      // The answer crossed our CANCEL: hang up at once without a conversation.
      if (state.cancel) {
        return {
          state: { phase: 'closing', stage: 'hanging_up', reason: state.cancel },
          effects: [{ type: 'hang_up', reason: state.cancel }],
        }
      }
      return { state: opening, effects: [{ type: 'start_conversation' }] }
    case 'dial_failed': {
      const { status, reason, sipCode } = input.failure
      return finish(state.cancel ? { status: 'canceled', reason: state.cancel, sipCode } : { status, reason, sipCode })
    }
    case 'end':
      if (state.cancel) return same(state)
      return {
        state: { ...state, cancel: input.reason === 'api_hangup' ? 'canceled_by_api' : input.reason },
        effects: [{ type: 'cancel_dial' }],
      }
    case 'started':
    case 'leg_ended':
    case 'goodbye_over':
    case 'wrapped_up':
      return same(state)
  }
}

function onConnected(state: Extract<CallState, { phase: 'opening' | 'talking' }>, input: CallInput): CallStep {
  switch (input.type) {
    case 'started':
      return { state: { phase: 'talking' }, effects: [] }
    case 'leg_ended':
      return wrap(input.reason, input.handedOver)
    case 'end':
      if (POLITE.has(input.reason) && state.phase === 'talking') {
        return {
          state: { phase: 'closing', stage: 'goodbye', reason: input.reason },
          effects: [{ type: 'say_goodbye', reason: input.reason }],
        }
      }
      return hangUp(input.reason)
    case 'ringing':
    case 'answered':
    case 'dial_failed':
    case 'goodbye_over':
    case 'wrapped_up':
      return same(state)
  }
}

function onClosing(state: Extract<CallState, { phase: 'closing' }>, input: CallInput): CallStep {
  switch (input.type) {
    case 'goodbye_over':
      return state.stage === 'goodbye' ? hangUp(state.reason) : same(state)
    case 'end':
      // A second request to end does not wait for the goodbye.
      return state.stage === 'goodbye' ? hangUp(state.reason) : same(state)
    case 'leg_ended':
      return state.stage === 'wrapping' ? same(state) : wrap(state.reason)
    case 'wrapped_up': {
      if (state.stage !== 'wrapping') return same(state)
      const { reason } = state
      const canceled = reason === 'canceled_by_api'
      return finish({
        status: canceled ? 'canceled' : BROKEN.has(reason) && !state.handedOver ? 'failed' : 'completed',
        reason,
        sipCode: null,
      })
    }
    case 'ringing':
    case 'answered':
    case 'dial_failed':
    case 'started':
      return same(state)
  }
}

const same = (state: CallState): CallStep => ({ state, effects: [] })
const hangUp = (reason: EndedReason): CallStep => ({
  state: { phase: 'closing', stage: 'hanging_up', reason },
  effects: [{ type: 'hang_up', reason }],
})
const wrap = (reason: EndedReason, handedOver = false): CallStep => ({
  state: { phase: 'closing', stage: 'wrapping', reason, ...(handedOver ? { handedOver } : {}) },
  effects: [{ type: 'wrap_up' }],
})
const finish = (outcome: CallOutcome): CallStep => ({
  state: { phase: 'ended', outcome },
  effects: [{ type: 'finish', outcome }],
})
