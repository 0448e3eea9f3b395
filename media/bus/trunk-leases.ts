/** Which engine looks after which trunk (registers it, tells of it): one at a time, by a lease in Redis. */
import type { Redis } from 'ioredis'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface TrunkLeases {
  /** Also false when Redis has been silent for so long that another engine may have it by now. */
  holds(trunkId: string): boolean
  /** Takes what has become wanted without waiting for the next round. */
  sync(): Promise<void>
  /** Gives all back, for others to take at their next round. */
  stop(): Promise<void>
}

/** A dead engine's trunks are with another after this and a round more. */
export const TRUNK_LEASE_MS = 12_000
const ROUND_MS = 2000
const BATCH = 500

/** KEYS leases; ARGV who, ms. Takes what is free, renews what is ours; 1 for each that is ours now. */
const TAKE = `
local held = {}
for i, key in ipairs(KEYS) do
  local who = redis.call('GET', key)
  if not who or who == ARGV[1] then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    held[i] = 1
  else
    held[i] = 0
  end
end
return held`

const GIVE_BACK = `
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end`

export function createTrunkLeases(options: {
  redis: Redis
  key(trunkId: string): string
  /** Engine and boot: the lease of a process that was replaced is not ours. */
  who: string
  clock: Clock
  log: Log
  wanted(): readonly string[]
  onChange(): void
  leaseMs?: number
  roundMs?: number
}): TrunkLeases {
  const { redis, key, who, clock, log, wanted, onChange } = options
  const leaseMs = options.leaseMs ?? TRUNK_LEASE_MS
  /** Until when each is ours, by our own clock, from before Redis was asked. */
  const until = new Map<string, number>()
  let open = true
  let known = ''
  let cancelRound = () => {}
  let current: Promise<void> = Promise.resolve()

  const holds = (trunkId: string) => open && (until.get(trunkId) ?? 0) > clock.now()
  const compare = () => {
    const held = [...until.keys()].filter(holds).sort().join()
    if (held === known || !open) return
    known = held
    onChange()
  }

  async function take(): Promise<void> {
    const ids = [...wanted()]
    const unwanted = [...until.keys()].filter(id => !ids.includes(id))
    for (const id of unwanted) until.delete(id)
    try {
      await giveBack(unwanted)
      for (let from = 0; from < ids.length; from += BATCH) {
        const batch = ids.slice(from, from + BATCH)
        const askedAtMs = clock.now()
        const held = (await redis.eval(TAKE, batch.length, ...batch.map(key), who, leaseMs)) as number[]
        for (const [index, id] of batch.entries()) {
          if (held[index] === 1) until.set(id, askedAtMs + leaseMs)
          else until.delete(id)
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'leases of trunks could not be renewed')
    }
    compare()
  }

  async function giveBack(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await redis.eval(GIVE_BACK, ids.length, ...ids.map(key), who)
  }

  /** While Redis is away its commands wait: the leases run out all the same. */
  const watch = () => {
    compare()
    cancelRound = clock.after(options.roundMs ?? ROUND_MS, round)
  }
  let asking = false
  function round(): void {
    if (!open) return
    watch()
    if (asking) return
    asking = true
    current = take().finally(() => {
      asking = false
    })
  }
  round()

  return {
    holds,
    async sync() {
      await current
      if (!open) return
      current = take()
      await current
    },
    async stop() {
      if (!open) return
      cancelRound()
      open = false
      // Redis may be away: then they run out by themselves.
      if (redis.status !== 'ready') return
      await current
      await giveBack([...until.keys()]).catch(() => {})
    },
  }
}
