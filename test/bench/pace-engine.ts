/**
 * The engine's side of the pace benchmark, in a separate process: the real bus and the real rate tokens of trunks,
 * without calls. A call ends as refused or unanswered after some milliseconds.
 */
import { Redis } from 'ioredis'
import { systemClock } from '../../infra/adapters/clock.ts'
import { createEngineBus, type EngineBus } from '../../media/bus/engine-bus.ts'
import type { CallPlan } from '../../media/contract/plan.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { unanswered } from '../support/records.ts'
import { quietLog } from '../support/world.ts'
import { monotonicMs, serve } from './rpc.ts'

const CAPACITY = 1000
const BEAT_MS = 1000
const PATIENCE_MS = 60_000

/** When calls left, in ms of the machine's monotonic clock, by trunk. */
const dialed = new Map<string, number[]>()
const never = new AbortController().signal
let live = 0

interface Options {
  redisUrl: string
  secret: string
  /** Average duration of a trunk's calls, in ms. */
  lasts: Map<string, number>
}

const handlers = {
  async open({ redisUrl, secret, lasts }: Options): Promise<void> {
    const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
    const bus = createEngineBus({ redis, sealer: createSealer(secret), engine: 'e', clock: systemClock, log: quietLog })
    const trunks = await bus.trunks()
    const beat = () => bus.heartbeat({ calls: live, capacity: CAPACITY, stt_ready: true, rooms: false })
    await beat()
    setInterval(beat, BEAT_MS)
    const cpsOf = (id: string) => trunks.all().find(trunk => trunk.id === id)?.max_cps ?? null
    bus.onPlace(
      () => CAPACITY - live,
      plan => {
        live++
        void call(bus, plan, cpsOf(plan.trunk_id!), lasts.get(plan.trunk_id!)!).finally(() => live--)
      },
    )
  },
  /** Calls dialed since the last query. */
  dialed(): Map<string, number[]> {
    const found = new Map(dialed)
    dialed.clear()
    return found
  },
}

/** Durations from half to one and a half times the average: equal ones would end together and distort the rate. */
const lengths = new Map<string, number>()
function lengthOf(trunkId: string, ms: number): number {
  const calls = lengths.get(trunkId) ?? 0
  lengths.set(trunkId, calls + 1)
  return ms * (0.5 + ((calls * 4) % 11) / 10)
}

async function call(bus: EngineBus, plan: CallPlan, maxCps: number | null, ms: number): Promise<void> {
  const { call_id, owner_id } = plan
  const trunkId = plan.trunk_id!
  const emit = bus.emitter({ call_id, owner_id })
  await emit({ type: 'call.dialing', engine: bus.engine, boot: bus.boot })
  if (maxCps !== null && !(await bus.pace({ trunkId, maxCps, maxWaitMs: PATIENCE_MS, signal: never }))) {
    throw new Error('a call had no rate token')
  }
  const at = dialed.get(trunkId) ?? []
  dialed.set(trunkId, at)
  at.push(monotonicMs())
  await new Promise<void>(resolve => systemClock.after(lengthOf(trunkId, ms), resolve))
  await emit({ type: 'call.ended', record: unanswered({ status: 'busy', ended_reason: 'busy', sip_code: 486 }) })
  await bus.dropLease(call_id)
}

export type PaceEngineHandlers = typeof handlers

serve(handlers)
