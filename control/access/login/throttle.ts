/**
 * Limits password guesses. Redis counts them for all processes, by e-mail and by address, each in a sliding window. An
 * attempt counts before it is checked, so that concurrent attempts do not evade the limit. An e-mail without an account
 * counts the same. The limit is low for one e-mail from one address and higher for one e-mail from all addresses: a
 * stranger who guesses wrong on purpose must not be able to lock out the owner from a single address.
 */
import type { Deps } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { networkOf } from '../../platform/http/rate-limit.ts'
import { sha256, uuidv7 } from '../../platform/ids.ts'

const WINDOW_MS = 15 * 60_000
const PER_EMAIL_FROM_ADDRESS = 5
const PER_EMAIL = 20
/** Many people share the address of an office. */
const PER_ADDRESS = 50

/**
 * KEYS: the counters; ARGV: window in ms, id, one limit for each counter. Returns 0, or the ms to wait. Rejected
 * attempts do not count.
 */
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
/** Keys of the counters for e-mail and address, for e-mail, and for address. */
function keysOf(deps: Ports, email: string, address: string): [string, string, string] {
  const [who, from] = [email.toLowerCase(), networkOf(address)]
  return [keyOf(deps, 'both', `${from} ${who}`), keyOf(deps, 'email', who), keyOf(deps, 'address', from)]
}

export interface Guess {
  /** Reports a correct password: clears the counters of the e-mail and removes this attempt from the address. */
  right(): Promise<void>
  /** Takes the attempt back: the password was right, and a second factor is still to come. */
  undecided(): Promise<void>
}

/** Throws `rate_limited` after too many attempts. */
export async function countGuess(deps: Ports, email: string, address: string): Promise<Guess> {
  const keys = keysOf(deps, email, address)
  const limits = [PER_EMAIL_FROM_ADDRESS, PER_EMAIL, PER_ADDRESS]
  const id = uuidv7(deps.clock.wall())
  let waitMs: number
  try {
    waitMs = Number(await deps.redis.eval(TRY, keys.length, ...keys, WINDOW_MS, id, ...limits))
  } catch (cause) {
    // Without the counters, guessing would be unlimited.
    throw new Problem('service_unavailable', { cause, retryAfterSeconds: 5 })
  }
  if (waitMs > 0) throw new Problem('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1000) })
  return {
    async right() {
      await deps.redis.multi().del(keys[0], keys[1]).zrem(keys[2], id).exec()
    },
    async undecided() {
      await deps.redis.multi().zrem(keys[0], id).zrem(keys[1], id).zrem(keys[2], id).exec()
    },
  }
}

/** Lets a person who has reset the password by e-mail log in at once. */
export async function forgetGuesses(deps: Ports, email: string, address: string): Promise<void> {
  const [both, ofEmail] = keysOf(deps, email, address)
  await deps.redis.del(both, ofEmail)
}
