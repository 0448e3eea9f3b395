/**
 * Which page of a site is read next, and when it is enough. Pure: breadth first, the site's map after the links of the
 * start page, in the order of the pages; the same answers give the same crawl.
 */
import { createHash } from 'node:crypto'
import { pageKey, pageShape } from './address.ts'

export interface FrontierLimits {
  maxPages: number
  /** Of any kind: pages, redirects, robots.txt, sitemaps. */
  maxRequests: number
}

export type Due =
  /** `depth`: 0 for the start page. */
  { type: 'page'; url: URL; depth: number } | { type: 'sitemap' } | { type: 'done' }

interface Waiting {
  url: URL
  depth: number
}

/** Found beyond this is forgotten: no crawl of 50 pages comes so far. */
const MAX_FOUND = 5000
/**
 * Of pages of one shape so many keep their turn; the others wait until nothing else is left. An endless calendar then
 * costs five requests before the last page of the site is read, and a shop with numbered items is read all the same.
 */
const MANY_ALIKE = 5

/** Characters of a page's text: enough to tell it from another one. */
const WORDS_WITHIN = 20_000
const ALIKE = 0.7

export class Frontier {
  readonly #limits: FrontierLimits
  readonly #soon: Waiting[] = []
  readonly #later: Waiting[] = []
  /** Keys of all that ever waited, or was come to by a redirect. */
  readonly #seen = new Set<string>()
  /** By their keys: the words of the text that was found. */
  readonly #indexed = new Map<string, ReadonlySet<string>>()
  /** Hashes of them. */
  readonly #texts = new Set<string>()
  readonly #alike = new Map<string, number>()
  #requests = 0
  #pages = 0
  #duplicates = 0
  #sitemapDue: boolean

  /** `crawl`: whether there is more to it than the start page. */
  constructor(start: URL, crawl: boolean, limits: FrontierLimits) {
    this.#limits = limits
    this.#sitemapDue = crawl
    this.#seen.add(pageKey(start))
    this.#soon.push({ url: start, depth: 0 })
  }

  get pages(): number {
    return this.#pages
  }

  /** Addresses that were found to hold what is indexed already. */
  get duplicates(): number {
    return this.#duplicates
  }

  /** Addresses that were found and not read. */
  get left(): number {
    return this.#soon.length + this.#later.length
  }

  /** No request is left. */
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

  /** Pages of the site, cleaned, in the order they were found; known ones are left out. */
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

  /** A redirect leads there. False when that page had, or has, a turn of its own. */
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
   * Under which address the page `at` is indexed: the one that it calls its own, or else where it was found; null when it is
   * indexed already. Templates name one address on every page: that another text took it says that this one is not there.
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

/** Versions of a page for printing, for a telephone or in another colour share nearly all words of the shorter one. */
function isAlike(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  let shared = 0
  for (const word of other) if (one.has(word)) shared++
  return shared >= ALIKE * Math.min(one.size, other.size)
}

/** Before what lies deeper: the site's map comes when the links of the first pages wait already. */
function insert(queue: Waiting[], page: Waiting): void {
  queue.splice(queue.findLastIndex(({ depth }) => depth <= page.depth) + 1, 0, page)
}
