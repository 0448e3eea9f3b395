/** The engine's end of the bus. */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { AskAnswer, AskName, AskRequest, Heartbeat } from '../contract/messages.ts'
import {
  asks,
  CallCommand,
  CallEvent,
  type CallEventBody,
  type EngineEvent,
  PlaceCommand,
  type RecordingReadyEvent,
  type TrunkStatusEvent,
} from '../contract/messages.ts'
import { type CallPlan, CONTRACT_VERSION, TrunksSnapshot } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import { TrunkCheckCommand } from '../contract/sip-trace.ts'
import type { EventOutbox } from '../ports/event-outbox.ts'
import type { Softphones, TrunkDirectory } from '../ports/trunks.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { createPace, type Pace } from './dial-rate.ts'
import { aliveEngines } from './engines.ts'
import { createEventSender } from './event-sender.ts'
import { busKeys, claimCall, HEARTBEAT_TTL_MS, LEASE_MS } from './keys.ts'
import { hesitation, loadLevel, mostAtOnce, type Places } from './load-balancing.ts'
import { followSoftphones } from './softphone-book.ts'
import { jsonOf, type Reader, readAll, readGroup, readNew } from './streams.ts'
import { answerCheck, type Examine } from './trunk-check.ts'
import { createTrunkLeases, type TrunkLeases } from './trunk-leases.ts'

/** Control did not answer in time, or failed to. This is not a refusal. */
export class AskUnanswered extends Error {
  constructor(name: AskName) {
    super(`no answer to ${name}`)
    this.name = 'AskUnanswered'
  }
}

export interface EngineBus {
  readonly engine: string
  readonly boot: string
  /**
   * Delivers calls that this engine alone owns. `wanted`: how many more it can hold; engines with lower load claim
   * first.
   */
  onPlace(wanted: () => number, handle: (plan: CallPlan) => void): Reader
  onCommand(handle: (command: CallCommand) => void): Reader
  /** Sets the function that checks a trunk at control's request; `onCommand`'s reader receives the request. */
  onTrunkCheck(examine: Examine): void
  /** Claims a call for this engine alone; also used for inbound calls, whose id control assigned. */
  claim(callId: string): Promise<boolean>
  renewLease(callId: string): Promise<void>
  dropLease(callId: string): Promise<void>
  /**
   * Returns a function that numbers one call's events from 1 in the order of its invocations and sends them in order.
   */
  emitter(call: { call_id: string; owner_id: string }): (body: CallEventBody) => Promise<void>
  emitEngine(type: EngineEvent['type']): Promise<void>
  emitTrunkStatus(status: Omit<TrunkStatusEvent, 'v' | 'type' | 'at'>): Promise<void>
  emitRecordingReady(ready: Omit<RecordingReadyEvent, 'v' | 'type' | 'at'>): Promise<void>
  ask<N extends AskName>(name: N, request: AskRequest<N>, timeoutMs: number): Promise<AskAnswer<N>>
  /**
   * Publishes this engine's load, then reads the others': of two engines that fill up together, one at least sees both.
   */
  heartbeat(state: Omit<Heartbeat, 'engine' | 'boot' | 'since' | 'at'>): Promise<readonly Heartbeat[]>
  /** Resolves once it watches for other engines that change their load level, draining state or SIP server. */
  onEngines(handle: () => void): Promise<Reader>
  /** Subscribes to the trunks that control publishes. */
  trunks(): Promise<TrunkDirectory & { stop(): Promise<void> }>
  softphones(): Promise<Softphones & { stop(): Promise<void> }>
  /** Divides the `wanted` trunks among the engines by leases. */
  trunkLeases(options: { wanted(): readonly string[]; onChange(): void }): TrunkLeases
  /** Delays a dial until its trunk's rate limit permits it. */
  readonly pace: Pace
  /**
   * Sends events that an earlier process of this engine left unsent. Call it before emitting anything that follows
   * them.
   */
  recover(): Promise<void>
  close(): Promise<void>
}

/**
 * Milliseconds after which another engine takes over a command whose engine died right after reading it. If that engine
 * is only slow, both try to claim the call and one of them gets it.
 */
const TAKE_OVER_MS = 2000

export function createEngineBus(options: {
  redis: Redis
  sealer: Sealer
  engine: string
  clock: Clock
  log: Log
  prefix?: string
  /** Keeps unsent events while Redis is unavailable; without it they are in memory only. */
  outbox?: EventOutbox
}): EngineBus {
  const { redis, sealer, engine, clock, log } = options
  const boot = randomUUID()
  const since = clock.wall()
  const keys = busKeys(options.prefix)
  const waiting = new Map<string, (body: unknown) => void>()
  let examine: Examine = () => Promise.reject(new Error('this engine has no trunk check'))
  const replies = readAll({
    redis,
    stream: keys.replies(engine, boot),
    from: '0-0',
    log,
    handle: entries => {
      for (const entry of entries) waiting.get(entry.fields['id'] ?? '')?.(jsonOf(entry, 'body') ?? {})
    },
  })
  const add = (text: string) => redis.xadd(keys.events, '*', 'event', text)
  const sender = createEventSender({ add, outbox: options.outbox ?? null, clock, log })
  let capacity = 0
  let others: readonly Heartbeat[] = []
  let lastPublished = ''
  const placesWith = (wanted: number): Places => {
    const most = Math.max(capacity, wanted)
    return { calls: most - wanted, capacity: most }
  }
  const stamped = (event: object) => ({ v: CONTRACT_VERSION, at: clock.wall(), ...event })

  return {
    engine,
    boot,
    onPlace: (wanted, handle) =>
      readGroup({
        redis,
        stream: keys.commands,
        group: 'engines',
        consumer: `${engine}|${boot}`,
        log,
        takeOverAfterMs: TAKE_OVER_MS,
        wanted: () => mostAtOnce(placesWith(wanted()), others),
        patience: () => hesitation(placesWith(wanted()), others),
        handle: async entries => {
          for (const entry of entries) {
            const command = PlaceCommand.safeParse(jsonOf(entry, 'command'))
            if (!command.success) {
              log.error({ id: entry.id, issues: command.error.issues.length }, 'command does not match the schema')
              await redis.multi().xack(keys.commands, 'engines', entry.id).xdel(keys.commands, entry.id).exec()
              continue
            }
            // The read was requested while there was capacity; another engine takes over what is left here.
            if (wanted() <= 0) return
            const { plan, deadline } = command.data
            // Delete the entry before dialling: a redelivered dial would ring a person twice.
            const wish = { callId: plan.call_id, who: `${engine}|${boot}`, deadline, entryId: entry.id }
            if (await claimCall(redis, keys, { ...wish, leaseMs: LEASE_MS })) {
              handle(plan)
            } else log.warn({ call_id: plan.call_id }, 'command was stale or withdrawn')
          }
        },
      }),
    onCommand: handle =>
      readAll({
        redis,
        stream: keys.engineCommands(engine),
        // From the beginning: commands older than this boot name calls that this engine does not have.
        from: '0-0',
        log,
        handle: entries => {
          for (const entry of entries) {
            const said = jsonOf(entry, 'command')
            const command = CallCommand.safeParse(said)
            const check = TrunkCheckCommand.safeParse(said)
            if (command.success) handle(command.data)
            else if (check.success) void answerCheck({ redis, keys, sealer, clock, log }, check.data, examine)
            else log.error({ id: entry.id }, 'command does not match the schema')
          }
        },
      }),
    onTrunkCheck(how) {
      examine = how
    },
    claim: callId => claimCall(redis, keys, { callId, who: `${engine}|${boot}`, deadline: 0, leaseMs: LEASE_MS }),
    async renewLease(callId) {
      await redis.set(keys.lease(callId), `${engine}|${boot}`, 'PX', LEASE_MS)
    },
    async dropLease(callId) {
      await redis.del(keys.lease(callId))
    },
    emitter({ call_id, owner_id }) {
      let seq = 0
      const send = sender.inOrder()
      return async body => send(CallEvent.parse(stamped({ call_id, owner_id, seq: ++seq, ...body })))
    },
    async emitEngine(type) {
      // Bypasses the event outbox: a later process must not report that an earlier one has just started.
      await add(JSON.stringify(stamped({ type, engine, boot } satisfies Omit<EngineEvent, 'v' | 'at'>)))
    },
    async emitTrunkStatus(status) {
      await add(JSON.stringify(stamped({ type: 'trunk.status', ...status })))
    },
    async emitRecordingReady(ready) {
      await sender.send(stamped({ type: 'recording.ready', ...ready }))
    },
    async ask(name, request, timeoutMs) {
      const id = randomUUID()
      const answered = new Promise<unknown>((resolve, reject) => {
        const cancel = clock.after(timeoutMs, () => {
          waiting.delete(id)
          reject(new AskUnanswered(name))
        })
        waiting.set(id, body => {
          cancel()
          waiting.delete(id)
          resolve(body)
        })
      })
      // Not awaited: while Redis is unavailable the command waits, and the deadline must still hold.
      void redis
        .xadd(
          keys.asks,
          'MAXLEN',
          '~',
          10_000,
          '*',
          'id',
          id,
          'name',
          name,
          'reply_to',
          keys.replies(engine, boot),
          'deadline',
          String(clock.wall() + timeoutMs),
          'body',
          JSON.stringify(request),
        )
        .catch(error => log.warn({ err: error, name }, 'could not send request to control'))
      const body = (await answered) as { answer?: unknown }
      if (body.answer === undefined) throw new AskUnanswered(name)
      return asks[name].answer.parse(body.answer) as AskAnswer<typeof name>
    },
    async heartbeat(state) {
      const beat: Heartbeat = { engine, boot, since, at: clock.wall(), ...state }
      capacity = state.capacity
      const published = `${loadLevel(state)} ${state.open} ${state.signalling}`
      const all = redis
        .multi()
        .set(keys.heartbeat(engine), JSON.stringify(beat), 'PX', HEARTBEAT_TTL_MS)
        .sadd(keys.heartbeats, engine)
      if (published !== lastPublished) all.xadd(keys.engineChanges, 'MAXLEN', 100, '*', 'engine', engine)
      await all.exec()
      lastPublished = published
      others = (await aliveEngines(redis, keys)).filter(other => other.engine !== engine)
      return others
    },
    onEngines: handle =>
      readNew({
        redis,
        stream: keys.engineChanges,
        log,
        handle: entries => {
          if (entries.some(({ fields }) => fields['engine'] !== engine)) handle()
        },
      }),
    async trunks() {
      let current: TrunksSnapshot = { v: CONTRACT_VERSION, version: 0, trunks: [] }
      const listeners = new Set<() => void>()
      const load = async () => {
        const sealed = await redis.get(keys.trunks)
        if (!sealed) return
        current = TrunksSnapshot.parse(sealer.open(sealed, 'trunks'))
        for (const listener of listeners) listener()
      }
      const reader = await readNew({ redis, stream: keys.trunkChanges, log, handle: load })
      await load()
      return {
        all: () => current.trunks,
        onChange(run) {
          listeners.add(run)
          return () => listeners.delete(run)
        },
        stop: () => reader.stop(),
      }
    },
    softphones: () => followSoftphones({ redis, keys, sealer, clock, log }),
    trunkLeases: options =>
      createTrunkLeases({ redis, key: keys.trunkLease, who: `${engine}|${boot}`, clock, log, ...options }),
    pace: createPace({ redis, key: keys.trunkTurn, clock }),
    recover: sender.recover,
    async close() {
      await replies.stop()
    },
  }
}
