/**
 * A new user: an ordinary account with an empty home, a checkout, and a PATH of Node, npm, Python, git and coreutils.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pathOf } from '../../infra/setup/prepare.ts'

export const checkout = join(import.meta.dirname, '../..')
const isRoot = process.getuid?.() === 0

/** The coreutils that a start, npm or Go may run. */
const COREUTILS =
  `basename cat chmod chown cp cut date dd dirname echo env expr false head hostname id install ln ls mkdir mktemp mv
  nice nohup nproc od printf pwd readlink realpath rm rmdir sha256sum sleep sort stat stty tail tee test touch tr true tty
  uname uniq wc whoami yes`.split(/\s+/)
/** Environment variables for access to the registries. */
const NETWORK =
  /^(?:https?_proxy|no_proxy|npm_config_registry|pip_(?:index_url|cert)|ssl_cert_file|node_extra_ca_certs)$/i

export interface Newcomer {
  folder: string
  /** Runs a command as this user in the checkout; resolves when it has exited. */
  run(args: string[], env?: Record<string, string>): Promise<{ code: number | null; output: string }>
  remove(): void
}

/** Null when only the file's owner could reach it. */
export function reachable(path: string): boolean {
  if (!isRoot) return true
  for (let at = dirname(realpathSync(path)); at !== dirname(at); at = dirname(at))
    if ((statSync(at).mode & 0o001) === 0) return false
  return true
}

/** The checkout contains exactly our current files. */
export function createNewcomer(): Newcomer {
  const folder = mkdtempSync(join(tmpdir(), 'parley-newcomer-'))
  chmodSync(folder, 0o755)
  const [home, bin, own] = [join(folder, 'home'), join(folder, 'bin'), join(folder, 'home', 'parley')]
  for (const made of [home, bin, own]) mkdirSync(made)
  for (const [name, file] of programs()) symlinkSync(file, join(bin, name))
  const git = ['-c', 'safe.directory=*', 'ls-files', '-co', '--exclude-standard']
  for (const file of execFileSync('git', git, { cwd: checkout, encoding: 'utf8' }).trim().split('\n')) {
    if (existsSync(join(checkout, file))) cpSync(join(checkout, file), join(own, file))
  }
  const uid = isRoot ? idleUser() : null
  if (uid !== null) for (const entry of [home, ...entriesOf(home)]) chownSync(entry, uid, uid)
  const running = new Set<ChildProcess>()
  return {
    folder,
    async run(args, env = {}) {
      const as = uid === null ? [] : [pathOf('setpriv')!, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
      const network = Object.entries(process.env).filter(([name]) => NETWORK.test(name))
      const [command, ...rest] = [...as, join(bin, args[0]!), ...args.slice(1)] as [string, ...string[]]
      const child = spawn(command, rest, {
        cwd: own,
        env: { ...Object.fromEntries(network), HOME: home, PATH: bin, LANG: 'C.UTF-8', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      running.add(child)
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (output += String(part)))
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', resolve)
      })
      running.delete(child)
      return { code, output }
    },
    remove() {
      for (const child of running) child.kill('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Hard-links where possible, so that 200 MB cost nothing. */
export function shareFolder(from: string, to: string, wanted: (name: string) => boolean = () => true): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (!wanted(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) shareFolder(source, target)
    else
      try {
        linkSync(source, target)
      } catch {
        cpSync(source, target) // another disk
      }
  }
}

function programs(): Map<string, string> {
  // Ours are the tests', not a newcomer's.
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(folder => !folder.includes('node_modules'))
  const found = (name: string) => {
    const all = ['/usr/bin', '/bin', '/usr/local/bin', ...folders].map(folder => join(folder, name))
    return all.find(file => existsSync(file) && reachable(file))
  }
  return new Map(
    ['node', 'npm', 'npx', 'python3', 'git', 'sh', ...COREUTILS].flatMap(name => {
      const file = found(name)
      return file === undefined ? [] : [[name, file]]
    }),
  )
}

/**
 * An account that exists on every system and runs nothing. A UID without an account would not do, because initdb looks
 * it up.
 */
function idleUser(): number {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const line = ['games', 'news', 'uucp', 'man', 'nobody'].map(name => lines.find(one => one.startsWith(`${name}:`)))
  return Number(line.find(found => found !== undefined)!.split(':')[2])
}

export const entriesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).map(entry => join(entry.parentPath, entry.name))
