/** The one table between SIP status codes and what a call is said to have come to. Pure. */
import type { EndedReason, Refusal } from '../../media/contract/messages.ts'
import type { DialFailure } from '../../media/ports.ts'

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

/** What a caller is told when control refuses the call. */
const REFUSALS: Readonly<Record<Refusal, number>> = {
  unknown_number: 404,
  unknown_source: 403,
  subscription_inactive: 403,
  insufficient_balance: 403,
  too_many_calls: 486,
  not_ready: 503,
  internal_error: 503,
}

export function statusOfRefusal(refusal: Refusal): number {
  return REFUSALS[refusal]
}
