/** Findings about secrets that can be guessed, or read by others on this machine. Prints no secret. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, secretFiles } from '../config/config.ts'
import { isLoopback } from '../config/hosts.ts'
import { about, type Finding } from './finding.ts'

const say = about('Secrets')
const MAKE = 'Make one with `openssl rand -base64 32`'
/** drachtio's default secret, which its manual publishes. */
const KNOWN_DRACHTIO = 'cymru'
const GUESSED = /^(?:.*(?:secret|password|passwd|change[-_ ]?me|example|test|qwerty|12345|parley).*)$/i

export interface SecretsFound {
  /** Null when none has been generated yet. */
  secret: string | null
  database: URL | null
  redis: URL | null
  livekit: { secret: string; host: string } | null
  drachtio: { secret: string; host: string } | null
  /** Files that contain a secret, with their mode. */
  files: readonly { path: string; mode: number }[]
}

export function readSecrets(config: Config, env: NodeJS.ProcessEnv): SecretsFound {
  const named = secretFiles(env).map(({ file }) => file)
  const own = ['secret', 'connections.json', 'demo.json'].map(name => join(config.home, name))
  const { LIVEKIT_URL, LIVEKIT_API_SECRET, DRACHTIO_HOST, DRACHTIO_SECRET } = config
  return {
    secret: config.secret === '' ? null : config.secret,
    database: config.DATABASE_URL ? new URL(config.DATABASE_URL) : null,
    redis: config.REDIS_URL ? new URL(config.REDIS_URL) : null,
    livekit: LIVEKIT_URL ? { secret: LIVEKIT_API_SECRET ?? '', host: new URL(LIVEKIT_URL).hostname } : null,
    drachtio: DRACHTIO_HOST ? { secret: DRACHTIO_SECRET ?? KNOWN_DRACHTIO, host: DRACHTIO_HOST } : null,
    files: [...named, ...own].flatMap(path => {
      const mode = statSync(path, { throwIfNoEntry: false })?.mode
      return mode === undefined ? [] : [{ path, mode: mode & 0o777 }]
    }),
  }
}

/** True for a password that a dictionary attack or a few attempts would find. */
export function isWeak(secret: string): boolean {
  return secret.length < 12 || new Set(secret).size < 8 || (secret.length < 32 && GUESSED.test(secret))
}

export function judgeSecrets(found: SecretsFound): Finding[] {
  const findings = [...judgeOwn(found), ...judgeServers(found), ...judgeFiles(found.files)]
  return findings.length > 0 ? findings : [say.ok('Strong, and not readable by other users.')]
}

function judgeOwn({ secret }: SecretsFound): Finding[] {
  if (secret === null) return [say.skipped('PARLEY_SECRET does not exist yet; the first start generates it.')]
  if (isWeak(secret)) {
    const text = 'PARLEY_SECRET is weak. It protects all stored passwords and keys.'
    return [
      say.error(
        text,
        `${MAKE} before there is data. Afterwards all passwords and keys sealed with the old one must be entered again.`,
      ),
    ]
  }
  if (secret.length >= 32) return []
  return [say.warning(`PARLEY_SECRET has only ${secret.length} characters; use 32 random ones.`, `${MAKE}.`)]
}

/** A weak secret of a server on loopback is a smaller risk than one on a network. */
function judgeServers({ database, redis, livekit, drachtio }: SecretsFound): Finding[] {
  const findings: Finding[] = []
  const judge = (name: string, host: string, secret: string, weak: boolean) => {
    if (!weak) return
    const text = `${name} ${secret === '' ? 'has no password' : 'has a weak password'}`
    if (!isLoopback(host))
      findings.push(say.error(`${text} and is reachable over a network.`, `${MAKE} and set it on both sides.`))
    else if (secret !== '')
      findings.push(
        say.warning(`${text}; every user of this machine can access it.`, `${MAKE} and set it on both sides.`),
      )
  }
  for (const [name, url] of [
    ['Postgres', database],
    ['Redis', redis],
  ] as const) {
    if (url !== null) judge(name, url.hostname, url.password, isWeak(decodeURIComponent(url.password)))
  }
  if (drachtio) judge('The SIP server', drachtio.host, drachtio.secret, isWeak(drachtio.secret))
  if (livekit) {
    judge('LiveKit', livekit.host, livekit.secret, isWeak(livekit.secret))
    if (!isWeak(livekit.secret) && livekit.secret.length < 32) {
      findings.push(
        say.warning('LIVEKIT_API_SECRET is shorter than the 32 characters that LiveKit recommends.', `${MAKE}.`),
      )
    }
  }
  return findings
}

function judgeFiles(files: SecretsFound['files']): Finding[] {
  return files
    .filter(({ mode }) => (mode & 0o007) !== 0)
    .map(({ path }) => say.error(`${path} is readable by every user of this machine.`, `Run: chmod o= ${path}`))
}
