/**
 * Reads a page or a site and passes pages to `onPage`, one at a time. Nothing is kept between runs: an interrupted
 * crawl starts again, and the caller must discard its earlier pages.
 */
import { setImmediate as loopTurn } from 'node:timers/promises'
import type { Clock } from '../../../media/shared/clock.ts'
import { type Fetch, FetchError, type FetchResponse } from '../../../media/shared/fetch.ts'
import {
  type Extracted,
  type ExtractedPage,
  type Extractor,
  KnowledgeError,
  type KnowledgeErrorCode,
  type Skipped,
  type SkipReason,
} from '../documents/types.ts'
import { cleanAddress, isSameSite, pageKey, pageOfSite, parseAddress, redirectOf } from './address.ts'
import { type Due, Frontier } from './frontier.ts'
import { ACCEPT, isPage, readPage, readRobotsTag } from './page.ts'
import { createPoliteFetch, type PoliteFetch, type PoliteRequest } from './polite-fetch.ts'
import { MAX_SITEMAP_BYTES, readSitemap, sitemapText } from './sitemap.ts'

export interface CrawlLimits {
  /** Milliseconds for one request, from the DNS lookup to the last byte. */
  pageMs: number
  pageBytes: number
  /** Milliseconds after which no request starts. */
  totalMs: number
  totalBytes: number
}

const LIMITS: CrawlLimits = {
  pageMs: 20_000,
  pageBytes: 5 * 1024 * 1024,
  totalMs: 600_000,
  totalBytes: 50 * 1024 * 1024,
}
/** Requests beyond one for each page: for errors, redirects and duplicates, and for robots.txt and sitemaps. */
const REQUESTS_A_PAGE = 4
const MORE_REQUESTS = 10
const MAX_REDIRECTS = 5
const MAX_SITEMAPS = 5
/** Limits of links on one page and on all pages: checking one takes about 50 µs. */
const MAX_LINKS = 1000
const MAX_JUDGED = 20_000
/** Consecutive pages that robots.txt disallows. After these, the crawl stops looking for one that is allowed. */
const MAX_FORBIDDEN = 200

export interface CrawlOptions {
  url: string
  /** True: the site; false: only this page. */
  crawl: boolean
  /** 1–50, counting pages that are passed to `onPage`. */
  maxPages: number
  fetch: Fetch
  extractor: Pick<Extractor, 'extract'>
  clock: Clock
  signal: AbortSignal
  /** The next page is read after this resolves. A rejection ends the crawl. */
  onPage(page: ExtractedPage): Promise<void>
  limits?: Partial<CrawlLimits>
}

export interface CrawlResult {
  pages: number
  skipped: Skipped
}

/** Rejects with `KnowledgeError` when no page could be read, and with the reason of `signal` when it is aborted. */
export async function crawlSite(options: CrawlOptions): Promise<CrawlResult> {
  const start = parseAddress(options.url.trim())
  if (!start) {
    throw new KnowledgeError(
      'unreachable',
      'Only http and https addresses without a user name and password are supported.',
    )
  }
  return new Crawl(start, options).run()
}

/** Errors of the start page that the rest of the site would have too. */
const HOPELESS: readonly KnowledgeErrorCode[] = ['blocked_address', 'unreachable', 'timeout']

class Crawl {
  readonly #options: CrawlOptions
  readonly #limits: CrawlLimits
  readonly #frontier: Frontier
  readonly #polite: PoliteFetch
  readonly #endMs: number
  readonly #skipped: Skipped = {}
  /** The end of the start page's redirects: the crawl reads that site. */
  #site: URL
  readonly #judged = new Set<string>()
  #bytes = 0
  #forbidden = 0
  #startError: KnowledgeError | null = null

  constructor(start: URL, options: CrawlOptions) {
    const { crawl, maxPages, clock, fetch } = options
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#site = start
    this.#frontier = new Frontier(start, crawl, { maxPages, maxRequests: REQUESTS_A_PAGE * maxPages + MORE_REQUESTS })
    this.#endMs = clock.now() + this.#limits.totalMs
    const counted: Fetch = async request => {
      this.#frontier.requested()
      try {
        const answer = await fetch(request)
        this.#bytes += answer.body.length
        return answer
      } catch (error) {
        if (error instanceof FetchError && error.code === 'too_large') this.#bytes += request.maxBytes
        throw error
      }
    }
    this.#polite = createPoliteFetch({ fetch: counted, clock })
  }

  async run(): Promise<CrawlResult> {
    const { signal } = this.#options
    while (!this.#isSpent()) {
      const due = this.#frontier.next()
      if (due.type === 'done') break
      // Thousands of disallowed links are checked without a request; let other work run in between.
      await loopTurn()
      signal.throwIfAborted()
      if (due.type === 'sitemap') await this.#readSitemaps()
      else await this.#visit(due)
      if (this.#startError && HOPELESS.includes(this.#startError.code)) break
    }
    if (this.#frontier.pages === 0) {
      throw this.#startError ?? new KnowledgeError('timeout', 'Reading the site took too long.')
    }
    this.#count('duplicate', this.#frontier.duplicates)
    this.#count('limit', this.#frontier.left)
    return { pages: this.#frontier.pages, skipped: this.#skipped }
  }

  #isSpent(): boolean {
    const isLate = this.#options.clock.now() >= this.#endMs
    return isLate || this.#bytes >= this.#limits.totalBytes || this.#forbidden >= MAX_FORBIDDEN
  }

  #count(reason: SkipReason, times = 1): undefined {
    if (times > 0) this.#skipped[reason] = (this.#skipped[reason] ?? 0) + times
  }

  /** Counts a broken page and continues. */
  async #visit(due: Extract<Due, { type: 'page' }>): Promise<void> {
    try {
      await this.#read(due)
      this.#forbidden = 0
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (!(error instanceof KnowledgeError)) throw error
      if (due.depth === 0) this.#startError = error
      this.#forbidden = error.code === 'robots' ? this.#forbidden + 1 : 0
      this.#count(error.code)
    }
  }

  async #read({ url, depth }: Extract<Due, { type: 'page' }>): Promise<void> {
    const arrived = await this.#arrive(url, depth)
    if (!arrived) return
    const { answer, at, extracted } = arrived
    const { crawl } = this.#options
    const tag = readRobotsTag(answer.headers['x-robots-tag'])
    const { html } = extracted
    if (crawl && html && !html.nofollow && !tag.nofollow) {
      this.#frontier.found(this.#pagesAmong(html.links.slice(0, MAX_LINKS)), depth + 1)
    }
    if (html?.noindex || tag.noindex) {
      if (depth > 0) return this.#count('noindex')
      throw new KnowledgeError('robots', 'The page asks not to be indexed (noindex).')
    }
    await this.#index(extracted, at)
  }

  async #index({ title, blocks, html }: Extracted, at: URL): Promise<void> {
    const text = blocks.map(block => block.text.replace(/\s+/g, ' ').trim()).join('\n')
    if (!text.trim()) throw new KnowledgeError('no_text', 'The page has no text.')
    const url = this.#frontier.index(cleanAddress(at), canonicalOf(html?.canonical ?? null, at), text)
    if (url) await this.#options.onPage({ url: url.href, title, blocks })
  }

  /** Follows redirects, and pages that only redirect, as a browser does. */
  async #arrive(url: URL, depth: number): Promise<{ answer: FetchResponse; at: URL; extracted: Extracted } | null> {
    const { extractor, signal } = this.#options
    // The start page may redirect to any site.
    const mayGo = (target: URL) => {
      if (depth > 0 && !isSameSite(this.#site, target)) return this.#count('off_site')
      return this.#frontier.redirected(target)
    }
    const { pageMs: timeoutMs, pageBytes: maxBytes } = this.#limits
    const request = { accept: ACCEPT, timeoutMs, maxBytes, wants: isPage }
    for (let from = url, hops = 0; ; hops++) {
      const arrived = await this.#follow(from, request, mayGo)
      if (!arrived) return null
      const { answer, at } = arrived
      const { kind, charset } = readPage(answer)
      if (depth === 0) this.#site = at
      const extracted = await extractor.extract({ kind, body: answer.body, url: at.href, charset }, signal)
      const target = parseAddress(extracted.html?.refresh ?? '', at)
      if (!extracted.html?.refresh || !target || pageKey(target) === pageKey(at) || hops >= MAX_REDIRECTS) {
        return { answer, at, extracted }
      }
      if (!mayGo(target)) return null
      from = target
    }
  }

  /** Null when a redirect leads to a page that `mayGo` rejects. An address of the same page needs no check. */
  async #follow(
    url: URL,
    request: PoliteRequest,
    mayGo: (target: URL) => boolean | undefined,
  ): Promise<{ answer: FetchResponse; at: URL } | null> {
    const passed = new Set<string>()
    const keys = new Set([pageKey(url)])
    for (let at = url; ; ) {
      if (passed.has(at.href) || passed.size > MAX_REDIRECTS) {
        throw new KnowledgeError('unreachable', 'The page redirects in a loop or too often.')
      }
      passed.add(at.href)
      const answer = await this.#polite.get(at, request, this.#options.signal)
      const target = redirectOf(answer, at)
      if (!target) return { answer, at }
      if (target === 'unreadable') throw new KnowledgeError('unreachable', 'The page redirects to an invalid address.')
      const key = pageKey(target)
      if (!keys.has(key) && !mayGo(target)) return null
      keys.add(key)
      at = target
    }
  }

  *#pagesAmong(links: readonly string[]): Generator<URL> {
    for (const link of links) {
      // Most links of a page are on every page.
      if (this.#judged.has(link)) continue
      if (this.#judged.size >= MAX_JUDGED) return
      this.#judged.add(link)
      const url = pageOfSite(this.#site, link)
      if (url instanceof URL) yield url
      else if (url === 'off_site') this.#count('off_site')
    }
  }

  /** Reads the sitemaps if the site has any. Their errors are ignored. */
  async #readSitemaps(): Promise<void> {
    const waiting = await this.#sitemapAddresses()
    let read = 0
    for (
      let next = waiting.shift();
      next && read < MAX_SITEMAPS && !this.#isSpent() && !this.#frontier.isSpent;
      next = waiting.shift()
    ) {
      read++
      const sitemap = readSitemap(await this.#sitemapAt(next.url))
      if (!sitemap.isIndex) this.#frontier.found(this.#pagesAmong(sitemap.locations), 1)
      // An index inside an index is not allowed (sitemaps.org).
      else if (next.isTop) waiting.unshift(...this.#sitemapsOf(next.url, sitemap.locations))
    }
  }

  async #sitemapAddresses(): Promise<{ url: URL; isTop: boolean }[]> {
    const rules = await this.#polite.rules(this.#site, this.#options.signal).catch(error => {
      if (error instanceof KnowledgeError) return null
      throw error
    })
    // On any host: robots.txt of a site may name sitemaps elsewhere (sitemaps.org, cross submits).
    const listed = (rules?.sitemaps ?? []).flatMap(location => parseAddress(location, this.#site) ?? [])
    const urls = listed.length ? listed : [new URL('/sitemap.xml', this.#site)]
    return urls.slice(0, 2 * MAX_SITEMAPS).map(url => ({ url, isTop: true }))
  }

  #sitemapsOf(index: URL, locations: readonly string[]): { url: URL; isTop: boolean }[] {
    return locations.slice(0, 2 * MAX_SITEMAPS).flatMap(location => {
      const url = parseAddress(location, index)
      return url && (isSameSite(index, url) || isSameSite(this.#site, url)) ? [{ url, isTop: false }] : []
    })
  }

  async #sitemapAt(url: URL): Promise<string> {
    try {
      const request: PoliteRequest = {
        accept: 'application/xml,text/xml,*/*;q=0.5',
        timeoutMs: this.#limits.pageMs,
        maxBytes: MAX_SITEMAP_BYTES,
        cut: true,
        wants: ({ status }) => status === 200,
      }
      const arrived = await this.#follow(
        url,
        request,
        target => isSameSite(this.#site, target) || isSameSite(url, target),
      )
      return arrived ? await sitemapText(arrived.answer.body) : ''
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (error instanceof KnowledgeError) return ''
      throw error
    }
  }
}

/**
 * Returns the canonical address that the page declares, if it is on the same site. Ignores the start page of the site,
 * which some templates name on every page: a true duplicate of it has the same text.
 */
function canonicalOf(canonical: string | null, at: URL): URL {
  const own = cleanAddress(at)
  const url = canonical === null ? null : parseAddress(canonical, at)
  if (!url || !isSameSite(at, url) || pageKey(url) === pageKey(new URL('/', url))) return own
  return cleanAddress(url)
}
