/**
 * The Redis contract between control and engines: names of keys and streams, and the one script that decides who owns
 * a dial. `bus-control.ts` and `bus-engine.ts` are its two ends.
 *
 * At most once: a command is a call only for who wins `claim:<call>`; control expires or cancels a queued call with
 * the same key, so exactly one of the two happens. At least once: events are acknowledged after the handler's commit.
 */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

export interface BusKeys {
  commands: string
  engineCommands(engine: string): string
  events: string
  deadEvents: string
  asks: string
  replies(engine: string, boot: string): string
  claim(callId: string): string
  lease(callId: string): string
  heartbeat(engine: string): string
  heartbeats: string
  trunks: string
  trunkChanges: string
  trunkLease(trunkId: string): string
  /** When a trunk may be dialled next. */
  trunkTurn(trunkId: string): string
  /** The report of one examination. */
  trunkCheck(id: string): string
  /** By user name. */
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
    asks: `${prefix}:asks`,
    replies: (engine, boot) => `${prefix}:replies:${engine}:${boot}`,
    claim: callId => `${prefix}:claim:${callId}`,
    lease: callId => `${prefix}:lease:${callId}`,
    heartbeat: engine => `${prefix}:heartbeat:${engine}`,
    heartbeats: `${prefix}:heartbeats`,
    trunks: `${prefix}:trunks`,
    trunkChanges: `${prefix}:trunks:changes`,
    trunkLease: trunkId => `${prefix}:trunks:lease:${trunkId}`,
    trunkTurn: trunkId => `${prefix}:trunks:turn:${trunkId}`,
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
/** Handled events are kept so long for those who follow along, and no longer: what was said is in them. */
export const EVENTS_KEPT_MS = 10 * 60_000
export const DEAD_EVENTS_KEPT_MS = 7 * 24 * 3600 * 1000
const CLAIM_KEPT_MS = 24 * 3600 * 1000

/**
 * KEYS claim; ARGV who and which try, deadline (epoch ms, 0 = none), ttl. 1 when this try owns the call now, also when it
 * is sent again because the connection broke before the answer. Redis' own clock judges.
 */
const CLAIM_SCRIPT = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local deadline = tonumber(ARGV[2])
if deadline > 0 and now > deadline then return 0 end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end
return 0`

/** True for exactly one of all who ever ask for this call. */
export async function claimCall(
  redis: Redis,
  keys: BusKeys,
  callId: string,
  who: string,
  deadline: number,
): Promise<boolean> {
  return (
    (await redis.eval(CLAIM_SCRIPT, 1, keys.claim(callId), `${who}|${randomUUID()}`, deadline, CLAIM_KEPT_MS)) === 1
  )
}
