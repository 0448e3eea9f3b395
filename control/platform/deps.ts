/** What every module of control may use. Nothing here is read from the environment: infra/config/config.ts does that. */
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
  /** Where customers reach us, without a slash at the end. */
  base_url: string
  /** Where softphones register: what their owners type into them. */
  sip: { host: string; port: number; transports: ('udp' | 'tcp' | 'tls')[] }
  /** Decimal strings of up to 4 places. */
  minute_price: string
  trial_balance: string
  currency: string
  trial_days: number
  /** Whether anybody may make an account. */
  sign_up: boolean
  /** A dashboard session ends after so many days without use. */
  session_days: number
  /** Share of the minute price that a realtime session costs. */
  web_factor_percent: number
  rate_limit: { per_key: number; per_session: number; per_address: number; window_ms: number }
  /** Of the dashboard's built page. */
  dashboard_folder: string
  /** Before the second, third … attempt of a webhook; one attempt more than there are delays. */
  webhook_retry_seconds: number[]
  webhook_timeout_ms: number
  /** A queued call that no engine took fails after this. */
  queue_expiry_ms: number
  /** The same of a web call: somebody sits in its room and waits. */
  web_queue_expiry_ms: number
  /** How often the LiveKit rooms are looked at. */
  room_sweep_ms: number
  /** A dialogue whose engine has been out of its room for so long is over. */
  engine_gone_ms: number
  /** Calls of one owner at once, those in the queue too. */
  max_calls_per_owner: number
  /** Of an enriched lead; a decimal string of up to 4 places. */
  lead_price: string
  /** Lead searches that an account may start in a day, by UTC. */
  lead_searches_per_day: number
  /** Beginnings of numbers that are not dialled, with the plus, and of those that are all the same; the longer one decides. */
  blocked_prefixes: string[]
  allowed_prefixes: string[]
  /** Which addresses that are not of the internet trunks may have. */
  trunk_private_hosts: PrivateHosts
  /** An OpenAI-compatible moderation endpoint that judges texts after our own rules; null: those alone do. */
  moderation: { url: string; key: string | null } | null
  /** An admitted inbound call that did not start is given up after this. */
  admission_expiry_ms: number
  /** A call whose lease has been gone for so long is dead. */
  reap_after_ms: number
  /** Events of a dying engine may still be on their way when its successor says hello. */
  engine_lost_grace_ms: number
  sweep_ms: number
  redis_prefix: string
  /** Addresses of proxies whose X-Forwarded-For is believed, or false. */
  trust_proxy: string[] | false
  body_limit: number
  /** Beyond it requests are refused with 503 rather than served late; 0: never. */
  max_event_loop_delay_ms: number
  /** How long we serve on after /readyz says that we leave, unless there is a hurry. */
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
  // A page of the dashboard asks for several things at once.
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
  // Satellite networks, international networks and premium-rate numbers: dear, and nobody's neighbours.
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
  /** Where engines put the recordings of calls. */
  blobs: Blobs
  mail: Mail
  clock: Clock
  log: Log
  boss: PgBoss
  /** Left out: nothing is traced. */
  tracing?: Tracing
  /** Somebody asked a second time, or nobody is left whom it would help that we serve on. */
  hurry?: AbortSignal | undefined
  config: ControlConfig
}

export const wallDate = (deps: Pick<Deps, 'clock'>) => new Date(deps.clock.wall())
