/**
 * Which page of a site is read next, and when it is enough. Pure: breadth first, the site's map after the links of the
 * start page, in the order of the pages; the same answers give the same crawl.
 */
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

export class Frontier {
  readonly #limits: FrontierLimits
  readonly #soon: Waiting[] = []
  readonly #later: Waiting[] = []
  /** Keys of all that ever waited, or was come to by a redirect. */
  readonly #seen = new Set<string>()
  readonly #indexed = new Set<string>()
  readonly #contents = new Set<string>()
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

  /** False when the page, by its canonical address or its content, is indexed already. */
  index(canonical: URL, contentHash: string): boolean {
    const key = pageKey(canonical)
    if (this.#indexed.has(key) || this.#contents.has(contentHash)) {
      this.#duplicates++
      return false
    }
    this.#indexed.add(key)
    this.#contents.add(contentHash)
    this.#pages++
    return true
  }
}

/** Before what lies deeper: the site's map comes when the links of the first pages wait already. */
function insert(queue: Waiting[], page: Waiting): void {
  queue.splice(queue.findLastIndex(({ depth }) => depth <= page.depth) + 1, 0, page)
}
