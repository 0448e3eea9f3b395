/** Session timer decisions (RFC 4028): who refreshes, how often, and when a session is considered dead. Pure. */

import { parseParams } from '../text/grammar.ts'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'

/** §4: the shortest session interval accepted; shorter ones only add load. */
export const MIN_SESSION_SECONDS = 90

export type Refresher = 'uac' | 'uas'
export interface SessionExpires {
  seconds: number
  refresher: Refresher | null
}

export function sessionExpires(message: SipRequest | SipResponse): SessionExpires | null {
  const parts = /^\s*(\d{1,9})\s*(;.*)?$/.exec(headerOf(message, 'Session-Expires') ?? '')
  if (parts === null) return null
  const refresher = parseParams(parts[2] ?? '')
    ?.get('refresher')
    ?.toLowerCase()
  return { seconds: Number(parts[1]), refresher: refresher === 'uac' || refresher === 'uas' ? refresher : null }
}

const knowsTimers = (message: SipRequest | SipResponse): boolean =>
  [...listOf(message, 'Supported'), ...listOf(message, 'Require')].some(option => option.toLowerCase() === 'timer')

/** §9: true for an interval to refuse with 422, which only a caller that supports timers can act on. */
export function tooShort(request: SipRequest): boolean {
  if (request.method !== 'INVITE' && request.method !== 'UPDATE') return false
  const asked = sessionExpires(request)
  return asked !== null && asked.seconds < MIN_SESSION_SECONDS && knowsTimers(request)
}

export interface Agreed {
  seconds: number
  weRefresh: boolean
}

/**
 * Negotiates the session for our 2xx to `request`: the application's Session-Expires, otherwise the caller's offer (as
 * drachtio-server does). `headers` are added to the answer.
 */
export function agreeAsServer(
  request: SipRequest,
  response: SipResponse,
): { agreed: Agreed | null; headers: readonly Header[] } {
  const chosen = sessionExpires(response)
  const offered = sessionExpires(request)
  const basis = chosen ?? offered
  if (basis === null) return { agreed: null, headers: [] }
  const known = knowsTimers(request)
  // §9, table 2: a peer that does not support timers cannot refresh.
  const refresher: Refresher = known ? (chosen?.refresher ?? offered?.refresher ?? 'uac') : 'uas'
  const seconds = Math.max(basis.seconds, MIN_SESSION_SECONDS)
  const required = refresher === 'uac' && !listOf(response, 'Require').some(option => option.toLowerCase() === 'timer')
  const headers: Header[] = [
    ...(chosen === null ? [['Session-Expires', `${seconds};refresher=${refresher}`] as const] : []),
    ...(required ? [['Require', 'timer'] as const] : []),
  ]
  return { agreed: { seconds, weRefresh: refresher === 'uas' }, headers }
}

/** The session that a 2xx to our request agrees to (§7.2). */
export function agreeAsClient(response: SipResponse): Agreed | null {
  const told = sessionExpires(response)
  return told === null ? null : { seconds: told.seconds, weRefresh: told.refresher !== 'uas' }
}

/** Headers added to the application's re-INVITE or UPDATE, which would otherwise switch the timer off (§7.4). */
export function keepHeaders(agreed: Agreed | null, request: SipRequest): Header[] {
  if (agreed === null || headerOf(request, 'Session-Expires') !== null) return []
  return [
    ['Session-Expires', `${agreed.seconds};refresher=${agreed.weRefresh ? 'uac' : 'uas'}`],
    ...(knowsTimers(request) ? [] : [['Supported', 'timer'] as const]),
  ]
}

/** §10: refresh after half the interval; `jitter` in 0…1 spreads calls that started together. */
export const refreshAfter = (seconds: number, jitter: number): number =>
  seconds / 2 - Math.min(5, seconds / 20) * jitter

/** §10: without a refresh, the session ends a little before it would expire. */
export const deadAfter = (seconds: number): number => seconds - Math.min(32, seconds / 3)
