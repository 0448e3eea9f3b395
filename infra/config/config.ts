/** All settings; the only reader of process.env. An invalid value ends the start and names the setting. */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { cpus, homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { isNetwork, isPublic, type PrivateHosts, readPrivateHosts } from '../../media/shared/addresses.ts'
import { bareHost, isLoopback } from './hosts.ts'
import { readMailbox, readSmtpUrl } from './mail.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const money = z.string().regex(/^\d+(?:\.\d{1,4})?$/, 'a decimal number with up to 4 places')
const prefix = z.string().regex(/^\+[1-9]\d{0,13}$/, 'a plus and digits')
const list = z
  .string()
  .default('')
  .transform(text =>
    text
      .split(',')
      .map(part => part.trim())
      .filter(Boolean),
  )

/** Parses a setting with `read`; null rejects it with the message `named`. */
const readAs = <T>(read: (text: string) => T | null, named: string) =>
  z.string().transform((text, context) => {
    const value = read(text)
    if (value === null) context.addIssue({ code: 'custom', message: named })
    return value ?? z.NEVER
  })

const Environment = z.object({
  /** Data, logs and the demo's file; `.parley` in the working directory by default. */
  PARLEY_HOME: z.string().default('.parley'),
  /** Downloaded models and built binaries, shared by all checkouts of this user. */
  PARLEY_CACHE: z.string().optional(),
  PARLEY_SECRET: z.string().min(16).optional(),
  PARLEY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),

  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  REDIS_PREFIX: z.string().default('parley'),
  /** LiveKit's address for our servers; requires the API key and secret. */
  LIVEKIT_URL: z.url({ protocol: /^wss?$/ }).optional(),
  /** LiveKit's address for clients, when it differs. */
  LIVEKIT_PUBLIC_URL: z.url({ protocol: /^wss?$/ }).optional(),
  /** `off` disables WebRTC, and LiveKit is not built. */
  LIVEKIT_EMBEDDED: z.enum(['auto', 'off']).default('auto'),
  /** Directory for edge logs, which `npm run replay` reads. They contain everything said in calls. Off by default. */
  EDGE_LOG_DIR: z.string().optional(),
  /** `off` skips the download of the Russian speech-to-text model (130 MB). */
  RUSSIAN_STT: z.enum(['auto', 'off']).default('auto'),
  LIVEKIT_API_KEY: z.string().optional(),
  LIVEKIT_API_SECRET: z.string().optional(),
  /** Prefix of our room names, for installations that share a LiveKit server. */
  LIVEKIT_ROOM_PREFIX: z
    .string()
    .regex(/^[\w-]{1,32}$/, 'up to 32 letters, digits, _ and -')
    .default('parley-'),
  DRACHTIO_HOST: z.string().optional(),
  DRACHTIO_PORT: port.default(9022),
  DRACHTIO_SECRET: z.string().optional(),
  SPEECH_HOST: z.string().default('127.0.0.1'),
  SPEECH_PORT: port.optional(),

  HTTP_HOST: z.string().default('127.0.0.1'),
  HTTP_PORT: port.default(8080),
  /** Directory of the built dashboard; set-up builds it in the default one. */
  DASHBOARD_DIR: z.string().optional(),
  /** The address that customers use; derived from host and port by default. */
  PUBLIC_URL: z.url().optional(),
  TRUST_PROXY: list,
  SIP_HOST: z.string().default('127.0.0.1'),
  SIP_PORT: port.default(5060),
  /** The server address for softphones; derived from the other addresses by default. */
  SIP_PUBLIC_HOST: z.string().optional(),
  /** `off` disables softphone registration; SIP is accepted only from trunks. */
  SOFTPHONES: z.enum(['on', 'off']).default('on'),
  /**
   * True when trunks may be at non-public addresses: `allow`, `deny`, or the allowed networks (CIDRs). By default `deny`
   * when strangers can sign up at a public address, who could otherwise scan our network through their trunks; else
   * `allow`.
   */
  TRUNK_PRIVATE_HOSTS: readAs(text => readPrivateHosts(text.trim()), 'allow, deny, or addresses and CIDRs').optional(),
  /**
   * Project of the operator's account whose agent calls a number to verify it and speaks `{{code}}`. Without it, numbers
   * cannot be verified by a call.
   */
  NUMBER_CHECK_PROJECT: z.uuid().optional(),
  /**
   * Networks of the operator within which trunks may list any source in `allowed_ips`. Others must be public, with a
   * prefix of /24 or longer (IPv4), /48 or longer (IPv6).
   */
  TRUNK_SOURCES: list.refine(networks => networks.every(isNetwork), 'addresses and CIDRs'),
  /** File that engines write the allowed SIP sources to, for `--allow-file` of the SIP server; `npm start` sets it. */
  SIP_ALLOW_FILE: z.string().optional(),
  /** Seconds of silence after an accepted REFER before we ask the carrier whether the call still exists. */
  REFER_SILENCE_SECONDS: z.coerce.number().int().min(2).max(60).default(20),
  RTP_HOST: z.string().optional(),
  /** The address that carriers send audio to, when a NAT maps RTP_HOST to a public address, port for port. */
  RTP_PUBLIC_HOST: z.union([z.ipv4(), z.ipv6()], { error: 'an IP address' }).optional(),
  RTP_PORT_MIN: port.default(20_000),
  RTP_PORT_MAX: port.default(29_999),

  /** Port of `/metrics` for Prometheus. Each process has its own, not exposed to customers. Off by default. */
  METRICS_PORT: port.optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),

  /** OTLP/HTTP receiver for traces, without `/v1/traces`. Off by default. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** Headers for the receiver as `name=value,name=value` with percent-encoded values, usually a key. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .refine(text => readPairs(text) !== null, 'name=value pairs, with commas between them')
    .optional(),
  /** Service name in traces; `parley-control` and `parley-engine` by default. */
  OTEL_SERVICE_NAME: z.string().max(200).optional(),

  ENGINE_NAME: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .default('engine-1'),
  ENGINE_CAPACITY: z.coerce.number().int().positive().default(50),
  /**
   * Seconds that a stopping engine lets live calls continue while it accepts no new ones; a second signal ends them.
   */
  ENGINE_DRAIN_SECONDS: z.coerce.number().int().min(0).max(86_400).default(0),
  /**
   * Seconds that a stopping control process reports "draining" at /readyz and keeps serving, until the load balancer has
   * noticed.
   */
  CONTROL_DRAIN_SECONDS: z.coerce.number().int().min(0).max(300).default(0),
  /** The text model of projects that set none; without it the scripted policy answers. */
  LLM_BASE_URL: z.url().optional(),
  LLM_MODEL: z.string().optional(),
  LLM_API_KEY: z.string().optional(),

  /** Vendor addresses, for a gateway, a regional endpoint or a compatible service. */
  ANTHROPIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  GOOGLE_URL: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_URL: z.url({ protocol: /^https?$/ }).optional(),
  DEEPGRAM_URL: z.url({ protocol: /^wss?$/ }).optional(),
  ELEVENLABS_URL: z.url({ protocol: /^wss?$/ }).optional(),
  CARTESIA_URL: z.url({ protocol: /^wss?$/ }).optional(),
  YANDEX_STT_URL: z.url({ protocol: /^https?$/ }).optional(),
  YANDEX_TTS_URL: z.url({ protocol: /^https?$/ }).optional(),

  /**
   * Directory for recordings; in PARLEY_HOME by default. Engines write and control reads it: on several machines it
   * must be shared, or replaced by an S3 bucket.
   */
  BLOB_DIR: z.string().optional(),
  /**
   * URL of a bucket on S3 or a compatible service, `https://bucket.host` or `https://host/bucket`, in place of a
   * directory.
   */
  BLOB_S3_URL: z.url({ protocol: /^https?$/ }).optional(),
  BLOB_S3_REGION: z.string().default('us-east-1'),
  BLOB_S3_ACCESS_KEY: z.string().optional(),
  BLOB_S3_SECRET_KEY: z.string().optional(),
  /**
   * Directory for audio of live calls and recordings not yet stored; in PARLEY_HOME by default. It must survive an
   * engine that dies, or the recordings of its calls are lost.
   */
  SPOOL_DIR: z.string().optional(),

  /** `off` limits knowledge to full-text search, and the embedding model (90 MB) is not downloaded. */
  EMBEDDINGS: z.enum(['auto', 'off']).default('auto'),
  /** An OpenAI-compatible endpoint, `https://host/v1`, in place of the local model. Requires EMBEDDINGS_MODEL. */
  EMBEDDINGS_URL: z.url({ protocol: /^https?$/ }).optional(),
  EMBEDDINGS_KEY: z.string().optional(),
  EMBEDDINGS_MODEL: z.string().optional(),
  EMBEDDINGS_DIMENSIONS: z.coerce.number().int().min(1).max(8192).default(1536),

  /** Lead search in OpenStreetMap: an Overpass interpreter, `https://host/api/interpreter`. Requires NOMINATIM_URL. */
  OVERPASS_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Geocoder with Nominatim's API, without `/search`. Requires OVERPASS_URL. */
  NOMINATIM_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Lead search on the web: a SearXNG server that returns JSON, without `/search`. */
  SEARXNG_URL: z.url({ protocol: /^https?$/ }).optional(),

  /** Exact `host:port` pairs that tools, webhooks and crawls may reach although they are not public. */
  FETCH_ALLOW: list,
  MINUTE_PRICE: money.default('5.0000'),
  TRIAL_BALANCE: money.default('100.0000'),
  TRIAL_DAYS: z.coerce.number().int().min(0).default(14),
  /** `off`: only the operator creates accounts. */
  SIGN_UP: z.enum(['on', 'off']).default('on'),
  /** Days without use after which a dashboard session ends. */
  SESSION_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /**
   * Mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…:465`; by default mail is written to a
   * directory.
   */
  SMTP_URL: readAs(
    readSmtpUrl,
    'smtp://user:password@host:port or smtps://…, user and password percent-encoded, both or none',
  ).optional(),
  /** Sender of mail, `Parley <parley@example.com>`. */
  MAIL_FROM: readAs(readMailbox, 'one address, as Parley <parley@example.com>').optional(),
  CURRENCY: z.string().length(3).default('RUB'),
  MAX_CALLS_PER_OWNER: z.coerce.number().int().positive().default(50),
  /** Price of an enriched lead. */
  LEAD_PRICE: money.default('10.0000'),
  /** Lead searches that an account may start per day (UTC). */
  LEAD_SEARCHES_PER_DAY: z.coerce.number().int().min(0).default(10),
  /** Replaces the satellite, international and premium prefixes that are blocked by default. */
  BLOCKED_PREFIXES: list.pipe(z.array(prefix)),
  /** Exceptions to the blocked prefixes. */
  ALLOWED_PREFIXES: list.pipe(z.array(prefix)),
  /** An OpenAI-compatible moderation endpoint. A non-public address must also be in FETCH_ALLOW. */
  MODERATION_URL: z.url({ protocol: /^https?$/ }).optional(),
  MODERATION_KEY: z.string().optional(),
})

export type Config = Omit<z.infer<typeof Environment>, 'TRUNK_PRIVATE_HOSTS'> & {
  TRUNK_PRIVATE_HOSTS: PrivateHosts
  home: string
  cache: string
  secret: string
  speechThreads: number
}

/**
 * Settings that can be read from a file named by `NAME_FILE`, since `docker inspect` shows the environment and children
 * inherit it.
 */
export const SECRETS = [
  'PARLEY_SECRET',
  'DATABASE_URL',
  'REDIS_URL',
  'LIVEKIT_API_KEY',
  'LIVEKIT_API_SECRET',
  'DRACHTIO_SECRET',
  'LLM_API_KEY',
  'BLOB_S3_ACCESS_KEY',
  'BLOB_S3_SECRET_KEY',
  'EMBEDDINGS_KEY',
  'MODERATION_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'SMTP_URL',
] as const satisfies readonly (keyof typeof Environment.shape)[]

/** All names read from the environment, for comparison with documentation. */
export const SETTINGS: readonly string[] = [...Object.keys(Environment.shape), ...SECRETS.map(name => `${name}_FILE`)]

/** Parses `name=value,name=value` with percent-encoded values; null when malformed. */
export function readPairs(text: string): Record<string, string> | null {
  const parts = text.split(',').filter(part => part.trim() !== '')
  const read = parts.map(part => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(\S*)\s*$/.exec(part))
  if (read.includes(null)) return null
  try {
    return Object.fromEntries(read.map(match => [match![1]!, decodeURIComponent(match![2]!)]))
  } catch {
    return null // a truncated character, or a bare %
  }
}

export class ConfigError extends Error {}

/**
 * Reads the settings. Throws ConfigError. `make: false` creates neither the home directory nor a secret, which is then
 * empty.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, { make = true } = {}): Config {
  // `NAME=` in a compose file means unset; as a number it would be port 0.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse({ ...given, ...readSecretFiles(given) })
  if (!parsed.success) {
    const lines = parsed.error.issues.map(issue => `  ${issue.path.join('.')}: ${issue.message}`)
    throw new ConfigError(`Invalid settings:\n${lines.join('\n')}`)
  }
  const values = parsed.data
  checkLiveKit(values)
  if ((values.LLM_BASE_URL === undefined) !== (values.LLM_MODEL === undefined)) {
    throw new ConfigError('LLM_BASE_URL and LLM_MODEL must be set together')
  }
  if ((values.EMBEDDINGS_URL === undefined) !== (values.EMBEDDINGS_MODEL === undefined)) {
    throw new ConfigError('EMBEDDINGS_URL and EMBEDDINGS_MODEL must be set together')
  }
  if ((values.OVERPASS_URL === undefined) !== (values.NOMINATIM_URL === undefined)) {
    throw new ConfigError('OVERPASS_URL and NOMINATIM_URL must be set together')
  }
  if ((values.SMTP_URL === undefined) !== (values.MAIL_FROM === undefined)) {
    throw new ConfigError('SMTP_URL and MAIL_FROM must be set together')
  }
  if (values.BLOB_S3_URL && !(values.BLOB_S3_ACCESS_KEY && values.BLOB_S3_SECRET_KEY)) {
    throw new ConfigError('BLOB_S3_URL needs BLOB_S3_ACCESS_KEY and BLOB_S3_SECRET_KEY')
  }
  // Two ports per call; with fewer the system would choose ports that firewalls do not allow.
  if (values.RTP_PORT_MAX !== 0 && values.RTP_PORT_MAX <= values.RTP_PORT_MIN) {
    throw new ConfigError('RTP_PORT_MAX must be above RTP_PORT_MIN')
  }
  const home = resolve(values.PARLEY_HOME)
  if (make) mkdirSync(home, { recursive: true })
  return {
    ...values,
    TRUNK_PRIVATE_HOSTS: values.TRUNK_PRIVATE_HOSTS ?? (isOpenToAll(values) ? 'deny' : 'allow'),
    home,
    cache: cacheFolder(values),
    secret: values.PARLEY_SECRET ?? keptSecret(join(home, 'secret'), make),
    speechThreads: Math.max(1, Math.floor(cpus().length / 2)),
  }
}

/** The directory of downloads and builds, shared by all checkouts of a user. */
export const cacheFolder = ({ PARLEY_CACHE }: { PARLEY_CACHE?: string | undefined } = process.env): string =>
  resolve(PARLEY_CACHE ?? join(homedir(), '.cache', 'parley'))

/** The configured secret files, without reading them. */
export const secretFiles = (env: NodeJS.ProcessEnv): { name: string; file: string }[] =>
  SECRETS.flatMap(name => {
    const file = env[`${name}_FILE`]
    return file ? [{ name, file }] : []
  })

function readSecretFiles(given: NodeJS.ProcessEnv): Record<string, string> {
  const named = secretFiles(given).map(({ name, file }) => [name, readSecretFile(name, file)] as const)
  for (const [name, value] of named) {
    // `npm start` passes values from files to its children as variables.
    if ((given[name] ?? value) !== value)
      throw new ConfigError(`${name} differs from the content of ${name}_FILE. Set only one of them`)
  }
  return Object.fromEntries(named)
}

function readSecretFile(name: string, file: string): string {
  let value: string
  try {
    value = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(`${name}_FILE: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`)
  }
  if (value.trim() === '') throw new ConfigError(`${name}_FILE: ${file} is empty`)
  return value
}

/** Strangers can sign up, and reach the installation at a public address. */
function isOpenToAll({ SIGN_UP, PUBLIC_URL }: z.infer<typeof Environment>): boolean {
  if (SIGN_UP === 'off' || PUBLIC_URL === undefined) return false
  const host = bareHost(new URL(PUBLIC_URL).hostname)
  if (isIP(host) !== 0) return isPublic(host)
  return host.includes('.') && !/\.(?:localhost|local|internal|lan|test|home\.arpa)$/.test(host)
}

/** Browsers allow the microphone only on secure pages, and those may use `ws:` only to this machine. */
function checkLiveKit(values: z.infer<typeof Environment>): void {
  const { LIVEKIT_URL, LIVEKIT_PUBLIC_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET } = values
  if (LIVEKIT_PUBLIC_URL && !LIVEKIT_URL) throw new ConfigError('LIVEKIT_PUBLIC_URL needs LIVEKIT_URL')
  if (LIVEKIT_URL && !(LIVEKIT_API_KEY && LIVEKIT_API_SECRET)) {
    throw new ConfigError('LIVEKIT_URL needs LIVEKIT_API_KEY and LIVEKIT_API_SECRET')
  }
  const [name, url] = LIVEKIT_PUBLIC_URL
    ? ['LIVEKIT_PUBLIC_URL', LIVEKIT_PUBLIC_URL]
    : ['LIVEKIT_URL', LIVEKIT_URL ?? null]
  if (url === null) return
  const { protocol, hostname } = new URL(url)
  if (protocol === 'wss:' || isLoopback(hostname)) return
  throw new ConfigError(
    `${name} is sent to clients and must be wss unless it is a loopback address${
      name === 'LIVEKIT_URL' ? '. Set LIVEKIT_PUBLIC_URL if clients use another address' : ''
    }`,
  )
}

/** Creates the secret at the first start and keeps it, since sealed data depends on it. */
function keptSecret(file: string, make: boolean): string {
  if (!existsSync(file)) {
    if (!make) return ''
    // Written atomically. An existing link belongs to another process that was faster.
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: 0o600 })
    try {
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
  }
  const secret = readFileSync(file, 'utf8').trim()
  if (secret.length < 16)
    throw new ConfigError(`${file} is damaged. Restore it, or remove it together with the data it sealed`)
  return secret
}
