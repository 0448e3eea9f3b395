/**
 * Guesses of a password, counted in Redis for all processes: by e-mail and by address, each in a sliding window. A try
 * counts before it is judged, so that many at once are no way around. An e-mail without an account counts the same.
 * From one address there are few tries for an e-mail, from all together more: a stranger who guesses wrong on purpose
 * must not be able to lock its owner out from a single place.
 */
import type { Deps } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { networkOf } from '../../platform/http/rate-limit.ts'
import { sha256, uuidv7 } from '../../platform/ids.ts'

const WINDOW_MS = 15 * 60_000
const PER_EMAIL_FROM_ADDRESS = 5
const PER_EMAIL = 20
/** An office behind one address has many people who forget. */
const PER_ADDRESS = 50

/** KEYS what is counted; ARGV window ms, id, a limit for each. Answers 0, or ms to wait. Refused tries don't count. */
const TRY = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local window = tonumber(ARGV[1])
local wait = 0
for i = 1, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now - window)
  if redis.call('ZCARD', KEYS[i]) >= tonumber(ARGV[i + 2]) then
    local oldest = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
    wait = math.max(wait, tonumber(oldest[2]) + window - now)
  end
end
if wait > 0 then return wait end
for i = 1, #KEYS do
  redis.call('ZADD', KEYS[i], now, ARGV[2])
  redis.call('PEXPIRE', KEYS[i], window)
end
return 0`

type Ports = Pick<Deps, 'redis' | 'config' | 'clock'>

const keyOf = (deps: Ports, kind: 'email' | 'address' | 'both', who: string) =>
  `${deps.config.redis_prefix}:log-in:${kind}:${sha256(who).toString('base64url')}`
/** By e-mail and address, by e-mail, by address. */
function keysOf(deps: Ports, email: string, address: string): [string, string, string] {
  const [who, from] = [email.toLowerCase(), networkOf(address)]
  return [keyOf(deps, 'both', `${from} ${who}`), keyOf(deps, 'email', who), keyOf(deps, 'address', from)]
}

export interface Guess {
  /** It was right: the e-mail is free again, and the address has one try less on its account. */
  right(): Promise<void>
}

/** Throws `rate_limited` when there were too many. */
export async function countGuess(deps: Ports, email: string, address: string): Promise<Guess> {
  const keys = keysOf(deps, email, address)
  const limits = [PER_EMAIL_FROM_ADDRESS, PER_EMAIL, PER_ADDRESS]
  const id = uuidv7(deps.clock.wall())
  let waitMs: number
  try {
    waitMs = Number(await deps.redis.eval(TRY, keys.length, ...keys, WINDOW_MS, id, ...limits))
  } catch (cause) {
    // Without the count, guessing would be free.
    throw new Problem('service_unavailable', { cause, retryAfterSeconds: 5 })
  }
  if (waitMs > 0) throw new Problem('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1000) })
  return {
    async right() {
      await deps.redis.multi().del(keys[0], keys[1]).zrem(keys[2], id).exec()
    },
  }
}

/** Who has set a new password by mail may log in at once. */
export async function forgetGuesses(deps: Ports, email: string, address: string): Promise<void> {
  const [both, ofEmail] = keysOf(deps, email, address)
  await deps.redis.del(both, ofEmail)
}
