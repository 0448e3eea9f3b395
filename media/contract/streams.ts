/** Reading Redis Streams: one blocking loop per reader, with take-over of what a dead consumer left unacknowledged. */
import type { Redis } from 'ioredis'
import type { Log } from '../ports.ts'

export type StreamEntry = { id: string; fields: Record<string, string> }

const BLOCK_MS = 2000
const BATCH = 64
const RETRY_PAUSE_MS = 250

export function toEntries(raw: unknown): StreamEntry[] {
  const entries: StreamEntry[] = []
  for (const [id, flat] of (raw ?? []) as [string, string[] | null][]) {
    if (!flat) continue // deleted between delivery and claim
    const fields: Record<string, string> = {}
    for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!
    entries.push({ id, fields })
  }
  return entries
}

/** Undefined for what is no JSON: one broken entry must not hold up those after it. */
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

export interface Reader {
  /** Resolves when the loop has left its last batch. */
  stop(): Promise<void>
}

/** Runs `round` again and again until stopped; an error (Redis away) is told once and tried again after a pause. */
function loop(log: Log, round: () => Promise<void>, unblock: () => void): Reader {
  let running = true
  let failing = false
  const done = (async () => {
    while (running) {
      try {
        await round()
        failing = false
      } catch (error) {
        if (!running) break
        if (!failing) log.warn({ err: error }, 'stream reader waits for redis')
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
  /** Entries that another consumer took and left for so long come here; 0 never takes over. */
  takeOverAfterMs: number
  /** How many entries this consumer wants now; 0 reads nothing. */
  wanted?: () => number
  handle(entries: StreamEntry[]): Promise<void>
}

/** Reads as a consumer of a group. Acknowledging is the handler's business. */
export function readGroup(options: GroupOptions): Reader {
  const { stream, group, consumer, log, takeOverAfterMs, handle } = options
  const redis = options.redis.duplicate({ maxRetriesPerRequest: null })
  redis.on('error', () => {}) // told by the loop
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
      const answer = (await redis
        .xreadgroup('GROUP', group, consumer, 'COUNT', wanted, 'BLOCK', BLOCK_MS, 'STREAMS', stream, '>')
        .catch(error => {
          if (String(error).includes('NOGROUP')) ready = false // Redis was emptied
          throw error
        })) as [string, unknown][] | null
      if (answer) await handle(toEntries(answer[0]![1]))
    },
    () => redis.disconnect(),
  )
}

/** Where a stream ends now: `from` of who wants to read on from here. */
export async function newestId(redis: Redis, stream: string): Promise<string> {
  return toEntries(await redis.xrevrange(stream, '+', '-', 'COUNT', 1))[0]?.id ?? '0-0'
}

/** Reads everything after `from` (`$`: from about now on), without a group. */
export function readAll(options: {
  redis: Redis
  stream: string
  from: string
  log: Log
  handle(entries: StreamEntry[]): Promise<void> | void
}): Reader {
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
