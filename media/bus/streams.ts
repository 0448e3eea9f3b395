/**
 * Readers of Redis Streams: one blocking loop per reader, with take-over of entries that a dead consumer left pending.
 */
import type { Redis } from 'ioredis'
import type { Log } from '../shared/log.ts'

export type StreamEntry = { id: string; fields: Record<string, string> }

const BLOCK_MS = 2000
const BATCH = 64
const RETRY_PAUSE_MS = 250

export function toEntries(raw: unknown): StreamEntry[] {
  const entries: StreamEntry[] = []
  for (const entry of (raw ?? []) as ([string, string[] | null] | null)[]) {
    const [id, flat] = entry ?? []
    if (!id || !flat) continue // deleted between delivery and claim; Redis 6.2 then answers XAUTOCLAIM with null
    const fields: Record<string, string> = {}
    for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!
    entries.push({ id, fields })
  }
  return entries
}

/** Returns undefined for invalid JSON: one broken entry must not hold up those after it. */
export function jsonOf(entry: StreamEntry, field: string): unknown {
  try {
    return JSON.parse(entry.fields[field] ?? 'null')
  } catch {
    return undefined
  }
}

export async function ensureGroup(redis: Redis, stream: string, group: string): Promise<void> {
  try {
    await redis.xgroup('CREATE', stream, group, '0', 'MKSTREAM')
  } catch (error) {
    if (!String(error).includes('BUSYGROUP')) throw error
  }
}

export interface StreamReader {
  /** Resolves when the loop has finished its last batch. */
  stop(): Promise<void>
}

/** Runs `round` until stopped. Errors (Redis unavailable) are logged once and retried after 250 ms. */
function loop(log: Log, round: () => Promise<void>, unblock: () => void): StreamReader {
  let running = true
  let failing = false
  const done = (async () => {
    while (running) {
      try {
        await round()
        failing = false
      } catch (error) {
        if (!running) break
        if (!failing) log.warn({ err: error }, 'stream reader failed, waiting for redis')
        failing = true
        await new Promise(resolve => setTimeout(resolve, RETRY_PAUSE_MS))
      }
    }
  })()
  return {
    async stop() {
      running = false
      unblock()
      await done
    },
  }
}

export interface GroupOptions {
  redis: Redis
  stream: string
  group: string
  consumer: string
  log: Log
  /** Milliseconds after which this consumer takes over entries that another one left pending; 0 never takes over. */
  takeOverAfterMs: number
  /** Number of entries that this consumer wants now; 0 reads nothing. 64 by default. */
  wanted?: () => number
  /** Milliseconds for which an entry is left to other consumers, asked before each read. None by default. */
  patience?: () => number
  handle(entries: StreamEntry[]): Promise<void>
}

/** Reads as a consumer of a group. The handler acknowledges the entries. */
export function readGroup(options: GroupOptions): StreamReader {
  const { stream, group, consumer, log, takeOverAfterMs, handle } = options
  const redis = options.redis.duplicate({ maxRetriesPerRequest: null })
  redis.on('error', () => {}) // the loop logs it
  let ready = false
  let lastTakeOver = 0
  return loop(
    log,
    async () => {
      if (!ready) {
        await ensureGroup(redis, stream, group)
        ready = true
      }
      const wanted = options.wanted ? Math.min(BATCH, options.wanted()) : BATCH
      if (wanted <= 0) {
        await new Promise(resolve => setTimeout(resolve, 50))
        return
      }
      if (takeOverAfterMs > 0 && Date.now() - lastTakeOver >= takeOverAfterMs / 2) {
        lastTakeOver = Date.now()
        const [, raw] = (await redis.xautoclaim(stream, group, consumer, takeOverAfterMs, '0', 'COUNT', wanted)) as [
          string,
          unknown,
        ]
        const left = toEntries(raw)
        if (left.length > 0) return await handle(left)
      }
      const read = options.patience
        ? readAged(redis, options, wanted, options.patience())
        : readNext(redis, options, wanted)
      const entries = await read.catch(error => {
        if (/NOGROUP|no such key/.test(String(error))) ready = false // Redis was emptied
        throw error
      })
      if (entries.length > 0) await handle(entries)
    },
    () => redis.disconnect(),
  )
}

type GroupConsumer = Pick<GroupOptions, 'stream' | 'group' | 'consumer'>
type Read = [string, unknown][] | null
const entriesOf = (read: Read) => (read ? toEntries(read[0]![1]) : [])

async function readNext(
  redis: Redis,
  { stream, group, consumer }: GroupConsumer,
  most: number,
): Promise<StreamEntry[]> {
  const last = ['STREAMS', stream, '>'] as const
  return entriesOf(
    (await redis.xreadgroup('GROUP', group, consumer, 'COUNT', most, 'BLOCK', BLOCK_MS, ...last)) as Read,
  )
}

/**
 * KEYS stream. ARGV group, consumer, most entries, age in ms. Returns the last id delivered to the group, the ms for
 * which the next entry is still left to others (-1: there is none), and the entries read. Uses Redis' clock, which
 * assigned the ids.
 */
const READ_AGED = `
local last
for _, fields in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #fields, 2 do group[fields[i]] = fields[i + 1] end
  if group['name'] == ARGV[1] then last = group['last-delivered-id'] end
end
if not last then return redis.error_reply('NOGROUP ' .. ARGV[1]) end
local entry = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1)[1]
if not entry then return { last, -1 } end
local t = redis.call('TIME')
local age = t[1] * 1000 + math.floor(t[2] / 1000) - tonumber(string.match(entry[1], '^%d+'))
if age >= 0 and age < tonumber(ARGV[4]) then return { last, ARGV[4] - age } end
return { last, 0, redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>') }`

/**
 * Reads entries that others have left for `ms`; returns nothing when there is a reason to check again. It never blocks
 * on the group for the next entry, since Redis would deliver it to the longest-waiting consumer, whatever its load is
 * by then.
 */
async function readAged(redis: Redis, reader: GroupConsumer, most: number, ms: number): Promise<StreamEntry[]> {
  const { stream, group, consumer } = reader
  // Leave the entries behind the first to others as well.
  const count = ms > 0 ? 1 : most
  const [last, leftMs, taken] = (await redis.eval(READ_AGED, 1, stream, group, consumer, count, Math.round(ms))) as [
    string,
    number,
    Read?,
  ]
  if (taken) return entriesOf(taken)
  if (leftMs > 0) await new Promise(resolve => setTimeout(resolve, leftMs))
  else await redis.xread('COUNT', 1, 'BLOCK', BLOCK_MS, 'STREAMS', stream, last)
  return []
}

interface ReadAll {
  redis: Redis
  stream: string
  from: string
  log: Log
  handle(entries: StreamEntry[]): Promise<void> | void
}

/** Id of the newest entry. */
async function newestId(redis: Redis, stream: string): Promise<string> {
  return toEntries(await redis.xrevrange(stream, '+', '-', 'COUNT', 1))[0]?.id ?? '0-0'
}

/** Reads entries added from now on. State that is read after this resolved misses no change in between. */
export const readNew = async (options: Omit<ReadAll, 'from'>): Promise<StreamReader> =>
  readAll({ ...options, from: await newestId(options.redis, options.stream) })

/** Reads everything after `from` (`$`: new entries only), without a group. */
export function readAll(options: ReadAll): StreamReader {
  const redis = options.redis.duplicate({ maxRetriesPerRequest: null })
  redis.on('error', () => {})
  let last = options.from
  return loop(
    options.log,
    async () => {
      if (last === '$') last = await newestId(redis, options.stream)
      const answer = (await redis.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', options.stream, last)) as
        | [string, unknown][]
        | null
      if (!answer) return
      const entries = toEntries(answer[0]![1])
      last = entries.at(-1)!.id
      await options.handle(entries)
    },
    () => redis.disconnect(),
  )
}
