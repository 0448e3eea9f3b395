/**
 * `npm run doctor`: checks a whole installation, from settings to disks, and reports problems and their fixes. It
 * changes nothing, works whether Parley is running or not, and prints no secret.
 */
import { parseArgs } from 'node:util'
import { spoolFolder } from '../adapters/blobs.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { about, type Finding, type FindingStatus, failureOf, many } from '../doctor/finding.ts'
import { examineLiveKit } from '../doctor/livekit.ts'
import { examineMail } from '../doctor/mail.ts'
import { examinePostgres } from '../doctor/postgres.ts'
import { examineProgram, placeOfConfig, type ServerPlace } from '../doctor/program.ts'
import { examineRedis } from '../doctor/redis.ts'
import { examineRtp } from '../doctor/rtp.ts'
import { judgeSecrets, readSecrets } from '../doctor/secrets.ts'
import { examineSignalling } from '../doctor/signalling.ts'
import { examineSpeech, findModels, judgeModels } from '../doctor/speech.ts'
import { examineBlobs, examineDisks } from '../doctor/storage.ts'
import { examineControl, isOpen } from '../doctor/web.ts'
import { readConnections } from '../embedded/home.ts'
import { findRedis } from '../embedded/redis-server.ts'

const USAGE = `Usage: npm run doctor [-- --json]

Check the Parley installation in this directory, or the one in the environment settings, and suggest fixes.
In a container it checks what that container is configured for: run it in control and in an engine.

  --json   Print JSON (combine with npm run --silent)

Exit status: 0 no errors, 1 errors found, 2 invalid usage.`

type Check = { part: string; check(): Finding[] | Promise<Finding[]> }

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

const MARKS: Record<FindingStatus, string> = { ok: 'ok   ', warning: 'warn ', error: 'ERROR', skipped: 'skip ' }

function render(name: string, findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const lines = findings.flatMap(({ part, status, text, todo }) => [
    `  ${MARKS[status]}  ${part.padEnd(width)}  ${text}`,
    ...(todo === null ? [] : [`  ${' '.repeat(5)}  ${' '.repeat(width)}  → ${todo}`]),
  ])
  const count = (status: FindingStatus) => findings.filter(finding => finding.status === status).length
  const [bad, warn] = [count('error'), count('warning')]
  const sum = bad + warn === 0 ? 'No problems found.' : `${many(bad, 'error')}, ${many(warn, 'warning')}.`
  return `Checking ${name}\n\n${lines.join('\n')}\n\n${sum}`
}

async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  let json = false
  try {
    const { values } = parseArgs({
      args: argv,
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.help) {
      console.log(USAGE)
      return 0
    }
    json = values.json ?? false
  } catch {
    console.error(USAGE)
    return 2
  }
  const { name, findings } = await examine(env)
  console.log(json ? JSON.stringify({ place: name, findings }, null, 2) : render(name, findings))
  return findings.some(({ status }) => status === 'error') ? 1 : 0
}

async function examine(env: NodeJS.ProcessEnv): Promise<{ name: string; findings: Finding[] }> {
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

process.exitCode = await main(process.argv.slice(2), process.env)
