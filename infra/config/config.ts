/** Everything that can be set from outside; the only reader of process.env. A bad value ends the start with its name. */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { cpus, homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { isPublic, type PrivateHosts, readPrivateHosts } from '../../media/shared/addresses.ts'
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

/** What `read` makes of it; null: it is refused, as not being what is named. */
const readAs = <T>(read: (text: string) => T | null, named: string) =>
  z.string().transform((text, context) => {
    const value = read(text)
    if (value === null) context.addIssue({ code: 'custom', message: named })
    return value ?? z.NEVER
  })

const Environment = z.object({
  /** Data, logs and the demo's file; in the working folder unless set. */
  PARLEY_HOME: z.string().default('.parley'),
  /** Downloaded models and built binaries, shared by all checkouts of this user. */
  PARLEY_CACHE: z.string().optional(),
  PARLEY_SECRET: z.string().min(16).optional(),
  PARLEY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),

  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  REDIS_PREFIX: z.string().default('parley'),
  /** How our servers reach LiveKit; it needs key and secret. */
  LIVEKIT_URL: z.url({ protocol: /^wss?$/ }).optional(),
  /** How clients reach it, where that is another address. */
  LIVEKIT_PUBLIC_URL: z.url({ protocol: /^wss?$/ }).optional(),
  /** `off`: without WebRTC, and nothing is built for it. */
  LIVEKIT_EMBEDDED: z.enum(['auto', 'off']).default('auto'),
  /** A folder: what crosses the edges of each call is written there, for `npm run replay`. It holds all that was said. */
  EDGE_LOG_DIR: z.string().optional(),
  /** `off`: the model that understands Russian (130 MB) is not fetched. */
  RUSSIAN_STT: z.enum(['auto', 'off']).default('auto'),
  LIVEKIT_API_KEY: z.string().optional(),
  LIVEKIT_API_SECRET: z.string().optional(),
  /** Of the names of our rooms, where several installations share a LiveKit server. */
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
  /** Where the built page of the dashboard is; set-up builds it where control looks unless this is set. */
  DASHBOARD_DIR: z.string().optional(),
  /** What customers see; made from host and port unless set. */
  PUBLIC_URL: z.url().optional(),
  TRUST_PROXY: list,
  SIP_HOST: z.string().default('127.0.0.1'),
  SIP_PORT: port.default(5060),
  /** What is typed into softphones as their server; made from the other addresses unless set. */
  SIP_PUBLIC_HOST: z.string().optional(),
  /** `off`: nobody registers here, and SIP is heard from trunks alone. */
  SOFTPHONES: z.enum(['on', 'off']).default('on'),
  /**
   * Whether trunks may be at addresses that are not of the internet: `allow`, `deny`, or networks (CIDRs) beside it. Unless
   * set, `deny` where strangers may sign up at a public address: they would examine our network through their trunks.
   */
  TRUNK_PRIVATE_HOSTS: readAs(text => readPrivateHosts(text.trim()), 'allow, deny, or addresses and CIDRs').optional(),
  /** Engines write here where calls may come from, for `--allow-file` of the SIP server; `npm start` sets it. */
  SIP_ALLOW_FILE: z.string().optional(),
  /** A carrier that took a REFER and then says nothing is asked after so long whether the call is still there. */
  REFER_SILENCE_SECONDS: z.coerce.number().int().min(2).max(60).default(20),
  RTP_HOST: z.string().optional(),
  /** What carriers are told to send sound to, where a NAT gives RTP_HOST another address on the internet, port for port. */
  RTP_PUBLIC_HOST: z.union([z.ipv4(), z.ipv6()], { error: 'an IP address' }).optional(),
  RTP_PORT_MIN: port.default(20_000),
  RTP_PORT_MAX: port.default(29_999),

  /** Where `/metrics` is, for Prometheus: a port of its own for each process, since it is not for customers. Unset: nowhere. */
  METRICS_PORT: port.optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),

  /** Where traces go, as OpenTelemetry names it: the address of an OTLP/HTTP receiver, before `/v1/traces`. Unset: nowhere. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  /** Sent along to it, as `name=value,name=value` with percent-encoded values: usually a key. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .refine(text => readPairs(text) !== null, 'name=value pairs, with commas between them')
    .optional(),
  /** As traces name the process; `parley-control` and `parley-engine` unless set. */
  OTEL_SERVICE_NAME: z.string().max(200).optional(),

  ENGINE_NAME: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .default('engine-1'),
  ENGINE_CAPACITY: z.coerce.number().int().positive().default(50),
  /** An engine that is stopped takes no call any more, and lets the live ones go on for so long; asked again, it ends them. */
  ENGINE_DRAIN_SECONDS: z.coerce.number().int().min(0).max(86_400).default(0),
  /** A control that is stopped says "leaving" at /readyz and serves on for so long, until its balancer has heard of it. */
  CONTROL_DRAIN_SECONDS: z.coerce.number().int().min(0).max(300).default(0),
  /** The text model of projects that set none; without it the scripted policy speaks. */
  LLM_BASE_URL: z.url().optional(),
  LLM_MODEL: z.string().optional(),
  LLM_API_KEY: z.string().optional(),

  /** Where vendors are, for those who reach them by a gateway, in a region of their own, or run what speaks like them. */
  ANTHROPIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  GOOGLE_URL: z.url({ protocol: /^https?$/ }).optional(),
  OPENAI_URL: z.url({ protocol: /^https?$/ }).optional(),
  DEEPGRAM_URL: z.url({ protocol: /^wss?$/ }).optional(),
  ELEVENLABS_URL: z.url({ protocol: /^wss?$/ }).optional(),
  CARTESIA_URL: z.url({ protocol: /^wss?$/ }).optional(),
  YANDEX_STT_URL: z.url({ protocol: /^https?$/ }).optional(),
  YANDEX_TTS_URL: z.url({ protocol: /^https?$/ }).optional(),

  /**
   * Where recordings go: a folder, in PARLEY_HOME unless set. Engines write it and control reads it: on several machines
   * it must be a shared one, or an S3 bucket takes its place.
   */
  BLOB_DIR: z.string().optional(),
  /** Address of a bucket on S3 or what is like it, as `https://bucket.host` or `https://host/bucket`; instead of a folder. */
  BLOB_S3_URL: z.url({ protocol: /^https?$/ }).optional(),
  BLOB_S3_REGION: z.string().default('us-east-1'),
  BLOB_S3_ACCESS_KEY: z.string().optional(),
  BLOB_S3_SECRET_KEY: z.string().optional(),
  /**
   * Sound of calls under way, and what could not be stored yet; in PARLEY_HOME unless set. It must outlive an engine that
   * dies, or the recordings of its calls die with it.
   */
  SPOOL_DIR: z.string().optional(),

  /** `off`: knowledge is found by full text alone, and the model for it (90 MB) is not fetched. */
  EMBEDDINGS: z.enum(['auto', 'off']).default('auto'),
  /** An OpenAI-compatible endpoint, as `https://host/v1`, instead of the model on this machine. It needs a model's name. */
  EMBEDDINGS_URL: z.url({ protocol: /^https?$/ }).optional(),
  EMBEDDINGS_KEY: z.string().optional(),
  EMBEDDINGS_MODEL: z.string().optional(),
  EMBEDDINGS_DIMENSIONS: z.coerce.number().int().min(1).max(8192).default(1536),

  /** Where companies are looked for: OpenStreetMap by an Overpass interpreter, as `https://host/api/interpreter`, */
  OVERPASS_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** which needs a geocoder that speaks as Nominatim does, before `/search`; */
  NOMINATIM_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** and the web by a SearXNG server with JSON among its formats, before `/search`. */
  SEARXNG_URL: z.url({ protocol: /^https?$/ }).optional(),

  /** Exact `host:port` pairs that tools, webhooks and crawls may reach although they are not public. */
  FETCH_ALLOW: list,
  MINUTE_PRICE: money.default('5.0000'),
  TRIAL_BALANCE: money.default('100.0000'),
  TRIAL_DAYS: z.coerce.number().int().min(0).default(14),
  /** `off`: only the operator makes accounts. */
  SIGN_UP: z.enum(['on', 'off']).default('on'),
  /** A dashboard session ends after so many days without use. */
  SESSION_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /** The server that mail goes to, as `smtp://user:password@host:587` (STARTTLS) or `smtps://…:465`; unset, it goes to a folder. */
  SMTP_URL: readAs(
    readSmtpUrl,
    'smtp://user:password@host:port or smtps://…, user and password percent-encoded, both or none',
  ).optional(),
  /** Who mail is from, as `Parley <parley@example.com>`. */
  MAIL_FROM: readAs(readMailbox, 'one address, as Parley <parley@example.com>').optional(),
  CURRENCY: z.string().length(3).default('RUB'),
  MAX_CALLS_PER_OWNER: z.coerce.number().int().positive().default(50),
  /** What an enriched lead costs. */
  LEAD_PRICE: money.default('10.0000'),
  /** Lead searches that an account may start in a day, by UTC. */
  LEAD_SEARCHES_PER_DAY: z.coerce.number().int().min(0).default(10),
  /** Instead of the satellite, international and premium ranges that are blocked by default. */
  BLOCKED_PREFIXES: list.pipe(z.array(prefix)),
  /** Exceptions to what is blocked. */
  ALLOWED_PREFIXES: list.pipe(z.array(prefix)),
  /** An OpenAI-compatible moderation endpoint. An address that is not public must stand in FETCH_ALLOW too. */
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

/** What may come from a file instead, as `NAME_FILE`: an environment is shown by `docker inspect` and inherited by children. */
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

/** All that is read from the environment, for what is checked against it. */
export const SETTINGS: readonly string[] = [...Object.keys(Environment.shape), ...SECRETS.map(name => `${name}_FILE`)]

/** `name=value,name=value`, values percent-encoded. Null: that is something else. */
export function readPairs(text: string): Record<string, string> | null {
  const parts = text.split(',').filter(part => part.trim() !== '')
  const read = parts.map(part => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(\S*)\s*$/.exec(part))
  if (read.includes(null)) return null
  try {
    return Object.fromEntries(read.map(match => [match![1]!, decodeURIComponent(match![2]!)]))
  } catch {
    return null // half of a letter, or a bare %
  }
}

export class ConfigError extends Error {}

/** `make: false`: who only looks makes neither the home nor a secret; without one it is empty. */
export function readConfig(env: NodeJS.ProcessEnv = process.env, { make = true } = {}): Config {
  // `NAME=` in a compose file means that it is not set; as a number it would be port 0.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse({ ...given, ...readSecretFiles(given) })
  if (!parsed.success) {
    const lines = parsed.error.issues.map(issue => `  ${issue.path.join('.')}: ${issue.message}`)
    throw new ConfigError(`These settings cannot be used:\n${lines.join('\n')}`)
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
  // Two ports a call; with less the system would choose ports that no firewall was told of.
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

/** Downloads and builds: of all checkouts of a user. */
export const cacheFolder = ({ PARLEY_CACHE }: { PARLEY_CACHE?: string | undefined } = process.env): string =>
  resolve(PARLEY_CACHE ?? join(homedir(), '.cache', 'parley'))

/** Of those that are named, without a look into them. */
export const secretFiles = (env: NodeJS.ProcessEnv): { name: string; file: string }[] =>
  SECRETS.flatMap(name => {
    const file = env[`${name}_FILE`]
    return file ? [{ name, file }] : []
  })

function readSecretFiles(given: NodeJS.ProcessEnv): Record<string, string> {
  const named = secretFiles(given).map(({ name, file }) => [name, readSecretFile(name, file)] as const)
  for (const [name, value] of named) {
    // `npm start` gives its children by value what it had from a file.
    if ((given[name] ?? value) !== value)
      throw new ConfigError(`${name} is not what is in ${name}_FILE: set one of them`)
  }
  return Object.fromEntries(named)
}

function readSecretFile(name: string, file: string): string {
  let value: string
  try {
    value = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(`${name}_FILE names ${file}, which cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (value.trim() === '') throw new ConfigError(`${name}_FILE names ${file}, which is empty`)
  return value
}

/** Strangers may sign up, and find us by an address of the internet. */
function isOpenToAll({ SIGN_UP, PUBLIC_URL }: z.infer<typeof Environment>): boolean {
  if (SIGN_UP === 'off' || PUBLIC_URL === undefined) return false
  const host = bareHost(new URL(PUBLIC_URL).hostname)
  if (isIP(host) !== 0) return isPublic(host)
  return host.includes('.') && !/\.(?:localhost|local|internal|lan|test|home\.arpa)$/.test(host)
}

/** Browsers give a microphone to secure pages alone, and those reach nothing by `ws:` but their own machine. */
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
    `${name} is what clients are told and must be wss unless it is a loopback address${
      name === 'LIVEKIT_URL' ? '; set LIVEKIT_PUBLIC_URL if clients reach LiveKit elsewhere' : ''
    }`,
  )
}

/** Made at the first start and kept: what was sealed yesterday must open today. */
function keptSecret(file: string, make: boolean): string {
  if (!existsSync(file)) {
    if (!make) return ''
    // Whole or not at all, also when we are killed; a link that is there already is another process's, which was faster.
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
  if (secret.length < 16) throw new ConfigError(`${file} is damaged: restore it, or remove it and what it has sealed`)
  return secret
}
