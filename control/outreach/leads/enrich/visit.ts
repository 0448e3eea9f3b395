/**
 * Reads a company's site: its start page and a few promising pages, politely and within limits that no site can exceed.
 * HTML is parsed in a separate process.
 */
import type { Clock } from '../../../../media/shared/clock.ts'
import { isSameSite, pageKey, parseAddress, redirectOf } from '../../../knowledge/crawl/address.ts'
import { isPage, readPage } from '../../../knowledge/crawl/page.ts'
import type { PoliteFetch } from '../../../knowledge/crawl/polite-fetch.ts'
import { type Extractor, KnowledgeError } from '../../../knowledge/documents/types.ts'
import { type Choice, choosePages } from './choose.ts'
import type { ReadPage } from './phones.ts'

export interface VisitLimits {
  totalMs: number
  pageMs: number
  pageBytes: number
  totalBytes: number
  pages: number
  /** Limit of requests, including failures and redirects. */
  requests: number
}

export const VISIT_LIMITS: VisitLimits = {
  totalMs: 30_000,
  pageMs: 12_000,
  pageBytes: 2 * 1024 * 1024,
  totalBytes: 6 * 1024 * 1024,
  pages: 6,
  requests: 16,
}
const MAX_REDIRECTS = 5
const ACCEPT = 'text/html,application/xhtml+xml'

export interface Visitor {
  polite: PoliteFetch
  extractor: Pick<Extractor, 'extract'>
  clock: Clock
  limits?: Partial<VisitLimits>
}

export interface Visit {
  /** The start page first; empty when it could not be read. */
  pages: ReadPage[]
  /** Sentence that explains why the site was not read, or only in part; null when there was no problem. */
  problem: string | null
}

/** Rejects only with the reason of `signal`. `asked`: the signals of the brief, used to choose pages. */
export async function visitSite(
  website: string,
  asked: readonly string[],
  visitor: Visitor,
  signal: AbortSignal,
): Promise<Visit> {
  const starts = startsOf(website)
  if (starts.length === 0) return { pages: [], problem: 'The address of the site is invalid.' }
  const limits = { ...VISIT_LIMITS, ...visitor.limits }
  const patience = new Patience(visitor.clock, limits.totalMs)
  try {
    return await new SiteVisit(visitor, limits, asked, patience, signal).run(starts)
  } finally {
    patience.stop()
  }
}

const TOO_LONG = 'Reading the site took too long.'

/** Time limit of the site only: the clock stops while our own process parses a page. */
class Patience {
  readonly #late = new AbortController()
  readonly #clock: Clock
  #leftMs: number
  #sinceMs = 0
  #cancel = () => {}

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#leftMs = ms
    this.#go()
  }

  get signal(): AbortSignal {
    return this.#late.signal
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.stop()
    this.#leftMs -= this.#clock.now() - this.#sinceMs
    try {
      return await work()
    } finally {
      this.#go()
    }
  }

  stop(): void {
    this.#cancel()
  }

  #go(): void {
    this.#sinceMs = this.#clock.now()
    const end = () => this.#late.abort(new KnowledgeError('timeout', TOO_LONG))
    this.#cancel = this.#clock.after(Math.max(0, this.#leftMs), end)
  }
}

/** Without a scheme, https is tried first. */
function startsOf(website: string): URL[] {
  const text = website.trim()
  const tries = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? [text] : [`https://${text}`, `http://${text}`]
  return tries.flatMap(address => parseAddress(address) ?? [])
}

class SiteVisit {
  readonly #visitor: Visitor
  readonly #limits: VisitLimits
  readonly #asked: readonly string[]
  readonly #patience: Patience
  readonly #signal: AbortSignal
  readonly #callers: AbortSignal
  readonly #pages: ReadPage[] = []
  readonly #met = new Set<string>()
  #problem: string | null = null
  #requests = 0
  #bytes = 0

  constructor(
    visitor: Visitor,
    limits: VisitLimits,
    asked: readonly string[],
    patience: Patience,
    callers: AbortSignal,
  ) {
    this.#visitor = visitor
    this.#limits = limits
    this.#asked = asked
    this.#patience = patience
    this.#signal = AbortSignal.any([callers, patience.signal])
    this.#callers = callers
  }

  async run(starts: readonly URL[]): Promise<Visit> {
    for (const start of starts) {
      this.#problem = null
      const due = await this.#visit({ url: start, role: 'start', worth: 0 }, null)
      if (!due) continue
      await this.#readOn(due)
      break
    }
    return { pages: this.#pages, problem: this.#problem }
  }

  async #readOn({ site, choices }: { site: URL; choices: Choice[] }): Promise<void> {
    let left = choices
    while (left.length > 0 && this.#pages.length < this.#limits.pages && !this.#isSpent()) {
      const [next, ...others] = left
      const found = this.#met.has(pageKey(next!.url)) ? null : await this.#visit(next!, site)
      left = others
      // A page of frames has no links of its own.
      if (found && this.#pages[0]!.page.links.length === 0) left = [...others, ...found.choices]
    }
  }

  #isSpent(): boolean {
    const { requests, totalBytes } = this.#limits
    return this.#signal.aborted || this.#requests >= requests || this.#bytes >= totalBytes
  }

  /** Null when the page could not be read; a failed page does not affect the others. */
  async #visit(choice: Choice, site: URL | null): Promise<{ site: URL; choices: Choice[] } | null> {
    try {
      return await this.#read(choice, site)
    } catch (error) {
      this.#callers.throwIfAborted()
      const message = error instanceof KnowledgeError ? error.message : 'The site could not be read.'
      if (site === null || this.#signal.aborted) this.#problem = message
      return null
    }
  }

  async #read({ url, role }: Choice, site: URL | null): Promise<{ site: URL; choices: Choice[] } | null> {
    let at = url
    for (let hops = 0; ; hops++) {
      if (hops > MAX_REDIRECTS) throw new KnowledgeError('unreachable', 'The page redirects in a loop or too often.')
      this.#met.add(pageKey(at))
      const answer = await this.#get(at)
      const target = redirectOf(answer, at)
      if (target === 'unreadable') throw new KnowledgeError('unreachable', 'The page redirects to an invalid address.')
      if (!target) return this.#keep(answer, at, role)
      // The start page may redirect to another site; later redirects must stay on the site.
      if (site && !isSameSite(site, target)) return null
      at = target
    }
  }

  async #get(url: URL) {
    const { pageMs, pageBytes, totalBytes, requests } = this.#limits
    const maxBytes = Math.min(pageBytes, totalBytes - this.#bytes)
    if (++this.#requests > requests || maxBytes <= 0) throw new KnowledgeError('too_large', 'The site is too large.')
    const request = { accept: ACCEPT, timeoutMs: pageMs, maxBytes, cut: true as const, wants: isPage }
    const answer = await this.#visitor.polite.get(url, request, this.#signal)
    this.#bytes += answer.body.length
    return answer
  }

  async #keep(answer: Parameters<typeof readPage>[0], at: URL, role: ReadPage['role']) {
    const { kind, charset } = readPage(answer)
    if (kind !== 'html') throw new KnowledgeError('not_html', 'The address is not a web page.')
    const input = { kind: 'site' as const, body: answer.body, url: at.href, charset }
    const { site: page } = await this.#patience.during(() => this.#visitor.extractor.extract(input, this.#signal))
    if (!page) throw new KnowledgeError('internal', 'The page could not be read.')
    this.#pages.push({ url: at.href, role, page })
    return { site: at, choices: choosePages(page, at, this.#asked) }
  }
}
