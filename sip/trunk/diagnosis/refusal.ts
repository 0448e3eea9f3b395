/** Diagnoses final responses: why the carrier refused the call, or why we refused the caller's offer. Pure. */
import type { Diagnosis, DiagnosisCode } from '../../../media/contract/sip-trace.ts'
import { outcomeOf, secondsIn } from '../requests/outcome.ts'
import { userOf } from '../routing/address.ts'
import { ownNumber } from '../routing/numbers.ts'
import { audioOf, codecsIn, header, isSecure, q850Of, type Read, saidBy, sdpOf, statusOf } from './facts.ts'
import { type Found, makeDiagnosis } from './transport.ts'

const FULL = /\blimit|concurren|simultaneous|channels?\b|capacity|too many|exceed|congest|no circuit|call count|\bmax/i
const ABOUT_CALLER =
  /caller|calling|\bCLI[DPR]?\b|\bANI\b|\bfrom\b|identit|originat|source number|anonymous|stir|P-Asserted/i
const ABOUT_KEYS = /srtp|crypto|encrypt|SAVP|secure media|sdes|dtls/i
/**
 * ITU-T Q.850: no circuit, switching congestion, requested channel not available, and the rest of "resource
 * unavailable".
 */
const Q850_FULL = new Set([34, 42, 44, 47])

type Said = Found & { readonly final: Read; readonly status: number; readonly said: string; readonly quoted: string }

export function refusal(found: Found): Diagnosis | null {
  const { exchange, final } = found
  if (!exchange.request.seen.sent) return final === null ? gaveUp(found) : ourRefusal({ ...found, final })
  if (final === null)
    return makeDiagnosis('no_answer', 'There was no answer in time.', null, ...exchange.answers.slice(-1))
  const phrase = final.message.kind === 'response' ? final.message.reason : ''
  const status = statusOf(final)
  const said: Said = { ...found, final, status, said: saidBy(final), quoted: `${status} ${phrase}`.trim() }
  return (
    audioRefusal(said) ??
    (exchange.method === 'INVITE' ? (capacityRefusal(said) ?? callerRefusal(said) ?? numberRefusal(said)) : null) ??
    settingsRefusal(said) ??
    ordinary(said) ??
    makeDiagnosis(
      'carrier_refused',
      `The carrier refused the call: “${said.quoted}”.`,
      `Ask the carrier about Call-ID ${header(final, 'Call-ID')}.`,
      final,
    )
  )
}

function audioRefusal({ exchange, final, status, said }: Said): Diagnosis | null {
  if (![415, 488, 606].includes(status) && !(status >= 400 && ABOUT_KEYS.test(said))) return null
  const offer = audioOf(sdpOf(exchange.request))
  const wanted = audioOf(sdpOf(final))
  const evidence = [exchange.request, final]
  if (isSecure(offer)) {
    const message = 'The carrier does not accept encrypted audio (SRTP), which we offered.'
    return makeDiagnosis('srtp_refused', message, 'Set the trunk’s `srtp` to `off` or `optional`.', ...evidence)
  }
  if (isSecure(wanted) || ABOUT_KEYS.test(said)) {
    const message = 'The carrier accepts only encrypted audio (SRTP), and we offered unencrypted audio.'
    return makeDiagnosis(
      'srtp_required',
      message,
      'Set the trunk’s `srtp` to `required`, and its transport to `tls`.',
      ...evidence,
    )
  }
  const theirs = wanted === null ? '' : ` It accepts ${codecsIn(wanted)}.`
  const message = `The carrier accepts none of the codecs we offer: ${codecsIn(offer)}.${theirs}`
  return makeDiagnosis(
    'codec_refused',
    message,
    'Allow more codecs in the trunk’s settings, or at the carrier.',
    ...evidence,
  )
}

function capacityRefusal({ final, status, said, quoted }: Said): Diagnosis | null {
  const full = (status >= 400 && FULL.test(said)) || Q850_FULL.has(q850Of(final) ?? 0)
  if (full && ![404, 484].includes(status)) {
    const message = `All lines of the account are in use: “${quoted}”.`
    return makeDiagnosis(
      'call_limit',
      message,
      'Set the trunk’s `max_calls` to the carrier’s limit, or rent more lines.',
      final,
    )
  }
  if (status !== 503) return null
  const seconds = secondsIn(header(final, 'Retry-After'))
  const wait = seconds === null ? '' : ` Retry after ${seconds} seconds.`
  const message = `The carrier accepts no calls at the moment (503).${wait}`
  const advice =
    'If it happens only with many calls at once, the account’s limit is reached: set `max_calls` or `max_cps`.'
  return makeDiagnosis('carrier_overloaded', message, advice, final)
}

const shownAs = ({ exchange: { request } }: Said): string | null =>
  userOf(header(request, 'P-Asserted-Identity') || undefined) ?? userOf(header(request, 'From'))

function callerRefusal(found: Said): Diagnosis | null {
  const { exchange, final, status, said, quoted, given } = found
  if (![403, 433, 428, 436, 437, 438].includes(status) && !(status >= 400 && status < 500 && ABOUT_CALLER.test(said)))
    return null
  if ([404, 484, 486].includes(status)) return null
  const shown = shownAs(found)
  const own = given.trunk === null || shown === null || ownNumber(shown, given.trunk.numbers, null) !== null
  if (status !== 403 || ABOUT_CALLER.test(said) || !own) {
    const message = `The carrier does not accept the caller ID “${shown ?? 'anonymous'}”: “${quoted}”.`
    const advice =
      'Call from a number of this account, in the carrier’s format (`number_format`). Some carriers require the account in From (`from_user`) and the number in P-Asserted-Identity (`pai`).'
    return makeDiagnosis('caller_id_refused', message, advice, exchange.request, final)
  }
  const message = `The carrier does not allow this call: “${quoted}”.`
  const advice =
    'Check three things with the carrier: whether the caller ID is verified for the account, the destination is allowed, and calls from our address are allowed.'
  return makeDiagnosis('forbidden', message, advice, exchange.request, final)
}

const FORMATS = { plus: '+49301234', national: '0301234', digits: '49301234' } as const

function numberRefusal({ exchange, final, status, quoted, given }: Said): Diagnosis | null {
  const format = [414, 416, 484].includes(status) || q850Of(final) === 28
  if (!format && ![404, 410, 604].includes(status)) return null
  const dialed = userOf(exchange.request.message.kind === 'request' ? exchange.request.message.uri : '') ?? ''
  const now = given.trunk?.number_format ?? 'plus'
  const others = Object.entries(FORMATS).filter(([name]) => name !== now)
  const try_ = others.map(([name, example]) => `\`${name}\` (${example})`).join(' or ')
  if (format || /^\+/.test(dialed)) {
    const what = format ? 'does not accept the number format' : 'does not know the number'
    const message = `The carrier ${what} “${dialed}”: “${quoted}”.`
    const advice = `If the number is right, the carrier expects another format: set the trunk’s \`number_format\` to ${try_}.`
    return makeDiagnosis('number_format', message, advice, exchange.request, final)
  }
  const message = `The carrier does not know the number “${dialed}”: “${quoted}”.`
  return makeDiagnosis(
    'number_unknown',
    message,
    `Check the number. The carrier may expect \`number_format\` ${try_}.`,
    exchange.request,
    final,
  )
}

function settingsRefusal({ exchange, final, status, quoted }: Said): Diagnosis | null {
  if (status === 402) {
    return makeDiagnosis(
      'payment_required',
      `The carrier requires payment first: “${quoted}”.`,
      'Top up the account at the carrier.',
      final,
    )
  }
  if (status === 422) {
    const least = secondsIn(header(final, 'Min-SE'))
    const message = `The carrier requires session timers of at least ${least ?? '?'} seconds and refused ours of ${secondsIn(header(exchange.request, 'Session-Expires')) ?? '?'}.`
    return makeDiagnosis(
      'session_timer',
      message,
      'Ask the carrier to allow 1800 seconds, the default of RFC 4028.',
      exchange.request,
      final,
    )
  }
  if (status === 403 && exchange.method !== 'INVITE') {
    const message = `The carrier refuses our requests: “${quoted}”.`
    return makeDiagnosis(
      'forbidden',
      message,
      'Ask the carrier to allow our address, and check that the account is active.',
      final,
    )
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

/** Outcomes that are no fault of the trunk. */
function ordinary({ final, status, given }: Said): Diagnosis | null {
  if (status === 487) {
    if (given.reason === 'canceled_by_api') return makeDiagnosis('canceled', 'We canceled the call.', null, final)
    return makeDiagnosis('no_answer', 'There was no answer in time.', null, final)
  }
  const code = ORDINARY[status]
  return code === undefined ? null : makeDiagnosis(code, outcomeOf(status, true).message, null, final)
}

// Inbound calls.

function gaveUp({ exchange, facts }: Found): Diagnosis | null {
  const cancel = facts.exchanges.find(other => other.method === 'CANCEL' && other.callId === exchange.callId)
  return cancel === undefined
    ? null
    : makeDiagnosis('canceled', 'The caller hung up before the answer.', null, cancel.request)
}

function ourRefusal(found: Found & { readonly final: Read }): Diagnosis | null {
  const { exchange, final, given } = found
  const offer = audioOf(sdpOf(exchange.request))
  if (statusOf(final) !== 488) return gaveUp(found)
  if (isSecure(offer)) {
    const message = 'The carrier offers only encrypted audio (SRTP), which the trunk does not accept.'
    return makeDiagnosis(
      'srtp_required',
      message,
      'Set the trunk’s `srtp` to `optional` or `required`.',
      exchange.request,
      final,
    )
  }
  const ours = given.trunk?.codecs.join(', ') ?? ''
  const message = `The carrier offers ${codecsIn(offer) || 'no audio'}; the trunk accepts ${ours}.`
  return makeDiagnosis(
    'codec_refused',
    message,
    'Allow one of these codecs in the trunk’s settings.',
    exchange.request,
    final,
  )
}
