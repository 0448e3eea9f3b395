/** Redis, and what waits on the bus in it. */
import { Redis } from 'ioredis'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { busKeys } from '../../media/bus/keys.ts'
import { type BusAges, readBusAges, type StreamAge } from '../../media/bus/stream-ages.ts'
import type { Heartbeat } from '../../media/contract/messages.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createLog } from '../adapters/log.ts'
import { judgeEngines } from './engines.ts'
import { ANSWER_MS, about, bytes, type Finding, failureOf, inTime, judgeClock, many, placeOf, time } from './finding.ts'

const PART = 'Redis'
const say = about(PART)
/** XAUTOCLAIM and XTRIM MINID. */
const OLDEST = [6, 2] as const

export interface RedisFound {
  place: string
  tookMs: number
  skewMs: number
  /** What INFO tells, by name. */
  info: ReadonlyMap<string, string>
}

export interface BusFound {
  ages: BusAges
  engines: readonly Heartbeat[]
  /** Its clock now; heartbeats are held against it. */
  nowMs: number
  /** What control tells engines of trunks: whether it is there, and whether our secret opens it. */
  trunks: 'none' | 'opened' | 'sealed otherwise'
}

export interface RedisOptions {
  url: string
  prefix: string
  /** Null: not known here. */
  secret: string | null
  wantsRooms: boolean
}

export async function examineRedis(options: RedisOptions): Promise<Finding[]> {
  const place = placeOf(options.url, 6379)
  const redis = new Redis(options.url, {
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let failure: unknown = null
  redis.on('error', error => (failure ??= error)) // tells more than the command that failed of it
  try {
    const findings = judgeRedis(await inTime(look(redis, place)))
    const bus = await inTime(lookAtBus(redis, options))
    return [...findings, ...judgeBus(bus), ...judgeEngines(bus, options.wantsRooms)]
  } catch (error) {
    return [unreachable(place, failure ?? error)]
  } finally {
    redis.disconnect()
  }
}

function unreachable(place: string, error: unknown): Finding {
  const message = String((error as Error).message)
  if (/WRONGPASS|NOAUTH|invalid password/i.test(message)) {
    return say.bad(`${place}: it refuses user or password.`, 'Look at user and password in REDIS_URL.')
  }
  if (/NOPERM/.test(message)) {
    return say.bad(`${place}: its user may not do what we need.`, 'Allow it all commands on our keys, and INFO.')
  }
  if (/LOADING/.test(message)) return say.warn(`${place}: it is still loading its data.`, 'Wait.')
  const todo = 'Start it, or look at host and port in REDIS_URL. Control and engines cannot speak without it.'
  return say.bad(`${place}: ${failureOf(error)}.`, todo)
}

async function look(redis: Redis, place: string): Promise<RedisFound> {
  await redis.connect()
  const began = Date.now()
  const [seconds, micros] = await redis.time()
  const tookMs = Date.now() - began
  const skewMs = Number(seconds) * 1000 + Number(micros) / 1000 - (began + tookMs / 2)
  const lines = (await redis.info()).split('\r\n').filter(line => /^[a-z_]+:/.test(line))
  const info = new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
  return { place, tookMs, skewMs, info }
}

async function lookAtBus(redis: Redis, { prefix, secret }: RedisOptions): Promise<BusFound> {
  const log = createLog('doctor', 'silent')
  const sealer = createSealer(secret ?? '')
  const bus = createControlBus({ redis, sealer, consumer: 'doctor', log, prefix })
  const [ages, engines, sealed, [seconds]] = await Promise.all([
    readBusAges(redis, prefix),
    bus.engines(),
    redis.get(busKeys(prefix).trunks),
    redis.time(),
  ])
  const opens = (text: string) => {
    try {
      sealer.open(text, 'trunks')
      return true
    } catch {
      return false
    }
  }
  const trunks = sealed === null ? 'none' : secret === null || opens(sealed) ? 'opened' : 'sealed otherwise'
  return { ages, engines, nowMs: Number(seconds) * 1000, trunks }
}

export function judgeRedis({ place, tookMs, skewMs, info }: RedisFound): Finding[] {
  const version = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const findings = [...judgeMemory(info), ...judgePersistence(info), ...judgeClock(PART, 'Its clock', skewMs, tookMs)]
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    findings.push(say.bad(`It is ${version}; its streams can do what is needed from 6.2 on.`, 'Upgrade.'))
  }
  if (info.get('role') !== undefined && info.get('role') !== 'master') {
    findings.push(say.bad('It is a replica and takes no writes.', 'Name the master in REDIS_URL.'))
  }
  if (findings.some(({ verdict }) => verdict === 'bad')) return findings
  const used = bytes(Number(info.get('used_memory') ?? 0))
  return [say.ok(`${place} answers in ${time(tookMs)}: ${version}, ${used} used.`), ...findings]
}

function judgeMemory(info: RedisFound['info']): Finding[] {
  const findings: Finding[] = []
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const limit = Number(info.get('maxmemory') ?? 0)
  const used = Number(info.get('used_memory') ?? 0)
  if (policy !== 'noeviction') {
    const text = `maxmemory-policy is ${policy}: when its memory is full it throws away commands, events and locks.`
    const todo = 'Set maxmemory-policy noeviction.'
    findings.push(limit > 0 ? say.bad(text, todo) : say.warn(text, todo))
  }
  if (limit > 0 && used > 0.8 * limit) {
    const text = `${bytes(used)} of ${bytes(limit)} are used.`
    findings.push(say.warn(text, 'Raise maxmemory; when it is full, no call can be placed or taken.'))
  }
  return findings
}

function judgePersistence(info: RedisFound['info']): Finding[] {
  const appends = info.get('aof_enabled') === '1'
  const failing = [
    ...(appends && info.get('aof_last_write_status') === 'err' ? ['its append-only file'] : []),
    ...(info.get('rdb_last_bgsave_status') === 'err' ? ['its snapshot'] : []),
  ]
  if (failing.length > 0) {
    const text = `It cannot write ${failing.join(' and ')}, and will refuse to be written to.`
    return [say.bad(text, 'Look at its disk and its log.')]
  }
  if (appends) return []
  const text = 'It keeps nothing on disk as it is written: what engines have told is lost if it dies.'
  return [say.warn(text, 'Set appendonly yes.')]
}

const EVENTS_LATE_MS = 30_000
const COMMANDS_LATE_MS = 15_000

export function judgeBus({ ages, trunks }: Omit<BusFound, 'engines' | 'nowMs'>): Finding[] {
  const bus = about('Bus')
  const findings: Finding[] = []
  const late = ({ oldestMs }: StreamAge, mostMs: number, what: string, todo: string) => {
    if (oldestMs <= mostMs) return
    const text = `${what} ${time(oldestMs)}.`
    findings.push(oldestMs > 10 * mostMs ? bus.bad(text, todo) : bus.warn(text, todo))
  }
  const { events, commands, asks, dead } = ages
  const control = 'See that control runs, and what its log says.'
  late(events, EVENTS_LATE_MS, 'What engines have told has been waiting for control for', control)
  late(asks, COMMANDS_LATE_MS, 'A question of an engine has been waiting for control for', control)
  late(commands, COMMANDS_LATE_MS, 'A call has been waiting for an engine for', 'Start engines, or more of them.')
  if (dead > 0) {
    const text = `${many(dead, 'event')} could not be taken in and ${dead === 1 ? 'was' : 'were'} put aside.`
    findings.push(bus.warn(text, 'The log of control says why; they are kept for a week.'))
  }
  if (trunks === 'sealed otherwise') {
    const text = 'What control has sealed does not open with the secret here: processes have different ones.'
    const todo = 'Give control and all engines the same PARLEY_SECRET, the one that the database was filled with.'
    findings.push(bus.bad(text, todo))
  }
  if (trunks === 'none') findings.push(bus.warn('Control has not told engines of trunks yet.', 'Start control.'))
  return findings.length > 0 ? findings : [bus.ok('Nothing waits for long between control and engines.')]
}
