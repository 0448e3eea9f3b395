/**
 * Decides which page of a site is read next, and when to stop. Pure: breadth first; the sitemap comes after the links
 * of the start page; the same responses give the same crawl.
 */
import { createHash } from 'node:crypto'
import { pageKey, pageShape } from './address.ts'

export interface FrontierLimits {
  maxPages: number
  /** Requests of any kind: pages, redirects, robots.txt and sitemaps. */
  maxRequests: number
}

export type Due =
  /** `depth`: 0 for the start page. */
  { type: 'page'; url: URL; depth: number } | { type: 'sitemap' } | { type: 'done' }

interface Waiting {
  url: URL
  depth: number
}

/** Limit of known addresses. Further ones are ignored: no crawl of 50 pages gets that far. */
const MAX_FOUND = 5000
/**
 * Pages of one shape that keep their position; further ones wait until all other pages are read. An endless calendar
 * then costs five requests before the last page of the site is read, and a shop with numbered items is still read
 * completely.
 */
const MANY_ALIKE = 5

/** Characters of a page's text that are compared with other pages. */
const WORDS_WITHIN = 20_000
const ALIKE = 0.7

export class Frontier {
  readonly #limits: FrontierLimits
  readonly #soon: Waiting[] = []
  readonly #later: Waiting[] = []
  /** Keys of all pages that were queued or reached by a redirect. */
  readonly #seen = new Set<string>()
  /** Words of the indexed text, by page key. */
  readonly #indexed = new Map<string, ReadonlySet<string>>()
  /** Hashes of the indexed texts. */
  readonly #texts = new Set<string>()
  readonly #alike = new Map<string, number>()
  #requests = 0
  #pages = 0
  #duplicates = 0
  #sitemapDue: boolean

  /** `crawl`: false reads only the start page. */
  constructor(start: URL, crawl: boolean, limits: FrontierLimits) {
    this.#limits = limits
    this.#sitemapDue = crawl
    this.#seen.add(pageKey(start))
    this.#soon.push({ url: start, depth: 0 })
  }

  get pages(): number {
    return this.#pages
  }

  /** Number of addresses with text that is already indexed. */
  get duplicates(): number {
    return this.#duplicates
  }

  /** Number of addresses that were found and not read. */
  get left(): number {
    return this.#soon.length + this.#later.length
  }

  /** True when no request is left. */
  get isSpent(): boolean {
    return this.#requests >= this.#limits.maxRequests
  }

  requested(): void {
    this.#requests++
  }

  next(): Due {
    for (;;) {
      if (this.#pages >= this.#limits.maxPages || this.isSpent) return { type: 'done' }
      const soonest = this.#soon[0]
      if (this.#sitemapDue && (!soonest || soonest.depth > 1)) {
        this.#sitemapDue = false
        return { type: 'sitemap' }
      }
      const due = this.#soon.shift() ?? this.#later.shift()
      if (!due) return { type: 'done' }
      if (!this.#indexed.has(pageKey(due.url))) return { type: 'page', ...due }
      this.#duplicates++
    }
  }

  /** Adds pages of the site, cleaned and in the order they were found. Known pages are skipped. */
  found(urls: Iterable<URL>, depth: number): void {
    for (const url of urls) {
      if (this.#seen.size >= MAX_FOUND) return
      const key = pageKey(url)
      if (this.#seen.has(key)) continue
      this.#seen.add(key)
      const shape = pageShape(url)
      const alike = (this.#alike.get(shape) ?? 0) + 1
      this.#alike.set(shape, alike)
      insert(alike <= MANY_ALIKE ? this.#soon : this.#later, { url, depth })
    }
  }

  /** Reports a redirect to the address. False when that page is or was queued itself. */
  redirected(url: URL): boolean {
    const key = pageKey(url)
    if (this.#seen.has(key)) {
      this.#duplicates++
      return false
    }
    this.#seen.add(key)
    return true
  }

  /**
   * Returns the address under which the page `at` is indexed: the canonical one, or else where it was found; null when
   * it is already indexed. Some templates name one canonical address on every page: if another text has it, it does not
   * belong to this page.
   */
  index(at: URL, canonical: URL, text: string): URL | null {
    const words = wordsOf(text)
    const taken = this.#indexed.get(pageKey(canonical))
    const url = taken && !isAlike(taken, words) ? at : canonical
    const key = pageKey(url)
    const hash = createHash('sha256').update(text).digest('base64')
    if (this.#indexed.has(key) || this.#texts.has(hash)) {
      this.#duplicates++
      return null
    }
    this.#indexed.set(key, words)
    this.#texts.add(hash)
    this.#pages++
    return url
  }
}

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .slice(0, WORDS_WITHIN)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  )

/** Versions of a page for printing, for mobile or in another colour share nearly all words of the shorter one. */
function isAlike(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  let shared = 0
  for (const word of other) if (one.has(word)) shared++
  return shared >= ALIKE * Math.min(one.size, other.size)
}

/** Inserts the page before deeper ones: the sitemap is read when links of the first pages are already waiting. */
function insert(queue: Waiting[], page: Waiting): void {
  queue.splice(queue.findLastIndex(({ depth }) => depth <= page.depth) + 1, 0, page)
}
