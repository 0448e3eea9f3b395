/** All checks of an installation, from its settings to its disks. They change nothing, and findings hold no secret. */
import { spoolFolder } from '../adapters/blobs.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { readConnections } from '../embedded/home.ts'
import { findRedis } from '../embedded/redis-server.ts'
import { about, type Finding, failureOf } from './finding.ts'
import { examineLiveKit } from './livekit.ts'
import { examineMail } from './mail.ts'
import { examinePostgres } from './postgres.ts'
import { examineProgram, placeOfConfig, type ServerPlace } from './program.ts'
import { examineRedis } from './redis.ts'
import { examineRtp } from './rtp.ts'
import { judgeSecrets, readSecrets } from './secrets.ts'
import { examineSignalling } from './signalling.ts'
import { examineSpeech, findModels, judgeModels } from './speech.ts'
import { examineBlobs, examineDisks } from './storage.ts'
import { examineControl, isOpen } from './web.ts'

export interface Report {
  /** Name of the checked installation, such as `the installation in …`. */
  name: string
  findings: Finding[]
}

/** Checks the installation that `env` names, whether it is running or not. Invalid settings are findings. */
export async function examine(env: NodeJS.ProcessEnv): Promise<Report> {
  try {
    const here = whereAreWe(env)
    return { name: here.place.name, findings: (await Promise.all(checksOf(here).map(run))).flat() }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const say = about('Settings')
    const lines = error.message.split('\n')
    const wrong = lines.length > 1 ? lines.slice(1) : lines
    const todo = 'Correct this setting; Parley does not start without it. docs/operating.md lists all settings.'
    return { name: 'the settings', findings: wrong.map(line => say.error(line.trim(), todo)) }
  }
}

interface Check {
  part: string
  check(): Finding[] | Promise<Finding[]>
}

interface Here {
  config: Config
  place: ServerPlace
  env: NodeJS.ProcessEnv
}

function whereAreWe(env: NodeJS.ProcessEnv): Here {
  const given = readConfig(env, { make: false })
  const running = readConnections(given.home)
  if (running === null) return { config: given, place: placeOfConfig(given, false, given), env }
  const { database_url, redis_url, settings = {} } = running
  const config = readConfig({ ...env, DATABASE_URL: database_url, REDIS_URL: redis_url, ...settings }, { make: false })
  return { config, place: placeOfConfig(config, true, given), env }
}

/** In order of dependency, which is also the order of the report. */
function checksOf({ config, place, env }: Here): Check[] {
  const { allInOne, running, control, engine } = place
  const stopped = allInOne && !running
  const some = (condition: boolean, ...checks: Check[]) => (condition ? checks : [])
  return [
    { part: 'Program', check: examineProgram },
    { part: 'Secrets', check: () => judgeSecrets(readSecrets(config, env)) },
    ...some(stopped, { part: 'Parley', check: () => judgeStopped(config) }),
    ...some(allInOne, { part: 'Models', check: () => judgeModels(findModels(config)) }),
    {
      part: 'Disk',
      check: () => examineDisks(foldersOf(config, place)),
    },
    { part: 'Postgres', check: () => atPostgres(config, place) },
    { part: 'Redis', check: () => atRedis(config, place) },
    ...some(control && !stopped, { part: 'Control', check: () => examineControl(config) }),
    { part: 'SIP server', check: () => atSignalling(config, place) },
    ...some(!stopped, { part: 'LiveKit', check: () => atLiveKit(config) }),
    ...some(engine && !stopped, {
      part: 'Speech',
      check: () => examineSpeech(config.SPEECH_HOST, config.SPEECH_PORT ?? 9040),
    }),
    { part: 'RTP', check: () => atSound(config, place) },
    { part: 'Blob store', check: () => examineBlobs(config) },
    ...some(control, { part: 'Mail', check: () => examineMail(config) }),
  ]
}

const named = (folder: string | undefined) => (folder === undefined ? [] : [folder])

/** Directories that an engine alone writes to have their own settings; its home may be small. */
function foldersOf(config: Config, { allInOne, control, engine }: ServerPlace): string[] {
  const { home, BLOB_DIR, BLOB_S3_URL } = config
  const keepsBlobs = BLOB_DIR === undefined && !BLOB_S3_URL
  const own = allInOne || control || keepsBlobs ? [home] : []
  return [...own, ...named(BLOB_DIR), ...(engine ? [spoolFolder(config)] : [])]
}

function judgeStopped(config: Config): Finding[] {
  const say = about('Parley')
  const missing = config.REDIS_URL || findRedis(config.cache) ? [] : ['redis-server']
  const down = say.error(
    `Not running in ${config.home}: Postgres, Redis, control and engine are stopped.`,
    'Start it with `npm start`.',
  )
  if (missing.length === 0) return [down]
  return [down, say.error('redis-server is not installed.', 'Run `npm start`, which downloads it, or set REDIS_URL.')]
}

const NOT_TOLD = 'not configured here. Run the doctor in'

async function atPostgres(config: Config, { allInOne, control }: ServerPlace): Promise<Finding[]> {
  const say = about('Postgres')
  if (config.DATABASE_URL) return examinePostgres(config.DATABASE_URL, allInOne ? config.home : null)
  return allInOne || control
    ? [say.skipped('Not running, because Parley is stopped.')]
    : [say.skipped(`It is ${NOT_TOLD} a control process.`)]
}

async function atRedis(config: Config, { allInOne }: ServerPlace): Promise<Finding[]> {
  const say = about('Redis')
  if (config.REDIS_URL) {
    const { REDIS_URL: url, REDIS_PREFIX: prefix, LIVEKIT_URL } = config
    return examineRedis({ url, prefix, secret: config.secret || null, wantsRooms: LIVEKIT_URL !== undefined })
  }
  if (allInOne) return [say.skipped('Not running, because Parley is stopped.')]
  return [say.error('REDIS_URL is not set.', 'Set it for control and all engines.')]
}

async function atSignalling(config: Config, { allInOne }: ServerPlace): Promise<Finding[]> {
  const { DRACHTIO_HOST: host, DRACHTIO_PORT: port, DRACHTIO_SECRET } = config
  if (host !== undefined) return examineSignalling({ host, port, secret: DRACHTIO_SECRET ?? 'cymru' })
  return [
    about('SIP server').skipped(allInOne ? 'Not running, because Parley is stopped.' : `It is ${NOT_TOLD} an engine.`),
  ]
}

async function atLiveKit(config: Config): Promise<Finding[]> {
  const { LIVEKIT_URL: url, LIVEKIT_PUBLIC_URL: publicUrl, LIVEKIT_ROOM_PREFIX: prefix } = config
  if (url === undefined)
    return [about('LiveKit').skipped('Not configured. Browser sessions are unavailable; SIP calls work.')]
  const keys = { apiKey: config.LIVEKIT_API_KEY ?? '', apiSecret: config.LIVEKIT_API_SECRET ?? '' }
  return examineLiveKit({ url, publicUrl, prefix, ...keys })
}

async function atSound(config: Config, { engine }: ServerPlace): Promise<Finding[]> {
  if (!engine) return [about('RTP').skipped(`Its ports are ${NOT_TOLD} an engine.`)]
  const { RTP_PORT_MIN: min, RTP_PORT_MAX: max, ENGINE_CAPACITY: capacity } = config
  const host = config.RTP_HOST ?? config.SIP_HOST
  return examineRtp({ host, publicHost: config.RTP_PUBLIC_HOST ?? null, min, max, capacity, isOpen: isOpen(config) })
}

/** Reports a failed check as a finding, so that the others still run. */
async function run({ part, check }: Check): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    return [
      about(part).error(`The check failed: ${failureOf(error)}.`, 'This is a bug in the doctor. Please report it.'),
    ]
  }
}
