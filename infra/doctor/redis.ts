/** Findings about Redis and the messages waiting on the bus. */
import { Redis } from 'ioredis'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { readRefusals } from '../../media/bus/egress-refusals.ts'
import { busKeys } from '../../media/bus/keys.ts'
import { type BusAges, readBusAges, type StreamAge } from '../../media/bus/stream-ages.ts'
import type { Heartbeat } from '../../media/contract/messages.ts'
import { createSealer } from '../../media/contract/seal.ts'
import type { EgressRefusal } from '../../media/shared/egress.ts'
import { createLog } from '../adapters/log.ts'
import { judgeRefusals } from './addresses.ts'
import { judgeEngines } from './engines.ts'
import {
  ANSWER_MS,
  about,
  bytes,
  type Finding,
  failureOf,
  hostPortOf,
  inTime,
  judgeClock,
  many,
  time,
} from './finding.ts'

const PART = 'Redis'
const say = about(PART)
/** The first version with XAUTOCLAIM and XTRIM MINID. */
const OLDEST = [6, 2] as const

export interface RedisFound {
  place: string
  tookMs: number
  skewMs: number
  /** Fields of INFO by name. */
  info: ReadonlyMap<string, string>
}

export interface BusFound {
  ages: BusAges
  engines: readonly Heartbeat[]
  /** The time of Redis in ms, which heartbeats are compared with. */
  nowMs: number
  /** True when control has published trunks, and whether our secret opens them. */
  trunks: 'none' | 'opened' | 'sealed otherwise'
  /** Destinations that engines and control sent nothing to. */
  refusals: readonly EgressRefusal[]
}

export interface RedisOptions {
  url: string
  prefix: string
  /** Null when unknown here. */
  secret: string | null
  wantsRooms: boolean
}

export async function examineRedis(options: RedisOptions): Promise<Finding[]> {
  const place = hostPortOf(options.url, 6379)
  const redis = new Redis(options.url, {
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let failure: unknown = null
  redis.on('error', error => (failure ??= error)) // this error says more than that of the failed command
  try {
    const findings = judgeRedis(await inTime(look(redis, place)))
    const bus = await inTime(lookAtBus(redis, options))
    const refused = judgeRefusals(bus.refusals, bus.nowMs)
    return [...findings, ...judgeBus(bus), ...judgeEngines(bus, options.wantsRooms), ...refused]
  } catch (error) {
    return [unreachable(place, failure ?? error)]
  } finally {
    redis.disconnect()
  }
}

function unreachable(place: string, error: unknown): Finding {
  const message = String((error as Error).message)
  if (/WRONGPASS|NOAUTH|invalid password/i.test(message)) {
    return say.error(`${place}: wrong user or password.`, 'Check the user and password in REDIS_URL.')
  }
  if (/NOPERM/.test(message)) {
    return say.error(`${place}: its user lacks permissions.`, 'Allow it all commands on our keys, and INFO.')
  }
  if (/LOADING/.test(message)) return say.warning(`${place}: loading its data.`, 'Wait until it has started.')
  const todo =
    'Start Redis, or correct the host and port in REDIS_URL. Control and engines cannot communicate without it.'
  return say.error(`${place}: ${failureOf(error)}.`, todo)
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
  const [ages, engines, sealed, [seconds], refusals] = await Promise.all([
    readBusAges(redis, prefix),
    bus.engines(),
    redis.get(busKeys(prefix).trunks),
    redis.time(),
    readRefusals(redis, prefix),
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
  return { ages, engines, nowMs: Number(seconds) * 1000, trunks, refusals }
}

export function judgeRedis({ place, tookMs, skewMs, info }: RedisFound): Finding[] {
  const version = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const findings = [...judgeMemory(info), ...judgePersistence(info), ...judgeClock(PART, 'Its clock', skewMs, tookMs)]
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    findings.push(say.error(`${version} is too old; 6.2 is the oldest supported version.`, 'Upgrade Redis.'))
  }
  if (info.get('role') !== undefined && info.get('role') !== 'master') {
    findings.push(say.error('This server is a read-only replica.', 'Use the master in REDIS_URL.'))
  }
  if (findings.some(({ status }) => status === 'error')) return findings
  const used = bytes(Number(info.get('used_memory') ?? 0))
  return [say.ok(`${place} answers in ${time(tookMs)}: ${version}, ${used} used.`), ...findings]
}

function judgeMemory(info: RedisFound['info']): Finding[] {
  const findings: Finding[] = []
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const limit = Number(info.get('maxmemory') ?? 0)
  const used = Number(info.get('used_memory') ?? 0)
  if (policy !== 'noeviction') {
    const text = `maxmemory-policy is ${policy}: with full memory it evicts commands, events and locks.`
    const todo = 'Set maxmemory-policy noeviction.'
    findings.push(limit > 0 ? say.error(text, todo) : say.warning(text, todo))
  }
  if (limit > 0 && used > 0.8 * limit) {
    const text = `${bytes(used)} of ${bytes(limit)} memory in use.`
    findings.push(say.warning(text, 'Raise maxmemory: with full memory, calls cannot be placed or answered.'))
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
    const text = `It cannot write ${failing.join(' and ')} and will reject writes.`
    return [say.error(text, 'Check its disk and its log.')]
  }
  if (appends) return []
  const text = 'It does not persist each write: events from engines are lost if it crashes.'
  return [say.warning(text, 'Set appendonly yes.')]
}

const EVENTS_LATE_MS = 30_000
const COMMANDS_LATE_MS = 15_000

export function judgeBus({ ages, trunks }: Omit<BusFound, 'engines' | 'nowMs'>): Finding[] {
  const bus = about('Bus')
  const findings: Finding[] = []
  const late = ({ oldestMs }: StreamAge, mostMs: number, what: string, todo: string) => {
    if (oldestMs <= mostMs) return
    const text = `${what} ${time(oldestMs)}.`
    findings.push(oldestMs > 10 * mostMs ? bus.error(text, todo) : bus.warning(text, todo))
  }
  const { events, commands, requests, dead } = ages
  const control = 'Check that control is running, and its log.'
  late(events, EVENTS_LATE_MS, 'The oldest event from an engine has been waiting for control for', control)
  late(requests, COMMANDS_LATE_MS, 'The oldest question from an engine has been waiting for control for', control)
  late(
    commands,
    COMMANDS_LATE_MS,
    'The oldest call has been waiting for an engine for',
    'Start engines, or more of them.',
  )
  if (dead > 0) {
    const text = `${many(dead, 'event')} could not be processed.`
    findings.push(bus.warning(text, 'See control’s log for the reason. Unprocessed events are kept for a week.'))
  }
  if (trunks === 'sealed otherwise') {
    const text = 'Control and engines use different secrets: data sealed by control does not open here.'
    const todo = 'Set PARLEY_SECRET of control and all engines to the secret that the database was created with.'
    findings.push(bus.error(text, todo))
  }
  if (trunks === 'none')
    findings.push(bus.warning('Control has not published trunks to engines yet.', 'Start control.'))
  return findings.length > 0 ? findings : [bus.ok('No delayed messages between control and engines.')]
}
