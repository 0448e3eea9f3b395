/**
 * `npm run doctor`: looks at a whole installation, from its settings to its disks, and says in plain words what is wrong and
 * what to do. It changes nothing, works beside what runs and on what does not, and shows no secret.
 */
import { parseArgs } from 'node:util'
import { spoolFolder } from '../adapters/blobs.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { about, type Finding, failureOf, type Verdict } from '../doctor/finding.ts'
import { examineLiveKit } from '../doctor/livekit.ts'
import { examineMail } from '../doctor/mail.ts'
import { examinePostgres } from '../doctor/postgres.ts'
import { examineProgram, type Place, placeOfConfig } from '../doctor/program.ts'
import { examineRedis } from '../doctor/redis.ts'
import { judgeSecrets, lookAtSecrets } from '../doctor/secrets.ts'
import { examineSignalling } from '../doctor/signalling.ts'
import { examineSound } from '../doctor/sound.ts'
import { examineSpeech, judgeModels, lookAtModels } from '../doctor/speech.ts'
import { examineBlobs, examineDisks } from '../doctor/storage.ts'
import { examineControl, isOpen } from '../doctor/web.ts'
import { readConnections } from '../embedded/home.ts'
import { findRedis } from '../embedded/redis-server.ts'

const USAGE = `npm run doctor [-- --json]

Looks at the Parley of this folder, or at the one that the settings name, and says what is wrong and what to do.
In a container it looks at what that container is told of: ask control and an engine.

  --json   for programs: JSON on standard output (with npm run --silent)

It ends with 0 when nothing is bad, 1 when something is, 2 when it was not understood.`

type Look = { part: string; look(): Finding[] | Promise<Finding[]> }

interface Here {
  config: Config
  place: Place
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

/** In the order in which they are told: what others stand on comes first. */
function looksOf({ config, place, env }: Here): Look[] {
  const { allInOne, running, control, engine } = place
  const stopped = allInOne && !running
  const some = (condition: boolean, ...looks: Look[]) => (condition ? looks : [])
  return [
    { part: 'Program', look: examineProgram },
    { part: 'Secrets', look: () => judgeSecrets(lookAtSecrets(config, env)) },
    ...some(stopped, { part: 'Parley', look: () => judgeStopped(config) }),
    ...some(allInOne, { part: 'Models', look: () => judgeModels(lookAtModels(config)) }),
    {
      part: 'Disk',
      look: () => examineDisks(foldersOf(config, place)),
    },
    { part: 'Postgres', look: () => atPostgres(config, place) },
    { part: 'Redis', look: () => atRedis(config, place) },
    ...some(control && !stopped, { part: 'Control', look: () => examineControl(config) }),
    { part: 'SIP server', look: () => atSignalling(config, place) },
    ...some(!stopped, { part: 'LiveKit', look: () => atLiveKit(config) }),
    ...some(engine && !stopped, {
      part: 'Speech',
      look: () => examineSpeech(config.SPEECH_HOST, config.SPEECH_PORT ?? 9040),
    }),
    { part: 'Sound', look: () => atSound(config, place) },
    { part: 'Blob store', look: () => examineBlobs(config) },
    ...some(control, { part: 'Mail', look: () => examineMail(config) }),
  ]
}

const named = (folder: string | undefined) => (folder === undefined ? [] : [folder])

/** What an engine alone writes to has names of its own; its home may be as small as it likes. */
function foldersOf(config: Config, { allInOne, control, engine }: Place): string[] {
  const { home, BLOB_DIR, BLOB_S3_URL } = config
  const keepsBlobs = BLOB_DIR === undefined && !BLOB_S3_URL
  const own = allInOne || control || keepsBlobs ? [home] : []
  return [...own, ...named(BLOB_DIR), ...(engine ? [spoolFolder(config)] : [])]
}

function judgeStopped(config: Config): Finding[] {
  const say = about('Parley')
  const missing = config.REDIS_URL || findRedis(config.cache) ? [] : ['redis-server']
  const down = say.bad(
    `None runs in ${config.home}: Postgres, Redis, control and engine are down.`,
    'Start it by `npm start`.',
  )
  if (missing.length === 0) return [down]
  return [down, say.bad('redis-server is not here.', '`npm start` fetches it; or set REDIS_URL.')]
}

const NOT_TOLD = 'not told of here; ask'

async function atPostgres(config: Config, { allInOne, control }: Place): Promise<Finding[]> {
  const say = about('Postgres')
  if (config.DATABASE_URL) return examinePostgres(config.DATABASE_URL, allInOne ? config.home : null)
  return allInOne || control
    ? [say.skip('It is down, as all of it is.')]
    : [say.skip(`It is ${NOT_TOLD} a control process.`)]
}

async function atRedis(config: Config, { allInOne }: Place): Promise<Finding[]> {
  const say = about('Redis')
  if (config.REDIS_URL) {
    const { REDIS_URL: url, REDIS_PREFIX: prefix, LIVEKIT_URL } = config
    return examineRedis({ url, prefix, secret: config.secret || null, wantsRooms: LIVEKIT_URL !== undefined })
  }
  if (allInOne) return [say.skip('It is down, as all of it is.')]
  return [say.bad('REDIS_URL is not set.', 'Set it for control and engines alike.')]
}

async function atSignalling(config: Config, { allInOne }: Place): Promise<Finding[]> {
  const { DRACHTIO_HOST: host, DRACHTIO_PORT: port, DRACHTIO_SECRET } = config
  if (host !== undefined) return examineSignalling({ host, port, secret: DRACHTIO_SECRET ?? 'cymru' })
  return [about('SIP server').skip(allInOne ? 'It is down, as all of it is.' : `It is ${NOT_TOLD} an engine.`)]
}

async function atLiveKit(config: Config): Promise<Finding[]> {
  const { LIVEKIT_URL: url, LIVEKIT_PUBLIC_URL: publicUrl, LIVEKIT_ROOM_PREFIX: prefix } = config
  if (url === undefined)
    return [about('LiveKit').skip('There is none: no sessions in browsers, calls over SIP all the same.')]
  const keys = { apiKey: config.LIVEKIT_API_KEY ?? '', apiSecret: config.LIVEKIT_API_SECRET ?? '' }
  return examineLiveKit({ url, publicUrl, prefix, ...keys })
}

async function atSound(config: Config, { engine }: Place): Promise<Finding[]> {
  if (!engine) return [about('Sound').skip(`Its ports are ${NOT_TOLD} an engine.`)]
  const { RTP_PORT_MIN: min, RTP_PORT_MAX: max, ENGINE_CAPACITY: capacity } = config
  const host = config.RTP_HOST ?? config.SIP_HOST
  return examineSound({ host, publicHost: config.RTP_PUBLIC_HOST ?? null, min, max, capacity, isOpen: isOpen(config) })
}

/** One that could not be looked at takes no other along. */
async function run({ part, look }: Look): Promise<Finding[]> {
  try {
    return await look()
  } catch (error) {
    return [
      about(part).bad(
        `It could not be examined: ${failureOf(error)}.`,
        'This is a fault of the doctor; please report it.',
      ),
    ]
  }
}

const MARKS: Record<Verdict, string> = { ok: 'ok  ', warn: 'warn', bad: 'BAD ', skip: '–   ' }

function tell(name: string, findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const lines = findings.flatMap(({ part, verdict, text, todo }) => [
    `  ${MARKS[verdict]}  ${part.padEnd(width)}  ${text}`,
    ...(todo === null ? [] : [`  ${' '.repeat(4)}  ${' '.repeat(width)}  → ${todo}`]),
  ])
  const count = (verdict: Verdict) => findings.filter(finding => finding.verdict === verdict).length
  const [bad, warn] = [count('bad'), count('warn')]
  const sum = bad + warn === 0 ? 'Nothing is wrong.' : `${bad} bad, ${warn} to look at.`
  return `The doctor looks at ${name}.\n\n${lines.join('\n')}\n\n${sum}`
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
  console.log(json ? JSON.stringify({ place: name, findings }, null, 2) : tell(name, findings))
  return findings.some(({ verdict }) => verdict === 'bad') ? 1 : 0
}

async function examine(env: NodeJS.ProcessEnv): Promise<{ name: string; findings: Finding[] }> {
  try {
    const here = whereAreWe(env)
    return { name: here.place.name, findings: (await Promise.all(looksOf(here).map(run))).flat() }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const say = about('Settings')
    const lines = error.message.split('\n')
    const wrong = lines.length > 1 ? lines.slice(1) : lines
    const todo = 'docs/operating.md lists all settings. Correct this one; nothing starts before.'
    return { name: 'the settings', findings: wrong.map(line => say.bad(line.trim(), todo)) }
  }
}

process.exitCode = await main(process.argv.slice(2), process.env)
