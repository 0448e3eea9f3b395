/** What a proxy decides (RFC 3261 §16), without doing it. Pure but for random ids. */
import { createHmac } from 'node:crypto'
import { formatHostPort } from '../text/grammar.ts'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { parseNameAddr, parseUri, type SipUri } from '../text/uri.ts'
import { type Self, withVia } from './headers.ts'
import type { HostPortOf } from './transport.ts'

/** §16.7 step 6: of these a caller can make something. */
const TELLING = new Set([401, 407, 415, 420, 484])
const CHALLENGES = new Set(['WWW-Authenticate', 'Proxy-Authenticate'])

/** The final response to give upstream, of those that came; null when there is none. */
export function bestOf(responses: readonly SipResponse[]): SipResponse | null {
  const rank = ({ status }: SipResponse): number => {
    if (status >= 600) return 0
    const group = Math.floor(status / 100)
    return group * 10 + (TELLING.has(status) ? 0 : 1)
  }
  let best: SipResponse | null = null
  for (const response of responses) if (best === null || rank(response) < rank(best)) best = response
  if (best === null) return null
  // A host's 503 would take us ourselves out of service (§16.7 step 6).
  if (best.status === 503) return { ...best, status: 500, reason: 'Server Internal Error' }
  return best.status === 401 || best.status === 407 ? withChallenges(best, responses) : best
}

/** §16.7 step 7: a challenged caller answers all challenges at once. */
function withChallenges(best: SipResponse, responses: readonly SipResponse[]): SipResponse {
  const others = responses.filter(other => other !== best && (other.status === 401 || other.status === 407))
  const extra = others.flatMap(({ headers }) => headers.filter(([name]) => CHALLENGES.has(name)))
  return { ...best, headers: [...best.headers, ...extra] }
}

export const maxForwards = (request: SipRequest): number => Number(headerOf(request, 'Max-Forwards') ?? 70)

/** Where a Route or Record-Route value leads: host and port, and the mark that it carries. */
export function routeTarget(value: string): { readonly at: HostPortOf; readonly mark: string | null } | null {
  const uri = parseUri(parseNameAddr(value)?.uri ?? '')
  if (uri === null || uri.scheme === 'tel' || uri.scheme === 'other') return null
  return { at: hostPortOf(uri), mark: uri.params.get('d') ?? null }
}

export function hostPortOf(uri: SipUri): HostPortOf {
  const secure = uri.scheme === 'sips' || uri.params.get('transport')?.toLowerCase() === 'tls'
  return { host: uri.host, port: uri.port ?? (secure ? 5061 : 5060) }
}

/** Proves that a call went through us, so that we are nobody's open relay. It holds over restarts. */
export function routeMark(secret: string, callId: string): string {
  return createHmac('sha256', secret).update(callId).digest('hex').slice(0, 16)
}

export type Forwarding = {
  readonly request: SipRequest
  /** Instead of the Request-URI that came; null to keep that. */
  readonly uri: string | null
  /** What the application adds, or puts in place of what was there. */
  readonly extra: readonly Header[]
  /** Set to stay in the path of the dialog. */
  readonly mark: string | null
  readonly cameBy: Self
}

/** §16.6: the copy that leaves by `self`. Routes of our own are taken off by then. */
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

/** A registration is followed by Path (RFC 3327), a dialog by Record-Route. */
const pathName = (request: SipRequest): string => (request.method === 'REGISTER' ? 'Path' : 'Record-Route')

/** Two where we leave by another door than the request came in (RFC 5658): each side sees the one it can reach. */
function recordRoutes(out: Self, into: Self, mark: string): string[] {
  const route = ({ local, protocol }: Self): string =>
    `<sip:${formatHostPort(local)}${protocol === 'udp' ? '' : `;transport=${protocol}`};lr;d=${mark}>`
  const [first, second] = [route(out), route(into)]
  return first === second ? [first] : [first, second]
}

/** The response as it goes upstream: without the Via that was ours (§16.7 step 3). */
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
