/**
 * RFC 3261 §17 transactions with RFC 6026 (Accepted state), as pure state machines: `step` takes a state, an input and
 * the time in ms, and returns the next state and the effects to carry out. Deadlines are part of the state; the caller
 * sends `tick` when the earliest is due.
 */

export type TimerName = 'A' | 'B' | 'D' | 'E' | 'F' | 'G' | 'H' | 'I' | 'J' | 'K' | 'L' | 'M' | 'N'
export type Deadlines = Readonly<Partial<Record<TimerName, number>>>

export interface Timers {
  t1: number
  t2: number
  t4: number
  /**
   * Milliseconds that an application may leave a request unanswered; 600,000 by default (ours; the RFC sets no limit).
   */
  patience: number
  /** Timer C of a proxy in ms: over three minutes (§16.6 step 11). */
  c: number
  /** Milliseconds in a second of the session timers; tests shorten it. */
  second: number
}
export const RFC_TIMERS: Timers = { t1: 500, t2: 4000, t4: 5000, patience: 600_000, c: 185_000, second: 1000 }

export type TxnKind = 'inviteClient' | 'nonInviteClient' | 'inviteServer' | 'nonInviteServer'
export type Phase = 'initial' | 'trying' | 'proceeding' | 'completed' | 'confirmed' | 'accepted' | 'terminated'

export interface TxnState {
  kind: TxnKind
  phase: Phase
  reliable: boolean
  timers: Timers
  /** Current retransmission interval in ms. */
  interval: number
  deadlines: Deadlines
}

export type Input =
  | { type: 'start' }
  | { type: 'tick' }
  /** A response from the network (client) or from the user (server). */
  | { type: 'response'; status: number }
  /** A retransmission of the same request (server). */
  | { type: 'repeat' }
  | { type: 'ack' }
  /** A CANCEL went out for this INVITE (client). */
  | { type: 'canceled' }
  | { type: 'transportError' }

export type Effect =
  /** Send the request (client) or the last response (server). */
  | { type: 'send' }
  /** Acknowledge a final response other than 2xx. */
  | { type: 'ack' }
  /** Give the response (client) or request (server) to the user. */
  | { type: 'deliver' }
  | { type: 'fail'; reason: 'timeout' | 'transport' }
  /** The user left an INVITE unanswered: the caller of the machine has to answer it now. */
  | { type: 'neglected' }
  | { type: 'terminated' }

export interface Step {
  state: TxnState
  effects: readonly Effect[]
}

export function newTransaction(kind: TxnKind, reliable: boolean, timers: Timers): TxnState {
  return { kind, phase: 'initial', reliable, timers, interval: timers.t1, deadlines: {} }
}

export function nextDeadline(state: TxnState): number | null {
  const times = Object.values(state.deadlines)
  return times.length === 0 ? null : Math.min(...times)
}

export function step(state: TxnState, input: Input, now: number): Step {
  if (state.phase === 'terminated') return { state, effects: [] }
  if (input.type === 'tick') return tick(state, now)
  switch (state.kind) {
    case 'inviteClient':
      return inviteClient(state, input, now)
    case 'nonInviteClient':
      return nonInviteClient(state, input, now)
    case 'inviteServer':
      return inviteServer(state, input, now)
    case 'nonInviteServer':
      return nonInviteServer(state, input, now)
  }
}

type Signal = Exclude<Input, { type: 'tick' }>

const SEND: Effect = { type: 'send' }
const DELIVER: Effect = { type: 'deliver' }
const ACK: Effect = { type: 'ack' }

function stay(state: TxnState, ...effects: Effect[]): Step {
  return { state, effects }
}

function enter(state: TxnState, phase: Phase, deadlines: Deadlines, ...effects: Effect[]): Step {
  return { state: { ...state, phase, deadlines, interval: state.timers.t1 }, effects }
}

function end(state: TxnState, ...effects: Effect[]): Step {
  return { state: { ...state, phase: 'terminated', deadlines: {} }, effects: [...effects, { type: 'terminated' }] }
}

/** Reliable transports have no retransmission timers (§17.1.1.2). */
function repeating(state: TxnState, name: TimerName, now: number): Deadlines {
  return state.reliable ? {} : { [name]: now + state.timers.t1 }
}

const life = (state: TxnState): number => 64 * state.timers.t1

/** §17.1.1.2 figure 5, with RFC 6026 §7.2. */
function inviteClient(state: TxnState, input: Signal, now: number): Step {
  if (input.type === 'transportError') {
    if (state.phase === 'completed' || state.phase === 'accepted') return end(state)
    return end(state, { type: 'fail', reason: 'transport' })
  }
  switch (state.phase) {
    case 'initial':
      if (input.type !== 'start') return stay(state)
      return enter(state, 'trying', { ...repeating(state, 'A', now), B: now + life(state) }, SEND)
    case 'trying':
    case 'proceeding':
      if (input.type === 'canceled') return canceled(state, now)
      if (input.type !== 'response') return stay(state)
      if (input.status < 200) return enter(state, 'proceeding', keepB(state), DELIVER)
      if (input.status < 300) return enter(state, 'accepted', { M: now + life(state) }, DELIVER)
      return enter(state, 'completed', { D: now + (state.reliable ? 0 : life(state)) }, ACK, DELIVER)
    case 'completed':
      return input.type === 'response' && input.status >= 300 ? stay(state, ACK) : stay(state)
    case 'accepted':
      return input.type === 'response' && input.status >= 200 && input.status < 300 ? stay(state, DELIVER) : stay(state)
    case 'confirmed':
    case 'terminated':
      return stay(state)
  }
}

/** In proceeding, timer B runs only after a CANCEL (§9.1: the final response may take 64*T1 after it). */
function keepB(state: TxnState): Deadlines {
  return state.phase === 'proceeding' && state.deadlines.B !== undefined ? { B: state.deadlines.B } : {}
}

function canceled(state: TxnState, now: number): Step {
  return stay({ ...state, deadlines: { ...state.deadlines, B: now + life(state) } })
}

/** §17.1.2.2 figure 6. */
function nonInviteClient(state: TxnState, input: Signal, now: number): Step {
  if (input.type === 'transportError') {
    return state.phase === 'completed' ? end(state) : end(state, { type: 'fail', reason: 'transport' })
  }
  switch (state.phase) {
    case 'initial':
      if (input.type !== 'start') return stay(state)
      return enter(state, 'trying', { ...repeating(state, 'E', now), F: now + life(state) }, SEND)
    case 'trying':
    case 'proceeding':
      if (input.type !== 'response') return stay(state)
      if (input.status < 200) return stay({ ...state, phase: 'proceeding' }, DELIVER)
      return enter(state, 'completed', { K: now + (state.reliable ? 0 : state.timers.t4) }, DELIVER)
    case 'completed':
    case 'confirmed':
    case 'accepted':
    case 'terminated':
      return stay(state)
  }
}

/** §17.2.1 figure 7, with RFC 6026 §7.1. */
function inviteServer(state: TxnState, input: Signal, now: number): Step {
  switch (state.phase) {
    case 'initial':
      if (input.type !== 'start') return stay(state)
      return enter(state, 'proceeding', { N: now + state.timers.patience }, DELIVER)
    case 'proceeding':
      if (input.type === 'repeat') return stay(state, SEND)
      if (input.type === 'transportError') return end(state, { type: 'fail', reason: 'transport' })
      if (input.type !== 'response') return stay(state)
      if (input.status < 200) return stay(state, SEND)
      if (input.status < 300) return enter(state, 'accepted', { L: now + life(state) }, SEND)
      return enter(state, 'completed', { ...repeating(state, 'G', now), H: now + life(state) }, SEND)
    case 'completed':
      if (input.type === 'repeat') return stay(state, SEND)
      if (input.type === 'ack') return enter(state, 'confirmed', { I: now + (state.reliable ? 0 : state.timers.t4) })
      return input.type === 'transportError' ? end(state) : stay(state)
    case 'accepted':
      // The user repeats the 2xx itself (§13.3.1.4); retransmitted INVITEs are absorbed (RFC 6026 §7.1).
      return input.type === 'response' && input.status >= 200 && input.status < 300 ? stay(state, SEND) : stay(state)
    case 'trying':
    case 'confirmed':
    case 'terminated':
      return stay(state)
  }
}

/** §17.2.2 figure 8. */
function nonInviteServer(state: TxnState, input: Signal, now: number): Step {
  switch (state.phase) {
    case 'initial':
      if (input.type !== 'start') return stay(state)
      // RFC 4320 §4.2: an answer is useless once the client has given up.
      return enter(state, 'trying', { N: now + life(state) }, DELIVER)
    case 'trying':
    case 'proceeding':
      if (input.type === 'repeat') return state.phase === 'trying' ? stay(state) : stay(state, SEND)
      if (input.type === 'transportError') return end(state, { type: 'fail', reason: 'transport' })
      if (input.type !== 'response') return stay(state)
      if (input.status < 200) return stay({ ...state, phase: 'proceeding' }, SEND)
      return enter(state, 'completed', { J: now + (state.reliable ? 0 : life(state)) }, SEND)
    case 'completed':
      if (input.type === 'repeat') return stay(state, SEND)
      return input.type === 'transportError' ? end(state) : stay(state)
    case 'confirmed':
    case 'accepted':
    case 'terminated':
      return stay(state)
  }
}

/** Fires every due timer, in the order of their deadlines. */
function tick(state: TxnState, now: number): Step {
  const due = (Object.entries(state.deadlines) as [TimerName, number][])
    .filter(([, at]) => at <= now)
    .sort((a, b) => a[1] - b[1])
  let current = state
  const effects: Effect[] = []
  for (const [name] of due) {
    if (current.phase === 'terminated') break
    const fired = fire(current, name, now)
    current = fired.state
    effects.push(...fired.effects)
  }
  return { state: current, effects }
}

function fire(state: TxnState, name: TimerName, now: number): Step {
  switch (name) {
    case 'A':
      return again(state, 'A', state.interval * 2, now)
    case 'E': // §17.1.2.2: in proceeding always T2.
      return again(state, 'E', state.phase === 'proceeding' ? state.timers.t2 : doubled(state), now)
    case 'G':
      return again(state, 'G', doubled(state), now)
    case 'N':
      if (state.kind !== 'inviteServer') return end(state, { type: 'fail', reason: 'timeout' })
      return { state: { ...state, deadlines: {} }, effects: [{ type: 'neglected' }] }
    case 'B':
    case 'F':
    case 'H':
      return end(state, { type: 'fail', reason: 'timeout' })
    case 'D':
    case 'I':
    case 'J':
    case 'K':
    case 'L':
    case 'M':
      return end(state)
  }
}

function doubled(state: TxnState): number {
  return Math.min(state.interval * 2, state.timers.t2)
}

function again(state: TxnState, name: TimerName, interval: number, now: number): Step {
  return stay({ ...state, interval, deadlines: { ...state.deadlines, [name]: now + interval } }, SEND)
}
