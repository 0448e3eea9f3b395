/** The HTTP client port for addresses that a customer chose. */

export interface FetchRequest {
  url: string
  method: 'GET' | 'POST' | 'HEAD'
  headers: Record<string, string>
  body: string | null
  timeoutMs: number
  maxBytes: number
  maxRedirects: number
  signal: AbortSignal
  /** What is beyond `maxBytes` is left out, instead of refused as `too_large`. */
  cut?: true
  /** Whether the body is read at all, by what came before it; without this it always is. */
  wants?(answer: { status: number; headers: Record<string, string> }): boolean
}

export interface FetchResponse {
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  /** Without any content coding; empty when it was not wanted. */
  body: Buffer
  /** Where the answer came from, after redirects. */
  url: string
}

export type FetchErrorCode =
  | 'blocked_address'
  | 'bad_url'
  | 'timeout'
  | 'too_large'
  | 'too_many_redirects'
  | 'network'
  | 'aborted'

/** Thrown by `Fetch`, and nothing else is. */
export class FetchError extends Error {
  readonly code: FetchErrorCode
  constructor(code: FetchErrorCode, message: string) {
    super(message)
    this.name = 'FetchError'
    this.code = code
  }
}

/** The only way to a URL that a customer gave: guards against SSRF at connect. */
export type Fetch = (request: FetchRequest) => Promise<FetchResponse>
