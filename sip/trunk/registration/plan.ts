/** When to register a trunk (RFC 3261 §10.2): a pure function of what happened, the time in ms, and a number of chance in 0…1. */

export type RegistrationState = {
  readonly phase: 'idle' | 'registering' | 'registered' | 'failed'
  /** In a row. */
  readonly failures: number
  /** When the next REGISTER is due, or null while one is under way or none is wanted. */
  readonly dueAtMs: number | null
  /** What we ask for; a registrar may want more (423). */
  readonly expiresSeconds: number
}

export type RegistrationInput =
  | { readonly type: 'start' }
  | { readonly type: 'due' }
  | { readonly type: 'accepted'; readonly expiresSeconds: number }
  | {
      readonly type: 'refused'
      readonly status: number
      readonly retryAfterSeconds: number | null
      readonly minExpiresSeconds: number | null
    }
  | { readonly type: 'stop' }

export type RegistrationEffect = 'none' | 'register' | 'unregister'
export type RegistrationStep = { readonly state: RegistrationState; readonly effect: RegistrationEffect }

const WANTED_SECONDS = 300
/** Nobody has a reason to want more than a day. */
const LONGEST_EXPIRES_S = 86_400
const FIRST_RETRY_MS = 2000
const LAST_RETRY_MS = 300_000
/** Wrong credentials don't mend themselves, and registrars lock out who insists. */
const REFUSED_RETRY_MS = 60_000
const REFUSALS = new Set([401, 403, 404, 407])
/** A registrar that grants next to nothing must not be asked all the time. */
const SHORTEST_MS = 5000
/** One that is taken out of service for a day is asked all the same: it may be back sooner. */
const LONGEST_RETRY_AFTER_S = 3600

export const unregistered: RegistrationState = {
  phase: 'idle',
  failures: 0,
  dueAtMs: null,
  expiresSeconds: WANTED_SECONDS,
}

export function stepRegistration(
  state: RegistrationState,
  input: RegistrationInput,
  nowMs: number,
  chance: number,
): RegistrationStep {
  switch (input.type) {
    case 'start':
      return { state: { ...state, phase: 'registering', dueAtMs: null }, effect: 'register' }
    case 'due':
      if (state.dueAtMs === null) return { state, effect: 'none' }
      // A refresh is no news: the phase changes when it fails.
      return {
        state: { ...state, phase: state.phase === 'registered' ? 'registered' : 'registering', dueAtMs: null },
        effect: 'register',
      }
    case 'accepted': {
      // Between 50 and 90 %, so that many trunks don't come at once and a lost one still has time.
      const waitMs = Math.max(SHORTEST_MS, input.expiresSeconds * 1000 * (0.5 + 0.4 * chance))
      return { state: { ...state, phase: 'registered', failures: 0, dueAtMs: nowMs + waitMs }, effect: 'none' }
    }
    case 'refused':
      return refused(state, input, nowMs, chance)
    case 'stop':
      return { state: unregistered, effect: state.phase === 'registered' ? 'unregister' : 'none' }
  }
}

function refused(
  state: RegistrationState,
  input: RegistrationInput & { type: 'refused' },
  nowMs: number,
  chance: number,
): RegistrationStep {
  const { status, minExpiresSeconds, retryAfterSeconds } = input
  const longer = minExpiresSeconds !== null && minExpiresSeconds > state.expiresSeconds
  if (status === 423 && longer && minExpiresSeconds <= LONGEST_EXPIRES_S) {
    return { state: { ...state, expiresSeconds: minExpiresSeconds, dueAtMs: null }, effect: 'register' }
  }
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(state.failures, 20)
  const base = Math.min(LAST_RETRY_MS, Math.max(doubled, REFUSALS.has(status) ? REFUSED_RETRY_MS : 0))
  const asked = retryAfterSeconds === null ? null : Math.min(retryAfterSeconds, LONGEST_RETRY_AFTER_S) * 1000
  // Never sooner than asked, and spread, since others were told the same.
  const waitMs = asked === null ? base * (0.5 + 0.5 * chance) : Math.max(SHORTEST_MS, asked * (1 + 0.1 * chance))
  return { state: { ...state, phase: 'failed', failures: state.failures + 1, dueAtMs: nowMs + waitMs }, effect: 'none' }
}
