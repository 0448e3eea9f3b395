/**
 * The address of the page `/talk`. The router imports this file first, so that a token leaves the address bar and the
 * history before anything else is loaded.
 */
import type { Seat } from '../talk/room.ts'

export const isTalkPage = window.location.pathname === '/talk'

/** URL and token from the fragment, which browsers never send. Null without them. */
export const givenSeat: Seat | null = isTalkPage ? takeSeat() : null

function takeSeat(): Seat | null {
  const given = new URLSearchParams(window.location.hash.slice(1))
  const [url, token] = [given.get('url'), given.get('token')]
  if (window.location.hash) window.history.replaceState(null, '', window.location.pathname)
  return url && token ? { url, token } : null
}
