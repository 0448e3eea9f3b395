/**
 * Softphones in Redis, shared by control and engines: credentials, current contacts, and sources that are blocked for a
 * while. There is one sealed entry per user name, so that an engine reads only the one that it needs.
 */
import type { Redis } from 'ioredis'
import type { Sealer } from '../contract/seal.ts'
import { SoftphonePlan, SoftphoneState } from '../contract/softphones.ts'
import type { Softphones } from '../ports/trunks.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { BusKeys } from './keys.ts'
import { readNew } from './streams.ts'

/** Milliseconds for which a softphone's state is kept after its last registration: 90 days. */
const STATE_KEPT_MS = 90 * 24 * 3600 * 1000
const MOST_BANS = 1000
const CHANGES_KEPT = 100
const TRIES = 5

/**
 * KEYS state. ARGV expected value (empty: none), new value, lifetime in ms. Returns 1 when no other writer came
 * between.
 */
const REPLACE = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`

/** KEYS nonce. ARGV count, lifetime in ms. Returns 1 when the count is higher than all before. */
const COUNT = `
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) <= last then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

interface Parts {
  redis: Redis
  keys: BusKeys
  sealer: Sealer
}

const sealedFor = (username: string) => `softphone:${username}`
const notifyChange = ({ redis, keys }: Omit<Parts, 'sealer'>) =>
  redis.xadd(keys.softphoneChanges, 'MAXLEN', CHANGES_KEPT, '*', 'changed', '1')

/**
 * Control's side. Publishing drops the contacts of a softphone whose password changed; `remove` drops its entry as
 * well.
 */
export interface SoftphoneBook {
  /** Replaces the whole set; a softphone that is not in it can no longer register. */
  publish(softphones: readonly SoftphonePlan[]): Promise<void>
  /** Adds or replaces one softphone. */
  put(softphone: SoftphonePlan): Promise<void>
  remove(username: string, id: string): Promise<void>
  /** In the order of `ids`; null for one that did not register in the last 90 days. */
  states(ids: readonly string[]): Promise<(SoftphoneState | null)[]>
}

export function createSoftphoneBook({ redis, keys, sealer }: Parts): SoftphoneBook {
  const isVoid = (known: string | null | undefined, { username, ha1 }: SoftphonePlan): boolean => {
    if (!known) return false
    try {
      return SoftphonePlan.parse(sealer.open(known, sealedFor(username))).ha1.md5 !== ha1.md5
    } catch {
      return true // sealed by an earlier installation with another secret
    }
  }
  const write = async (plans: readonly SoftphonePlan[], before: Record<string, string | null>) => {
    if (plans.length === 0) return
    const entries = plans.flatMap(plan => [plan.username, sealer.seal(plan, sealedFor(plan.username))])
    const forgotten = plans.filter(plan => isVoid(before[plan.username], plan))
    await redis.hset(keys.softphones, ...entries)
    if (forgotten.length > 0) await redis.del(...forgotten.map(({ id }) => keys.softphoneState(id)))
  }
  return {
    async publish(softphones) {
      const before = await redis.hgetall(keys.softphones)
      const kept = new Set(softphones.map(one => one.username))
      const gone = Object.keys(before).filter(username => !kept.has(username))
      if (gone.length > 0) await redis.hdel(keys.softphones, ...gone)
      await write(softphones, before)
      await notifyChange({ redis, keys })
    },
    async put(plan) {
      await write([plan], { [plan.username]: await redis.hget(keys.softphones, plan.username) })
      await notifyChange({ redis, keys })
    },
    async remove(username, id) {
      await redis.multi().hdel(keys.softphones, username).del(keys.softphoneState(id)).exec()
      await notifyChange({ redis, keys })
    },
    async states(ids) {
      if (ids.length === 0) return []
      return (await redis.mget(ids.map(id => keys.softphoneState(id)))).map(stateOf)
    },
  }
}

function stateOf(text: string | null): SoftphoneState | null {
  return text === null ? null : SoftphoneState.parse(JSON.parse(text))
}

/** The engine's side. */
export async function followSoftphones(
  options: Parts & { clock: Clock; log: Log },
): Promise<Softphones & { stop(): Promise<void> }> {
  const { redis, keys, sealer, clock, log } = options
  const listeners = new Set<() => void>()
  let known = 0
  let bans = new Map<string, number>()
  let cancelExpiry = () => {}
  const load = async () => {
    const now = clock.wall()
    const [count, banned] = await Promise.all([
      redis.hlen(keys.softphones),
      redis.zrangebyscore(keys.softphoneBans, now, '+inf', 'WITHSCORES'),
    ])
    known = count
    bans = new Map(banned.flatMap((text, i) => (i % 2 === 0 ? [[text, Number(banned[i + 1])]] : [])))
    for (const listener of listeners) listener()
    cancelExpiry()
    const next = Math.min(...bans.values())
    cancelExpiry = Number.isFinite(next) ? clock.after(Math.max(0, next - now) + 1, () => void reload()) : () => {}
  }
  const reload = () => load().catch(error => log.warn({ err: error }, 'could not read softphones'))
  const reader = await readNew({ redis, stream: keys.softphoneChanges, log, handle: load })
  await load()
  return {
    any: () => known > 0,
    async find(username) {
      const sealed = await redis.hget(keys.softphones, username)
      return sealed === null ? null : SoftphonePlan.parse(sealer.open(sealed, sealedFor(username)))
    },
    async state(id) {
      return stateOf(await redis.get(keys.softphoneState(id)))
    },
    async change(id, next) {
      const key = keys.softphoneState(id)
      for (let tries = 0; tries < TRIES; tries++) {
        const before = await redis.get(key)
        const outcome = next(stateOf(before))
        if (outcome === null) return
        const replaced = await redis.eval(REPLACE, 1, key, before ?? '', JSON.stringify(outcome), STATE_KEPT_MS)
        if (replaced === 1) return
      }
      throw new Error('softphone state changed during every attempt to write it')
    },
    async countUp(nonce, count, keptMs) {
      return (await redis.eval(COUNT, 1, keys.softphoneNonce(nonce), count, keptMs)) === 1
    },
    banned: () => [...bans].filter(([, until]) => until > clock.wall()).map(([network]) => network),
    async ban(network, forMs) {
      bans.set(network, clock.wall() + forMs)
      await redis
        .multi()
        .zadd(keys.softphoneBans, clock.wall() + forMs, network)
        .zremrangebyscore(keys.softphoneBans, '-inf', clock.wall())
        .zremrangebyrank(keys.softphoneBans, 0, -MOST_BANS - 1)
        .exec()
      await notifyChange({ redis, keys })
    },
    onChange(run) {
      listeners.add(run)
      return () => listeners.delete(run)
    },
    async stop() {
      cancelExpiry()
      await reader.stop()
    },
  }
}
