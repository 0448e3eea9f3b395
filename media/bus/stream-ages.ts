/** Measures how long messages have been waiting on the bus, by Redis' clock. */
import type { Redis } from 'ioredis'
import { busKeys } from './keys.ts'

export interface StreamAge {
  /** Entries that were delivered and not acknowledged. */
  pending: number
  /** Milliseconds since the oldest unacknowledged entry was added, delivered or not; 0 when there is none. */
  oldestMs: number
}

export interface BusAges {
  /** Calls that wait for an engine. */
  commands: StreamAge
  /** Events of engines that control has not handled. */
  events: StreamAge
  /** Requests of engines that control has not answered. */
  requests: StreamAge
  /** Number of events in the dead-letter stream. */
  dead: number
}

export async function readBusAges(redis: Redis, prefix?: string): Promise<BusAges> {
  const keys = busKeys(prefix)
  const [seconds, micros] = await redis.time()
  const nowMs = Number(seconds) * 1000 + Number(micros) / 1000
  const [commands, events, requests, dead] = await Promise.all([
    ageOf(redis, keys.commands, 'engines', nowMs),
    ageOf(redis, keys.events, 'control', nowMs),
    ageOf(redis, keys.requests, 'control', nowMs),
    redis.xlen(keys.deadEvents),
  ])
  return { commands, events, requests, dead }
}

async function ageOf(redis: Redis, stream: string, group: string, nowMs: number): Promise<StreamAge> {
  const [pending, oldestPending, after] = await stateOf(redis, stream, group)
  const unread = (await redis.xrange(stream, after === null ? '-' : `(${after}`, '+', 'COUNT', 1)) as [
    string,
    unknown,
  ][]
  const ids = [oldestPending, unread[0]?.[0]].filter(id => typeof id === 'string')
  return { pending, oldestMs: ids.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...ids.map(msOf))) }
}

/** Pending count, oldest pending id and last delivered id. A group that does not exist has delivered nothing. */
async function stateOf(redis: Redis, stream: string, group: string): Promise<[number, string | null, string | null]> {
  const groups = (await redis.xinfo('GROUPS', stream).catch(ifMissing([]))) as unknown[][]
  const fields = groups
    .map(one => new Map(one.map((field, index) => [field, one[index + 1]])))
    .find(one => one.get('name') === group)
  if (!fields) return [0, null, null]
  const [pending, oldest] = (await redis.xpending(stream, group)) as [number, string | null]
  return [pending, pending > 0 ? oldest : null, String(fields.get('last-delivered-id'))]
}

/** A stream that was never written to does not exist; every other error is rethrown. */
const ifMissing =
  <T>(instead: T) =>
  (error: Error): T => {
    if (/no such key/i.test(error.message)) return instead
    throw error
  }

const msOf = (id: string): number => Number(id.split('-')[0])
