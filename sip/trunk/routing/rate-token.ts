import type { Pace } from '../../../media/bus/pace.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { DialOptions } from '../../../media/ports/dialer.ts'
import type { Verdict } from '../requests/outcome.ts'

/** Of a call for its turn on the trunk; control has kept it back for most of that already. */
const PATIENCE_MS = 60_000
export const NO_RATE_TOKEN: Verdict = {
  status: 'failed',
  reason: 'no_capacity',
  words: 'The trunk takes no more calls now.',
}

/** Whatever it waited for: nobody is called outside the hours that the plan was made for. */
export const TOO_LATE: Verdict = { status: 'failed', reason: 'queue_expired', words: 'It was too late to call.' }

/**
 * Waits until the trunk may be dialled: as late as can be, so that whoever stood still until now waits again. True also for
 * who was canceled meanwhile, which is told by whoever dials.
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
