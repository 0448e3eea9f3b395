/** The engine's end of the bus. */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Heartbeat, RequestAnswer, RequestBody, RequestName } from '../contract/messages.ts'
import {
  CallCommand,
  CallEvent,
  type CallEventBody,
  type EngineEvent,
  PlaceCommand,
  type RecordingReadyEvent,
  requests,
  type TrunkStatusEvent,
} from '../contract/messages.ts'
import { type CallPlan, CONTRACT_VERSION } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import { TrunkCheckCommand } from '../contract/sip-trace.ts'
import type { EventOutbox } from '../ports/event-outbox.ts'
import type { Softphones, TrunkDirectory } from '../ports/trunks.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { createDialRateLimiter, type DialRateLimiter } from './dial-rate.ts'
import { aliveEngines } from './engines.ts'
import { createEventSender, type EventSender } from './event-sender.ts'
import { type BusKeys, busKeys, claimCall, HEARTBEAT_TTL_MS, LEASE_MS } from './keys.ts'
import { type EngineLoad, hesitation, loadLevel, mostAtOnce } from './load-balancing.ts'
import { followSoftphones } from './softphone-book.ts'
import { jsonOf, readAll, readGroup, readNew, type StreamEntry, type StreamReader } from './streams.ts'
import { type RunTrunkCheck, runCheck } from './trunk-check.ts'
import { followTrunks } from './trunk-directory.ts'
import { createTrunkLeases, type TrunkLeases } from './trunk-leases.ts'

/** Control did not answer in time, or failed to. This is not a refusal. */
export class RequestTimeout extends Error {
  constructor(name: RequestName) {
    super(`no answer to ${name}`)
    this.name = 'RequestTimeout'
  }
}

export interface EngineBus {
  readonly engine: string
  readonly boot: string
  /**
   * Delivers calls that this engine alone owns. `wanted`: how many more it can hold; engines with lower load claim
   * first.
   */
  onPlace(wanted: () => number, handle: (plan: CallPlan) => void): StreamReader
  onCommand(handle: (command: CallCommand) => void): StreamReader
  /** Sets the function that checks a trunk at control's request; `onCommand`'s reader receives the request. */
  onTrunkCheck(examine: RunTrunkCheck): void
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
  request<N extends RequestName>(name: N, request: RequestBody<N>, timeoutMs: number): Promise<RequestAnswer<N>>
  /**
   * Publishes this engine's load, then reads the others': of two engines that fill up together, one at least sees both.
   */
  heartbeat(state: Omit<Heartbeat, 'engine' | 'boot' | 'since' | 'at'>): Promise<readonly Heartbeat[]>
  /** Resolves once it watches for other engines that change their load level, draining state or SIP server. */
  onEngines(handle: () => void): Promise<StreamReader>
  /** Subscribes to the trunks that control publishes. */
  trunks(): Promise<TrunkDirectory & { stop(): Promise<void> }>
  softphones(): Promise<Softphones & { stop(): Promise<void> }>
  /** Divides the `wanted` trunks among the engines by leases. */
  trunkLeases(options: { wanted(): readonly string[]; onChange(): void }): TrunkLeases
  /** Delays a dial until its trunk's rate limit permits it. */
  readonly pace: DialRateLimiter
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

export interface EngineBusOptions {
  redis: Redis
  sealer: Sealer
  engine: string
  clock: Clock
  log: Log
  prefix?: string
  /** Keeps unsent events while Redis is unavailable; without it they are in memory only. */
  outbox?: EventOutbox
}

export const createEngineBus = (options: EngineBusOptions): EngineBus => new RedisEngineBus(options)

class RedisEngineBus implements EngineBus {
  readonly engine: string
  readonly boot = randomUUID()
  readonly pace: DialRateLimiter
  readonly #options: EngineBusOptions
  readonly #keys: BusKeys
  /** Holder of this process's claims and leases. */
  readonly #who: string
  readonly #since: number
  readonly #requests: ControlRequests
  readonly #sender: EventSender
  #examine: RunTrunkCheck = () => Promise.reject(new Error('this engine has no trunk check'))
  #capacity = 0
  #others: readonly Heartbeat[] = []
  #lastPublished = ''

  constructor(options: EngineBusOptions) {
    const { redis, engine, clock, log } = options
    this.engine = engine
    this.#options = options
    this.#keys = busKeys(options.prefix)
    this.#who = `${engine}|${this.boot}`
    this.#since = clock.wall()
    const { requests, replies, trunkRateToken } = this.#keys
    this.#requests = new ControlRequests({ redis, requests, replies: replies(engine, this.boot), clock, log })
    this.#sender = createEventSender({ add: text => this.#add(text), outbox: options.outbox ?? null, clock, log })
    this.pace = createDialRateLimiter({ redis, key: trunkRateToken, clock })
  }

  onPlace(wanted: () => number, handle: (plan: CallPlan) => void): StreamReader {
    const { redis, log } = this.#options
    return readGroup({
      redis,
      stream: this.#keys.commands,
      group: 'engines',
      consumer: this.#who,
      log,
      takeOverAfterMs: TAKE_OVER_MS,
      wanted: () => mostAtOnce(this.#placesWith(wanted()), this.#others),
      patience: () => hesitation(this.#placesWith(wanted()), this.#others),
      handle: entries => this.#claimPlaced(entries, wanted, handle),
    })
  }

  async #claimPlaced(
    entries: readonly StreamEntry[],
    wanted: () => number,
    handle: (plan: CallPlan) => void,
  ): Promise<void> {
    const { redis, log } = this.#options
    const { commands } = this.#keys
    for (const entry of entries) {
      const command = PlaceCommand.safeParse(jsonOf(entry, 'command'))
      if (!command.success) {
        log.error({ id: entry.id, issues: command.error.issues.length }, 'command does not match the schema')
        await redis.multi().xack(commands, 'engines', entry.id).xdel(commands, entry.id).exec()
        continue
      }
      // The read was requested while there was capacity; another engine takes over what is left here.
      if (wanted() <= 0) return
      const { plan, deadline } = command.data
      // Delete the entry before dialling: a redelivered dial would ring a person twice.
      const claim = { callId: plan.call_id, who: this.#who, deadline, entryId: entry.id }
      if (await claimCall(redis, this.#keys, { ...claim, leaseMs: LEASE_MS })) {
        handle(plan)
      } else log.warn({ call_id: plan.call_id }, 'command was stale or withdrawn')
    }
  }

  onCommand(handle: (command: CallCommand) => void): StreamReader {
    const { redis, sealer, clock, log } = this.#options
    const keys = this.#keys
    return readAll({
      redis,
      stream: keys.engineCommands(this.engine),
      // From the beginning: commands older than this boot name calls that this engine does not have.
      from: '0-0',
      log,
      handle: entries => {
        for (const entry of entries) {
          const said = jsonOf(entry, 'command')
          const command = CallCommand.safeParse(said)
          const check = TrunkCheckCommand.safeParse(said)
          if (command.success) handle(command.data)
          else if (check.success) void runCheck({ redis, keys, sealer, clock, log }, check.data, this.#examine)
          else log.error({ id: entry.id }, 'command does not match the schema')
        }
      },
    })
  }

  onTrunkCheck(examine: RunTrunkCheck): void {
    this.#examine = examine
  }

  claim(callId: string): Promise<boolean> {
    return claimCall(this.#options.redis, this.#keys, { callId, who: this.#who, deadline: 0, leaseMs: LEASE_MS })
  }

  async renewLease(callId: string): Promise<void> {
    await this.#options.redis.set(this.#keys.lease(callId), this.#who, 'PX', LEASE_MS)
  }

  async dropLease(callId: string): Promise<void> {
    await this.#options.redis.del(this.#keys.lease(callId))
  }

  emitter({ call_id, owner_id }: { call_id: string; owner_id: string }): (body: CallEventBody) => Promise<void> {
    let seq = 0
    const send = this.#sender.inOrder()
    return async body => send(CallEvent.parse(this.#stamped({ call_id, owner_id, seq: ++seq, ...body })))
  }

  async emitEngine(type: EngineEvent['type']): Promise<void> {
    const event = { type, engine: this.engine, boot: this.boot } satisfies Omit<EngineEvent, 'v' | 'at'>
    // Bypasses the event outbox: a later process must not report that an earlier one has just started.
    await this.#add(JSON.stringify(this.#stamped(event)))
  }

  async emitTrunkStatus(status: Omit<TrunkStatusEvent, 'v' | 'type' | 'at'>): Promise<void> {
    await this.#add(JSON.stringify(this.#stamped({ type: 'trunk.status', ...status })))
  }

  async emitRecordingReady(ready: Omit<RecordingReadyEvent, 'v' | 'type' | 'at'>): Promise<void> {
    await this.#sender.send(this.#stamped({ type: 'recording.ready', ...ready }))
  }

  request<N extends RequestName>(name: N, request: RequestBody<N>, timeoutMs: number): Promise<RequestAnswer<N>> {
    return this.#requests.request(name, request, timeoutMs)
  }

  async heartbeat(state: Omit<Heartbeat, 'engine' | 'boot' | 'since' | 'at'>): Promise<readonly Heartbeat[]> {
    const { redis, clock } = this.#options
    const { engine, boot } = this
    const keys = this.#keys
    const beat: Heartbeat = { engine, boot, since: this.#since, at: clock.wall(), ...state }
    this.#capacity = state.capacity
    const published = `${loadLevel(state)} ${state.accepting} ${state.signalling}`
    const all = redis
      .multi()
      .set(keys.heartbeat(engine), JSON.stringify(beat), 'PX', HEARTBEAT_TTL_MS)
      .sadd(keys.heartbeats, engine)
    if (published !== this.#lastPublished) all.xadd(keys.engineChanges, 'MAXLEN', 100, '*', 'engine', engine)
    await all.exec()
    this.#lastPublished = published
    this.#others = (await aliveEngines(redis, keys)).filter(other => other.engine !== engine)
    return this.#others
  }

  onEngines(handle: () => void): Promise<StreamReader> {
    const { redis, log } = this.#options
    return readNew({
      redis,
      stream: this.#keys.engineChanges,
      log,
      handle: entries => {
        if (entries.some(({ fields }) => fields['engine'] !== this.engine)) handle()
      },
    })
  }

  trunks(): Promise<TrunkDirectory & { stop(): Promise<void> }> {
    const { redis, sealer, log } = this.#options
    return followTrunks({ redis, keys: this.#keys, sealer, log })
  }

  softphones(): Promise<Softphones & { stop(): Promise<void> }> {
    const { redis, sealer, clock, log } = this.#options
    return followSoftphones({ redis, keys: this.#keys, sealer, clock, log })
  }

  trunkLeases(options: { wanted(): readonly string[]; onChange(): void }): TrunkLeases {
    const { redis, clock, log } = this.#options
    return createTrunkLeases({ redis, key: this.#keys.trunkLease, who: this.#who, clock, log, ...options })
  }

  recover(): Promise<void> {
    return this.#sender.recover()
  }

  close(): Promise<void> {
    return this.#requests.close()
  }

  #add(text: string): Promise<unknown> {
    return this.#options.redis.xadd(this.#keys.events, '*', 'event', text)
  }

  #stamped(event: object) {
    return { v: CONTRACT_VERSION, at: this.#options.clock.wall(), ...event }
  }

  #placesWith(wanted: number): EngineLoad {
    const most = Math.max(this.#capacity, wanted)
    return { calls: most - wanted, capacity: most }
  }
}

interface ControlRequestsOptions {
  redis: Redis
  /** Stream of requests to control. */
  requests: string
  /** Stream of control's answers to this process. */
  replies: string
  clock: Clock
  log: Log
}

/** Sends requests to control and waits for the answers. */
class ControlRequests {
  readonly #options: ControlRequestsOptions
  readonly #replies: StreamReader
  /** Handlers of the answers to open requests, by request id. */
  readonly #waiting = new Map<string, (body: unknown) => void>()

  constructor(options: ControlRequestsOptions) {
    const { redis, replies, log } = options
    this.#options = options
    this.#replies = readAll({
      redis,
      stream: replies,
      from: '0-0',
      log,
      handle: entries => {
        for (const entry of entries) this.#waiting.get(entry.fields['id'] ?? '')?.(jsonOf(entry, 'body') ?? {})
      },
    })
  }

  async request<N extends RequestName>(name: N, request: RequestBody<N>, timeoutMs: number): Promise<RequestAnswer<N>> {
    const id = randomUUID()
    const answered = this.#answerTo(id, name, timeoutMs)
    // Not awaited: while Redis is unavailable the command waits, and the deadline must still hold.
    this.#send(id, name, request, timeoutMs)
    const body = (await answered) as { answer?: unknown }
    if (body.answer === undefined) throw new RequestTimeout(name)
    return requests[name].answer.parse(body.answer) as RequestAnswer<N>
  }

  close(): Promise<void> {
    return this.#replies.stop()
  }

  #answerTo(id: string, name: RequestName, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        this.#waiting.delete(id)
        reject(new RequestTimeout(name))
      })
      this.#waiting.set(id, body => {
        cancel()
        this.#waiting.delete(id)
        resolve(body)
      })
    })
  }

  #send(id: string, name: RequestName, request: unknown, timeoutMs: number): void {
    const { redis, requests: stream, replies, clock, log } = this.#options
    const deadline = String(clock.wall() + timeoutMs)
    const fields = ['id', id, 'name', name, 'reply_to', replies, 'deadline', deadline, 'body', JSON.stringify(request)]
    redis
      .xadd(stream, 'MAXLEN', '~', 10_000, '*', ...fields)
      .catch(error => log.warn({ err: error, name }, 'could not send request to control'))
  }
}
