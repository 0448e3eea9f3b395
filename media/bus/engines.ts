/** Live engines, from their heartbeats. */
import type { Redis } from 'ioredis'
import { Heartbeat } from '../contract/messages.ts'
import type { BusKeys } from './keys.ts'

export async function aliveEngines(redis: Redis, keys: BusKeys): Promise<Heartbeat[]> {
  const names = await redis.smembers(keys.heartbeats)
  const beats = names.length > 0 ? await redis.mget(names.map(keys.heartbeat)) : []
  return beats.filter(text => text !== null).map(text => Heartbeat.parse(JSON.parse(text)))
}
