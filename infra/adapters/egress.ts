/** The egress guard of a process, whose refusals the doctor finds in Redis. */
import type { Redis } from 'ioredis'
import { addRefusals } from '../../media/bus/egress-refusals.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { createEgressGuard, type EgressGuard } from '../../media/shared/egress.ts'
import type { Log } from '../../media/shared/log.ts'
import type { Metrics } from '../../media/shared/metrics.ts'

/** Milliseconds between two writes to Redis. */
const WRITE_EVERY_MS = 1000

export interface EgressParts {
  mayReach(address: string): boolean
  metrics: Metrics
  clock: Clock
  log: Log
  redis: Redis
  prefix: string
}

export function openEgress(parts: EgressParts): { guard: EgressGuard; close(): void } {
  const { clock, log, redis, prefix } = parts
  const guard = createEgressGuard(parts)
  let cancel = () => {}
  const write = (): void => {
    addRefusals(redis, prefix, guard.drain()).catch(error => log.debug({ err: error }, 'writing refusals failed'))
    cancel = clock.after(WRITE_EVERY_MS, write)
  }
  cancel = clock.after(WRITE_EVERY_MS, write)
  return { guard, close: () => cancel() }
}
