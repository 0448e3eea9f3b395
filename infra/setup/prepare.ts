/** Finds or installs what the machine lacks. Idempotent: reports each step once, and nothing when nothing was done. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface ProgressReporter {
  /** Reports a step that takes time; call the returned function at its end. */
  step(text: string): (result?: string) => void
  say(text: string): void
}

export function createReporter(): ProgressReporter {
  /** Text of a step whose line is unfinished; other messages get their own lines. */
  let open: string | null = null
  return {
    step(text) {
      const startedAt = Date.now()
      process.stdout.write(`· ${text} … `)
      open = text
      return result => {
        const end = result ?? `${Math.max(1, Math.round((Date.now() - startedAt) / 1000))} s`
        console.log(open === text ? end : `· ${text}: ${end}`)
        open = null
      }
    },
    say(text) {
      if (open !== null) console.log()
      open = null
      console.log(`· ${text}`)
    },
  }
}

/** A reporter for parallel work, which must not leave a line unfinished. */
export const inBackground = (say: ProgressReporter['say']): ProgressReporter => ({
  say,
  step(text) {
    say(text)
    return result => result !== undefined && say(`${text}: ${result}`)
  },
})

/** Runs `work` as one step; an exception ends the step as failed. */
export async function asStep<T>(
  reporter: ProgressReporter | undefined,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const done = reporter?.step(text)
  try {
    const result = await work()
    done?.()
    return result
  } catch (error) {
    done?.('failed')
    throw error
  }
}

/** Programs and the Debian packages that contain them, with the further packages they need. */
const PACKAGES: Record<string, string> = {
  'redis-server': 'redis-server',
  python3: 'python3',
  pip3: 'python3-pip',
  'espeak-ng': 'espeak-ng',
  sipp: 'sip-tester',
  baresip: 'baresip-core',
  tcpdump: 'tcpdump',
  unshare: 'util-linux',
  ip: 'iproute2',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
  kamailio: 'kamailio kamailio-tls-modules',
  openssl: 'openssl',
  rtpengine: 'rtpengine-daemon',
  linphonec: 'linphone-cli',
}

const CHROMIUMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The system's Chromium under any of its names; null when there is none. */
export const findChromium = (): string | null => CHROMIUMS.map(pathOf).find(file => file !== null) ?? null

/**
 * Chromium without a window or its user interface, which makes the tests of pages a third cheaper in CPU time; null when
 * there is none. It has no microphone.
 */
export const findHeadlessShell = (): string | null => pathOf('chromium-headless-shell')

export async function ensureChromium(reporter: ProgressReporter): Promise<string | null> {
  if (findChromium() === null) await ensurePrograms(['chromium'], reporter)
  return findChromium()
}

/** Installs missing programs where possible; returns those that are still missing. */
export async function ensurePrograms(programs: readonly string[], reporter: ProgressReporter): Promise<string[]> {
  const missing = programs.filter(program => !onPath(program))
  if (missing.length === 0) return []
  const packages = [...new Set(missing.flatMap(program => (PACKAGES[program] ?? program).split(' ')))]
  if (process.getuid?.() !== 0 || !onPath('apt-get')) return missing
  const done = reporter.step(`Installing ${packages.join(', ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () => run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { env })
  let result = await install()
  if (result.code !== 0) {
    await run('apt-get', ['update', '-qq'], { env }) // package lists may be missing or outdated
    result = await install()
  }
  done(result.code === 0 ? undefined : 'failed')
  return programs.filter(program => !onPath(program))
}

/** The path of a program; null when it is not on PATH. */
export function pathOf(program: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return folders.map(folder => join(folder, program)).find(file => existsSync(file)) ?? null
}

export const onPath = (program: string) => pathOf(program) !== null

/**
 * A command whose process is killed with ours, also by `kill -9`: otherwise a download or a build of a killed start goes
 * on beside that of the next. Linux with util-linux only; elsewhere the command as it is.
 */
export function tied(command: string, args: readonly string[]): [command: string, args: string[]] {
  tying ??= canTie()
  return tying ? ['setpriv', [...TIE, command, ...args]] : [command, [...args]]
}
const TIE = ['--pdeathsig', 'KILL']
let tying: boolean | null = null

function canTie(): boolean {
  try {
    execFileSync('setpriv', [...TIE, 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export function run(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<{ code: number | null; output: string }> {
  return new Promise(resolve => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const output: string[] = []
    child.stdout.on('data', part => output.push(String(part)))
    child.stderr.on('data', part => output.push(String(part)))
    child.once('error', error => resolve({ code: null, output: error.message }))
    child.once('close', code => resolve({ code, output: output.join('') }))
  })
}
