/**
 * How many calls a second a trunk is given: one queue in Redis for each, shared by all control processes. The pace that a
 * carrier sees is kept by the engines, at the INVITE (`media/contract/pace.ts`), so that what comes late and all at once,
 * after somebody stood still, is spread again; here calls are kept back which other engines, or a hang-up, may still have.
 */
import { LATE_MS } from '../../media/contract/pace.ts'
import type { Deps } from '../deps.ts'

/**
 * KEYS when the trunk is free next, slot of this call; ARGV ms between two calls, ms that a slot stays good, ms that it is
 * remembered. Answers how many ms are left until the slot of this call, or -1 when the call has been offered before.
 * Slots are given in the order they are asked for, evenly spaced; one that was missed (its process died) is given anew.
 */
const TAKE = `
local slot = redis.call('GET', KEYS[2])
if slot == 'offered' then return '-1' end
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
if slot and now <= tonumber(slot) + tonumber(ARGV[2]) then return tostring(math.max(0, tonumber(slot) - now)) end
local at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
local free = at + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', free), 'PX', math.ceil(free - now) + 1000)
redis.call('SET', KEYS[2], string.format('%.3f', at), 'PX', tonumber(ARGV[3]))
return tostring(at - now)`

const GOOD_MS = 2000
/** Slower than engines dial, so that turns are left for calls that are bridged, and for those that missed theirs. */
export const slotMs = (maxCps: number): number => (1000 + 2 * LATE_MS) / maxCps

type Ports = Pick<Deps, 'redis' | 'config'>
const slotKey = (deps: Ports, callId: string) => `${deps.config.redis_prefix}:slot:${callId}`

/** Ms to wait before this call may be offered; null when it has been. */
export async function takeSlot(
  deps: Ports,
  { callId, trunkId, maxCps }: { callId: string; trunkId: string; maxCps: number },
): Promise<number | null> {
  const free = `${deps.config.redis_prefix}:pace:${trunkId}`
  const kept = deps.config.queue_expiry_ms + GOOD_MS
  const answer = await deps.redis.eval(TAKE, 2, free, slotKey(deps, callId), slotMs(maxCps), GOOD_MS, kept)
  const wait = Number(answer)
  return wait < 0 ? null : wait
}

export async function markOffered(deps: Ports, callId: string): Promise<void> {
  await deps.redis.set(slotKey(deps, callId), 'offered', 'PX', deps.config.queue_expiry_ms)
}

/** Ms until the next turn of each of these trunks, by Redis' own clock; 0 where one is free. */
export async function turnsAhead(deps: Ports, trunkIds: readonly string[]): Promise<Map<string, number>> {
  if (trunkIds.length === 0) return new Map()
  const keys = trunkIds.map(id => `${deps.config.redis_prefix}:pace:${id}`)
  const [[seconds, micros], free] = await Promise.all([deps.redis.time(), deps.redis.mget(keys)])
  const nowMs = Number(seconds) * 1000 + Number(micros) / 1000
  return new Map(trunkIds.map((id, i) => [id, Math.max(0, Number(free[i] ?? 0) - nowMs)]))
}
