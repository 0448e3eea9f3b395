/** Malicious and broken sites: each ends in a clear error or stays within the limits of a crawl. */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { crawlSite } from '../../../../control/knowledge/crawl/crawl.ts'
import { readRules } from '../../../../control/knowledge/crawl/robots.ts'
import { readSitemap } from '../../../../control/knowledge/crawl/sitemap.ts'
import { codeOf, crawl, guardFor, hurriedClock, page, pathOf, plainExtractor, redirect, serveSite } from './site.ts'

/** Most requests for a crawl of 15 pages. */
const MOST_REQUESTS = 70

describe('addresses', () => {
  const METADATA = 'http://169.254.169.254/latest/meta-data/'

  it.each([
    ['another port of this machine', (port: number) => `http://127.0.0.1:${port}/`],
    ['a name of this machine', (port: number) => `http://localhost:${port}/`],
    ['IPv6', (port: number) => `http://[::1]:${port}/`],
    ['the metadata of a cloud', () => METADATA],
  ])('does not follow a redirect to %s', async (_, target) => {
    const inside = await serveSite({ '*': page('secret') })
    const site = await serveSite({
      '/': redirect(target(inside.port)),
      '/start': page('Start', '/', '/robots'),
    })
    expect(await codeOf(crawl(site, { crawl: false }))).toBe('blocked_address')
    expect(await codeOf(crawl(site))).toBe('blocked_address')
    expect((await crawl(site, { path: '/start' })).paths).toEqual(['/start'])
    expect(inside.hits).toEqual([])
  })

  it('does not follow redirects of robots.txt or the sitemap, either', async () => {
    const inside = await serveSite({ '*': page('secret') })
    const rules = await serveSite({ '/robots.txt': redirect(`${inside.url}/robots.txt`), '/': page('Start') })
    expect(await codeOf(crawl(rules))).toBe('robots')
    const map = await serveSite({ '/': page('Start'), '/sitemap.xml': redirect(METADATA) })
    expect((await crawl(map)).paths).toEqual(['/'])
    expect(inside.hits).toEqual([])
  })

  it.each([
    ['blocked_address', 'http://127.0.0.1/'],
    ['blocked_address', 'http://[::1]/'],
    ['blocked_address', 'http://[::ffff:169.254.169.254]/'],
    ['blocked_address', 'http://2130706433/'],
    ['unreachable', 'http://user:password@example.com/'],
    ['unreachable', 'ftp://example.com/'],
    ['unreachable', 'file:///etc/passwd'],
    ['unreachable', 'javascript:alert(1)'],
    ['unreachable', 'nonsense'],
    ['unreachable', `http://example.com/${'a'.repeat(5000)}`],
  ])('%s: %s', async (code, url) => {
    const site = await serveSite({})
    expect(await codeOf(crawl(site, { url, fetch: guardFor([]) }))).toBe(code)
  })

  it('reports a refused connection', async () => {
    const site = await serveSite({})
    expect(await codeOf(crawl(site, { url: 'http://127.0.0.1:1/', fetch: guardFor([{ ...site, port: 1 }]) }))).toBe(
      'unreachable',
    )
  })

  it('requests no links to other file types', async () => {
    const links = [
      'javascript:alert(1)',
      'mailto:a@example.com',
      'tel:+100',
      'data:text/html,<p>x</p>',
      'ftp://x/',
      '//',
    ]
    const site = await serveSite({ '/': page('Start', ...links, 'http://u:p@127.0.0.1/', 'http://[::1]/', '/a') })
    await crawl(site)
    expect(site.hits).toEqual(['/robots.txt', '/', '/a', '/sitemap.xml'])
  })

  it('reads Cyrillic hosts and paths, also from an unencoded header', async () => {
    const site = await serveSite({
      '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /тайны\n' },
      '/%D1%86%D0%B5%D0%BD%D1%8B': page('Цены', '/тайны/1', '/о-нас', '/старое'),
      [encodeURI('/о-нас')]: page('О нас'),
      [encodeURI('/старое')]: (_, response) => {
        response.socket!.end(Buffer.from('HTTP/1.1 301 Moved\r\nlocation: /новое\r\ncontent-length: 0\r\n\r\n'))
      },
      [encodeURI('/новое')]: page('Новое'),
    })
    const host = 'xn--e1afmkfd.xn--80akhbyknj4f'
    const { read, skipped } = await crawl(site, {
      url: `http://www.пример.испытание:${site.port}/цены`,
      fetch: guardFor([site], [host, `www.${host}`]),
    })
    expect(read.map(({ url }) => decodeURI(pathOf(url!)))).toEqual(['/цены', '/о-нас', '/новое'])
    expect(skipped).toEqual({ robots: 1 })
  })
})

describe('pages', () => {
  it('stops at redirect loops and long chains', async () => {
    const site = await serveSite({
      '/robots.txt': { status: 404 },
      '/self': redirect('/self'),
      '/ping': redirect('/pong'),
      '/pong': redirect('/ping'),
      '*': (request, response) => response.writeHead(302, { location: `${request.url}x` }).end(),
    })
    for (const path of ['/self', '/ping', '/on'])
      expect(await codeOf(crawl(site, { path, crawl: false }))).toBe('unreachable')
    expect(site.hits).toHaveLength(3 + 1 + 2 + 6)
  })

  it('survives 10,000 links', async () => {
    const links = Array.from({ length: 10_000 }, (_, number) => `/page-${number}x${number}`)
    const site = await serveSite({
      '/': page('Start', ...links),
      '*': (request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end(page(request.url!, ...links))
      },
    })
    const { pages } = await crawl(site)
    expect(pages).toBe(15)
    expect(site.hits.length).toBeLessThan(20)
  })

  it('survives 10,000 broken links', async () => {
    const links = Array.from({ length: 10_000 }, (_, number) => `/page-${number}`)
    const site = await serveSite({ '/': page('Start', ...links) })
    const { pages, skipped } = await crawl(site)
    expect(pages).toBe(1)
    expect(site.hits).toHaveLength(MOST_REQUESTS)
    expect(skipped.not_found).toBeGreaterThan(60)
  })

  it('survives 10,000 disallowed links', async () => {
    const links = Array.from({ length: 10_000 }, (_, number) => `/no/${number}`)
    const site = await serveSite({
      '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /no/' },
      '/': page('Start', ...links),
    })
    const { pages, skipped } = await crawl(site)
    expect(pages).toBe(1)
    expect(skipped.robots).toBe(200)
    expect(site.hits).toEqual(['/robots.txt', '/', '/sitemap.xml'])
  })

  it('stops at the size limit of an endless body, gzip or not', async () => {
    const endless = (response: { write(part: Buffer, done: (error?: Error | null) => void): void }) => {
      const more = () => response.write(Buffer.alloc(65_536, 'x'), error => error || more())
      more()
    }
    const site = await serveSite({
      '/': page('Start', '/endless', '/bomb', '/brotli', '/fine'),
      '/endless': (_, response) => endless(response.writeHead(200, { 'content-type': 'text/html' })),
      '/bomb': {
        headers: { 'content-type': 'text/html', 'content-encoding': 'gzip' },
        body: gzipSync(Buffer.alloc(30_000_000, 'x')),
      },
      '/brotli': {
        headers: { 'content-type': 'text/html', 'content-encoding': 'br' },
        body: brotliCompressSync(Buffer.alloc(8_000_000)),
      },
      '/fine': page('Fine'),
    })
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/', '/fine'])
    expect(skipped).toEqual({ too_large: 3 })
    expect(await codeOf(crawl(site, { path: '/endless' }))).toBe('too_large')
  })

  it('times out on slow and silent responses', async () => {
    const site = await serveSite({
      '/trickle': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' })
        const timer = setInterval(() => response.write('.'), 20)
        response.on('close', () => clearInterval(timer))
      },
      '/never': () => {},
    })
    const limits = { pageMs: 300 }
    expect(await codeOf(crawl(site, { path: '/trickle', limits }))).toBe('timeout')
    expect(await codeOf(crawl(site, { path: '/never', limits }))).toBe('timeout')
  })

  it('does not download videos', async () => {
    const site = await serveSite({
      '/': page('Start', '/watch'),
      '/watch': (_, response) => response.writeHead(200, { 'content-type': 'video/mp4' }).flushHeaders(),
    })
    expect((await crawl(site)).skipped).toEqual({ not_html: 1 })
  })

  it('ends at the byte limit of large pages, rejected or not', async () => {
    const links = Array.from({ length: 20 }, (_, number) => `/large-${number}`)
    const site = await serveSite({
      '/robots.txt': { status: 404 },
      '/': page('Start', ...links),
      '*': { body: 'x'.repeat(3000) },
    })
    const { skipped } = await crawl(site, { limits: { pageBytes: 2000, totalBytes: 7000 } })
    expect(skipped).toEqual({ too_large: 4, limit: 16 })
  })

  it('leaves requests for the rest of a site with an endless calendar', async () => {
    const day = (request: { url?: string | undefined }) => Number(/date=(\d+)/.exec(request.url!)?.[1] ?? 0)
    const site = await serveSite({
      '/': page('Start', '/calendar?date=0', '/one'),
      '/one': page('One', '/two'),
      '/two': page('Two', '/three'),
      '/three': page('Three', '/four'),
      '/four': page('Four'),
      '*': (request, response) => {
        if (!request.url!.startsWith('/calendar')) return void response.writeHead(404).end()
        const date = day(request)
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(page(`Day ${date}`, ...[1, 2, 3].map(more => `/calendar?date=${date + more}`)))
      },
    })
    const { pages, paths } = await crawl(site, { maxPages: 12 })
    expect(pages).toBe(12)
    expect(paths).toEqual(expect.arrayContaining(['/one', '/two', '/three', '/four']))
    expect(site.hits).toHaveLength(14)
  })

  it('ignores session IDs in links', async () => {
    let session = 0
    const site = await serveSite({
      '*': (request, response) => {
        const { pathname } = new URL(request.url!, 'http://x')
        if (!/^\/(?:[ab])?$/.test(pathname)) return void response.writeHead(404).end()
        const id = `${++session}`.padStart(32, 'f')
        const links = ['/', '/a', '/b'].flatMap(path => [`${path}?PHPSESSID=${id}`, `${path}?sid=${id}`])
        response.writeHead(200, { 'content-type': 'text/html' }).end(page(`Page ${pathname}`, ...links))
      },
    })
    const { paths } = await crawl(site)
    expect(paths).toEqual(['/', '/a', '/b'])
    expect(site.hits).toEqual(['/robots.txt', '/', '/a', '/b', '/sitemap.xml'])
  })

  it('stops following links that grow', async () => {
    const site = await serveSite({
      '*': (request, response) => {
        if (request.url!.includes('.')) return void response.writeHead(404).end()
        response.writeHead(200, { 'content-type': 'text/html' }).end(page(`At ${request.url}`, `${request.url}loop/`))
      },
    })
    expect((await crawl(site)).paths).toEqual(['/', '/loop/', '/loop/loop/'])
  })

  it('survives errors on every page', async () => {
    const site = await serveSite({
      '/robots.txt': { status: 404 },
      '/sitemap.xml': { status: 404 },
      '*': { status: 500 },
    })
    expect(await codeOf(crawl(site))).toBe('unreachable')
  })
})

describe('maps', () => {
  const mapped = async (map: Buffer | string, headers: Record<string, string> = {}) => {
    const site = await serveSite({
      '/': page('Start'),
      '/sitemap.xml': { headers: { 'content-type': 'application/xml', ...headers }, body: map },
      '/a': page('A'),
    })
    return { ...(await crawl(site)), site }
  }

  it('does not expand entities (billion laughs)', async () => {
    const lol = Array.from({ length: 9 }, (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n};`.repeat(10)}">`).join('\n')
    const { site, paths } = await mapped(
      `<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY lol0 "/lol">${lol}<!ENTITY file SYSTEM "file:///etc/passwd">]>
      <urlset><url><loc>&lol9;</loc></url><url><loc>/x&file;</loc></url><url><loc>&#x110000;</loc></url></urlset>`,
    )
    expect(paths).toEqual(['/'])
    expect(site.hits).toEqual(['/robots.txt', '/', '/sitemap.xml'])
    const written = ['/a?b=1&amp;c=&#x32;', '/x&file;', '<![CDATA[/d?e&f]]>', '&#x110000;', '/long'.repeat(1000)]
    expect(readSitemap(`<urlset>${written.map(path => `<loc> ${path} </loc>`)}`).locations).toEqual([
      ...['/a?b=1&c=2', '/d?e&f'],
    ])
  })

  it('ignores a page that equals the start page', async () => {
    const site = await serveSite({ '/': page('Start'), '/sitemap.xml': redirect('/') })
    expect(await crawl(site)).toMatchObject({ paths: ['/'], skipped: {} })
  })

  it('reads a bounded part of a large or compressed sitemap', async () => {
    const head = '<urlset><url><loc>http://127.0.0.1:1/off</loc></url>'
    const large = gzipSync(Buffer.concat([Buffer.from(head), Buffer.alloc(50_000_000, ' ')]), { level: 0 })
    expect(large.length).toBeGreaterThan(50_000_000)
    expect((await mapped(large)).skipped).toEqual({ off_site: 1 })
    const bomb = gzipSync(Buffer.concat([Buffer.from(head), Buffer.alloc(60_000_000, ' ')]))
    expect((await mapped(bomb)).skipped).toEqual({ off_site: 1 })
    expect((await mapped(bomb, { 'content-encoding': 'gzip' })).skipped).toEqual({ off_site: 1 })
  })

  it('bounds a sitemap with 100,000 entries, unclosed tags or itself as index', async () => {
    const many = `<urlset>${Array.from({ length: 100_000 }, (_, n) => `<loc>http://127.0.0.1:1/${n}</loc>`).join('')}</urlset>`
    expect((await mapped(many)).skipped.off_site).toBe(2000)
    expect((await mapped(`<urlset>${'<loc>'.repeat(1_000_000)}`)).paths).toEqual(['/'])
    const { site } = await mapped('<sitemapindex><loc>/sitemap.xml?1</loc><loc>/sitemap.xml</loc></sitemapindex>')
    expect(site.hits.length).toBeLessThan(10)
  })
})

describe('robots.txt', () => {
  const AT = 'https://site.test'

  it('bounds the memory of robots.txt', () => {
    const text = 'User-agent: *\n'.repeat(17_000) + 'Disallow: /x\n'.repeat(19_000)
    const rules = readRules(text, AT)
    expect(rules.allows(new URL('/x/1', AT))).toBe(false)
    expect(rules.allows(new URL('/y', AT))).toBe(true)
  })

  it('treats overly complex patterns as disallowed', () => {
    const rules = readRules(`User-agent: *\nAllow: /ok\n${`Disallow: /no/*${'a*'.repeat(400)}b\n`.repeat(500)}`, AT)
    expect(rules.allows(new URL(`/no/${'a'.repeat(1400)}`, AT))).toBe(false)
    expect(rules.allows(new URL('/yes', AT))).toBe(true)
  })

  it.each([
    ['User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
    ['User-agent: *\nDisallow: /*.pdf$', '/x.pdf', false],
    ['User-agent: *\nDisallow: /*.pdf$', '/x.pdf?1', true],
    ['User-agent: *\nDisallow: /private*', '/private/1', false],
    ['User-agent: a\nUser-agent: ParleyBot/2.0\nSitemap: /s\nUser-agent: b\nDisallow: /', '/', false],
    ['User-agent: ParleyBot\nDisallow:\n\nUser-agent: *\nDisallow: /', '/', true],
    ['User-agent: *\nDisallow: /\n\nUser-agent: PARLEYBOT\nDisallow: /x', '/', true],
    ['User-agent: *\nDisallow: /\n\nUser-agent: ParleyBot', '/', true],
    ['User-agent: ParleyBotter\nDisallow: /', '/', true],
    ['\uFEFFuser-agent : *\r\ndisallow : / # all', '/', false],
    ['Disallow: /', '/', true],
    ['User-agent: __proto__\nDisallow: /\nUser-agent: constructor\nDisallow: /', '/', true],
    ['User-agent: *\nDisallow: /%d0%b0', '/а', false],
  ])('%j for %s', (text, path, allowed) => {
    expect(readRules(text, AT).allows(new URL(path, AT))).toBe(allowed)
  })
})

it('shares only the fetch guard between crawls', async () => {
  const site = await serveSite({ '/': page('Start', '/a'), '/a': page('A') })
  const both = await Promise.all(
    [0, 1].map(() =>
      crawlSite({
        url: site.url,
        crawl: true,
        maxPages: 2,
        fetch: guardFor([site]),
        extractor: plainExtractor,
        clock: hurriedClock(),
        signal: new AbortController().signal,
        onPage: async () => {},
      }),
    ),
  )
  expect(both.map(({ pages }) => pages)).toEqual([2, 2])
})
