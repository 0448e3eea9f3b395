/** Assigns each trunk to one engine, which registers it and reports its status, by a lease in Redis. */
import type { Redis } from 'ioredis'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface TrunkLeases {
  /** False also when Redis has not answered for so long that another engine may hold the lease. */
  holds(trunkId: string): boolean
  /** Takes leases of newly wanted trunks without waiting for the next round. */
  sync(): Promise<void>
  /** Releases all leases, for other engines to take in their next round. */
  stop(): Promise<void>
}

/** Lifetime of a lease in ms: another engine has a dead engine's trunks after this and one more round. */
export const TRUNK_LEASE_MS = 12_000
const ROUND_MS = 2000
const BATCH = 500

/** KEYS leases. ARGV holder, lifetime in ms. Takes free leases and renews ours; returns 1 for each that is ours now. */
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
  /** Engine and boot: the lease of an earlier process of this engine is not ours. */
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
  /** Expiry of each of our leases by our own clock, counted from before the request to Redis. */
  const until = new Map<string, number>()
  let running = true
  let known = ''
  let cancelRound = () => {}
  let current: Promise<void> = Promise.resolve()

  const holds = (trunkId: string) => running && (until.get(trunkId) ?? 0) > clock.now()
  const compare = () => {
    const held = [...until.keys()].filter(holds).sort().join()
    if (held === known || !running) return
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
      log.warn({ err: error }, 'could not renew trunk leases')
    }
    compare()
  }

  async function giveBack(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await redis.eval(GIVE_BACK, ids.length, ...ids.map(key), who)
  }

  /** Commands to Redis wait while it is unavailable, but the leases must expire on time. */
  const watch = () => {
    compare()
    cancelRound = clock.after(options.roundMs ?? ROUND_MS, round)
  }
  let asking = false
  function round(): void {
    if (!running) return
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
      if (!running) return
      current = take()
      await current
    },
    async stop() {
      if (!running) return
      cancelRound()
      running = false
      // Without Redis the leases expire.
      if (redis.status !== 'ready') return
      await current
      await giveBack([...until.keys()]).catch(() => {})
    },
  }
}
