import type { Redis } from 'ioredis'

export interface Uses {
  /** With this one. */
  count: number
  /** Seconds until the period ends; at least 1. */
  leftSeconds: number
}

/**
 * Counts a use in a period that begins with the first use. `EXPIRE … NX` would say the same in one command, but needs
 * Redis 7, and the embedded one is 6.2.
 */
export async function countUse(redis: Redis, key: string, seconds: number): Promise<Uses> {
  const answers = await redis.multi().set(key, 0, 'EX', seconds, 'NX').incr(key).ttl(key).exec()
  const [, count, left] = (answers ?? []).map(([, answer]) => Number(answer))
  if (!Number.isInteger(count)) throw new Error('Redis counted nothing')
  return { count: count!, leftSeconds: Math.max(1, left || seconds) }
}
