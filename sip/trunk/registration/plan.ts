/**
 * Decides when to register a trunk (RFC 3261 §10.2): a pure function of events, the time in ms, and a random number in
 * 0…1.
 */

export interface RegistrationState {
  phase: 'idle' | 'registering' | 'registered' | 'failed'
  /** Consecutive failures. */
  failures: number
  /** When the next REGISTER is due; null while one is in progress or none is wanted. */
  dueAtMs: number | null
  /** The interval to request, in seconds; a registrar may require more (423). */
  expiresSeconds: number
}

export type RegistrationInput =
  | { type: 'start' }
  | { type: 'due' }
  | { type: 'accepted'; expiresSeconds: number }
  | {
      type: 'refused'
      status: number
      retryAfterSeconds: number | null
      minExpiresSeconds: number | null
    }
  | { type: 'stop' }

export type RegistrationEffect = 'none' | 'register' | 'unregister'
export interface RegistrationStep {
  state: RegistrationState
  effect: RegistrationEffect
}

const WANTED_SECONDS = 300
/** Longest interval accepted in Min-Expires: nobody has a reason to require more than a day. */
const LONGEST_EXPIRES_S = 86_400
const FIRST_RETRY_MS = 2000
const LAST_RETRY_MS = 300_000
/** Wrong credentials stay wrong, and registrars lock out clients that insist. */
const REFUSED_RETRY_MS = 60_000
const REFUSALS = new Set([401, 403, 404, 407])
/** Shortest wait before a refresh, for registrars that grant almost no time. */
const SHORTEST_MS = 5000
/** Longest Retry-After honoured, in seconds: a registrar may return sooner than it announced. */
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
      // A refresh changes no phase unless it fails.
      return {
        state: { ...state, phase: state.phase === 'registered' ? 'registered' : 'registering', dueAtMs: null },
        effect: 'register',
      }
    case 'accepted': {
      // Between 50 and 90 % of the interval, to spread many trunks and leave time to retry.
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
  // Never sooner than asked, and spread, because other clients received the same value.
  const waitMs = asked === null ? base * (0.5 + 0.5 * chance) : Math.max(SHORTEST_MS, asked * (1 + 0.1 * chance))
  return { state: { ...state, phase: 'failed', failures: state.failures + 1, dueAtMs: nowMs + waitMs }, effect: 'none' }
}
