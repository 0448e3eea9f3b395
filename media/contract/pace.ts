/** How fast a trunk is dialled, over all engines: its turns are in Redis, evenly spaced, and an INVITE waits for its own. */
import type { Redis } from 'ioredis'
import type { Clock } from '../ports.ts'
import { within } from '../within.ts'

/** A dial leaves so long after the beginning of its turn, or waits for another one: its process may have stood still. */
export const LATE_MS = 25
/** From its turn to the wire: a socket for its sound, the way to the SIP server; and what rounding takes. */
const SENDING_MS = 10

/**
 * Ms between two turns. Each dial is at most `LATE_MS` and `SENDING_MS` late, so that those of any second have turns within a
 * second and that: with turns so far apart there are never more than `maxCps`. It costs 3.4 % of the pace.
 */
export const turnMs = (maxCps: number): number => (1000 + LATE_MS + SENDING_MS) / maxCps

/** What was lost by turns that came too late is made up for by others that follow a little closer. */
const CLOSEST = 0.95

/**
 * KEYS turns that were given, in ms, the last one last; ARGV how many may be within ARGV 2 ms, least ms between two, ms that
 * one waits at most, a turn that was missed and goes back (or empty), and the time in ms (empty: Redis' own). Answers how
 * many ms are left until the turn that was given, and the turn; or -1 when it would be too long, and then none was.
 */
export const TAKE_TURN = `
local now = tonumber(ARGV[6])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + t[2] / 1000
end
if ARGV[5] ~= '' then redis.call('LREM', KEYS[1], 1, ARGV[5]) end
local window = tonumber(ARGV[2])
local first = tonumber(redis.call('LINDEX', KEYS[1], 0))
while first and first + window <= now do
  redis.call('LPOP', KEYS[1])
  first = tonumber(redis.call('LINDEX', KEYS[1], 0))
end
local last = tonumber(redis.call('LINDEX', KEYS[1], -1))
local full = tonumber(redis.call('LINDEX', KEYS[1], -tonumber(ARGV[1])))
local at = math.max(now, last and last + tonumber(ARGV[3]) or 0, full and full + window or 0)
if at - now > tonumber(ARGV[4]) then return {'-1', ''} end
local turn = string.format('%.3f', at)
redis.call('RPUSH', KEYS[1], turn)
redis.call('PEXPIRE', KEYS[1], math.ceil(at + window - now) + 1000)
return {string.format('%.3f', at - now), turn}`

/** What the script is told of a trunk: calls, ms that they may be within, and least ms between two. */
export function turnsOf(maxCps: number): [calls: number, windowMs: number, gapMs: number] {
  const calls = Math.max(1, Math.floor(maxCps))
  return [calls, calls * turnMs(maxCps), CLOSEST * turnMs(maxCps)]
}

export interface DialTurn {
  trunkId: string
  maxCps: number
  /** How long the dial may wait; then it is not made. */
  patienceMs: number
  signal: AbortSignal
}

/** True when it is this dial's turn now; false when it took too long, or the signal came first. */
export type Pace = (dial: DialTurn) => Promise<boolean>

/** `key`: of a trunk's turns. */
export function createPace(options: { redis: Redis; key(trunkId: string): string; clock: Clock }): Pace {
  const { redis, key, clock } = options
  return async ({ trunkId, maxCps, patienceMs, signal }) => {
    const endAtMs = clock.now() + patienceMs
    let missed = ''
    while (!signal.aborted) {
      const askedAtMs = clock.now()
      const leftMs = endAtMs - askedAtMs
      if (leftMs <= 0) return false
      const asked = redis.eval(TAKE_TURN, 1, key(trunkId), ...turnsOf(maxCps), leftMs, missed, '')
      const [wait, turn] = (await within<unknown>(clock, leftMs, ['-1', ''], asked)) as [string, string]
      const waitMs = Number(wait)
      if (waitMs < 0) return false
      // Redis gave the turn at some time since it was asked: it begins no later than this, and may have begun already.
      if (await waited(clock, waitMs, signal)) return false
      if (clock.now() - askedAtMs - waitMs <= LATE_MS) return true
      missed = turn
    }
    return false
  }
}

/** True when the signal came first. */
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
