/** Dependencies that every module of control may use. Nothing here reads the environment: infra/config/config.ts does that. */
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import type { PgBoss } from 'pg-boss'
import type { ControlBus } from '../../media/bus/control-bus.ts'
import type { Sealer } from '../../media/contract/seal.ts'
import type { PrivateHosts } from '../../media/shared/addresses.ts'
import type { Blobs } from '../../media/shared/blobs.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import type { Log } from '../../media/shared/log.ts'
import type { Tracing } from '../../media/shared/tracing.ts'
import type { Sql } from './db/connect.ts'

export interface ControlConfig {
  /** Public URL of the API, without a trailing slash. */
  base_url: string
  /** Address where softphones register; their owners enter it. */
  sip: { host: string; port: number; transports: ('udp' | 'tcp' | 'tls')[] }
  /** Decimal strings with up to 4 decimal places. */
  minute_price: string
  trial_balance: string
  currency: string
  trial_days: number
  /** Whether anyone may create an account. */
  sign_up: boolean
  /** Days without use after which a dashboard session expires. */
  session_days: number
  /** Percentage of the minute price that a realtime session costs. */
  web_factor_percent: number
  rate_limit: { per_key: number; per_session: number; per_address: number; window_ms: number }
  /** Folder of the built dashboard. */
  dashboard_folder: string
  /** Seconds before the second, third … attempt of a webhook; one attempt more than delays. */
  webhook_retry_seconds: number[]
  webhook_timeout_ms: number
  /** Milliseconds after which a queued call that no engine has accepted fails. */
  queue_expiry_ms: number
  /** Like `queue_expiry_ms`, for a web call: a person waits in its room. */
  web_queue_expiry_ms: number
  /** Milliseconds between two reconciliations of the LiveKit rooms. */
  room_sweep_ms: number
  /** Milliseconds after which a dialogue without its engine in the room is over. */
  engine_gone_ms: number
  /** Concurrent calls of one owner, including queued ones. */
  max_calls_per_owner: number
  /** Price of an enriched lead; a decimal string with up to 4 decimal places. */
  lead_price: string
  /** Lead searches that an account may start per UTC day. */
  lead_searches_per_day: number
  /**
   * Prefixes of numbers that are blocked, with the plus sign, and of those that are allowed nevertheless; the longer
   * prefix wins.
   */
  blocked_prefixes: string[]
  allowed_prefixes: string[]
  /** Private addresses that trunks may use. */
  trunk_private_hosts: PrivateHosts
  /**
   * An OpenAI-compatible moderation endpoint that checks texts after the built-in rules; null: only the rules apply.
   */
  moderation: { url: string; key: string | null } | null
  /** Milliseconds after which an admitted inbound call that did not start is ended. */
  admission_expiry_ms: number
  /** Milliseconds after which a call without a lease is dead. */
  reap_after_ms: number
  /** Milliseconds to wait for the last events of a dead engine when its successor has started. */
  engine_lost_grace_ms: number
  sweep_ms: number
  redis_prefix: string
  /** Addresses of proxies whose X-Forwarded-For is trusted, or false. */
  trust_proxy: string[] | false
  body_limit: number
  /** Milliseconds of event-loop delay above which requests are rejected with 503 instead of served late; 0: never. */
  max_event_loop_delay_ms: number
  /** Milliseconds to keep serving after /readyz reports draining, unless `hurry` aborts. */
  drain_ms: number
}

export const defaultConfig: ControlConfig = {
  base_url: 'http://127.0.0.1:8080',
  sip: { host: '127.0.0.1', port: 5060, transports: ['udp', 'tcp'] },
  minute_price: '5.0000',
  trial_balance: '100.0000',
  currency: 'RUB',
  trial_days: 14,
  sign_up: true,
  session_days: 30,
  web_factor_percent: 50,
  // A page of the dashboard sends several requests at once.
  rate_limit: { per_key: 120, per_session: 600, per_address: 60, window_ms: 60_000 },
  dashboard_folder: join(import.meta.dirname, '..', 'dashboard', 'dist'),
  webhook_retry_seconds: [60, 300, 1800, 7200, 21_600],
  webhook_timeout_ms: 10_000,
  queue_expiry_ms: 600_000,
  web_queue_expiry_ms: 10_000,
  room_sweep_ms: 2000,
  engine_gone_ms: 4000,
  max_calls_per_owner: 50,
  lead_price: '10.0000',
  lead_searches_per_day: 10,
  // Satellite networks, international networks and premium-rate numbers, which are expensive.
  blocked_prefixes: ['+870', '+878', '+881', '+882', '+883', '+888', '+979'],
  allowed_prefixes: [],
  trunk_private_hosts: 'allow',
  moderation: null,
  admission_expiry_ms: 5000,
  reap_after_ms: 75_000,
  engine_lost_grace_ms: 500,
  sweep_ms: 1000,
  redis_prefix: 'parley',
  trust_proxy: false,
  body_limit: 1_048_576,
  max_event_loop_delay_ms: 500,
  drain_ms: 0,
}

export interface Mail {
  /** Resolves when the message is on its way. */
  send(message: { to: string; subject: string; text: string }): Promise<void>
}

export interface Deps {
  sql: Sql
  redis: Redis
  bus: ControlBus
  sealer: Sealer
  fetch: Fetch
  /** Storage of call recordings, which engines write. */
  blobs: Blobs
  mail: Mail
  clock: Clock
  log: Log
  boss: PgBoss
  /** Omitted: nothing is traced. */
  tracing?: Tracing
  /** Aborts the drain: a second signal arrived, or continuing to serve would help nobody. */
  hurry?: AbortSignal | undefined
  config: ControlConfig
}

export const wallDate = (deps: Pick<Deps, 'clock'>) => new Date(deps.clock.wall())
