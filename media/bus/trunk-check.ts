/**
 * Control's request that an engine check a trunk: a command on the engine's stream, and a separate key for the report.
 */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { type NewTrunk, TrunkPlan } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import { type TrunkCheckCommand, TrunkCheckReport } from '../contract/sip-trace.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { aliveEngines } from './engines.ts'
import type { BusKeys } from './keys.ts'
import { jsonOf, toEntries } from './streams.ts'

/** The engine runs its maximum of trunk checks; `owner`: the maximum for this owner. */
export class TrunkChecksBusy extends Error {
  readonly owner: boolean
  constructor(owner: boolean) {
    super('Too many trunk checks are running. Try again later.')
    this.name = 'TrunkChecksBusy'
    this.owner = owner
  }
}

const Busy = z.object({ busy: z.enum(['engine', 'owner']) })
type BusyReport = z.infer<typeof Busy>

export type RunTrunkCheck = (trunk: TrunkPlan) => Promise<TrunkCheckReport>
type Parts = { readonly redis: Redis; readonly keys: BusKeys; readonly sealer: Sealer }

const REPORT_KEPT_MS = 60_000

/** Control's side. Null when no engine answered in time; rejects with `TrunkChecksBusy` when the engine is busy. */
export async function requestCheck(
  { redis, keys, sealer }: Parts,
  trunk: NewTrunk,
  timeoutMs: number,
): Promise<TrunkCheckReport | null> {
  const engine = await engineFor(redis, keys, trunk.id)
  if (engine === null) return null
  const id = randomUUID()
  const command: TrunkCheckCommand = {
    type: 'trunk.check',
    id,
    sealed: sealer.seal(TrunkPlan.parse(trunk), id),
    deadline: Date.now() + timeoutMs,
  }
  await redis.xadd(keys.engineCommands(engine), 'MAXLEN', '~', 10_000, '*', 'command', JSON.stringify(command))
  const reader = redis.duplicate({ maxRetriesPerRequest: null })
  reader.on('error', () => {}) // the report is then missing
  try {
    const streams = await reader.xread('COUNT', 1, 'BLOCK', timeoutMs, 'STREAMS', keys.trunkCheck(id), '0-0')
    const [entry] = toEntries((streams as [string, unknown][] | null)?.[0]?.[1])
    const said = entry && jsonOf(entry, 'report')
    const busy = Busy.safeParse(said)
    if (busy.success) throw new TrunkChecksBusy(busy.data.busy === 'owner')
    const report = TrunkCheckReport.safeParse(said)
    return report.success ? report.data : null
  } finally {
    reader.disconnect()
  }
}

/**
 * Prefers the engine that holds the trunk's lease, since it knows most of it; otherwise the one with the fewest calls.
 */
async function engineFor(redis: Redis, keys: BusKeys, trunkId: string): Promise<string | null> {
  const [engines, lease] = await Promise.all([aliveEngines(redis, keys), redis.get(keys.trunkLease(trunkId))])
  const ready = engines.filter(({ capacity }) => capacity > 0).sort((one, other) => one.calls - other.calls)
  const owner = ready.find(({ engine, boot }) => lease === `${engine}|${boot}`)
  return (owner ?? ready[0])?.engine ?? null
}

/** Reports the busy engine at once, so that control does not wait for the timeout. */
function busyReport(error: unknown): BusyReport {
  if (error instanceof TrunkChecksBusy) return { busy: error.owner ? 'owner' : 'engine' }
  throw error
}

/** The engine's side. */
export async function runCheck(
  { redis, keys, sealer, clock, log }: Parts & { readonly clock: Clock; readonly log: Log },
  { id, sealed, deadline }: TrunkCheckCommand,
  examine: RunTrunkCheck,
): Promise<void> {
  if (clock.wall() > deadline) return // control has stopped waiting
  try {
    const report = await examine(TrunkPlan.parse(sealer.open(sealed, id))).catch(busyReport)
    const key = keys.trunkCheck(id)
    await redis.multi().xadd(key, '*', 'report', JSON.stringify(report)).pexpire(key, REPORT_KEPT_MS).exec()
  } catch (error) {
    log.warn({ err: error }, 'trunk check failed')
  }
}
