/**
 * A call transfer as a pure function. The carrier is asked to do it when possible (REFER). When it refuses, or when the
 * target is to hear an announcement first, the engine dials the target and joins the two. If anything fails before they
 * are joined, the caller is still with the agent.
 */

import type { EndedReason } from '../contract/messages.ts'

/** The requested transfer. */
export interface TransferRequest {
  /** The carrier may be asked (REFER). */
  refer: boolean
  /** The target hears an announcement before they are joined. */
  announces: boolean
}

export type TransferState =
  | { phase: 'idle' }
  /** The carrier was asked and reports progress. `dropped`: why no other way is tried when it fails. */
  | { phase: 'referring'; request: TransferRequest; dropped: string | null }
  /** `rings`: the target's telephone is ringing. */
  | { phase: 'dialing'; request: TransferRequest; rings: boolean }
  /** The target hears who is calling. */
  | { phase: 'announcing'; request: TransferRequest }
  /**
   * `replacing`: the carrier was asked to connect the two directly. `alone`: how the target's leg has ended meanwhile.
   */
  | { phase: 'joined'; replacing: boolean; targetEnded: EndedReason | null }
  | { phase: 'over' }

export type TransferInput =
  | { type: 'request'; request: TransferRequest }
  /** Result of the REFER; `elsewhere`: the carrier does not do it, another way may work. */
  | { type: 'referred'; ok: true }
  | { type: 'referred'; ok: false; elsewhere: boolean; reason: string }
  | { type: 'ringing' }
  | { type: 'answered' }
  | { type: 'not_answered'; reason: string }
  | { type: 'announced' }
  /** `broken`: nobody hung up, the connection failed. */
  | { type: 'target_ended'; broken?: EndedReason }
  /** The target's leg has ended, and the carrier does not report in time whether it has replaced us. */
  | { type: 'carrier_silent' }
  /** An operator has taken the caller over, or the agent cannot release the caller. */
  | { type: 'cancel'; reason: string }
  | { type: 'caller_ended' }

export type TransferEffect =
  | { type: 'refer' }
  | { type: 'dial' }
  | { type: 'cancel_dial' }
  | { type: 'announce' }
  /** The agent steps aside; `replace`: the carrier is asked to connect the two directly. */
  | { type: 'join'; replace: boolean }
  | { type: 'hang_up_target' }
  /** `reason` becomes the reason for the end of the call. */
  | { type: 'hang_up_caller'; reason: EndedReason }
  /** Starts the timeout for `carrier_silent`. */
  | { type: 'await_carrier' }
  /** Reports the result to the agent; `reason` is text for the model. */
  | { type: 'settle'; ok: true }
  | { type: 'settle'; ok: false; reason: string }

export interface TransferStep {
  state: TransferState
  effects: TransferEffect[]
}

export const noTransfer: TransferState = { phase: 'idle' }
const CALLER_LEFT = 'The caller has hung up.'
const THEY_LEFT = 'They hung up before they were connected.'

export function stepTransfer(state: TransferState, input: TransferInput): TransferStep {
  switch (state.phase) {
    case 'idle':
      return onIdle(state, input)
    case 'referring':
      return onReferring(state, input)
    case 'dialing':
      return onDialing(state, input)
    case 'announcing':
      return onAnnouncing(state, input)
    case 'joined':
      return onJoined(state, input)
    case 'over':
      return same(state)
  }
}

/** True while the caller waits for the target and hears music or ringing. */
export const waits = (state: TransferState): boolean =>
  state.phase === 'referring' ? state.dropped === null : state.phase === 'dialing' || state.phase === 'announcing'

/** Milliseconds of silence in early media; no ringing tone has a longer pause (ITU-T E.180: 3 to 5 s). */
const EARLY_SILENT_MS = 6000

/**
 * Selects the audio for the waiting caller. `silentMs`: milliseconds since the target's early media was last audible;
 * null when it never was, and ringing is then generated locally (RFC 3960 §3.2).
 */
export function waitingAudio(state: TransferState, silentMs: number | null): 'music' | 'ringing' | 'early' {
  // The caller still waits during an announcement to the target; music after ringing would sound like a step back.
  if (state.phase !== 'dialing' || !state.rings || state.request.announces) return 'music'
  return silentMs !== null && silentMs < EARLY_SILENT_MS ? 'early' : 'ringing'
}

function onIdle(state: TransferState, input: TransferInput): TransferStep {
  if (input.type === 'caller_ended') return { state: { phase: 'over' }, effects: [] }
  if (input.type !== 'request') return same(state)
  // Only the engine can play the announcement, so it dials the target itself.
  return input.request.refer && !input.request.announces
    ? { state: { phase: 'referring', request: input.request, dropped: null }, effects: [{ type: 'refer' }] }
    : dial(input.request)
}

/**
 * A REFER cannot be cancelled. When the call ends, the result tells whether the transfer ended it; a failed one is not
 * retried.
 */
function onReferring(state: Extract<TransferState, { phase: 'referring' }>, input: TransferInput): TransferStep {
  switch (input.type) {
    case 'cancel':
      return same({ ...state, dropped: input.reason })
    case 'caller_ended':
      return same({ ...state, dropped: CALLER_LEFT })
    case 'referred':
      if (input.ok) return { state: { phase: 'over' }, effects: [{ type: 'settle', ok: true }] }
      if (state.dropped !== null) return give(state.dropped)
      return input.elsewhere ? dial({ ...state.request, refer: false }) : give(input.reason)
    default:
      return same(state)
  }
}

function onDialing(state: Extract<TransferState, { phase: 'dialing' }>, input: TransferInput): TransferStep {
  const { request } = state
  switch (input.type) {
    case 'ringing':
      return same({ ...state, rings: true })
    case 'answered':
      return request.announces
        ? { state: { phase: 'announcing', request }, effects: [{ type: 'announce' }] }
        : join(request)
    case 'not_answered':
      return give(input.reason)
    case 'cancel':
      return give(input.reason, { type: 'cancel_dial' })
    case 'caller_ended':
      return leave({ type: 'cancel_dial' })
    default:
      return same(state)
  }
}

function onAnnouncing(state: Extract<TransferState, { phase: 'announcing' }>, input: TransferInput): TransferStep {
  switch (input.type) {
    case 'announced':
      return join(state.request)
    case 'target_ended':
      return give(THEY_LEFT)
    case 'cancel':
      return give(input.reason, { type: 'hang_up_target' })
    case 'caller_ended':
      return leave({ type: 'hang_up_target' })
    default:
      return same(state)
  }
}

function onJoined(state: Extract<TransferState, { phase: 'joined' }>, input: TransferInput): TransferStep {
  switch (input.type) {
    case 'target_ended': {
      const reason = input.broken ?? 'transferred'
      // The caller may have replaced our leg: the carrier reports it next.
      return state.replacing
        ? { state: { ...state, targetEnded: reason }, effects: [{ type: 'await_carrier' }] }
        : hangUpCaller(reason)
    }
    case 'referred':
      if (input.ok) return { state: { phase: 'over' }, effects: [{ type: 'hang_up_target' }] }
      return state.targetEnded ? hangUpCaller(state.targetEnded) : same({ ...state, replacing: false })
    case 'carrier_silent':
      return state.targetEnded ? hangUpCaller(state.targetEnded) : same(state)
    case 'cancel':
    case 'caller_ended':
      return { state: { phase: 'over' }, effects: [{ type: 'hang_up_target' }] }
    default:
      return same(state)
  }
}

const same = (state: TransferState): TransferStep => ({ state, effects: [] })
const dial = (request: TransferRequest): TransferStep => ({
  state: { phase: 'dialing', request, rings: false },
  effects: [{ type: 'dial' }],
})
const join = ({ refer }: TransferRequest): TransferStep => ({
  state: { phase: 'joined', replacing: refer, targetEnded: null },
  effects: [
    { type: 'join', replace: refer },
    { type: 'settle', ok: true },
  ],
})
/** Returns the caller to the agent. */
const give = (reason: string, ...before: TransferEffect[]): TransferStep => ({
  state: noTransfer,
  effects: [...before, { type: 'settle', ok: false, reason }],
})
const hangUpCaller = (reason: EndedReason): TransferStep => ({
  state: { phase: 'over' },
  effects: [{ type: 'hang_up_caller', reason }],
})
const leave = (effect: TransferEffect): TransferStep => ({
  state: { phase: 'over' },
  effects: [effect, { type: 'settle', ok: false, reason: CALLER_LEFT }],
})
