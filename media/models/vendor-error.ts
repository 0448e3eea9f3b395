/**
 * What goes wrong at a vendor of speech or text, as one type: what happened, and whether the same may be tried again.
 * Its message is made of constants and numbers only, since vendors echo keys and spoken text in theirs.
 */

/**
 * `unauthorized`: key, plan or quota refused. `rate_limited`: too much at once. `unavailable`: no connection, 5xx, dropped.
 * `bad_answer`: not what the protocol says, or our request refused. `timeout`: nothing came in time.
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
  /** Overrides what the code implies. */
  retryable?: boolean
  /** HTTP status or WebSocket close code. */
  status?: number | null
  /** What the vendor asked for by Retry-After. */
  retryAfterMs?: number | null
}

export class VendorError extends Error {
  readonly vendor: string
  readonly code: VendorErrorCode
  /** The same request may succeed later; false: only after somebody changed something. */
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

/** An HTTP answer other than 2xx, of a request or of a WebSocket handshake. */
export function errorOfStatus(vendor: string, status: number, retryAfter: string | null, wallMs: number): VendorError {
  return new VendorError(vendor, codeOfStatus(status), `refused with HTTP ${status}`, {
    status,
    retryAfterMs: parseRetryAfter(retryAfter, wallMs),
  })
}

function codeOfStatus(status: number): VendorErrorCode {
  // 402 is an account without money: as little to be helped by asking again as a wrong key.
  if (status === 401 || status === 402 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate_limited'
  if (status === 408) return 'timeout'
  return status >= 500 ? 'unavailable' : 'bad_answer'
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3); anything else is null. */
export function parseRetryAfter(value: string | null, wallMs: number): number | null {
  if (!value) return null
  if (/^\d{1,6}$/.test(value.trim())) return Number(value.trim()) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - wallMs)
}
