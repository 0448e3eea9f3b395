/** Findings of the doctor: one line each, with a fix when one is needed. */

export type FindingStatus = 'ok' | 'warning' | 'error' | 'skipped'

export interface Finding {
  /** The checked component, in one or two words. */
  part: string
  status: FindingStatus
  text: string
  /** The fix; null when none is needed. */
  todo: string | null
}

/** Makes findings about one component. */
export function about(part: string) {
  return {
    ok: (text: string): Finding => ({ part, status: 'ok', text, todo: null }),
    /** Works now, but may not for long, or not for everybody. */
    warning: (text: string, todo: string): Finding => ({ part, status: 'warning', text, todo }),
    error: (text: string, todo: string): Finding => ({ part, status: 'error', text, todo }),
    /** Not checked; the text says why. */
    skipped: (text: string): Finding => ({ part, status: 'skipped', text, todo: null }),
  }
}

/** Host and port of a URL, without its other parts, which may contain a password. */
export function hostPortOf(url: string, port: number): string {
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
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, 'host name not found'],
  [/^(?:ETIMEDOUT|CONNECT_TIMEOUT|TimeoutError|UND_ERR_CONNECT_TIMEOUT|ABORT_ERR|23)$/, 'no answer in time'],
  [/^(?:EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/, 'no route to host'],
  [/^(?:ECONNRESET|EPIPE|CONNECTION_CLOSED|CONNECTION_ENDED|UND_ERR_SOCKET)$/, 'connection closed by the server'],
  [/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS)/, 'its certificate is not trusted'],
  [/^(?:EACCES|EPERM)$/, 'permission denied'],
  [/^ENOSPC$/, 'the disk is full'],
  [/^EROFS$/, 'the disk is read-only'],
  [/^ENOENT$/, 'not found'],
  [/^NOT_OUR_PROTOCOL$/, 'another service answers there'],
]

/** Describes a failure without its message, which may quote an address with its password, or row data. */
export function failureOf(error: unknown): string {
  const chain = [error, (error as { cause?: unknown } | null)?.cause]
  for (const one of chain) {
    const { code, name, errors } = (one ?? {}) as { code?: unknown; name?: unknown; errors?: unknown[] }
    // A name with several addresses: the first reason stands for all.
    for (const word of [code, (errors?.[0] as { code?: unknown } | undefined)?.code, name]) {
      const known = FAILURES.find(([pattern]) => typeof word === 'string' && pattern.test(word))
      if (known) return known[1]
    }
  }
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return `failed (${typeof code === 'string' && /^[\w-]{1,40}$/.test(code) ? code : String(name ?? 'unknown')})`
}

/** Compares two clocks that should agree; `uncertainMs` is the duration of the query. */
export function judgeClock(part: string, whose: string, skewMs: number, uncertainMs: number): Finding[] {
  const off = Math.max(0, Math.abs(skewMs) - uncertainMs)
  if (off < 1000) return []
  const text = `${whose} is ${time(off)} ${skewMs > 0 ? 'ahead of' : 'behind'} this machine’s clock.`
  const todo = 'Synchronize both clocks with NTP (chrony, systemd-timesyncd).'
  return [off < 10_000 ? about(part).warning(text, todo) : about(part).error(text, todo)]
}

/** Timeout of every network request, in ms. */
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
