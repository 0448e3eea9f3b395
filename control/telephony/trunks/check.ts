import { z } from 'zod'
import { ExaminersBusy } from '../../../media/bus/trunk-check.ts'
import { TrunkCheckStep } from '../../../media/contract/sip-trace.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { ladderOf, presentMessage } from '../trace/ladder.ts'
import { traced } from '../trace/schema.ts'
import { planOf } from './service.ts'
import { selectTrunk } from './sql.ts'

export const TrunkCheck = z
  .object({
    trunk_id: z.uuid(),
    checked_at: z.string(),
    ok: z.boolean().describe('All checks are'),
    checks: z
      .array(
        z.object({
          name: TrunkCheckStep.shape.name,
          host: z.string().describe('`host:port`'),
          ok: z.boolean(),
          words: z.string().describe('What was found'),
          ms: z.int().describe('How long it took'),
        }),
      )
      .describe('In the order in which they were made, as far as they went'),
    ...traced,
    ladder: z.string().describe('The messages as a ladder of text, 100 columns wide'),
  })
  .meta({ id: 'TrunkCheck' })

/** An engine needs 14 s at most. */
const CHECK_MS = 15_000
/** Of one owner: enough to mend a trunk, and too few to learn what listens in the networks that an engine is in. */
const MOST_CHECKS = 10
const WINDOW_MS = 60_000

type Ports = Pick<Deps, 'sql' | 'sealer' | 'bus' | 'clock' | 'redis' | 'config'>

async function takeTurn({ redis, config }: Ports, ownerId: string): Promise<void> {
  const key = `${config.redis_prefix}:rate:check:${ownerId}`
  const answers = await redis.multi().set(key, 0, 'PX', WINDOW_MS, 'NX').incr(key).pttl(key).exec()
  const [, count, leftMs] = (answers ?? []).map(([, answer]) => Number(answer))
  if (count === undefined || count <= MOST_CHECKS) return
  throw new Problem('rate_limited', {
    detail: `Trunks can be examined ${MOST_CHECKS} times a minute.`,
    retryAfterSeconds: Math.max(1, Math.ceil((leftMs ?? WINDOW_MS) / 1000)),
  })
}

/** Nobody waits in a queue for this: a check takes seconds, and whoever asks can ask again. */
function busyProblem(error: unknown): never {
  if (!(error instanceof ExaminersBusy)) throw error
  throw error.owner
    ? new Problem('rate_limited', { detail: 'Other trunks of this account are being examined.', retryAfterSeconds: 5 })
    : new Problem('service_unavailable', { detail: 'Other trunks are being examined.', retryAfterSeconds: 5 })
}

export async function checkTrunk(deps: Ports, ownerId: string, id: string): Promise<z.input<typeof TrunkCheck>> {
  const row = await selectTrunk(deps.sql, ownerId, id)
  if (!row) throw notFound()
  await takeTurn(deps, ownerId)
  const checked_at = new Date(deps.clock.wall()).toISOString()
  const report = await deps.bus.checkTrunk(planOf(deps, row), CHECK_MS).catch(busyProblem)
  if (!report) {
    throw new Problem('service_unavailable', {
      detail: 'No engine is there to examine the trunk.',
      retryAfterSeconds: 5,
    })
  }
  const ladder = ladderOf({ title: `SIP messages of a check of trunk ${id}`, ...report })
  return { trunk_id: id, checked_at, ...report, messages: report.messages.map(presentMessage), ladder }
}
