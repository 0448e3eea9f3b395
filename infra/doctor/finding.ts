/** What the doctor says: a line a thing, and what to do where something is to be done. */

export type Verdict = 'ok' | 'warn' | 'bad' | 'skip'

export interface Finding {
  /** Which part of the installation, in a word or two. */
  part: string
  verdict: Verdict
  text: string
  /** What to do; null where nothing is to be done. */
  todo: string | null
}

/** Lines of one part. */
export function about(part: string) {
  return {
    ok: (text: string): Finding => ({ part, verdict: 'ok', text, todo: null }),
    /** It works, and may not for long, or not for everybody. */
    warn: (text: string, todo: string): Finding => ({ part, verdict: 'warn', text, todo }),
    bad: (text: string, todo: string): Finding => ({ part, verdict: 'bad', text, todo }),
    /** Not looked at, and why. */
    skip: (text: string): Finding => ({ part, verdict: 'skip', text, todo: null }),
  }
}

/** Host and port of a URL: what else is in it may be a password. */
export function placeOf(url: string, port: number): string {
  const { hostname, port: given } = new URL(url)
  return `${hostname}:${given || port}`
}

export const bytes = (count: number): string =>
  count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${Math.max(1, Math.round(count / 1e6))} MB`

export function time(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} minutes`
  return `${Math.round(ms / 3_600_000)} hours`
}

export const many = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`

const FAILURES: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nobody listens there'],
  [/^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, 'its name is not known here'],
  [/^(?:ETIMEDOUT|CONNECT_TIMEOUT|TimeoutError|UND_ERR_CONNECT_TIMEOUT|ABORT_ERR|23)$/, 'no answer in time'],
  [/^(?:EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/, 'no way leads there'],
  [/^(?:ECONNRESET|EPIPE|CONNECTION_CLOSED|CONNECTION_ENDED|UND_ERR_SOCKET)$/, 'it hung up'],
  [/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS)/, 'its certificate is not one to trust'],
  [/^(?:EACCES|EPERM)$/, 'this user may not'],
  [/^ENOSPC$/, 'the disk is full'],
  [/^EROFS$/, 'the disk takes no writes'],
  [/^ENOENT$/, 'it is not there'],
  [/^NOT_OUR_PROTOCOL$/, 'something else answers there'],
]

/** In words, and never the message itself, which may quote an address with its password, or what was in a row. */
export function failureOf(error: unknown): string {
  const chain = [error, (error as { cause?: unknown } | null)?.cause]
  for (const one of chain) {
    const { code, name, errors } = (one ?? {}) as { code?: unknown; name?: unknown; errors?: unknown[] }
    // Of a name with several addresses: one reason stands for all.
    for (const word of [code, (errors?.[0] as { code?: unknown } | undefined)?.code, name]) {
      const known = FAILURES.find(([pattern]) => typeof word === 'string' && pattern.test(word))
      if (known) return known[1]
    }
  }
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return `it failed (${typeof code === 'string' && /^[\w-]{1,40}$/.test(code) ? code : String(name ?? 'unknown')})`
}

/** Between two computers whose clocks should agree; `uncertainMs`: how long the question took. */
export function judgeClock(part: string, whose: string, skewMs: number, uncertainMs: number): Finding[] {
  const off = Math.max(0, Math.abs(skewMs) - uncertainMs)
  if (off < 1000) return []
  const text = `${whose} is ${time(off)} ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of this machine.`
  const todo = 'Let NTP (chrony, systemd-timesyncd) set both clocks.'
  return [off < 10_000 ? about(part).warn(text, todo) : about(part).bad(text, todo)]
}

/** The time limit of anything that is asked over a network. */
export const ANSWER_MS = 5000

export async function inTime<T>(work: Promise<T>, ms = ANSWER_MS): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(Object.assign(new Error('too late'), { code: 'ETIMEDOUT' })), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
