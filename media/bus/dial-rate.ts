/**
 * Dial rate limit of a trunk across all engines: Redis issues evenly spaced rate tokens, and each INVITE waits for its
 * own.
 */
import type { Redis } from 'ioredis'
import type { Clock } from '../shared/clock.ts'
import { within } from '../shared/within.ts'

/**
 * Maximum delay in ms between a token's time and the dial. A later dial (its process stalled) waits for another token.
 */
export const MAX_LATE_MS = 25
/** Milliseconds from the token to the wire: opening a media socket, reaching the SIP server, and rounding. */
const SENDING_MS = 10

/**
 * Milliseconds between two rate tokens. Each dial is at most `MAX_LATE_MS` + `SENDING_MS` late, so the dials of any second
 * have tokens from a window of one second plus that delay. With this spacing a window never contains more than
 * `maxCps`. The cost is 3.4 % of the rate. Missed tokens are lost. Passing them to later dials was tried: where
 * processes stall often enough to miss many, the later dials miss them, too.
 */
export const rateTokenMs = (maxCps: number): number => (1000 + MAX_LATE_MS + SENDING_MS) / maxCps

/**
 * KEYS time of the next token. ARGV ms between two tokens, longest wait in ms, the time in ms (empty: Redis' own
 * clock). Returns the milliseconds until the issued token, or -1 when the wait would be too long; then no token is
 * issued.
 */
export const TAKE_RATE_TOKEN = `
local now = tonumber(ARGV[3])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + t[2] / 1000
end
local at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
if at - now > tonumber(ARGV[2]) then return '-1' end
local free = at + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', free), 'PX', math.ceil(free - now) + 1000)
return string.format('%.3f', at - now)`

export interface DialRateRequest {
  trunkId: string
  maxCps: number
  /** Milliseconds that the dial may wait; afterwards it is not made. */
  maxWaitMs: number
  signal: AbortSignal
}

/** Resolves to true when this dial may go out now; false when the wait was too long or the signal aborted first. */
export type DialRateLimiter = (dial: DialRateRequest) => Promise<boolean>

/** `key` returns the Redis key of a trunk's next token. */
export function createDialRateLimiter(options: {
  redis: Redis
  key(trunkId: string): string
  clock: Clock
}): DialRateLimiter {
  const { redis, key, clock } = options
  return async ({ trunkId, maxCps, maxWaitMs, signal }) => {
    const endAtMs = clock.now() + maxWaitMs
    while (!signal.aborted) {
      const askedAtMs = clock.now()
      const leftMs = endAtMs - askedAtMs
      if (leftMs <= 0) return false
      const asked = redis.eval(TAKE_RATE_TOKEN, 1, key(trunkId), rateTokenMs(maxCps), leftMs, '')
      const waitMs = Number(await within<unknown>(clock, leftMs, -1, asked))
      if (waitMs < 0) return false
      // Redis issued the token at some time after `askedAtMs`: it is due no later than this, and may be due already.
      if (await waited(clock, waitMs, signal)) return false
      if (clock.now() - askedAtMs - waitMs <= MAX_LATE_MS) return true
    }
    return false
  }
}

/** Resolves to true when the signal aborted first. */
function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (ms <= 0 || signal.aborted) return Promise.resolve(signal.aborted)
  return new Promise(resolve => {
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve(signal.aborted)
    }
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
