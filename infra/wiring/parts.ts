/** Builds control's dependencies from the settings, for the control process and the demo's set-up. */

import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type ControlConfig, type Deps, defaultConfig } from '../../control/deps.ts'
import { handlers } from '../../control/handlers.ts'
import { createVectorIndex } from '../../control/knowledge/index/vectors.ts'
import { createControlMeters } from '../../control/metrics/meters.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { OwnerUsage } from '../../control/platform/jobs/fair-turns.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createLiveKit, type LiveKit } from '../../control/telephony/realtime/livekit.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createSealer } from '../../media/contract/seal.ts'
import type { Log } from '../../media/shared/log.ts'
import { createMetrics, type Metrics } from '../../media/shared/metrics.ts'
import { noTracing, type Tracing } from '../../media/shared/tracing.ts'
import { createBlobs } from '../adapters/blobs.ts'
import { systemClock } from '../adapters/clock.ts'
import { openEgress } from '../adapters/egress.ts'
import { createExtractor } from '../adapters/extractor.ts'
import { createTerminalMail, mailFolder } from '../adapters/mail.ts'
import { createSmtpMail, type SmtpMail } from '../adapters/mail-smtp.ts'
import { createSafeFetch } from '../adapters/safe-fetch.ts'
import type { Config } from '../config/config.ts'
import { createEmbedder } from './embedder.ts'
import { createLeads } from './leads.ts'
import { ownAddressesOf, reachOf } from './reach.ts'

/** Control's address as customers use it. */
export const publicUrl = (config: Config) =>
  (config.PUBLIC_URL ?? `http://${config.HTTP_HOST}:${config.HTTP_PORT}`).replace(/\/$/, '')

export function required(value: string | undefined, name: string): string {
  if (value === undefined)
    throw new Error(`${name} is not set. Start with \`npm start\`, which sets it, or set it yourself.`)
  return value
}

/** Milliseconds without an answer; longer than any command takes, as readers block for two seconds. */
const REDIS_SILENT_MS = 6000

export function openRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    enableReadyCheck: true,
    // A server that vanished silently (power, firewall) would otherwise block us for minutes, until TCP gives up.
    socketTimeout: REDIS_SILENT_MS,
  })
  let away = false
  redis.on('error', error => {
    if (!away) log.warn({ err: error }, 'connection to redis lost')
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info({}, 'connection to redis restored')
    away = false
  })
  return redis
}

/** The SIP address for phones: as configured, as bound, or the host of the public URL. */
function sipAddress(config: Config): ControlConfig['sip'] {
  const { SIP_HOST: bound, SIP_PORT: port, SIP_PUBLIC_HOST: configured } = config
  const anywhere = bound === '0.0.0.0' || bound === '::'
  const host = configured ?? (anywhere ? new URL(publicUrl(config)).hostname : bound)
  return { host, port, transports: ['udp', 'tcp'] }
}

export const controlConfig = (config: Config): ControlConfig => ({
  ...defaultConfig,
  base_url: publicUrl(config),
  ...(config.DASHBOARD_DIR ? { dashboard_folder: config.DASHBOARD_DIR } : {}),
  sip: sipAddress(config),
  minute_price: config.MINUTE_PRICE,
  trial_balance: config.TRIAL_BALANCE,
  trial_days: config.TRIAL_DAYS,
  sign_up: config.SIGN_UP === 'on',
  session_days: config.SESSION_DAYS,
  currency: config.CURRENCY,
  max_calls_per_owner: config.MAX_CALLS_PER_OWNER,
  lead_price: config.LEAD_PRICE,
  lead_searches_per_day: config.LEAD_SEARCHES_PER_DAY,
  blocked_prefixes: config.BLOCKED_PREFIXES.length > 0 ? config.BLOCKED_PREFIXES : defaultConfig.blocked_prefixes,
  allowed_prefixes: config.ALLOWED_PREFIXES,
  trunk_private_hosts: config.TRUNK_PRIVATE_HOSTS,
  number_check_project: config.NUMBER_CHECK_PROJECT ?? null,
  trunk_sources: config.TRUNK_SOURCES,
  own_addresses: ownAddressesOf(config),
  moderation: config.MODERATION_URL ? { url: config.MODERATION_URL, key: config.MODERATION_KEY ?? null } : null,
  redis_prefix: config.REDIS_PREFIX,
  trust_proxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY : false,
  drain_ms: config.CONTROL_DRAIN_SECONDS * 1000,
})

function openLiveKit(config: Config): LiveKit | null {
  const { LIVEKIT_URL: url, LIVEKIT_ROOM_PREFIX: prefix } = config
  if (url === undefined) return null
  return createLiveKit({
    url,
    publicUrl: config.LIVEKIT_PUBLIC_URL ?? url,
    apiKey: required(config.LIVEKIT_API_KEY, 'LIVEKIT_API_KEY'),
    apiSecret: required(config.LIVEKIT_API_SECRET, 'LIVEKIT_API_SECRET'),
    prefix,
  })
}

/** Mail goes to a directory unless a server is configured. */
function openMail({ SMTP_URL: place, MAIL_FROM: from, home }: Config, log: Log): SmtpMail {
  if (place === undefined || from === undefined) return { ...createTerminalMail(mailFolder(home)), close() {} }
  return createSmtpMail({ place, from, log })
}

export interface ControlParts extends Deps {
  close(): Promise<void>
}

interface ControlOptions {
  metrics?: Metrics
  tracing?: Tracing
  hurry?: AbortSignal
}

/** Builds everything; the job queue is not started. */
export function buildControlParts(
  config: Config,
  log: Log,
  consumer: string,
  { metrics = createMetrics(), tracing = noTracing, hurry }: ControlOptions = {},
): ControlParts {
  const url = required(config.DATABASE_URL, 'DATABASE_URL')
  const redis = openRedis(required(config.REDIS_URL, 'REDIS_URL'), log)
  const sealer = createSealer(config.secret)
  const sql = connect({ url })
  const boss = createBoss({ url, log })
  const embedder = createEmbedder(config)
  const vectors = embedder ? createVectorIndex({ sql, log }) : null
  const own = ownAddressesOf(config)
  const mayReach = reachOf(config, own)
  const egress = openEgress({ mayReach, metrics, clock: systemClock, log, redis, prefix: config.REDIS_PREFIX })
  const guarded = { own, egress: egress.guard }
  // One record of what owners have used: uploads, sites and leads of one owner count together.
  const usage = new OwnerUsage(systemClock)
  const leads = createLeads(config, { sql, clock: systemClock, usage, publicUrl: publicUrl(config), guarded })
  const temp = join(config.home, 'knowledge')
  const knowledge = { extractor: createExtractor({ usage }), embedder, vectors, usage, temp }
  const mail = openMail(config, log)
  return {
    ...handlers,
    sql,
    redis,
    sealer,
    boss,
    meters: createControlMeters(metrics),
    tracing,
    livekit: openLiveKit(config),
    knowledge,
    leads,
    log,
    clock: systemClock,
    bus: createControlBus({ redis, sealer, consumer, log, prefix: config.REDIS_PREFIX }),
    fetch: createSafeFetch({ ...guarded, allow: config.FETCH_ALLOW }),
    blobs: createBlobs(config),
    mail,
    hurry,
    config: controlConfig(config),
    async close() {
      mail.close()
      egress.close()
      await Promise.all([knowledge.extractor.close(), leads.close(), vectors?.close(), embedder?.close()])
      await sql.end({ timeout: 5 })
      redis.disconnect()
    },
  }
}
