/**
 * Limits the calls per second that are offered to a trunk, with one queue in Redis per trunk, shared by all control
 * processes. The engines enforce the rate that a carrier sees, at the INVITE (`media/bus/dial-rate.ts`), so that calls that
 * arrive late and all at once, after a stall, are spread again. Here calls are held back so that any engine, or a
 * hang-up, can still claim them.
 */

import { rateTokenMs } from '../../../media/bus/dial-rate.ts'
import { busKeys } from '../../../media/bus/keys.ts'
import type { Deps } from '../../platform/deps.ts'

/**
 * KEYS: the time at which the trunk is next free, the slot of this call, the engines' next rate token. ARGV: ms between
 * two calls, ms that a slot stays valid, ms that it is kept, ms that engines may lag behind. Returns the ms until this
 * call's slot, or -1 when the call has already been offered. Slots are assigned in the order of requests, evenly
 * spaced, and later when engines lag behind. A slot that was missed (its process died) is assigned again.
 */
const TAKE = `
local slot = redis.call('GET', KEYS[2])
if slot == 'offered' then return '-1' end
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
if slot and now <= tonumber(slot) + tonumber(ARGV[2]) then return tostring(math.max(0, tonumber(slot) - now)) end
local behind = tonumber(redis.call('GET', KEYS[3]) or 0) - tonumber(ARGV[4])
local at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0), behind)
local free = at + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', free), 'PX', math.ceil(free - now) + 1000)
redis.call('SET', KEYS[2], string.format('%.3f', at), 'PX', tonumber(ARGV[3]))
return tostring(at - now)`

const GOOD_MS = 2000
/**
 * Slots are as far apart as the engines' rate tokens. Tokens that engines missed, or gave to bridged calls, are not
 * compensated by a wider gap, which would always slow down everyone, but by waiting when the engines are this many ms
 * behind.
 */
const BEHIND_MS = 500

type Ports = Pick<Deps, 'redis' | 'config'>
const slotsKey = (deps: Ports, trunkId: string) => `${deps.config.redis_prefix}:pace:${trunkId}`
const turnKey = (deps: Ports, trunkId: string) => busKeys(deps.config.redis_prefix).trunkRateToken(trunkId)
const slotKey = (deps: Ports, callId: string) => `${deps.config.redis_prefix}:slot:${callId}`

/** Returns the ms to wait before this call may be offered; null when it has already been offered. */
export async function takeSlot(
  deps: Ports,
  { callId, trunkId, maxCps }: { callId: string; trunkId: string; maxCps: number },
): Promise<number | null> {
  const keys = [slotsKey(deps, trunkId), slotKey(deps, callId), turnKey(deps, trunkId)]
  const kept = deps.config.queue_expiry_ms + GOOD_MS
  const answer = await deps.redis.eval(TAKE, 3, ...keys, rateTokenMs(maxCps), GOOD_MS, kept, BEHIND_MS)
  const wait = Number(answer)
  return wait < 0 ? null : wait
}

export async function markOffered(deps: Ports, callId: string): Promise<void> {
  await deps.redis.set(slotKey(deps, callId), 'offered', 'PX', deps.config.queue_expiry_ms)
}

/** Returns the ms until the next slot of each trunk, by Redis' clock; 0 when one is free. */
export async function tokensAhead(deps: Ports, trunkIds: readonly string[]): Promise<Map<string, number>> {
  if (trunkIds.length === 0) return new Map()
  const asking = deps.redis.pipeline().time()
  for (const id of trunkIds) asking.get(slotsKey(deps, id)).get(turnKey(deps, id))
  const [time, ...found] = (await asking.exec())!.map(([error, answer]) => {
    if (error) throw error
    return answer
  })
  const [seconds, micros] = time as [string, string]
  const nowMs = Number(seconds) * 1000 + Number(micros) / 1000
  const ahead = trunkIds.map((id, i): [string, number] => {
    const [slot, turn] = [Number(found[2 * i] ?? 0), Number(found[2 * i + 1] ?? 0)]
    return [id, Math.max(0, slot - nowMs, turn - BEHIND_MS - nowMs)]
  })
  return new Map(ahead)
}
