/** Which vendors to leave alone for a while: a circuit breaker each. Pure: time is an argument, in ms. */
import { errorOfStatus, VendorError } from './vendor-error.ts'

export interface Breaker {
  /** In a row. */
  failures: number
  /** Until then the vendor is asked only when there is no other. */
  openUntilMs: number
}

export const CLOSED: Breaker = { failures: 0, openUntilMs: Number.NEGATIVE_INFINITY }

const FIRST_REST_MS = 5000
const MAX_REST_MS = 120_000
/** A wrong key is not mended by itself; somebody may have mended it, though. */
const REFUSED_REST_MS = 300_000

/** The rest doubles with every failure in a row, and is never shorter than what Retry-After asks for. */
export function afterFailure(breaker: Breaker, error: VendorError, nowMs: number): Breaker {
  const failures = breaker.failures + 1
  const growing = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (failures - 1))
  const restMs = error.code === 'unauthorized' ? REFUSED_REST_MS : Math.max(growing, error.retryAfterMs ?? 0)
  return { failures, openUntilMs: Math.max(breaker.openUntilMs, nowMs + restMs) }
}

/** Those to be asked, best first: the healthy in the owner's order, then the resting, soonest awake first. */
export function inOrder<T extends { name: string; id?: string }>(
  list: readonly T[],
  breakers: ReadonlyMap<string, Breaker>,
  nowMs: number,
): T[] {
  const restUntil = ({ name, id = name }: T) => (breakers.get(id) ?? CLOSED).openUntilMs
  const resting = list.filter(entry => restUntil(entry) > nowMs).sort((a, b) => restUntil(a) - restUntil(b))
  return [...list.filter(entry => restUntil(entry) <= nowMs), ...resting]
}

/** Whatever a provider threw, without its message, which may hold what was said. */
export function toVendorError(name: string, error: unknown, wallMs: number): VendorError {
  if (error instanceof VendorError) return error
  const status = (error as { statusCode?: unknown } | null)?.statusCode // of the AI SDK's APICallError
  if (typeof status === 'number') {
    const headers = (error as { responseHeaders?: Record<string, string> }).responseHeaders
    return errorOfStatus(name, status, headers?.['retry-after'] ?? null, wallMs)
  }
  return new VendorError(name, 'unavailable', 'failed')
}
