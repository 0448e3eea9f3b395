import type { DialRateLimiter } from '../../../media/bus/dial-rate.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialOptions } from '../../../media/ports/dialer.ts'
import type { DialOutcome } from '../requests/outcome.ts'

/** Milliseconds that a call waits for a rate token by default; control has delayed it for most of its wait already. */
const PATIENCE_MS = 60_000
export const NO_RATE_TOKEN: DialOutcome = {
  status: 'failed',
  reason: 'no_capacity',
  message: 'The trunk’s call rate limit is reached.',
}

/** Applies however long the call waited: nobody is called outside the hours the plan was made for. */
export const TOO_LATE: DialOutcome = {
  status: 'failed',
  reason: 'queue_expired',
  message: 'The calling hours ended before the call could start.',
}

/**
 * Waits until the trunk may be dialed. Called as late as possible, so that a call that was delayed for another reason
 * takes a fresh token. Returns true also for a canceled call, which the caller of this function reports.
 */
export async function takeRateToken(
  pace: DialRateLimiter | undefined,
  { id, max_cps }: TrunkPlan,
  { signal, maxWaitMs }: DialOptions,
): Promise<boolean> {
  if (!pace || max_cps === null) return true
  const turn = { trunkId: id, maxCps: max_cps, maxWaitMs: maxWaitMs ?? PATIENCE_MS, signal }
  return (await pace(turn)) || signal.aborted
}
