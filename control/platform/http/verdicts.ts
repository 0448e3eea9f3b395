/**
 * What the database said of a key or a session, believed for a moment: no SQL at each request, and yet a revocation holds
 * everywhere within 5 s. The time counts from when the question was asked, so that a slow answer is not believed longer.
 */
import type { Clock } from '../../../media/shared/clock.ts'

const KEPT_MS = 4000
/** So long after a revocation no process takes the credential any more. */
export const REVOKED_EVERYWHERE_MS = 5000
const MOST = 10_000

interface Entry<T> {
  askedAt: number
  answer: Promise<T | null>
  /** Undefined until it is known. */
  verdict: T | null | undefined
}

export interface Verdicts<T> {
  /** `hash` stands for the credential, which is never kept. Those who ask for the same at once share one question. */
  of(hash: Buffer, ask: () => Promise<T | null>): Promise<T | null>
  /** At once in this process; the others follow when theirs have grown old. */
  forget(which: (verdict: T) => boolean): void
  readonly size: number
}

function createVerdicts<T>(clock: Clock): Verdicts<T> {
  /** Least recently used first. */
  const entries = new Map<string, Entry<T>>()
  const isYoung = (entry: Entry<T>) => clock.now() - entry.askedAt < KEPT_MS

  function put(key: string, entry: Entry<T>): void {
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > MOST) entries.delete(entries.keys().next().value!)
  }

  function start(key: string, ask: () => Promise<T | null>): Entry<T> {
    const entry: Entry<T> = { askedAt: clock.now(), answer: ask(), verdict: undefined }
    entry.answer.then(
      verdict => {
        entry.verdict = verdict
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
        const verdict = await entry.answer
        // Who joined a question that took long must not go by what was true before he came.
        if (!joined || isYoung(entry)) return verdict
      }
    },
    forget(which) {
      for (const [key, { verdict }] of entries) {
        // What is being asked just now may have been answered before the change.
        if (verdict === undefined || (verdict !== null && which(verdict))) entries.delete(key)
      }
    },
    get size() {
      return entries.size
    },
  }
}

/** One store for each set of ports: a process has one, a test several. */
export function verdictsByPorts<T>(): (ports: { clock: Clock }) => Verdicts<T> {
  const stores = new WeakMap<object, Verdicts<T>>()
  return ports => {
    const store = stores.get(ports) ?? createVerdicts<T>(ports.clock)
    stores.set(ports, store)
    return store
  }
}
