/**
 * The Redis contract between control and engines: names of keys and streams, and the one script that decides which
 * engine owns a dial. `control-bus.ts` and `engine-bus.ts` are its two ends.
 *
 * At most once: a command becomes a call only for the winner of `claim:<call>`; control expires or cancels a queued
 * call with the same key, so exactly one of the two happens. At least once: events are acknowledged after the handler's
 * commit.
 */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

export interface BusKeys {
  commands: string
  engineCommands(engine: string): string
  events: string
  deadEvents: string
  requests: string
  replies(engine: string, boot: string): string
  claim(callId: string): string
  lease(callId: string): string
  heartbeat(engine: string): string
  heartbeats: string
  trunks: string
  trunkChanges: string
  /** Signals that an engine changed its load level, draining state or SIP server. */
  engineChanges: string
  trunkLease(trunkId: string): string
  /** Time of a trunk's next rate token. */
  trunkRateToken(trunkId: string): string
  /** Report of one trunk check. */
  trunkCheck(id: string): string
  /** Hash of softphones by user name. */
  softphones: string
  softphoneChanges: string
  softphoneState(id: string): string
  softphoneNonce(nonce: string): string
  softphoneBans: string
}

export function busKeys(prefix = 'parley'): BusKeys {
  return {
    commands: `${prefix}:commands`,
    engineCommands: engine => `${prefix}:commands:${engine}`,
    events: `${prefix}:events`,
    deadEvents: `${prefix}:events:dead`,
    requests: `${prefix}:requests`,
    replies: (engine, boot) => `${prefix}:replies:${engine}:${boot}`,
    claim: callId => `${prefix}:claim:${callId}`,
    lease: callId => `${prefix}:lease:${callId}`,
    heartbeat: engine => `${prefix}:heartbeat:${engine}`,
    heartbeats: `${prefix}:heartbeats`,
    trunks: `${prefix}:trunks`,
    trunkChanges: `${prefix}:trunks:changes`,
    engineChanges: `${prefix}:engines:changes`,
    trunkLease: trunkId => `${prefix}:trunks:lease:${trunkId}`,
    trunkRateToken: trunkId => `${prefix}:trunks:turns:${trunkId}`,
    trunkCheck: id => `${prefix}:trunks:check:${id}`,
    softphones: `${prefix}:softphones`,
    softphoneChanges: `${prefix}:softphones:changes`,
    softphoneState: id => `${prefix}:softphones:state:${id}`,
    softphoneNonce: nonce => `${prefix}:softphones:nonce:${nonce}`,
    softphoneBans: `${prefix}:softphones:bans`,
  }
}

export const LEASE_MS = 60_000
export const LEASE_RENEW_MS = 15_000
export const HEARTBEAT_MS = 2000
export const HEARTBEAT_TTL_MS = 7000
/** Milliseconds for which handled events are kept for followers. They contain what was said, hence the short time. */
export const EVENTS_KEPT_MS = 10 * 60_000
export const DEAD_EVENTS_KEPT_MS = 7 * 24 * 3600 * 1000
const CLAIM_KEPT_MS = 24 * 3600 * 1000

/**
 * KEYS claim, lease, commands. ARGV claimant with a random id of the attempt, deadline (epoch ms, 0 = none), lifetime
 * of the claim in ms, lifetime of the lease in ms (0 = none), id of the command's stream entry (empty = none). Returns
 * 1 when this attempt owns the call, also when it is repeated because the connection broke before the answer. Redis'
 * own clock decides about the deadline. One atomic step: an engine that dies before it leaves the command to another
 * engine; one that dies after it leaves a lease that shows which engine is missing.
 */
const CLAIM_SCRIPT = `
local function claimed()
  if redis.call('GET', KEYS[1]) == ARGV[1] then return true end
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local deadline = tonumber(ARGV[2])
  if deadline > 0 and now > deadline then return false end
  return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3])
end
local mine = claimed()
if mine and ARGV[4] ~= '0' then
  redis.call('SET', KEYS[2], string.match(ARGV[1], '^[^|]*|[^|]*'), 'PX', ARGV[4])
end
if ARGV[5] ~= '' then
  redis.call('XACK', KEYS[3], 'engines', ARGV[5])
  redis.call('XDEL', KEYS[3], ARGV[5])
end
return mine and 1 or 0`

export interface ClaimRequest {
  callId: string
  /** `engine|boot`, or `control`. */
  who: string
  /** Epoch milliseconds; 0 is none. */
  deadline: number
  /** Lifetime of the lease in milliseconds; no lease by default. */
  leaseMs?: number
  /** Stream entry to delete, whichever claimant owns the call. */
  entryId?: string
}

/** Resolves to true for exactly one of all attempts on this call. */
export async function claimCall(redis: Redis, keys: BusKeys, claim: ClaimRequest): Promise<boolean> {
  const { callId, who, deadline, leaseMs = 0, entryId = '' } = claim
  const known = [keys.claim(callId), keys.lease(callId), keys.commands]
  const mine = `${who}|${randomUUID()}`
  return (await redis.eval(CLAIM_SCRIPT, 3, ...known, mine, deadline, CLAIM_KEPT_MS, leaseMs, entryId)) === 1
}

/** Claimant of each call: `engine|boot`, `control` or null. */
export async function claimants(redis: Redis, keys: BusKeys, callIds: readonly string[]): Promise<(string | null)[]> {
  if (callIds.length === 0) return []
  const claims = await redis.mget(callIds.map(keys.claim))
  return claims.map(text => text?.slice(0, text.lastIndexOf('|')) ?? null)
}
