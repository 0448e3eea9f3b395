import type { Pace } from '../../../media/bus/dial-rate.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialOptions } from '../../../media/ports/dialer.ts'
import type { Verdict } from '../requests/outcome.ts'

/** Milliseconds that a call waits for a rate token by default; control has delayed it for most of its wait already. */
const PATIENCE_MS = 60_000
export const NO_RATE_TOKEN: Verdict = {
  status: 'failed',
  reason: 'no_capacity',
  words: 'The trunk’s call rate limit is reached.',
}

/** Applies however long the call waited: nobody is called outside the hours the plan was made for. */
export const TOO_LATE: Verdict = {
  status: 'failed',
  reason: 'queue_expired',
  words: 'The calling hours ended before the call could start.',
}

/**
 * Waits until the trunk may be dialed. Called as late as possible, so that a call that was delayed for another reason
 * takes a fresh token. Returns true also for a canceled call, which the caller of this function reports.
 */
export async function takeRateToken(
  pace: Pace | undefined,
  { id, max_cps }: TrunkPlan,
  { signal, patienceMs }: DialOptions,
): Promise<boolean> {
  if (!pace || max_cps === null) return true
  const turn = { trunkId: id, maxCps: max_cps, patienceMs: patienceMs ?? PATIENCE_MS, signal }
  return (await pace(turn)) || signal.aborted
}
