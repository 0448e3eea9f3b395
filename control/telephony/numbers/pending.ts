/**
 * Verification calls that ring now. Such a call may come back to this installation, where the number alone would route
 * it, so it would tell the code to whoever has the number today, and not to whoever it belongs to.
 */
import type { Deps } from '../../platform/deps.ts'
import { toE164 } from '../../platform/phone.ts'

/** Seconds: longer than a verification call is queued and rings. */
const PENDING_SECONDS = 180

type Ports = Pick<Deps, 'redis' | 'config'>
const keyOf = ({ config }: Ports, number: string): string => `${config.redis_prefix}:verification:calls:${number}`

/** Records that the number is called from `line`; empty while that is unknown. */
export async function expectVerificationCall(deps: Ports, number: string, line: string): Promise<void> {
  await deps.redis.set(keyOf(deps, number), line, 'EX', PENDING_SECONDS)
}

export async function forgetVerificationCall(deps: Ports, number: string): Promise<void> {
  await deps.redis.del(keyOf(deps, number))
}

/** True when an inbound call may be our own verification call: from the line, or from a caller whose number is hidden. */
export async function mayBeVerificationCall(deps: Ports, number: string, caller: string): Promise<boolean> {
  const line = await deps.redis.get(keyOf(deps, number))
  const from = toE164(caller)
  return line !== null && (line === '' || !from || from === line)
}
