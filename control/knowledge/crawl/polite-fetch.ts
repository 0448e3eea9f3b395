/**
 * Fetches from other people's sites politely: it obeys robots.txt, sends one request at a time to a host with a pause
 * after each, and retries a transient failure once. Redirects are returned, because they may leave what is allowed.
 */
import type { Clock } from '../../../media/shared/clock.ts'
import { type Fetch, FetchError, type FetchRequest, type FetchResponse } from '../../../media/shared/fetch.ts'
import { KnowledgeError, type KnowledgeErrorCode } from '../documents/types.ts'
import { redirectOf } from './address.ts'
import { HostLanes, remember } from './lanes.ts'
import { pause } from './pause.ts'
import { MAX_ROBOTS_BYTES, NO_RULES, PRODUCT_TOKEN, type Rules, readRules } from './robots.ts'

export type PoliteRequest = Pick<FetchRequest, 'timeoutMs' | 'maxBytes' | 'cut' | 'wants'> & {
  /** Media types, as in `Accept`. */
  accept: string
}

/** Both methods reject with `KnowledgeError`, and with the reason of `signal` when it is aborted. */
export interface PoliteFetch {
  /** Returns one response of any status. Error code `robots` when the site disallows the page. */
  get(url: URL, request: PoliteRequest, signal: AbortSignal): Promise<FetchResponse>
  /** Returns the rules of the address's origin. Error code `robots` when robots.txt cannot be read. */
  rules(url: URL, signal: AbortSignal): Promise<Rules>
}

export const USER_AGENT = `Mozilla/5.0 (compatible; ${PRODUCT_TOKEN}/1.0)`

/** Milliseconds between two requests to a host. */
const PAUSE = 500
/**
 * Longest crawl delay in milliseconds that a site may ask for. A longer one would amount to a refusal and does not
 * protect the site any better.
 */
const LONGEST_PAUSE = 10_000
/** Milliseconds before a retry when the response does not say. */
const SECOND_TRY_AFTER = 2000
const LONGEST_RETRY_AFTER = 30_000
/** Milliseconds to cache robots.txt; RFC 9309 §2.4 allows a day. */
const RULES_LIVE = 3_600_000
/** RFC 9309 §2.3.1.2 */
const ROBOTS_REDIRECTS = 5
const ROBOTS_TIMEOUT = 15_000

export function createPoliteFetch({ fetch, clock }: { fetch: Fetch; clock: Clock }): PoliteFetch {
  const lanes = new HostLanes(clock)
  const known = new Map<string, { rules: Rules | KnowledgeError; atMs: number }>()

  /** Waits for the host's turn, and retries a transient failure once. */
  async function send(url: URL, request: PoliteRequest, pauseMs: number, signal: AbortSignal): Promise<FetchResponse> {
    const { accept, ...limits } = request
    const headers = { 'user-agent': USER_AGENT, accept }
    const once = () =>
      lanes
        .run(url.hostname, pauseMs, signal, () =>
          fetch({ ...limits, url: url.href, method: 'GET', headers, body: null, maxRedirects: 0, signal }),
        )
        .catch(error => {
          signal.throwIfAborted()
          if (error instanceof FetchError) return error
          throw error
        })
    const first = await once()
    if (!isPassing(first)) return given(first)
    await pause(clock, retryAfterMs(first), signal)
    return given(await once())
  }

  async function rules(url: URL, signal: AbortSignal): Promise<Rules> {
    let entry = known.get(url.origin)
    if (!entry || clock.now() - entry.atMs > RULES_LIVE) {
      const read = await readRobots(url.origin, at => send(at, ROBOTS_REQUEST, PAUSE, signal))
      entry = remember(known, url.origin, { rules: read, atMs: clock.now() })
    }
    if (entry.rules instanceof KnowledgeError) throw entry.rules
    return entry.rules
  }

  return {
    rules,
    async get(url, request, signal) {
      const { allows, delayMs } = await rules(url, signal)
      if (!allows(url)) throw new KnowledgeError('robots', 'The robots.txt of the site disallows this page.')
      return send(url, request, Math.min(Math.max(delayMs ?? 0, PAUSE), LONGEST_PAUSE), signal)
    },
  }
}

/** Returns a `KnowledgeError` when robots.txt cannot be read; rethrows any other rejection of `get`. */
async function readRobots(origin: string, get: (url: URL) => Promise<FetchResponse>): Promise<Rules | KnowledgeError> {
  let at = new URL('/robots.txt', origin)
  for (let redirects = 0; redirects <= ROBOTS_REDIRECTS; redirects++) {
    let answer: FetchResponse
    try {
      answer = await get(at)
    } catch (error) {
      if (!(error instanceof KnowledgeError)) throw error
      return redirects === 0 ? error : unreadable('it redirects to an address that does not respond')
    }
    const target = redirectOf(answer, at)
    if (target instanceof URL) {
      at = target
      continue
    }
    if (isOverloaded(answer.status)) return unreadable(`the server returned status ${answer.status}`)
    return isOk(answer.status) ? readRules(wholeLines(answer.body), origin) : NO_RULES
  }
  return NO_RULES // treated as if there were no file (RFC 9309 §2.3.1.2)
}

const isOk = (status: number): boolean => status >= 200 && status < 300
const isOverloaded = (status: number): boolean => status === 429 || status >= 500

const ROBOTS_REQUEST: PoliteRequest = {
  accept: 'text/plain,*/*;q=0.5',
  timeoutMs: ROBOTS_TIMEOUT,
  maxBytes: MAX_ROBOTS_BYTES,
  cut: true,
  wants: ({ status }) => isOk(status),
}

function wholeLines(body: Buffer): string {
  const text = body.toString('utf8')
  return body.length < MAX_ROBOTS_BYTES ? text : text.slice(0, text.lastIndexOf('\n') + 1)
}

const unreadable = (why: string) =>
  new KnowledgeError('robots', `The robots.txt of the site cannot be read (${why}), so no page was read.`)

/** Failures that may pass in a moment. A time-out is not retried: it has already taken long. */
function isPassing(answer: FetchResponse | FetchError): boolean {
  return answer instanceof FetchError ? answer.code === 'network' : isOverloaded(answer.status)
}

function retryAfterMs(answer: FetchResponse | FetchError): number {
  const seconds = answer instanceof FetchError ? Number.NaN : Number(answer.headers['retry-after'] ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds * 1000, LONGEST_RETRY_AFTER) : SECOND_TRY_AFTER
}

function given(answer: FetchResponse | FetchError): FetchResponse {
  if (!(answer instanceof FetchError)) return answer
  const [code, message] = WORDS[answer.code]
  throw new KnowledgeError(code, message)
}

const WORDS: Record<FetchError['code'], [KnowledgeErrorCode, string]> = {
  blocked_address: ['blocked_address', 'The address, or a redirect from it, is not on the public internet.'],
  bad_url: ['unreachable', 'Only http and https addresses without a user name and password are supported.'],
  timeout: ['timeout', 'The site did not answer in time.'],
  too_large: ['too_large', 'The page is too large.'],
  too_many_redirects: ['unreachable', 'The page redirects too often.'],
  network: ['unreachable', 'Cannot reach the site.'],
  aborted: ['unreachable', 'The connection was aborted.'],
}
