/**
 * Errors of STT, TTS and LLM vendors as one type: the kind, and whether a retry may succeed. Messages consist of
 * constants and numbers only, since vendors echo keys and spoken text in theirs.
 */

/**
 * `unauthorized`: key, plan or quota rejected. `rate_limited`: too many requests. `unavailable`: no connection, 5xx,
 * dropped. `bad_answer`: a protocol violation, or our request was rejected. `timeout`: no answer in time.
 */
export type VendorErrorCode = 'unauthorized' | 'rate_limited' | 'unavailable' | 'bad_answer' | 'timeout'

const RETRYABLE: Record<VendorErrorCode, boolean> = {
  unauthorized: false,
  rate_limited: true,
  unavailable: true,
  bad_answer: false,
  timeout: true,
}

export interface VendorErrorDetails {
  /** Overrides the code's default. */
  retryable?: boolean
  /** HTTP status or WebSocket close code. */
  status?: number | null
  /** Milliseconds from the vendor's Retry-After. */
  retryAfterMs?: number | null
}

export class VendorError extends Error {
  readonly vendor: string
  readonly code: VendorErrorCode
  /** True when the same request may succeed later; false when something must be changed first. */
  readonly retryable: boolean
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(vendor: string, code: VendorErrorCode, what: string, details: VendorErrorDetails = {}) {
    super(`${vendor}: ${what}`)
    this.name = 'VendorError'
    this.vendor = vendor
    this.code = code
    this.retryable = details.retryable ?? RETRYABLE[code]
    this.status = details.status ?? null
    this.retryAfterMs = details.retryAfterMs ?? null
  }
}

/** Creates the error for an HTTP status other than 2xx, of a request or of a WebSocket handshake. */
export function errorOfStatus(vendor: string, status: number, retryAfter: string | null, wallMs: number): VendorError {
  return new VendorError(vendor, codeOfStatus(status), `rejected with HTTP ${status}`, {
    status,
    retryAfterMs: parseRetryAfter(retryAfter, wallMs),
  })
}

function codeOfStatus(status: number): VendorErrorCode {
  // 402 means an account without credit, which a retry does not help, as with a wrong key.
  if (status === 401 || status === 402 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate_limited'
  if (status === 408) return 'timeout'
  return status >= 500 ? 'unavailable' : 'bad_answer'
}

/** Parses seconds or an HTTP date (RFC 9110, 10.2.3) to milliseconds; anything else is null. */
export function parseRetryAfter(value: string | null, wallMs: number): number | null {
  if (!value) return null
  if (/^\d{1,6}$/.test(value.trim())) return Number(value.trim()) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - wallMs)
}
