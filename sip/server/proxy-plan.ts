/** Decisions of a proxy (RFC 3261 §16). Pure except for random ids. */
import { createHmac } from 'node:crypto'
import { formatHostPort } from '../text/grammar.ts'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { parseNameAddr, parseUri, type SipUri } from '../text/uri.ts'
import { type Self, withVia } from './headers.ts'
import type { HostPortOf } from './transport.ts'

/** §16.7 step 6: statuses that a caller can act on. */
const ACTIONABLE = new Set([401, 407, 415, 420, 484])
const CHALLENGES = new Set(['WWW-Authenticate', 'Proxy-Authenticate'])

/** Picks the final response to send upstream; null when there is none. */
export function bestOf(responses: readonly SipResponse[]): SipResponse | null {
  const rank = ({ status }: SipResponse): number => {
    if (status >= 600) return 0
    const group = Math.floor(status / 100)
    return group * 10 + (ACTIONABLE.has(status) ? 0 : 1)
  }
  let best: SipResponse | null = null
  for (const response of responses) if (best === null || rank(response) < rank(best)) best = response
  if (best === null) return null
  // A 503 sent upstream would mark this server itself as unavailable (§16.7 step 6).
  if (best.status === 503) return { ...best, status: 500, reason: 'Server Internal Error' }
  return best.status === 401 || best.status === 407 ? withChallenges(best, responses) : best
}

/** §16.7 step 7: collects all challenges, so that the caller can answer them at once. */
function withChallenges(best: SipResponse, responses: readonly SipResponse[]): SipResponse {
  const others = responses.filter(other => other !== best && (other.status === 401 || other.status === 407))
  const extra = others.flatMap(({ headers }) => headers.filter(([name]) => CHALLENGES.has(name)))
  return { ...best, headers: [...best.headers, ...extra] }
}

export const maxForwards = (request: SipRequest): number => Number(headerOf(request, 'Max-Forwards') ?? 70)

/** The host, port and mark in a Route or Record-Route value; null when it has no SIP URI. */
export function routeTarget(value: string): { readonly at: HostPortOf; readonly mark: string | null } | null {
  const uri = parseUri(parseNameAddr(value)?.uri ?? '')
  if (uri === null || uri.scheme === 'tel' || uri.scheme === 'other') return null
  return { at: hostPortOf(uri), mark: uri.params.get('d') ?? null }
}

export function hostPortOf(uri: SipUri): HostPortOf {
  const secure = uri.scheme === 'sips' || uri.params.get('transport')?.toLowerCase() === 'tls'
  return { host: uri.host, port: uri.port ?? (secure ? 5061 : 5060) }
}

/** Marks calls that passed through us, so that the server is no open relay. The mark survives restarts. */
export function routeToken(secret: string, callId: string): string {
  return createHmac('sha256', secret).update(callId).digest('hex').slice(0, 16)
}

export type Forwarding = {
  readonly request: SipRequest
  /** Replaces the Request-URI; null keeps the received one. */
  readonly uri: string | null
  /** Headers that the application adds or replaces. */
  readonly extra: readonly Header[]
  /** Set to record-route, and so to stay in the path of the dialog. */
  readonly mark: string | null
  readonly cameBy: Self
}

/** §16.6: builds the copy that leaves by `self`. Our own Routes have been removed before. */
export function forwarded({ request, uri, extra, mark, cameBy }: Forwarding, self: Self): SipRequest {
  const replaced = new Set(extra.map(([name]) => name))
  const kept = request.headers.filter(([name]) => name !== 'Max-Forwards' && !replaced.has(name))
  const stay: Header[] =
    mark === null ? [] : recordRoutes(self, cameBy, mark).map(value => [pathName(request), value] as const)
  const hops: Header = ['Max-Forwards', String(maxForwards(request) - 1)]
  const vias = kept.filter(([name]) => name === 'Via')
  const rest = kept.filter(([name]) => name !== 'Via')
  const headers = [...vias, hops, ...stay, ...rest, ...extra]
  return withVia({ ...request, uri: uri ?? request.uri, headers }, self)
}

/** Path (RFC 3327) for a registration, Record-Route for a dialog. */
const pathName = (request: SipRequest): string => (request.method === 'REGISTER' ? 'Path' : 'Record-Route')

/**
 * Two values when the request leaves by another address than it entered (RFC 5658): each side sees the one it can
 * reach.
 */
function recordRoutes(out: Self, into: Self, mark: string): string[] {
  const route = ({ local, protocol }: Self): string =>
    `<sip:${formatHostPort(local)}${protocol === 'udp' ? '' : `;transport=${protocol}`};lr;d=${mark}>`
  const [first, second] = [route(out), route(into)]
  return first === second ? [first] : [first, second]
}

/** Removes our Via from a response that goes upstream (§16.7 step 3). */
export function upstream(response: SipResponse): SipResponse {
  const vias = listOf(response, 'Via').slice(1)
  return {
    ...response,
    headers: [
      ...vias.map((via): Header => ['Via', via]),
      ...response.headers.filter(([name]) => name !== 'Via' && name !== 'Content-Length'),
    ],
  }
}
