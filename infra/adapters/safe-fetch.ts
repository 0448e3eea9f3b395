/**
 * The only way to request a URL that a customer supplied. Guards against server-side request forgery: the address is
 * checked after resolution and pinned for the connection (no second lookup to rebind), and again at each redirect.
 * Credentials are dropped when a redirect leaves the origin. Exact `host:port` pairs can be allowed for the operator's
 * own services.
 */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib'
import { Agent, type Dispatcher, fetch as undiciFetch, request as undiciRequest } from 'undici'
import { canonical, isPublic, type OwnAddresses } from '../../media/shared/addresses.ts'
import type { EgressGuard } from '../../media/shared/egress.ts'
import { type Fetch, FetchError, type FetchRequest, type FetchResponse } from '../../media/shared/fetch.ts'

export { isPublic }

export interface SafeFetchOptions {
  /** `host:port`, matched exactly against the URL. */
  allow: readonly string[]
  /** Addresses of this installation, refused like private ones; none when left out. */
  own?: OwnAddresses
  /** Counts what is refused. */
  egress?: Pick<EgressGuard, 'refused'>
  /** Returns all addresses of a name; tests inject it. */
  resolve?: (host: string) => Promise<string[]>
}

/** Options that are the same for all requests of a process. */
export type Guarded = Pick<SafeFetchOptions, 'own' | 'egress'>

const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' }
/** Headers that contain no secret and may follow a redirect to another origin. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

type Pin = (url: URL) => Promise<string>

/** Resolves once and checks the addresses; connect only to the one returned. */
function createPin(options: SafeFetchOptions): Pin {
  const allowed = new Set(options.allow.map(pair => pair.toLowerCase().replace(/[[\]]/g, '')))
  const resolve = options.resolve ?? (async host => (await lookup(host, { all: true })).map(found => found.address))
  return async url => {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(host) ? [host] : await resolveName(resolve, host)
    const port = url.port || DEFAULT_PORTS[url.protocol]
    if (allowed.has(`${host}:${port}`)) return addresses[0]!
    // One private address among several is enough to refuse: which one is connected to must not be a matter of luck.
    const own = options.own?.() ?? new Set()
    const refused = addresses.find(address => !isPublic(address) || own.has(canonical(address)))
    if (refused === undefined) return addresses[0]!
    options.egress?.refused('http', refused, Number(port))
    throw new FetchError('blocked_address', 'The address is not public')
  }
}

function pinnedAgent(address: string, options: Agent.Options = {}): Agent {
  return new Agent({
    ...options,
    connect: {
      lookup: (_host, lookupOptions, done) => {
        const family = isIP(address)
        if (lookupOptions.all) done(null, [{ address, family }])
        else done(null, address, family)
      },
    },
  })
}

/** Applies the guard for libraries that use WHATWG fetch and read a stream. Redirects are refused. */
export function createSafeWebFetch(options: SafeFetchOptions): typeof globalThis.fetch {
  const pin = createPin(options)
  return async (input, init) => {
    const url = parse(input instanceof Request ? input.url : String(input))
    // For one request only: a connection kept alive would stay open as long as the other side wants.
    const dispatcher = pinnedAgent(await pin(url), { pipelining: 0 })
    const answer = await undiciFetch(url.href, { ...(init as object), dispatcher, redirect: 'error' })
    if (!answer.body) return answer as unknown as Response
    const body = (answer.body as unknown as ReadableStream<Uint8Array>).pipeThrough(atMost(MAX_WEB_BYTES))
    const { status, statusText, headers } = answer
    return new Response(body, { status, statusText, headers: [...headers] })
  }
}

/** Counted after decompression: more than any answer in a call needs, less than would affect other calls. */
const MAX_WEB_BYTES = 8 * 1024 * 1024
function atMost(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(part, controller) {
      size += part.byteLength
      if (size > maxBytes) controller.error(new FetchError('too_large', `more than ${maxBytes} bytes`))
      else controller.enqueue(part)
    },
  })
}

/**
 * Milliseconds that a connection stays open for the next request to the same server, at the checked address. Kept
 * short: a server that closes the connection while a request leaves may or may not have executed it.
 */
const KEPT_MS = 2000
/** Most servers with idle connections. */
const MOST_KEPT = 256

interface Lent {
  agent: Agent
  giveBack(): void
}

function createConnections(): (url: URL, address: string) => Lent {
  const kept = new Map<string, { agent: Agent; users: number; expiry: NodeJS.Timeout | null }>()
  return ({ origin }, address) => {
    const key = `${origin} ${address}`
    const limits = { maxHeaderSize: 16_384, keepAliveTimeout: KEPT_MS, keepAliveMaxTimeout: KEPT_MS }
    const one = kept.get(key) ?? { agent: pinnedAgent(address, limits), users: 0, expiry: null }
    if (one.expiry) clearTimeout(one.expiry)
    one.users++
    if (kept.size < MOST_KEPT) kept.set(key, one)
    return {
      agent: one.agent,
      giveBack() {
        if (--one.users > 0) return
        const end = () => {
          if (kept.get(key) === one) kept.delete(key)
          void one.agent.destroy()
        }
        if (kept.get(key) === one) one.expiry = setTimeout(end, KEPT_MS).unref()
        else end()
      },
    }
  }
}

export function createSafeFetch(options: SafeFetchOptions): Fetch {
  const pin = createPin(options)
  const connections = createConnections()
  return async request => {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
    let hop = request
    for (let redirects = 0; ; redirects++) {
      const url = parse(hop.url)
      const address = await raced(pin(url), signal)
      const response = await send(url, connections(url, address), hop, signal)
      if (!('location' in response)) return { ...response, url: url.href }
      if (redirects >= request.maxRedirects) throw new FetchError('too_many_redirects', 'Too many redirects')
      hop = follow(hop, url, response)
    }
  }
}

function parse(text: string): URL {
  if (!URL.canParse(text)) throw new FetchError('bad_url', 'Not a valid URL')
  const url = new URL(text)
  if (!(url.protocol in DEFAULT_PORTS)) throw new FetchError('bad_url', 'Only http and https are allowed')
  if (url.username || url.password) throw new FetchError('bad_url', 'Credentials in a URL are not allowed')
  return url
}

async function resolveName(resolve: (host: string) => Promise<string[]>, host: string): Promise<string[]> {
  const addresses = await resolve(host).catch(() => [])
  if (addresses.length === 0) throw new FetchError('network', 'The host name cannot be resolved')
  return addresses
}

interface Redirect {
  status: number
  location: string
}

async function send(
  url: URL,
  { agent, giveBack }: Lent,
  request: FetchRequest,
  signal: AbortSignal,
): Promise<FetchResponse | Redirect> {
  try {
    const answer = await undiciRequest(url.href, {
      dispatcher: agent,
      headersTimeout: request.timeoutMs,
      bodyTimeout: request.timeoutMs,
      method: request.method,
      // Some servers compress nevertheless; their bodies are counted after decompression.
      headers: { ...request.headers, 'accept-encoding': 'identity' },
      body: request.body,
      signal,
    })
    const headers = flatten(answer.headers)
    if (answer.statusCode >= 300 && answer.statusCode < 400 && headers['location'] && request.maxRedirects > 0) {
      drop(answer.body)
      return { status: answer.statusCode, location: headers['location'] }
    }
    const status = answer.statusCode
    const wanted = request.wants?.({ status, headers }) ?? true
    const body = wanted ? await readBody(unpacked(answer.body, headers), request) : drop(answer.body)
    return { status, headers, body, url: url.href }
  } catch (error) {
    throw toFetchError(error, request.signal)
  } finally {
    giveBack()
  }
}

/** Like browsers, accepts an empty body and a missing end marker. */
const unzip = () => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH })
/** Codings that servers use although plain bytes were requested. Nested codings do not occur in practice. */
const CODINGS = new Map<string, () => Transform>([
  ['gzip', unzip],
  ['x-gzip', unzip],
  ['deflate', unzip],
  ['br', () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })],
])

function unpacked(body: Dispatcher.ResponseData['body'], headers: Record<string, string>): Readable {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (!coding || coding === 'identity') return body
  const unpack = CODINGS.get(coding)
  if (!unpack) {
    drop(body)
    throw new FetchError('network', 'The server used an unsupported content encoding')
  }
  // Errors reach the reader through the returned stream.
  return pipeline(body, unpack(), () => {})
}

async function readBody(body: Readable, { maxBytes, cut }: FetchRequest): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes && !cut) {
      drop(body)
      throw new FetchError('too_large', `more than ${maxBytes} bytes`)
    }
    parts.push(size > maxBytes ? part.subarray(0, part.length - (size - maxBytes)) : part)
    if (size >= maxBytes && cut) {
      drop(body)
      break
    }
  }
  return Buffer.concat(parts)
}

function drop(body: Readable): Buffer {
  body.on('error', () => {})
  body.destroy()
  return Buffer.alloc(0)
}

function follow(request: FetchRequest, from: URL, { status, location }: Redirect): FetchRequest {
  if (!URL.canParse(location, from.href)) throw new FetchError('bad_url', 'Redirect to an invalid URL')
  const url = new URL(location, from.href)
  const sameOrigin = url.origin === from.origin
  // RFC 9110 §15.4: 303, and 301/302 after a POST, are followed with GET; 307 and 308 repeat the request.
  const becomesGet = status === 303 || (request.method === 'POST' && (status === 301 || status === 302))
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) =>
        (sameOrigin || HARMLESS.has(name.toLowerCase())) && !(becomesGet && name.toLowerCase() === 'content-type'),
    ),
  )
  return { ...request, url: url.href, headers, ...(becomesGet ? { method: 'GET' as const, body: null } : {}) }
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toFetchError(signal.reason, signal))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function toFetchError(error: unknown, callers: AbortSignal): FetchError {
  if (error instanceof FetchError) return error
  const { name, code } = error as { name?: string; code?: string }
  if (
    name === 'TimeoutError' ||
    code === 'UND_ERR_HEADERS_TIMEOUT' ||
    code === 'UND_ERR_BODY_TIMEOUT' ||
    code === 'UND_ERR_CONNECT_TIMEOUT'
  ) {
    return new FetchError('timeout', 'No answer in time')
  }
  if (callers.aborted || name === 'AbortError') return new FetchError('aborted', 'Canceled by the caller')
  return new FetchError('network', `Connection failed${code ? ` (${code})` : ''}`)
}
