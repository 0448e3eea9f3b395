/** The one table between SIP status codes and what a call is said to have come to. Pure. */
import type { EndedReason, Refusal } from '../../../media/contract/messages.ts'
import type { DialFailure } from '../../../media/ports/dialer.ts'
import type { ChallengeVerdict } from './credentials.ts'

export type Verdict = Pick<DialFailure, 'status' | 'reason'> & {
  /** For people: the log, the trunk doctor, the dashboard. */
  readonly words: string
}

const failed = (reason: EndedReason, words: string): Verdict => ({ status: 'failed', reason, words })

const TABLE: Readonly<Record<number, Verdict>> = {
  401: failed('auth_failed', 'The carrier did not accept the user name or password.'),
  402: failed('forbidden_by_carrier', 'The carrier wants to be paid first.'),
  403: failed('forbidden_by_carrier', 'The carrier does not allow this call.'),
  404: failed('number_unknown', 'The carrier does not know this number.'),
  407: failed('auth_failed', 'The carrier did not accept the user name or password.'),
  408: { status: 'no_answer', reason: 'no_answer', words: 'Nobody answered in time.' },
  410: failed('number_unknown', 'This number is no longer in use.'),
  413: failed('carrier_error', 'The carrier could not handle the call.'),
  414: failed('number_invalid', 'The carrier could not read the number.'),
  415: failed('no_common_codec', 'The carrier and we share no codec.'),
  416: failed('number_invalid', 'The carrier could not read the number.'),
  480: { status: 'no_answer', reason: 'no_answer', words: 'The phone is switched off or out of reach.' },
  484: failed('number_invalid', 'The number is incomplete.'),
  486: { status: 'busy', reason: 'busy', words: 'The line is busy.' },
  487: { status: 'no_answer', reason: 'no_answer', words: 'The attempt was ended before anybody answered.' },
  488: failed('no_common_codec', 'The carrier and we share no codec.'),
  503: failed('carrier_congestion', 'The carrier has no free line.'),
  600: { status: 'busy', reason: 'busy', words: 'The line is busy.' },
  603: { status: 'busy', reason: 'declined', words: 'The call was declined.' },
  604: failed('number_unknown', 'This number exists nowhere.'),
  606: failed('no_common_codec', 'The carrier and we share no codec.'),
  607: { status: 'busy', reason: 'declined', words: 'The person called does not want such calls.' },
  608: failed('forbidden_by_carrier', 'The call was blocked on its way.'),
}

const UNREACHABLE = failed('trunk_unreachable', 'Nobody answers at the address of the trunk.')

/** What a final response of 300 or more means. `heard`: it came from the network, not made up for want of an answer. */
export function verdictOf(status: number, heard: boolean): Verdict {
  if (!heard && (status === 408 || status === 503)) return UNREACHABLE
  const known = TABLE[status]
  if (known !== undefined) return known
  if (status < 400) return failed('carrier_error', 'The carrier sent the call elsewhere, which is not followed.')
  return failed('carrier_error', `The carrier refused with code ${status}.`)
}

/** The ring timeout ran out: with nothing heard at all, it's the trunk that is dead, not the person who is away. */
export function unansweredVerdict(heard: boolean): Verdict {
  return heard ? { status: 'no_answer', reason: 'no_answer', words: 'Nobody answered in time.' } : UNREACHABLE
}

/** Why a challenge was not answered, or not again. */
export function challengeWords(verdict: Exclude<ChallengeVerdict, 'answer'>): string {
  switch (verdict) {
    case 'rejected':
      return TABLE[401]!.words
    case 'other_realm':
      return 'The carrier asks for the password of another realm than the one set for the trunk.'
    case 'unsupported':
      return 'The carrier asks to be proven who we are in a way that we do not know.'
  }
}

/** What a final response to our REGISTER means, in words. */
export function registrationWords(status: number, heard: boolean): string {
  if (status === 403) return 'The carrier does not let this user register.'
  if (status === 404) return 'The carrier does not know this user.'
  if (status === 423) return 'The carrier wants a longer registration than it takes.'
  return verdictOf(status, heard).words
}

/** The number of seconds in Retry-After, Min-Expires or Expires. */
export function secondsIn(text: string | undefined): number | null {
  const digits = /^\s*(\d{1,9})/.exec(text ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}

/** What a caller is told when control refuses the call. */
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

/** With a 503, so that the carrier neither gives us up for long nor comes back at once. */
export const RETRY_SOON = { 'Retry-After': '5' }

/** Somebody called who is there, and we can't take it: what a fallback number is for. */
const FOR_FALLBACK = new Set<Refusal>([
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'too_many_calls',
  'not_ready',
  'internal_error',
])

/** A reason that the caller can do something about, or know at least; of the others they know no more by words. */
const TO_BE_SAID = new Set<Refusal>([
  'unknown_number',
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'too_many_calls',
])

export const mayBeSaid = (refusal: Refusal): boolean => TO_BE_SAID.has(refusal)

/**
 * With a fallback the carrier is sent there (302): that costs us no line, no sound and no money, which may be just what is
 * lacking. A carrier that follows no redirection treats it as the failure that it would have got otherwise.
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
