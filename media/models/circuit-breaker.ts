/** Circuit breakers for vendors. Pure: time is an argument, in ms. */
import { errorOfStatus, VendorError } from './vendor-error.ts'

export interface CircuitBreaker {
  /** Number of consecutive failures. */
  failures: number
  /** Until this time the vendor is used only when no other is available. */
  openUntilMs: number
}

export const CLOSED: CircuitBreaker = { failures: 0, openUntilMs: Number.NEGATIVE_INFINITY }

const FIRST_REST_MS = 5000
const MAX_REST_MS = 120_000
/** Pause in ms after a rejected API key: it stays invalid until somebody replaces it. */
const REFUSED_REST_MS = 300_000

/** The pause doubles with each consecutive failure, and is never shorter than Retry-After. */
export function afterFailure(breaker: CircuitBreaker, error: VendorError, nowMs: number): CircuitBreaker {
  const failures = breaker.failures + 1
  const growing = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (failures - 1))
  const restMs = error.code === 'unauthorized' ? REFUSED_REST_MS : Math.max(growing, error.retryAfterMs ?? 0)
  return { failures, openUntilMs: Math.max(breaker.openUntilMs, nowMs + restMs) }
}

/**
 * Returns providers in the order to try: healthy ones in the owner's order, then paused ones by the end of their pause.
 */
export function inOrder<T extends { name: string; id?: string }>(
  list: readonly T[],
  breakers: ReadonlyMap<string, CircuitBreaker>,
  nowMs: number,
): T[] {
  const restUntil = ({ name, id = name }: T) => (breakers.get(id) ?? CLOSED).openUntilMs
  const resting = list.filter(entry => restUntil(entry) > nowMs).sort((a, b) => restUntil(a) - restUntil(b))
  return [...list.filter(entry => restUntil(entry) <= nowMs), ...resting]
}

/** Converts any error without its message, which may contain what was said. */
export function toVendorError(name: string, error: unknown, wallMs: number): VendorError {
  if (error instanceof VendorError) return error
  const status = (error as { statusCode?: unknown } | null)?.statusCode // the AI SDK's APICallError
  if (typeof status === 'number') {
    const headers = (error as { responseHeaders?: Record<string, string> }).responseHeaders
    return errorOfStatus(name, status, headers?.['retry-after'] ?? null, wallMs)
  }
  return new VendorError(name, 'unavailable', 'failed')
}
