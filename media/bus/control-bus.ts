/** Control's end of the bus. */
import type { Redis } from 'ioredis'
import type { CallCommand, Heartbeat, PlaceCommand } from '../contract/messages.ts'
import {
  BusEvent,
  CallEvent,
  type RequestAnswer,
  type RequestBody,
  type RequestName,
  requests,
} from '../contract/messages.ts'
import type { NewTrunk, NewTrunksSnapshot } from '../contract/plan.ts'
import type { Sealer } from '../contract/seal.ts'
import type { TrunkCheckReport } from '../contract/sip-trace.ts'
import type { Log } from '../shared/log.ts'
import { aliveEngines } from './engines.ts'
import { type BusKeys, busKeys, claimants, claimCall, DEAD_EVENTS_KEPT_MS, EVENTS_KEPT_MS } from './keys.ts'
import { createSoftphoneBook, type SoftphoneBook } from './softphone-book.ts'
import { jsonOf, readAll, readGroup, type StreamEntry, type StreamReader } from './streams.ts'
import { requestCheck } from './trunk-check.ts'

export type RequestHandlers = { [N in RequestName]: (request: RequestBody<N>) => Promise<RequestAnswer<N>> }

export type Claimant = 'control' | { engine: string; boot: string }

export interface ControlBus {
  /** Offers a call to the engines. No engine claims it after the deadline. */
  place(command: PlaceCommand): Promise<void>
  /** Resolves to true when no engine had claimed this queued call; none can claim it afterwards. */
  withdraw(callId: string): Promise<boolean>
  /** Claimants of these calls: control (by `withdraw`) or an engine. An unclaimed call is absent. */
  claimantsOf(callIds: readonly string[]): Promise<Map<string, Claimant>>
  /** Sends a command to the engine that holds the call; false when no live engine holds it. */
  command(command: CallCommand): Promise<boolean>
  /** The engine that holds the call, or null. */
  holder(callId: string): Promise<{ engine: string; boot: string } | null>
  engines(): Promise<Heartbeat[]>
  publishTrunks(snapshot: NewTrunksSnapshot): Promise<void>
  readonly softphones: SoftphoneBook
  /** Has an engine check a trunk now; null when none could in time. */
  checkTrunk(trunk: NewTrunk, timeoutMs: number): Promise<TrunkCheckReport | null>
  /** Acknowledges an event when the handler resolves. When it throws, redelivers up to 20 times, then dead-letters. */
  onEvents(handle: (event: BusEvent) => Promise<void>): StreamReader
  onRequests(handlers: RequestHandlers): StreamReader
  /** Deletes events that are handled and older than ten minutes. */
  trim(): Promise<void>
  /** Streams live events of one call, or of all when null, from the stream id `from`; new ones only by default. */
  follow(callId: string | null, handle: (event: CallEvent) => void, from?: string): StreamReader
}

const CONTROL = 'control'
const RETRY_AFTER_MS = 15_000
const MAX_DELIVERIES = 20

export function createControlBus(options: {
  redis: Redis
  sealer: Sealer
  consumer: string
  log: Log
  prefix?: string
}): ControlBus {
  const { redis, sealer, consumer, log } = options
  const keys = busKeys(options.prefix)
  return {
    async place(command) {
      await redis.xadd(keys.commands, 'MAXLEN', '~', 100_000, '*', 'command', JSON.stringify(command))
    },
    withdraw: callId => claimCall(redis, keys, { callId, who: CONTROL, deadline: 0 }),
    claimantsOf: callIds => readClaimants(redis, keys, callIds),
    async command(command) {
      const holder = await holderOf(redis, keys, command.call_id)
      if (!holder) return false
      const stream = keys.engineCommands(holder.engine)
      await redis.xadd(stream, 'MAXLEN', '~', 10_000, '*', 'command', JSON.stringify(command))
      return true
    },
    holder: callId => holderOf(redis, keys, callId),
    engines: () => aliveEngines(redis, keys),
    async publishTrunks(snapshot) {
      await redis.set(keys.trunks, sealer.seal(snapshot, 'trunks'))
      await redis.xadd(keys.trunkChanges, 'MAXLEN', 100, '*', 'version', String(snapshot.version))
    },
    softphones: createSoftphoneBook({ redis, keys, sealer }),
    checkTrunk: (trunk, timeoutMs) => requestCheck({ redis, keys, sealer }, trunk, timeoutMs),
    onEvents: handle =>
      readGroup({
        redis,
        stream: keys.events,
        group: 'control',
        consumer,
        log,
        takeOverAfterMs: RETRY_AFTER_MS,
        handle: entries => handleEvents(redis, keys, log, entries, handle),
      }),
    onRequests: handlers =>
      readGroup({
        redis,
        stream: keys.requests,
        group: 'control',
        consumer,
        log,
        takeOverAfterMs: 0,
        handle: async entries =>
          void (await Promise.all(entries.map(entry => answerRequest(redis, keys, log, entry, handlers)))),
      }),
    trim: () => trimEvents(redis, keys),
    follow: (callId, handle, from = '$') =>
      readAll({
        redis,
        stream: keys.events,
        from,
        log,
        handle: entries => {
          for (const entry of entries) {
            const event = CallEvent.safeParse(jsonOf(entry, 'event'))
            if (event.success && (callId === null || event.data.call_id === callId)) handle(event.data)
          }
        },
      }),
  }
}

/** Deletes old handled events. Unhandled ones stay, however old, for a control that was down. */
async function trimEvents(redis: Redis, keys: BusKeys): Promise<void> {
  const [seconds] = await redis.time()
  const nowMs = Number(seconds) * 1000
  await redis.xtrim(keys.deadEvents, 'MINID', `${nowMs - DEAD_EVENTS_KEPT_MS}-0`)
  const groups = (await redis.xinfo('GROUPS', keys.events).catch(() => [])) as unknown[][]
  const group = groups
    .map(fields => new Map(fields.map((field, i) => [field, fields[i + 1]])))
    .find(fields => fields.get('name') === 'control')
  if (!group) return
  const [pending, oldest] = (await redis.xpending(keys.events, 'control')) as [number, string | null]
  const handled = pending > 0 && oldest ? oldest : String(group.get('last-delivered-id'))
  const aged = `${nowMs - EVENTS_KEPT_MS}-0`
  await redis.xtrim(keys.events, 'MINID', msOf(handled) < msOf(aged) ? handled : aged)
}

const msOf = (id: string) => Number(id.split('-')[0])

async function readClaimants(redis: Redis, keys: BusKeys, callIds: readonly string[]): Promise<Map<string, Claimant>> {
  const claimantsOf = new Map<string, Claimant>()
  for (const [i, who] of (await claimants(redis, keys, callIds)).entries()) {
    const [engine, boot] = who?.split('|') ?? []
    if (who === CONTROL) claimantsOf.set(callIds[i]!, CONTROL)
    else if (engine && boot) claimantsOf.set(callIds[i]!, { engine, boot })
  }
  return claimantsOf
}

async function holderOf(redis: Redis, keys: BusKeys, callId: string) {
  const text = await redis.get(keys.lease(callId))
  const [engine, boot] = text?.split('|') ?? []
  return engine && boot ? { engine, boot } : null
}

/** Handles the events of one call in order and different calls concurrently. */
async function handleEvents(
  redis: Redis,
  keys: BusKeys,
  log: Log,
  entries: StreamEntry[],
  handle: (event: BusEvent) => Promise<void>,
): Promise<void> {
  const lanes = new Map<string, { entry: StreamEntry; event: BusEvent }[]>()
  for (const entry of entries) {
    const parsed = BusEvent.safeParse(jsonOf(entry, 'event'))
    if (!parsed.success) {
      log.error({ id: entry.id, issues: parsed.error.issues.length }, 'event does not match the schema')
      await moveToDeadLetters(redis, keys, entry)
      continue
    }
    const lane = 'call_id' in parsed.data ? parsed.data.call_id : parsed.data.type
    lanes.set(lane, [...(lanes.get(lane) ?? []), { entry, event: parsed.data }])
  }
  await Promise.all(
    [...lanes.values()].map(async lane => {
      for (const { entry, event } of lane) {
        try {
          await handle(event)
          await redis.xack(keys.events, 'control', entry.id)
        } catch (error) {
          log.error({ err: error, type: event.type, id: entry.id }, 'event handler failed, event will be redelivered')
          if ((await deliveries(redis, keys, entry.id)) >= MAX_DELIVERIES) await moveToDeadLetters(redis, keys, entry)
          return // later events of this call wait for this one
        }
      }
    }),
  )
}

async function deliveries(redis: Redis, keys: BusKeys, id: string): Promise<number> {
  const pending = (await redis.xpending(keys.events, 'control', id, id, 1)) as [string, string, number, number][]
  return pending[0]?.[3] ?? 0
}

async function moveToDeadLetters(redis: Redis, keys: BusKeys, entry: StreamEntry): Promise<void> {
  await redis.xadd(keys.deadEvents, 'MAXLEN', '~', 10_000, '*', 'event', entry.fields['event'] ?? '', 'id', entry.id)
  await redis.xack(keys.events, 'control', entry.id)
}

async function answerRequest(redis: Redis, keys: BusKeys, log: Log, entry: StreamEntry, handlers: RequestHandlers) {
  const { id, name, reply_to, deadline, body } = entry.fields
  try {
    if (!id || !name || !reply_to || !body || !(name in requests)) throw new Error('request does not match the schema')
    if (Date.now() > Number(deadline)) return // the engine has stopped waiting
    const contract = requests[name as RequestName]
    const request = contract.request.parse(JSON.parse(body))
    const answer = await (handlers[name as RequestName] as (r: unknown) => Promise<unknown>)(request)
    await reply(redis, reply_to, id, { answer: contract.answer.parse(answer) })
  } catch (error) {
    log.error({ err: error, name }, 'could not answer a request of an engine')
    if (reply_to && id) await reply(redis, reply_to, id, { failed: true })
  } finally {
    await redis.multi().xack(keys.requests, 'control', entry.id).xdel(keys.requests, entry.id).exec()
  }
}

async function reply(redis: Redis, stream: string, id: string, value: object): Promise<void> {
  await redis
    .multi()
    .xadd(stream, 'MAXLEN', '~', 1000, '*', 'id', id, 'body', JSON.stringify(value))
    .pexpire(stream, 60_000)
    .exec()
}
