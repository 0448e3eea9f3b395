/** The one mapping from SIP status codes to call outcomes. Pure. */
import type { EndedReason, Refusal } from '../../../media/contract/messages.ts'
import type { DialFailure } from '../../../media/ports/dialer.ts'
import type { ChallengeResult } from './credentials.ts'

export type DialOutcome = Pick<DialFailure, 'status' | 'reason'> & {
  /** For people: in the log, the trunk diagnosis and the dashboard. */
  readonly message: string
}

const failed = (reason: EndedReason, message: string): DialOutcome => ({ status: 'failed', reason, message })

const TABLE: Readonly<Record<number, DialOutcome>> = {
  401: failed('auth_failed', 'The carrier did not accept the user name or password.'),
  402: failed('forbidden_by_carrier', 'The carrier requires payment first.'),
  403: failed('forbidden_by_carrier', 'The carrier does not allow this call.'),
  404: failed('number_unknown', 'The carrier does not know this number.'),
  407: failed('auth_failed', 'The carrier did not accept the user name or password.'),
  408: { status: 'no_answer', reason: 'no_answer', message: 'There was no answer in time.' },
  410: failed('number_unknown', 'This number is no longer in use.'),
  413: failed('carrier_error', 'The carrier could not handle the call.'),
  414: failed('number_invalid', 'The carrier does not accept the number format.'),
  415: failed('no_common_codec', 'We have no codec in common with the carrier.'),
  416: failed('number_invalid', 'The carrier does not accept the number format.'),
  480: { status: 'no_answer', reason: 'no_answer', message: 'The phone is switched off or out of reach.' },
  484: failed('number_invalid', 'The number is incomplete.'),
  486: { status: 'busy', reason: 'busy', message: 'The line is busy.' },
  487: { status: 'no_answer', reason: 'no_answer', message: 'The call attempt ended before it was answered.' },
  488: failed('no_common_codec', 'We have no codec in common with the carrier.'),
  503: failed('carrier_congestion', 'The carrier has no free line.'),
  600: { status: 'busy', reason: 'busy', message: 'The line is busy.' },
  603: { status: 'busy', reason: 'declined', message: 'The call was declined.' },
  604: failed('number_unknown', 'This number does not exist.'),
  606: failed('no_common_codec', 'We have no codec in common with the carrier.'),
  607: { status: 'busy', reason: 'declined', message: 'The called person declined unwanted calls.' },
  608: failed('forbidden_by_carrier', 'An intermediary blocked the call.'),
}

const UNREACHABLE = failed('trunk_unreachable', 'The trunk’s host does not answer.')

/**
 * Maps a final response of 300 or more. `heard`: it came from the network, not from our server for lack of an answer.
 */
export function outcomeOf(status: number, heard: boolean): DialOutcome {
  if (!heard && (status === 408 || status === 503)) return UNREACHABLE
  const known = TABLE[status]
  if (known !== undefined) return known
  if (status < 400) return failed('carrier_error', 'The carrier redirected the call, which is not supported.')
  return failed('carrier_error', `The carrier refused with code ${status}.`)
}

/** The ring timeout expired. Without any response the trunk is unreachable; with one, the person did not answer. */
export function unansweredOutcome(heard: boolean): DialOutcome {
  return heard ? { status: 'no_answer', reason: 'no_answer', message: 'There was no answer in time.' } : UNREACHABLE
}

/** Explains why a challenge was not answered, or not again. */
export function challengeWords(outcome: Exclude<ChallengeResult, 'answer'>): string {
  switch (outcome) {
    case 'rejected':
      return TABLE[401]!.message
    case 'other_realm':
      return 'The carrier’s realm differs from the trunk’s realm.'
    case 'unsupported':
      return 'The carrier asks for an authentication method that we do not support.'
  }
}

/** Explains a final response to our REGISTER. */
export function registrationWords(status: number, heard: boolean): string {
  if (status === 403) return 'The carrier does not allow this user to register.'
  if (status === 404) return 'The carrier does not know this user.'
  if (status === 423) return 'The carrier refuses every registration interval as too short.'
  return outcomeOf(status, heard).message
}

/** Reads the seconds in Retry-After, Min-Expires or Expires. */
export function secondsIn(text: string | undefined): number | null {
  const digits = /^\s*(\d{1,9})/.exec(text ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The SIP status that a caller receives when control refuses the call. */
const REFUSALS: Readonly<Record<Refusal, number>> = {
  unknown_number: 404,
  unknown_source: 403,
  subscription_inactive: 403,
  insufficient_balance: 403,
  daily_limit_reached: 403,
  too_many_calls: 486,
  not_ready: 503,
  internal_error: 503,
}

/** Sent with a 503, so that the carrier neither gives us up for long nor returns at once. */
export const RETRY_SOON = { 'Retry-After': '5' }

/** Refusals for which the fallback number is used: the called party exists, but we cannot take the call. */
const FOR_FALLBACK = new Set<Refusal>([
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'too_many_calls',
  'not_ready',
  'internal_error',
])

/** Refusals announced to the caller, who can act on them or at least learn something from them. */
const TO_BE_SAID = new Set<Refusal>([
  'unknown_number',
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'too_many_calls',
])

export const isAnnounced = (refusal: Refusal): boolean => TO_BE_SAID.has(refusal)

/**
 * With a fallback the carrier is redirected to it (302), which uses no line, no media and no money on our side. A
 * carrier that follows no redirection treats it as a failure.
 */
export function answerOfRefusal(
  refusal: Refusal,
  fallbackUri: string | null,
): { readonly status: number; readonly headers: Record<string, string> } {
  if (fallbackUri !== null && FOR_FALLBACK.has(refusal)) {
    return { status: 302, headers: { Contact: `<${fallbackUri}>` } }
  }
  const status = REFUSALS[refusal]
  return { status, headers: status === 503 ? RETRY_SOON : {} }
}
