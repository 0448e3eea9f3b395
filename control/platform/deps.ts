/** Dependencies and configuration of all modules of control. Only infra/config/config.ts reads the environment. */
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import type { PgBoss } from 'pg-boss'
import type { ControlBus } from '../../media/bus/control-bus.ts'
import type { Sealer } from '../../media/contract/seal.ts'
import type { OwnAddresses, PrivateHosts } from '../../media/shared/addresses.ts'
import type { Blobs } from '../../media/shared/blobs.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import type { Log } from '../../media/shared/log.ts'
import type { Tracing } from '../../media/shared/tracing.ts'
import type { Sql } from './db/connect.ts'

export interface ControlConfig {
  /** Public origin of the installation, without a trailing slash. */
  base_url: string
  /** Address at which softphones register, as users enter it. */
  sip: { host: string; port: number; transports: ('udp' | 'tcp' | 'tls')[] }
  /** Decimal string with up to 4 decimal places, in `currency`; so is `trial_balance`. */
  minute_price: string
  trial_balance: string
  currency: string
  trial_days: number
  /** True when anyone may sign up; true by default. */
  sign_up: boolean
  /** Days without use after which a dashboard session expires; 30 by default. */
  session_days: number
  /** Price of a realtime session in percent of the minute price; 50 by default. */
  web_factor_percent: number
  rate_limit: { per_key: number; per_session: number; per_address: number; window_ms: number }
  /** Directory of the built dashboard. */
  dashboard_folder: string
  /** Seconds before the second, third … attempt of a webhook. There is one attempt more than delays. */
  webhook_retry_seconds: number[]
  webhook_timeout_ms: number
  /** Milliseconds after which a queued call that no engine has claimed fails; 600,000 by default. */
  queue_expiry_ms: number
  /** Like `queue_expiry_ms`, for web calls; 10,000 by default, because a person is waiting in the room. */
  web_queue_expiry_ms: number
  /** Milliseconds between two checks of the LiveKit rooms; 2000 by default. */
  room_sweep_ms: number
  /** Milliseconds after which a dialogue without its engine in the room ends; 4000 by default. */
  engine_gone_ms: number
  /** Most concurrent calls of one owner, including queued ones; 50 by default. */
  max_calls_per_owner: number
  /** Price of an enriched lead: a decimal string with up to 4 decimal places; 10 by default. */
  lead_price: string
  /** Lead searches that an account may start in a UTC day; 10 by default. */
  lead_searches_per_day: number
  /** Blocked number prefixes, with the plus, and exceptions. The longest matching prefix decides. */
  blocked_prefixes: string[]
  allowed_prefixes: string[]
  /** Private addresses that trunks may have; all by default. */
  trunk_private_hosts: PrivateHosts
  /** Project of the operator whose agent speaks `{{code}}` in verification calls; null: numbers cannot be verified. */
  number_check_project: string | null
  /** Networks within which trunks may name any source in `allowed_ips`; none by default. */
  trunk_sources: string[]
  /** Addresses of this installation, which trunks may not have; none by default. */
  own_addresses: OwnAddresses
  /** OpenAI-compatible moderation endpoint, asked after the built-in rules; null: only the built-in rules apply. */
  moderation: { url: string; key: string | null } | null
  /** Milliseconds after which an admitted inbound call that has not started fails; 5000 by default. */
  admission_expiry_ms: number
  /** Milliseconds without a lease after which a call is ended as lost; 75,000 by default. */
  reap_after_ms: number
  /** Milliseconds to wait for the last events of an engine after its successor has started; 500 by default. */
  engine_lost_grace_ms: number
  sweep_ms: number
  redis_prefix: string
  /** Addresses of proxies whose X-Forwarded-For is trusted, or false. */
  trust_proxy: string[] | false
  body_limit: number
  /** Milliseconds of event loop delay beyond which requests get status 503; 500 by default; 0: no limit. */
  max_event_loop_delay_ms: number
  /** Milliseconds of service after /readyz reports the shutdown, unless `hurry` aborts; 0 by default. */
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
  // Satellite networks, international networks and premium-rate numbers: expensive, and of no country.
  blocked_prefixes: ['+870', '+878', '+881', '+882', '+883', '+888', '+979'],
  allowed_prefixes: [],
  trunk_private_hosts: 'allow',
  number_check_project: null,
  trunk_sources: [],
  own_addresses: () => new Set(),
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
  /** Resolves when the server has accepted the message, or a retry is scheduled. Rejects when the server refuses it. */
  send(message: { to: string; subject: string; text: string }): Promise<void>
}

export interface Deps {
  sql: Sql
  redis: Redis
  bus: ControlBus
  sealer: Sealer
  fetch: Fetch
  /** Object storage, to which engines upload the recordings of calls. */
  blobs: Blobs
  mail: Mail
  clock: Clock
  log: Log
  boss: PgBoss
  /** Omitted: nothing is traced. */
  tracing?: Tracing
  /** Aborts to skip the drain: after a second signal, or when no client is left that the drain would help. */
  hurry?: AbortSignal | undefined
  config: ControlConfig
}

export const wallDate = (deps: Pick<Deps, 'clock'>) => new Date(deps.clock.wall())
