/**
 * RFC 3261 §13.3.1.4: the UAS core repeats its 2xx to an INVITE at T1, 2*T1 … T2 until the ACK, and gives up after
 * 64*T1. Pure.
 */
export type RepeatState = {
  readonly interval: number
  readonly nextAt: number
  readonly giveUpAt: number
  readonly t2: number
}

export type RepeatAction = 'wait' | 'repeat' | 'give-up'

export function startRepeat(t1: number, t2: number, now: number): RepeatState {
  return { interval: t1, nextAt: now + t1, giveUpAt: now + 64 * t1, t2 }
}

export function stepRepeat(
  state: RepeatState,
  now: number,
): { readonly state: RepeatState; readonly action: RepeatAction } {
  if (now >= state.giveUpAt) return { state, action: 'give-up' }
  if (now < state.nextAt) return { state, action: 'wait' }
  const interval = Math.min(state.interval * 2, state.t2)
  return { state: { ...state, interval, nextAt: now + interval }, action: 'repeat' }
}

export function repeatDue(state: RepeatState): number {
  return Math.min(state.nextAt, state.giveUpAt)
}
