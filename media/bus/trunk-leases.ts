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

export interface TrunkLeasesOptions {
  redis: Redis
  key(trunkId: string): string
  /** Engine and boot: the lease of an earlier process of this engine is not ours. */
  who: string
  clock: Clock
  log: Log
  wanted(): readonly string[]
  onChange(): void
  /** `TRUNK_LEASE_MS` by default. */
  leaseMs?: number
  /** Milliseconds between two rounds, 2000 by default. */
  roundMs?: number
}

/** Starts the first round at once. */
export const createTrunkLeases = (options: TrunkLeasesOptions): TrunkLeases => new RedisTrunkLeases(options)

class RedisTrunkLeases implements TrunkLeases {
  readonly #options: TrunkLeasesOptions
  readonly #leaseMs: number
  readonly #roundMs: number
  /** Expiry of each of our leases by our own clock, counted from before the request to Redis. */
  readonly #until = new Map<string, number>()
  #running = true
  #taking = false
  /** The leases that `onChange` has last reported. */
  #known = ''
  #cancelRound = () => {}
  #current: Promise<void> = Promise.resolve()

  constructor(options: TrunkLeasesOptions) {
    this.#options = options
    this.#leaseMs = options.leaseMs ?? TRUNK_LEASE_MS
    this.#roundMs = options.roundMs ?? ROUND_MS
    this.#round()
  }

  holds(trunkId: string): boolean {
    return this.#running && (this.#until.get(trunkId) ?? 0) > this.#options.clock.now()
  }

  async sync(): Promise<void> {
    await this.#current
    if (!this.#running) return
    this.#current = this.#take()
    await this.#current
  }

  async stop(): Promise<void> {
    if (!this.#running) return
    this.#cancelRound()
    this.#running = false
    // Without Redis the leases expire.
    if (this.#options.redis.status !== 'ready') return
    await this.#current
    await this.#giveBack([...this.#until.keys()]).catch(() => {})
  }

  /** Commands to Redis wait while it is unavailable, but the leases must expire on time. */
  #round(): void {
    if (!this.#running) return
    this.#compare()
    this.#cancelRound = this.#options.clock.after(this.#roundMs, () => this.#round())
    if (this.#taking) return
    this.#taking = true
    this.#current = this.#take().finally(() => {
      this.#taking = false
    })
  }

  #compare(): void {
    const held = [...this.#until.keys()]
      .filter(id => this.holds(id))
      .sort()
      .join()
    if (held === this.#known || !this.#running) return
    this.#known = held
    this.#options.onChange()
  }

  async #take(): Promise<void> {
    const { wanted, log } = this.#options
    const ids = [...wanted()]
    const unwanted = [...this.#until.keys()].filter(id => !ids.includes(id))
    for (const id of unwanted) this.#until.delete(id)
    try {
      await this.#giveBack(unwanted)
      for (let from = 0; from < ids.length; from += BATCH) await this.#takeBatch(ids.slice(from, from + BATCH))
    } catch (error) {
      log.warn({ err: error }, 'could not renew trunk leases')
    }
    this.#compare()
  }

  async #takeBatch(ids: readonly string[]): Promise<void> {
    const { redis, key, who, clock } = this.#options
    const askedAtMs = clock.now()
    const held = (await redis.eval(TAKE, ids.length, ...ids.map(key), who, this.#leaseMs)) as number[]
    for (const [index, id] of ids.entries()) {
      if (held[index] === 1) this.#until.set(id, askedAtMs + this.#leaseMs)
      else this.#until.delete(id)
    }
  }

  async #giveBack(ids: readonly string[]): Promise<void> {
    const { redis, key, who } = this.#options
    if (ids.length > 0) await redis.eval(GIVE_BACK, ids.length, ...ids.map(key), who)
  }
}
