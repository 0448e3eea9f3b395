/**
 * Caches the database's result for a key or a session for a moment: requests need no SQL, and a revocation still takes
 * effect everywhere within 5 s. The time counts from when the query began, so that a slow result is not trusted longer.
 */
import type { Clock } from '../../../media/shared/clock.ts'

const KEPT_MS = 4000
/** Milliseconds after a revocation by which every process rejects the credential. */
export const REVOKED_EVERYWHERE_MS = 5000
const MOST = 10_000

interface Entry<T> {
  askedAt: number
  answer: Promise<T | null>
  /** Undefined until the query returns. */
  value: T | null | undefined
}

export interface CredentialCache<T> {
  /** `hash` stands for the credential, which is never kept. Concurrent requests for one credential share one query. */
  of(hash: Buffer, ask: () => Promise<T | null>): Promise<T | null>
  /** Takes effect at once in this process; other processes follow when their entries expire. */
  forget(which: (value: T) => boolean): void
  readonly size: number
}

function createCredentialCache<T>(clock: Clock): CredentialCache<T> {
  /** Least recently used first. */
  const entries = new Map<string, Entry<T>>()
  const isYoung = (entry: Entry<T>) => clock.now() - entry.askedAt < KEPT_MS

  function put(key: string, entry: Entry<T>): void {
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > MOST) entries.delete(entries.keys().next().value!)
  }

  function start(key: string, ask: () => Promise<T | null>): Entry<T> {
    const entry: Entry<T> = { askedAt: clock.now(), answer: ask(), value: undefined }
    entry.answer.then(
      value => {
        entry.value = value
      },
      () => {
        if (entries.get(key) === entry) entries.delete(key)
      },
    )
    return entry
  }

  return {
    async of(hash, ask) {
      const key = hash.toString('base64')
      for (;;) {
        const found = entries.get(key)
        const joined = found !== undefined && isYoung(found)
        const entry = joined ? found : start(key, ask)
        put(key, entry)
        const value = await entry.answer
        // A request that joined a slow query must not rely on a result from before the request arrived.
        if (!joined || isYoung(entry)) return value
      }
    },
    forget(which) {
      for (const [key, { value }] of entries) {
        // A query that is in flight may have read the row before the change.
        if (value === undefined || (value !== null && which(value))) entries.delete(key)
      }
    },
    get size() {
      return entries.size
    },
  }
}

/** One store for each set of ports: a process has one, a test has several. */
export function credentialCacheByPorts<T>(): (ports: { clock: Clock }) => CredentialCache<T> {
  const stores = new WeakMap<object, CredentialCache<T>>()
  return ports => {
    const store = stores.get(ports) ?? createCredentialCache<T>(ports.clock)
    stores.set(ports, store)
    return store
  }
}
