/** Port of the HTTP client for addresses that a customer chose. */

export interface FetchRequest {
  url: string
  method: 'GET' | 'POST' | 'HEAD'
  headers: Record<string, string>
  body: string | null
  timeoutMs: number
  maxBytes: number
  maxRedirects: number
  signal: AbortSignal
  /** Truncates the body at `maxBytes`; without it a longer body fails as `too_large`. */
  cut?: true
  /** Decides from status and headers whether to read the body. When omitted, the body is always read. */
  wants?(answer: { status: number; headers: Record<string, string> }): boolean
}

export interface FetchResponse {
  status: number
  /** Header names in lower case. */
  headers: Record<string, string>
  /** Body after content decoding; empty when `wants` declined it. */
  body: Buffer
  /** Final URL after redirects. */
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

/** The only error that `Fetch` throws. */
export class FetchError extends Error {
  readonly code: FetchErrorCode
  constructor(code: FetchErrorCode, message: string) {
    super(message)
    this.name = 'FetchError'
    this.code = code
  }
}

/** The only way to request a URL that a customer gave: it guards against SSRF when it connects. */
export type Fetch = (request: FetchRequest) => Promise<FetchResponse>
