/** How fast a trunk is dialled, over all engines: its turns are in Redis, evenly spaced, and an INVITE waits for its own. */
import type { Redis } from 'ioredis'
import type { Clock } from '../shared/clock.ts'
import { within } from '../shared/within.ts'

/** A dial leaves so long after the beginning of its turn, or waits for another one: its process may have stood still. */
export const LATE_MS = 25
/** From its turn to the wire: a socket for its sound, the way to the SIP server; and what rounding takes. */
const SENDING_MS = 10

/**
 * Ms between two turns. Each dial is at most `LATE_MS` and `SENDING_MS` late, so that those of any second have turns within a
 * second and that: with turns so far apart there are never more than `maxCps`. It costs 3.4 % of the pace. Turns that were
 * missed are lost: to give them to those who follow was tried, and where processes stand still often enough to miss many
 * those who follow do too.
 */
export const turnMs = (maxCps: number): number => (1000 + LATE_MS + SENDING_MS) / maxCps

/**
 * KEYS when the next turn is; ARGV ms between two turns, ms that one waits at most, and the time in ms (empty: Redis' own).
 * Answers how many ms are left until the turn that was given, or -1 when it would be too long; then none was.
 */
export const TAKE_TURN = `
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

export interface DialTurn {
  trunkId: string
  maxCps: number
  /** How long the dial may wait; then it is not made. */
  patienceMs: number
  signal: AbortSignal
}

/** True when it is this dial's turn now; false when it took too long, or the signal came first. */
export type Pace = (dial: DialTurn) => Promise<boolean>

/** `key`: of a trunk's next turn. */
export function createPace(options: { redis: Redis; key(trunkId: string): string; clock: Clock }): Pace {
  const { redis, key, clock } = options
  return async ({ trunkId, maxCps, patienceMs, signal }) => {
    const endAtMs = clock.now() + patienceMs
    while (!signal.aborted) {
      const askedAtMs = clock.now()
      const leftMs = endAtMs - askedAtMs
      if (leftMs <= 0) return false
      const asked = redis.eval(TAKE_TURN, 1, key(trunkId), turnMs(maxCps), leftMs, '')
      const waitMs = Number(await within<unknown>(clock, leftMs, -1, asked))
      if (waitMs < 0) return false
      // Redis gave the turn at some time since it was asked: it begins no later than this, and may have begun already.
      if (await waited(clock, waitMs, signal)) return false
      if (clock.now() - askedAtMs - waitMs <= LATE_MS) return true
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
