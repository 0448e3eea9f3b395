/** Whether what must stay secret could be guessed, or read by others on this machine. Nothing of it is ever shown. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, secretFiles } from '../config/config.ts'
import { isLoopback } from '../config/hosts.ts'
import { about, type Finding } from './finding.ts'

const say = about('Secrets')
const MAKE = 'Make one with `openssl rand -base64 32`'
/** drachtio's own default, which is written in its manual. */
const KNOWN_DRACHTIO = 'cymru'
const GUESSED = /^(?:.*(?:secret|password|passwd|change[-_ ]?me|example|test|qwerty|12345|parley).*)$/i

export interface SecretsFound {
  /** Null: none is made yet. */
  secret: string | null
  database: URL | null
  redis: URL | null
  livekit: { secret: string; host: string } | null
  drachtio: { secret: string; host: string } | null
  /** Files with a secret in them, and their mode. */
  files: readonly { path: string; mode: number }[]
}

export function lookAtSecrets(config: Config, env: NodeJS.ProcessEnv): SecretsFound {
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

/** A password that a dictionary or a few tries would find. */
export function isWeak(secret: string): boolean {
  return secret.length < 12 || new Set(secret).size < 8 || (secret.length < 32 && GUESSED.test(secret))
}

export function judgeSecrets(found: SecretsFound): Finding[] {
  const findings = [...judgeOwn(found), ...judgeServers(found), ...judgeFiles(found.files)]
  return findings.length > 0 ? findings : [say.ok('Long enough, and readable by nobody else.')]
}

function judgeOwn({ secret }: SecretsFound): Finding[] {
  if (secret === null) return [say.skip('PARLEY_SECRET is not made yet: the first start does, and keeps it.')]
  if (isWeak(secret)) {
    const text = 'PARLEY_SECRET can be guessed: it opens all stored passwords and keys.'
    return [say.bad(text, `${MAKE} before there is data; later, what the old one sealed must be entered anew.`)]
  }
  if (secret.length >= 32) return []
  return [say.warn(`PARLEY_SECRET has ${secret.length} characters; 32 random ones are beyond any guess.`, `${MAKE}.`)]
}

/** A server that this machine alone can reach is another matter than one on a network. */
function judgeServers({ database, redis, livekit, drachtio }: SecretsFound): Finding[] {
  const findings: Finding[] = []
  const judge = (name: string, host: string, secret: string, weak: boolean) => {
    if (!weak) return
    const text = `${name} ${secret === '' ? 'has no password' : 'has a password that can be guessed'}`
    if (!isLoopback(host)) findings.push(say.bad(`${text}, and is on a network.`, `${MAKE}, there and here.`))
    else if (secret !== '')
      findings.push(say.warn(`${text}; who is on this machine can use it.`, `${MAKE}, there and here.`))
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
      findings.push(say.warn('LIVEKIT_API_SECRET has less than the 32 characters that LiveKit asks for.', `${MAKE}.`))
    }
  }
  return findings
}

function judgeFiles(files: SecretsFound['files']): Finding[] {
  return files
    .filter(({ mode }) => (mode & 0o007) !== 0)
    .map(({ path }) => say.bad(`Everybody on this machine may read ${path}.`, `chmod o= ${path}`))
}
