/** Refused destinations of all processes, in Redis for the doctor. They expire after a day without a new one. */
import type { Redis } from 'ioredis'
import type { EgressRefusal } from '../shared/egress.ts'

const KEPT_SECONDS = 86_400
/** Targets kept; a malicious peer could name any number. */
const MOST_TARGETS = 200

const keysOf = (prefix: string) => ({ counts: `${prefix}:egress:counts`, times: `${prefix}:egress:times` })

export async function addRefusals(redis: Redis, prefix: string, refusals: readonly EgressRefusal[]): Promise<void> {
  if (refusals.length === 0) return
  const { counts, times } = keysOf(prefix)
  const full = (await redis.hlen(counts)) >= MOST_TARGETS
  const batch = redis.multi()
  if (full) batch.del(counts, times)
  for (const { kind, target, count, at } of refusals) {
    batch.hincrby(counts, `${kind} ${target}`, count).hset(times, `${kind} ${target}`, at)
  }
  await batch.expire(counts, KEPT_SECONDS).expire(times, KEPT_SECONDS).exec()
}

/** Returns the refusals, the latest first. */
export async function readRefusals(redis: Redis, prefix: string): Promise<EgressRefusal[]> {
  const { counts, times } = keysOf(prefix)
  const [all, at] = await Promise.all([redis.hgetall(counts), redis.hgetall(times)])
  const refusals = Object.entries(all).map(([field, count]) => {
    const [kind = '', target = ''] = field.split(' ')
    return { kind, target, count: Number(count), at: Number(at[field] ?? 0) }
  })
  return refusals.sort((one, other) => other.at - one.at)
}
