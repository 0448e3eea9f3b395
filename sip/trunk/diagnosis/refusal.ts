/** The doctor on final answers: what the carrier did not like about the call, or we about the caller's offer. Pure. */
import type { Diagnosis, DiagnosisCode } from '../../../media/contract/sip-trace.ts'
import { secondsIn, verdictOf } from '../requests/outcome.ts'
import { userOf } from '../routing/address.ts'
import { ownNumber } from '../routing/numbers.ts'
import { audioOf, codecsIn, header, isSecure, q850Of, type Read, saidBy, sdpOf, statusOf } from './facts.ts'
import { type Found, told } from './transport.ts'

const FULL = /\blimit|concurren|simultaneous|channels?\b|capacity|too many|exceed|congest|no circuit|call count|\bmax/i
const ABOUT_CALLER =
  /caller|calling|\bCLI[DPR]?\b|\bANI\b|\bfrom\b|identit|originat|source number|anonymous|stir|P-Asserted/i
const ABOUT_KEYS = /srtp|crypto|encrypt|SAVP|secure media|sdes|dtls/i
/** ITU-T Q.850: no circuit, switching congestion, requested channel not there, and the rest of "resource unavailable". */
const Q850_FULL = new Set([34, 42, 44, 47])

type Said = Found & { readonly final: Read; readonly status: number; readonly said: string; readonly quoted: string }

export function refusal(found: Found): Diagnosis | null {
  const { exchange, final } = found
  if (!exchange.request.seen.sent) return final === null ? gaveUp(found) : ourRefusal({ ...found, final })
  if (final === null) return told('no_answer', 'Nobody answered in time.', null, ...exchange.answers.slice(-1))
  const phrase = final.message.kind === 'response' ? final.message.reason : ''
  const status = statusOf(final)
  const said: Said = { ...found, final, status, said: saidBy(final), quoted: `${status} ${phrase}`.trim() }
  return (
    ofSound(said) ??
    (exchange.method === 'INVITE' ? (ofCapacity(said) ?? ofCaller(said) ?? ofNumber(said)) : null) ??
    ofSettings(said) ??
    ordinary(said) ??
    told(
      'carrier_refused',
      `The carrier refused with “${said.quoted}”.`,
      `Ask the carrier about it, by the Call-ID ${header(final, 'Call-ID')}.`,
      final,
    )
  )
}

function ofSound({ exchange, final, status, said }: Said): Diagnosis | null {
  if (![415, 488, 606].includes(status) && !(status >= 400 && ABOUT_KEYS.test(said))) return null
  const offer = audioOf(sdpOf(exchange.request))
  const wanted = audioOf(sdpOf(final))
  const evidence = [exchange.request, final]
  if (isSecure(offer)) {
    const words = 'The carrier does not take encrypted sound (SRTP), which is what we offered.'
    return told('srtp_refused', words, 'Set `srtp` of the trunk to `off` or `optional`.', ...evidence)
  }
  if (isSecure(wanted) || ABOUT_KEYS.test(said)) {
    const words = 'The carrier takes calls only with encrypted sound (SRTP), and we offered plain sound.'
    return told(
      'srtp_required',
      words,
      'Set `srtp` of the trunk to `required`, and its transport to `tls`.',
      ...evidence,
    )
  }
  const theirs = wanted === null ? '' : ` It would take ${codecsIn(wanted)}.`
  const words = `The carrier takes none of the codecs that we offer: ${codecsIn(offer)}.${theirs}`
  return told('codec_refused', words, 'Allow more codecs in the settings of the trunk, or at the carrier.', ...evidence)
}

function ofCapacity({ final, status, said, quoted }: Said): Diagnosis | null {
  const full = (status >= 400 && FULL.test(said)) || Q850_FULL.has(q850Of(final) ?? 0)
  if (full && ![404, 484].includes(status)) {
    const words = `All lines of the account are in use: “${quoted}”.`
    return told(
      'call_limit',
      words,
      'Set `max_calls` of the trunk to what the carrier allows, or rent more lines.',
      final,
    )
  }
  if (status !== 503) return null
  const seconds = secondsIn(header(final, 'Retry-After'))
  const wait = seconds === null ? '' : ` It asks to wait ${seconds} seconds.`
  const words = `The carrier takes no call at the moment (503).${wait}`
  const advice =
    'When it happens only with many calls at once, the limit of the account is reached: set `max_calls` or `max_cps`.'
  return told('carrier_overloaded', words, advice, final)
}

const shownAs = ({ exchange: { request } }: Said): string | null =>
  userOf(header(request, 'P-Asserted-Identity') || undefined) ?? userOf(header(request, 'From'))

function ofCaller(found: Said): Diagnosis | null {
  const { exchange, final, status, said, quoted, given } = found
  if (![403, 433, 428, 436, 437, 438].includes(status) && !(status >= 400 && status < 500 && ABOUT_CALLER.test(said)))
    return null
  if ([404, 484, 486].includes(status)) return null
  const shown = shownAs(found)
  const own = given.trunk === null || shown === null || ownNumber(shown, given.trunk.numbers, null) !== null
  if (status !== 403 || ABOUT_CALLER.test(said) || !own) {
    const words = `The carrier does not let us call as “${shown ?? 'anonymous'}”: “${quoted}”.`
    const advice =
      'Call from a number of this account, written as the carrier wants it (`number_format`). Some want the account in From (`from_user`) and the number in P-Asserted-Identity (`pai`).'
    return told('caller_id_refused', words, advice, exchange.request, final)
  }
  const words = `The carrier does not allow this call: “${quoted}”.`
  const advice =
    'Mostly one of three: the caller id is not confirmed for the account, the destination is not allowed, or calls from our address are not.'
  return told('forbidden', words, advice, exchange.request, final)
}

const FORMATS = { plus: '+49301234', national: '0301234', digits: '49301234' } as const

function ofNumber({ exchange, final, status, quoted, given }: Said): Diagnosis | null {
  const format = [414, 416, 484].includes(status) || q850Of(final) === 28
  if (!format && ![404, 410, 604].includes(status)) return null
  const dialed = userOf(exchange.request.message.kind === 'request' ? exchange.request.message.uri : '') ?? ''
  const now = given.trunk?.number_format ?? 'plus'
  const others = Object.entries(FORMATS).filter(([name]) => name !== now)
  const try_ = others.map(([name, example]) => `\`${name}\` (${example})`).join(' or ')
  if (format || /^\+/.test(dialed)) {
    const what = format ? 'cannot read the number' : 'does not know the number'
    const words = `The carrier ${what} as we write it, “${dialed}”: “${quoted}”.`
    const advice = `When the number is right, the carrier wants it written otherwise: set \`number_format\` of the trunk to ${try_}.`
    return told('number_format', words, advice, exchange.request, final)
  }
  const words = `The carrier does not know the number “${dialed}”: “${quoted}”.`
  return told(
    'number_unknown',
    words,
    `Check the number; the carrier may also want \`number_format\` ${try_}.`,
    exchange.request,
    final,
  )
}

function ofSettings({ exchange, final, status, quoted }: Said): Diagnosis | null {
  if (status === 402) {
    return told(
      'payment_required',
      `The carrier wants to be paid first: “${quoted}”.`,
      'Top up the account there.',
      final,
    )
  }
  if (status === 422) {
    const least = secondsIn(header(final, 'Min-SE'))
    const words = `The carrier wants session timers of at least ${least ?? '?'} seconds, and refused ours of ${secondsIn(header(exchange.request, 'Session-Expires')) ?? '?'}.`
    return told(
      'session_timer',
      words,
      'Ask the carrier to allow 1800 seconds, the value of RFC 4028.',
      exchange.request,
      final,
    )
  }
  if (status === 403 && exchange.method !== 'INVITE') {
    const words = `The carrier does not let us in: “${quoted}”.`
    return told('forbidden', words, 'Tell the carrier our address, and check that the account is active.', final)
  }
  return null
}

const ORDINARY: Readonly<Record<number, DiagnosisCode>> = {
  408: 'no_answer',
  480: 'no_answer',
  486: 'busy',
  600: 'busy',
  603: 'declined',
  607: 'declined',
}

/** Nothing is wrong with the trunk. */
function ordinary({ final, status, given }: Said): Diagnosis | null {
  if (status === 487) {
    if (given.reason === 'canceled_by_api') return told('canceled', 'The call was canceled by us.', null, final)
    return told('no_answer', 'Nobody answered in time.', null, final)
  }
  const code = ORDINARY[status]
  return code === undefined ? null : told(code, verdictOf(status, true).words, null, final)
}

// ---- calls that came in ----

function gaveUp({ exchange, facts }: Found): Diagnosis | null {
  const cancel = facts.exchanges.find(other => other.method === 'CANCEL' && other.callId === exchange.callId)
  return cancel === undefined ? null : told('canceled', 'The caller hung up before the answer.', null, cancel.request)
}

function ourRefusal(found: Found & { readonly final: Read }): Diagnosis | null {
  const { exchange, final, given } = found
  const offer = audioOf(sdpOf(exchange.request))
  if (statusOf(final) !== 488) return gaveUp(found)
  if (isSecure(offer)) {
    const words = 'The carrier offers only encrypted sound (SRTP), which the trunk does not take.'
    return told('srtp_required', words, 'Set `srtp` of the trunk to `optional` or `required`.', exchange.request, final)
  }
  const ours = given.trunk?.codecs.join(', ') ?? ''
  const words = `The carrier offers ${codecsIn(offer) || 'no sound'}, the trunk takes ${ours}.`
  return told(
    'codec_refused',
    words,
    'Allow one of these codecs in the settings of the trunk.',
    exchange.request,
    final,
  )
}
