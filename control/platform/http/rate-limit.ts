/**
 * Rate limit with a sliding window in Redis, shared by all control processes. Exact: every request of the window is
 * stored.
 */
import type { FastifyReply } from 'fastify'
import type { Deps } from '../deps.ts'
import { uuidv7 } from '../ids.ts'
import { errorFields } from '../log.ts'
import { Problem } from './problem.ts'

/**
 * KEYS: the window; ARGV: limit, window in ms, id. Returns whether the request is allowed (0 or 1), the number left,
 * and the ms until the oldest one leaves the window. Uses Redis' clock, because those of the processes differ. A
 * rejected request does not extend the wait.
 */
const SCRIPT = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
local allowed = 0
if used < limit then
  redis.call('ZADD', KEYS[1], now, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], window)
  used = used + 1
  allowed = 1
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {allowed, limit - used, (tonumber(oldest[2]) or now) + window - now}`

type Bucket = 'key' | 'session' | 'address'

/** The owner of an IPv6 address has the 2^64 addresses of its network (RFC 6177), so they count as one. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1]
  if (mapped) return mapped
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail?.split(':').filter(Boolean) ?? []
  const groups = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
  return `${groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

export async function takeToken(deps: Deps, reply: FastifyReply, bucket: Bucket, who: string): Promise<void> {
  const { window_ms, ...limits } = deps.config.rate_limit
  const limit = limits[`per_${bucket}`]
  const key = `${deps.config.redis_prefix}:rate:${bucket}:${bucket === 'address' ? networkOf(who) : who}`
  let answer: [number, number, number]
  try {
    answer = (await deps.redis.eval(SCRIPT, 1, key, limit, window_ms, uuidv7(deps.clock.wall()))) as typeof answer
  } catch (error) {
    // When Redis is unreachable, serving too much is better than serving nothing.
    deps.log.warn({ error: errorFields(error) }, 'rate limit not checked')
    return
  }
  const [allowed, left, resetMs] = answer
  const seconds = Math.max(1, Math.ceil(resetMs / 1000))
  reply.header('RateLimit-Policy', `"${bucket}";q=${limit};w=${Math.ceil(window_ms / 1000)}`)
  reply.header('RateLimit', `"${bucket}";r=${left};t=${seconds}`)
  if (allowed === 0) throw new Problem('rate_limited', { retryAfterSeconds: seconds })
}
