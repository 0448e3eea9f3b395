/** A site on loopback, read through the real guard, with a clock that skips pauses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type CrawlOptions, type CrawlResult, crawlSite } from '../../../../control/knowledge/crawl/crawl.ts'
import type { Extracted, ExtractedPage, Extractor } from '../../../../control/knowledge/documents/types.ts'
import { createSafeFetch } from '../../../../infra/adapters/safe-fetch.ts'
import type { Clock } from '../../../../media/shared/clock.ts'
import type { Fetch } from '../../../../media/shared/fetch.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void
/** HTML, or a status with headers and a body, or what answers. */
export type Answer = string | { status?: number; headers?: Record<string, string>; body?: string | Buffer } | Handler

export interface Site {
  port: number
  url: string
  /** Path and query of each request, in order. */
  hits: string[]
  requests: IncomingMessage[]
  /** The most requests that were open at once. */
  atOnce: number
}

/** By path and query; `*` answers what has no entry, and 404 without it. */
export async function serveSite(pages: Record<string, Answer>): Promise<Site> {
  const site: Site = { port: 0, url: '', hits: [], requests: [], atOnce: 0 }
  let open = 0
  const server = createServer((request, response) => {
    site.hits.push(request.url!)
    site.requests.push(request)
    site.atOnce = Math.max(site.atOnce, ++open)
    response.on('close', () => open--)
    const answer = pages[request.url!] ?? pages['*'] ?? { status: 404, body: '<p>nothing here</p>' }
    if (typeof answer === 'function') answer(request, response)
    else if (typeof answer === 'string') response.writeHead(200, { 'content-type': 'text/html' }).end(answer)
    else {
      const { status = 200, headers = { 'content-type': 'text/html' }, body = '' } = answer
      response.writeHead(status, headers).end(body)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  site.port = (server.address() as AddressInfo).port
  site.url = `http://127.0.0.1:${site.port}`
  return site
}

export const page = (text: string, ...links: string[]): string =>
  `<title>${text}</title><p>${text}</p>${links.map(link => `<a href="${link}">${link}</a>`).join('')}`

export const redirect = (location: string, status = 302): Answer => ({ status, headers: { location } })

/** Simulated time that advances at once whenever something waits. */
export function hurriedClock(): Clock & { pauses: number[] } {
  let nowMs = 1000
  const pauses: number[] = []
  return {
    pauses,
    now: () => nowMs,
    wall: () => nowMs,
    after(ms, run) {
      pauses.push(ms)
      const timer = setImmediate(() => {
        nowMs += ms
        run()
      })
      return () => clearImmediate(timer)
    },
  }
}

/** Enough of HTML for pages that tests write. */
export const plainExtractor: Pick<Extractor, 'extract'> = {
  async extract(input) {
    if (!('body' in input)) throw new Error('the crawler gives bodies')
    const text = Buffer.from(input.body).toString('utf8')
    const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(match => match[1]!)
    const blocks = input.kind === 'html' ? all(/<p>(.*?)<\/p>/gs) : [`${input.kind}: ${text}`]
    const robots = all(/<meta name="robots" content="(.*?)">/g).join()
    const html: Extracted['html'] = {
      links: all(/<a href="(.*?)">/g).flatMap(href =>
        URL.canParse(href, input.url) ? [new URL(href, input.url).href] : [],
      ),
      canonical: all(/<link rel="canonical" href="(.*?)">/g).map(href => new URL(href, input.url).href)[0] ?? null,
      refresh:
        all(/<meta http-equiv="refresh" content="0;url=(.*?)">/g).map(to => new URL(to, input.url).href)[0] ?? null,
      noindex: robots.includes('noindex'),
      nofollow: robots.includes('nofollow'),
    }
    return {
      url: input.url,
      title: all(/<title>(.*?)<\/title>/g)[0] ?? null,
      blocks: blocks.map(block => ({ heading: 0, text: block })),
      html: input.kind === 'html' ? html : null,
    }
  },
}

/** Returns a guarded fetch that allows these servers and the names that resolve to them. */
export const guardFor = (sites: readonly Site[], hosts: readonly string[] = []): Fetch =>
  createSafeFetch({
    allow: sites.flatMap(({ port }) => ['127.0.0.1', ...hosts].map(host => `${host}:${port}`)),
    resolve: async () => ['127.0.0.1'],
  })

export type Read = CrawlResult & { read: ExtractedPage[]; paths: string[]; clock: ReturnType<typeof hurriedClock> }

/** `paths`: of the pages that were given, in their order. */
export async function crawl(site: Site, changes: Partial<CrawlOptions> & { path?: string } = {}): Promise<Read> {
  const { path = '/', ...options } = changes
  const read: ExtractedPage[] = []
  const clock = hurriedClock()
  const result = await crawlSite({
    url: `${site.url}${path}`,
    crawl: true,
    maxPages: 15,
    fetch: guardFor([site]),
    extractor: plainExtractor,
    clock,
    signal: new AbortController().signal,
    onPage: async given => void read.push(given),
    ...options,
  })
  return { ...result, read, paths: read.map(({ url }) => pathOf(url!)), clock }
}

export const pathOf = (url: string): string => new URL(url).pathname + new URL(url).search

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'read',
    error => error.code ?? String(error),
  )
