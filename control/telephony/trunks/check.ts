import { z } from 'zod'
import { TrunkChecksBusy } from '../../../media/bus/trunk-check.ts'
import { TrunkCheckStep } from '../../../media/contract/sip-trace.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { countUse } from '../../platform/http/use-counter.ts'
import { ladderOf, presentMessage } from '../trace/ladder.ts'
import { traced } from '../trace/schema.ts'
import { planOf } from './service.ts'
import { selectTrunk } from './sql.ts'

export const TrunkCheck = z
  .object({
    trunk_id: z.uuid(),
    checked_at: z.string(),
    ok: z.boolean().describe('True when every check passed'),
    checks: z
      .array(
        z.object({
          name: TrunkCheckStep.shape.name,
          host: z.string().describe('Host of the check, `host:port`'),
          ok: z.boolean(),
          message: z.string().describe('Result in plain words'),
          ms: z.int().describe('Duration in milliseconds'),
        }),
      )
      .describe('Checks in the order in which they ran'),
    ...traced,
    ladder: z.string().describe('The messages as a ladder diagram in plain text, 100 columns wide'),
  })
  .meta({ id: 'TrunkCheck' })

/** Milliseconds; an engine needs 14 s at most. */
const CHECK_MS = 15_000
/** Checks per minute of one owner: enough to fix a trunk, and too few to scan the networks of an engine. */
const MOST_CHECKS = 10
const WINDOW_SECONDS = 60

type Ports = Pick<Deps, 'sql' | 'sealer' | 'bus' | 'clock' | 'redis' | 'config'>

async function takeRateToken({ redis, config }: Ports, ownerId: string): Promise<void> {
  const key = `${config.redis_prefix}:rate:check:${ownerId}`
  const { count, leftSeconds } = await countUse(redis, key, WINDOW_SECONDS)
  if (count <= MOST_CHECKS) return
  throw new Problem('rate_limited', {
    detail: `Trunks can be checked ${MOST_CHECKS} times per minute.`,
    retryAfterSeconds: leftSeconds,
  })
}

/** A check takes seconds and is not queued; the client can retry. */
function busyProblem(error: unknown): never {
  if (!(error instanceof TrunkChecksBusy)) throw error
  throw error.owner
    ? new Problem('rate_limited', { detail: 'Other trunks of this account are being checked.', retryAfterSeconds: 5 })
    : new Problem('service_unavailable', { detail: 'Other trunks are being checked.', retryAfterSeconds: 5 })
}

export async function checkTrunk(deps: Ports, ownerId: string, id: string): Promise<z.input<typeof TrunkCheck>> {
  const row = await selectTrunk(deps.sql, ownerId, id)
  if (!row) throw notFound()
  await takeRateToken(deps, ownerId)
  const checked_at = new Date(deps.clock.wall()).toISOString()
  const report = await deps.bus.checkTrunk(planOf(deps, row), CHECK_MS).catch(busyProblem)
  if (!report) {
    throw new Problem('service_unavailable', {
      detail: 'No engine is available to check the trunk.',
      retryAfterSeconds: 5,
    })
  }
  const ladder = ladderOf({ title: `SIP messages of a check of trunk ${id}`, ...report })
  return { trunk_id: id, checked_at, ...report, messages: report.messages.map(presentMessage), ladder }
}
