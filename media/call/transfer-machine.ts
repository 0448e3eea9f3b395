/**
 * How a call is given to somebody else, as a pure function. The carrier is asked to do it where it may (REFER); where it
 * will not, or where we have something to say to them first, we call them ourselves and join the two. Whatever goes wrong
 * before the two are joined, the caller is still with the agent.
 */

import type { EndedReason } from '../contract/messages.ts'

/** What is asked for. */
export interface Wish {
  /** The carrier may be asked. */
  refer: boolean
  /** Who answers is told something before they are joined. */
  announces: boolean
}

export type TransferState =
  | { phase: 'idle' }
  /** The carrier was asked, and says how it goes. `dropped`: why nobody else is asked when it fails. */
  | { phase: 'referring'; wish: Wish; dropped: string | null }
  /** `rings`: theirs does. */
  | { phase: 'dialing'; wish: Wish; rings: boolean }
  /** They are told who calls. */
  | { phase: 'announcing'; wish: Wish }
  /** `replacing`: the carrier was asked to connect them without us. `alone`: how their leg has ended meanwhile. */
  | { phase: 'joined'; replacing: boolean; alone: EndedReason | null }
  | { phase: 'over' }

export type TransferInput =
  | { type: 'wish'; wish: Wish }
  /** What came of the REFER; `elsewhere`: the carrier does not do it, another way may work. */
  | { type: 'referred'; ok: true }
  | { type: 'referred'; ok: false; elsewhere: boolean; reason: string }
  | { type: 'ringing' }
  | { type: 'answered' }
  | { type: 'not_answered'; reason: string }
  | { type: 'announced' }
  /** `broken`: nobody hung up, their line failed. */
  | { type: 'target_ended'; broken?: EndedReason }
  /** Whom they are `alone` with does not say in time whether it has replaced us. */
  | { type: 'carrier_silent' }
  /** Somebody else has taken the caller, or the agent can't let go of it. */
  | { type: 'cancel'; reason: string }
  | { type: 'caller_ended' }

export type TransferEffect =
  | { type: 'refer' }
  | { type: 'dial' }
  | { type: 'cancel_dial' }
  | { type: 'announce' }
  /** The agent steps aside; `replace`: the carrier is asked to connect the two by itself. */
  | { type: 'join'; replace: boolean }
  | { type: 'hang_up_target' }
  /** `reason`: of the end of the call. */
  | { type: 'hang_up_caller'; reason: EndedReason }
  /** For `carrier_silent`. */
  | { type: 'await_carrier' }
  /** The agent is told, in words. */
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

/** The caller waits for somebody, and hears that. */
export const waits = (state: TransferState): boolean =>
  state.phase === 'referring' ? state.dropped === null : state.phase === 'dialing' || state.phase === 'announcing'

/** No ringing tone has a longer pause (ITU-T E.180: 3 to 5 s). */
const EARLY_SILENT_MS = 6000

/**
 * What they hear meanwhile. `silentMs`: since anything was heard of the line of who is called, which has not answered; null:
 * nothing was, and then its ringing is made here (RFC 3960 §3.2).
 */
export function heardBy(state: TransferState, silentMs: number | null): 'music' | 'ringing' | 'early' {
  // After the ringing of who is told something first, music would sound like a step back.
  if (state.phase !== 'dialing' || !state.rings || state.wish.announces) return 'music'
  return silentMs !== null && silentMs < EARLY_SILENT_MS ? 'early' : 'ringing'
}

function onIdle(state: TransferState, input: TransferInput): TransferStep {
  if (input.type === 'caller_ended') return { state: { phase: 'over' }, effects: [] }
  if (input.type !== 'wish') return same(state)
  // Who is told something first is called by us: nobody else could tell it.
  return input.wish.refer && !input.wish.announces
    ? { state: { phase: 'referring', wish: input.wish, dropped: null }, effects: [{ type: 'refer' }] }
    : dial(input.wish)
}

/** A REFER cannot be taken back; and when the call ends, its result says whether by that. What failed is not tried anew then. */
function onReferring(state: Extract<TransferState, { phase: 'referring' }>, input: TransferInput): TransferStep {
  switch (input.type) {
    case 'cancel':
      return same({ ...state, dropped: input.reason })
    case 'caller_ended':
      return same({ ...state, dropped: CALLER_LEFT })
    case 'referred':
      if (input.ok) return { state: { phase: 'over' }, effects: [{ type: 'settle', ok: true }] }
      if (state.dropped !== null) return give(state.dropped)
      return input.elsewhere ? dial({ ...state.wish, refer: false }) : give(input.reason)
    default:
      return same(state)
  }
}

function onDialing(state: Extract<TransferState, { phase: 'dialing' }>, input: TransferInput): TransferStep {
  const { wish } = state
  switch (input.type) {
    case 'ringing':
      return same({ ...state, rings: true })
    case 'answered':
      return wish.announces ? { state: { phase: 'announcing', wish }, effects: [{ type: 'announce' }] } : join(wish)
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
      return join(state.wish)
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
      // Replaced by the caller, it may be: the carrier says so next.
      return state.replacing
        ? { state: { ...state, alone: reason }, effects: [{ type: 'await_carrier' }] }
        : hangUpCaller(reason)
    }
    case 'referred':
      if (input.ok) return { state: { phase: 'over' }, effects: [{ type: 'hang_up_target' }] }
      return state.alone ? hangUpCaller(state.alone) : same({ ...state, replacing: false })
    case 'carrier_silent':
      return state.alone ? hangUpCaller(state.alone) : same(state)
    case 'cancel':
    case 'caller_ended':
      return { state: { phase: 'over' }, effects: [{ type: 'hang_up_target' }] }
    default:
      return same(state)
  }
}

const same = (state: TransferState): TransferStep => ({ state, effects: [] })
const dial = (wish: Wish): TransferStep => ({
  state: { phase: 'dialing', wish, rings: false },
  effects: [{ type: 'dial' }],
})
const join = ({ refer }: Wish): TransferStep => ({
  state: { phase: 'joined', replacing: refer, alone: null },
  effects: [
    { type: 'join', replace: refer },
    { type: 'settle', ok: true },
  ],
})
/** Back to the agent. */
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
