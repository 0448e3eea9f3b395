/** The command line of `npm run admin`. */
import { parseArgs } from 'node:util'
import { connect } from '../../control/platform/db/connect.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createBlobs } from '../adapters/blobs.ts'
import { systemClock } from '../adapters/clock.ts'
import { createLog } from '../adapters/log.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { readConnections } from '../embedded/home.ts'
import { controlConfig } from '../wiring/parts.ts'
import { type AdminDeps, type Command, commands, inWords, type Result, runAudited, UsageError } from './commands.ts'

export interface Terminal {
  env: NodeJS.ProcessEnv
  print(text: string): void
  printError(text: string): void
  readPassword(): Promise<string>
}

const CALL = 'npm run admin --'
const COMMON = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const

const line = (name: string, { args, usage }: Command) =>
  [name, ...args.map(arg => `<${arg}>`), usage].filter(Boolean).join(' ')

function helpAll(): string {
  const list = Object.entries(commands).map(
    ([name, command]) => `  ${line(name, command)}\n      ${command.about.replaceAll('\n', '\n      ')}`,
  )
  return `Manage the accounts of this Parley installation.

Usage: ${CALL} <command> [options]

${list.join('\n')}

Global options:
  --json   Print JSON (combine with npm run --silent)
  --help   Show help for a command

Connects to DATABASE_URL, or to the Parley started by \`npm start\` in this directory.
Exit status: 0 success, 1 failure, 2 invalid usage.`
}

const helpOne = (name: string) => `${CALL} ${line(name, commands[name]!)}\n\n${commands[name]!.about}`

/** Runs one command and returns the exit status. */
export async function runAdmin(argv: string[], { env, print, printError, readPassword }: Terminal): Promise<number> {
  const [name = '', ...rest] = argv
  if (name === '--help' || name === '-h' || name === 'help') {
    print(helpAll())
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name]! : null
  if (!command) {
    printError(name === '' ? helpAll() : `Unknown command "${name}". Run \`${CALL} --help\` for a list.`)
    return 2
  }
  try {
    const { values, positionals } = parse(command, rest)
    if (values['help']) {
      print(helpOne(name))
      return 0
    }
    if (positionals.length !== command.args.length) throw new UsageError('Wrong number of arguments.')
    const result = await withDeps(env, deps =>
      runAudited(name, command, { deps, args: positionals, options: values, readPassword }),
    )
    print(values['json'] ? JSON.stringify(result.json, null, 2) : result.text)
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      printError(`${error.message}\n\n${helpOne(name)}`)
      return 2
    }
    const words = error instanceof ConfigError ? error.message : inWords(error)
    // A Postgres error message may contain row data.
    printError(words ?? `Command failed: ${(error as { code?: string }).code ?? (error as Error).message}`)
    return 1
  }
}

function parse(command: Command, args: string[]) {
  try {
    const parsed = parseArgs({ args, options: { ...command.options, ...COMMON }, allowPositionals: true })
    return { positionals: parsed.positionals, values: parsed.values as Record<string, string | boolean | undefined> }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function withDeps(env: NodeJS.ProcessEnv, use: (deps: AdminDeps) => Promise<Result>): Promise<Result> {
  const config = readConfig(env)
  const url = config.DATABASE_URL ?? readConnections(config.home)?.database_url
  if (url === undefined) throw new ConfigError(notRunning(config))
  const log = createLog('admin', 'error')
  const sql = connect({ url, max: 2 })
  const boss = createBoss({ url, max: 1, log, supervise: false })
  try {
    return await use({ sql, boss, blobs: createBlobs(config), clock: systemClock, log, config: controlConfig(config) })
  } finally {
    await boss.stop({ graceful: false })
    await sql.end({ timeout: 5 })
  }
}

const notRunning = (config: Config) =>
  `Parley is not running in this directory (${config.PARLEY_HOME}). Start it with \`npm start\`, or set DATABASE_URL.`
