import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { USER_AGENT } from '../../../../control/knowledge/crawl/polite-fetch.ts'
import { KnowledgeError } from '../../../../control/knowledge/documents/types.ts'
import { codeOf, crawl, guardFor, page, plainExtractor, redirect, serveSite } from './site.ts'

const urlset = (...locations: string[]) =>
  `<?xml version="1.0"?><urlset>${locations.map(url => `<url><loc>${url}</loc></url>`).join('')}</urlset>`
const index = (...locations: string[]) =>
  `<sitemapindex>${locations.map(url => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`
const text = (body: string) => ({ headers: { 'content-type': 'text/plain' }, body })

describe('one page', () => {
  it('reads one page', async () => {
    const site = await serveSite({ '/prices?a=1': page('Prices', '/other') })
    const { pages, read } = await crawl(site, { crawl: false, path: '/prices?a=1#top' })
    expect(pages).toBe(1)
    expect(read).toEqual([{ url: `${site.url}/prices?a=1`, title: 'Prices', blocks: [{ heading: 0, text: 'Prices' }] }])
    expect(site.hits).toEqual(['/robots.txt', '/prices?a=1'])
    expect(site.requests[1]!.headers).toMatchObject({
      'user-agent': USER_AGENT,
      accept: expect.stringContaining('text/html'),
    })
  })

  it.each([
    ['not_found', { status: 404 }],
    ['not_found', { status: 410 }],
    ['unreachable', { status: 401 }],
    ['unreachable', { status: 500 }],
    ['unreachable', redirect('http://')],
    ['not_html', { headers: { 'content-type': 'image/png' }, body: 'png' }],
    ['not_html', { headers: {}, body: 'MZ\0\0' }],
    ['empty', { body: '' }],
    ['no_text', '<p> </p>'],
    ['robots', '<meta name="robots" content="noindex"><p>Hidden</p>'],
    ['too_large', { body: 'x'.repeat(3000) }],
  ] as const)('reports %s for an unreadable page', async (code, answer) => {
    const site = await serveSite({ '/': answer })
    expect(await codeOf(crawl(site, { crawl: false, limits: { pageBytes: 2000 } }))).toBe(code)
  })

  it('reads text, PDF and HTML without a content type', async () => {
    const kinds: unknown[] = []
    const extractor: typeof plainExtractor = {
      extract(input, signal) {
        kinds.push('charset' in input ? [input.kind, input.charset] : input.kind)
        return plainExtractor.extract(input, signal)
      },
    }
    const site = await serveSite({
      '/txt': { headers: { 'content-type': 'Text/Plain; charset="windows-1251"' }, body: 'words' },
      '/pdf': { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.4' },
      '/pdf-called-html': { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '%PDF-1.4' },
      '/untyped': { headers: {}, body: '\uFEFF\n<!DOCTYPE html><p>Words</p>' },
      '/x': { headers: { 'content-type': 'application/xhtml+xml' }, body: '<p>Words</p>' },
    })
    for (const path of ['/txt', '/pdf', '/pdf-called-html', '/untyped', '/x']) {
      await crawl(site, { crawl: false, path, extractor })
    }
    expect(kinds).toEqual([
      ['txt', 'windows-1251'],
      ['pdf', null],
      ['pdf', 'utf-8'],
      ['html', null],
      ['html', null],
    ])
  })
})

describe('a site', () => {
  it('crawls breadth first, the sitemap after the links of the start page', async () => {
    const site = await serveSite({
      '/robots.txt': (request, response) =>
        response.end(`Sitemap: http://${request.headers.host}/map.xml\nSitemap: http://elsewhere.test/map.xml`),
      '/map.xml': (request, response) => {
        const at = (path: string) => `http://${request.headers.host}${path}`
        response.end(urlset(at('/b'), at('/mapped'), 'http://elsewhere.test/x'))
      },
      '/': page('Start', '/a', '/b', 'http://elsewhere.test/'),
      '/a': page('A', '/a/deep', '/', 'http://elsewhere.test/'),
      '/b': page('B', '/b/deep'),
      '/mapped': page('Mapped', '/mapped/deep'),
      '/a/deep': page('A deep'),
      '/b/deep': page('B deep'),
      '/mapped/deep': page('Mapped deep'),
    })
    const { paths, skipped, clock } = await crawl(site)
    expect(paths).toEqual(['/', '/a', '/b', '/mapped', '/a/deep', '/b/deep', '/mapped/deep'])
    expect(skipped).toEqual({ off_site: 2 })
    expect(site.hits).toEqual(['/robots.txt', '/', '/a', '/b', '/map.xml', ...paths.slice(3)])
    // A pause before every request but the first, and one at a time.
    expect(clock.pauses).toHaveLength(site.hits.length - 1)
    expect(Math.min(...clock.pauses)).toBeGreaterThanOrEqual(500)
    expect(site.atOnce).toBe(1)
  })

  it('returns the requested number of pages and the count of further ones', async () => {
    const site = await serveSite({ '/': page('Start', '/a', '/b', '/c', '/d'), '/b': page('B'), '*': page('Alike') })
    const { paths, skipped } = await crawl(site, { maxPages: 3 })
    expect(paths).toEqual(['/', '/a', '/b'])
    expect(skipped).toEqual({ limit: 2 })
    expect(site.hits).not.toContain('/sitemap.xml')
  })

  it('reads a sitemap index one level deep, gzip included', async () => {
    const site = await serveSite({
      '/': page('Start'),
      '/one': page('One'),
      '/two': page('Two'),
      '/three': page('Three'),
    })
    const packed = (body: string) => gzipSync(body)
    const answers: Record<string, string | Buffer> = {
      '/sitemap_index.xml': index(`${site.url}/1.xml.gz`, '/2.txt', 'http://elsewhere.test/3.xml', '/nested.xml'),
      '/1.xml.gz': packed(urlset(`${site.url}/one`, `${site.url}/one`)),
      '/2.txt': `${site.url}/two\n${site.url}/three\n`,
      '/nested.xml': index(`${site.url}/deeper.xml`),
    }
    const front = await serveSite({
      '/sitemap.xml': redirect('/sitemap_index.xml', 301),
      '/': page('Start'),
      '*': (request, response) => {
        const body = answers[request.url!]
        if (body)
          response.end(
            typeof body === 'string'
              ? body.replaceAll(site.url, `http://${request.headers.host}`)
              : gzipSync(urlset(`http://${request.headers.host}/one`)),
          )
        else if (['/one', '/two', '/three'].includes(request.url!)) {
          response.writeHead(200, { 'content-type': 'text/html' }).end(page(request.url!))
        } else response.writeHead(404).end()
      },
    })
    const { paths } = await crawl(front)
    expect(paths).toEqual(['/', '/one', '/two', '/three'])
    expect(front.hits).not.toContain('/deeper.xml')
  })

  it('uses a sitemap on another host that robots.txt names, for own pages only', async () => {
    const site = await serveSite({
      '/robots.txt': (_, response) => response.end(`Sitemap: ${maps.url}/index.xml`),
      '/': page('Start'),
      '/one': page('One'),
    })
    const maps = await serveSite({
      '/index.xml': (_, response) => response.end(index(`${maps.url}/pages.xml`, 'http://elsewhere.test/3.xml')),
      '/pages.xml': (_, response) => response.end(urlset(`${site.url}/one`, `${maps.url}/foreign`)),
      '/foreign': page('Foreign'),
    })
    const { paths, skipped } = await crawl(site, { fetch: guardFor([site, maps]) })
    expect(paths).toEqual(['/', '/one'])
    expect(skipped).toEqual({ off_site: 1 })
    expect(maps.hits).toEqual(['/robots.txt', '/index.xml', '/pages.xml'])
    // The guard holds there too.
    expect((await crawl(site, { fetch: guardFor([site]) })).paths).toEqual(['/'])
  })

  it('counts broken pages and continues', async () => {
    const extractor: typeof plainExtractor = {
      async extract(input, signal) {
        if ('url' in input && input.url.endsWith('/complex')) throw new KnowledgeError('too_complex', 'too deep')
        return plainExtractor.extract(input, signal)
      },
    }
    const site = await serveSite({
      '/': page('Start', '/gone', '/broken', '/complex', '/cut', '/sound', '/fine', '/file.zip'),
      '/broken': { status: 500 },
      '/complex': page('Complex'),
      '/cut': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': '1000' }).write('<p>half')
        response.socket!.destroy()
      },
      '/sound': { headers: { 'content-type': 'audio/mpeg' }, body: 'sound' },
      '/fine': page('Fine'),
    })
    const { paths, skipped } = await crawl(site, { extractor })
    expect(paths).toEqual(['/', '/fine'])
    expect(skipped).toEqual({ not_found: 1, unreachable: 2, too_complex: 1, not_html: 1 })
    expect(site.hits).not.toContain('/file.zip')
  })

  it('continues with the sitemap when the start page has no text', async () => {
    const site = await serveSite({
      '/': '<p></p>',
      '/sitemap.xml': (request, response) => response.end(urlset(`http://${request.headers.host}/about`)),
      '/about': page('About'),
    })
    expect((await crawl(site)).paths).toEqual(['/about'])
  })

  it('follows a redirect of the start page to another host', async () => {
    const moved = await serveSite({
      '/': page('Complex'),
      '/sitemap.xml': (_, response) => response.end(urlset(`${moved.url}/about`)),
      '/about': page('About'),
    })
    const site = await serveSite({ '/': redirect(`${moved.url}/`) })
    const extractor: typeof plainExtractor = {
      async extract(input, signal) {
        if ('url' in input && new URL(input.url).pathname === '/') throw new KnowledgeError('too_complex', 'too deep')
        return plainExtractor.extract(input, signal)
      },
    }
    expect((await crawl(site, { extractor, fetch: guardFor([site, moved]) })).paths).toEqual(['/about'])
  })

  it('ends with the error of the start page when no page could be read', async () => {
    const site = await serveSite({ '/': { headers: { 'content-type': 'image/png' } }, '/sitemap.xml': urlset() })
    expect(await codeOf(crawl(site))).toBe('not_html')
  })
})

describe('the same page', () => {
  it('reads a page once under all its addresses', async () => {
    const session = '0123456789abcdef0123456789abcdef'
    const site = await serveSite({
      '/': page(
        'Start',
        ...[
          '/index.html',
          '/?utm_source=x',
          '/#top',
          '/a',
          '/a/',
          '/a?utm_medium=y&yclid=1',
          '/a?',
          '/a;jsessionid=1F',
        ],
        ...[
          `/a?PHPSESSID=${session}`,
          `/a?sid=${session}`,
          '/b?x=1&y=2',
          '/b?y=2&x=1',
          '/%62?x=1&y=2',
          '/moved',
          '/copy',
        ],
      ),
      '/a': page('A'),
      '/b?x=1&y=2': page('B'),
      '/moved': redirect('/a'),
      '/copy': page('A'),
    })
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/', '/a', '/b?x=1&y=2'])
    expect(skipped).toEqual({ duplicate: 2 })
    expect(site.hits.filter(path => path !== '/robots.txt' && path !== '/sitemap.xml')).toEqual([
      ...['/', '/a', '/b?x=1&y=2', '/moved', '/copy'],
    ])
  })

  it('uses the canonical address within the site', async () => {
    const canonical = (href: string, text: string, ...links: string[]) =>
      `<link rel="canonical" href="${href}">${page(text, ...links)}`
    const site = await serveSite({
      '/': canonical('/', 'Start', '/red?colour=1', '/red?colour=2', '/foreign', '/template', '/red'),
      '/red?colour=1': canonical('/red', 'The red one, of wool, in three sizes. Colour: first'),
      '/red?colour=2': canonical('/red', 'The red one, of wool, in three sizes. Colour: second'),
      '/foreign': canonical('http://elsewhere.test/', 'Foreign'),
      '/template': canonical('/', 'A template that names the start on every page'),
    })
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/', '/red', '/foreign', '/template'])
    expect(skipped).toEqual({ duplicate: 2 })
    expect(site.hits).not.toContain('/red')
  })

  it('keeps pages whose template names one canonical address for all', async () => {
    const wrong = (text: string, ...links: string[]) => `<link rel="canonical" href="/shop">${page(text, ...links)}`
    const site = await serveSite({
      '/': wrong('Everything for tea and coffee, since 1990', '/prices', '/about', '/print', '/shop'),
      '/prices': wrong('Green leaves cost four, black ones three, and a pot is twenty'),
      '/about': wrong('Three sisters began with a cart at the harbour gate'),
      '/print': wrong('Everything for tea and coffee, since 1990. Printed today'),
      '/shop': wrong('Cups, pots and kettles: take what you like'),
    })
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/shop', '/prices', '/about'])
    expect(skipped).toEqual({ duplicate: 2 })
  })
})

describe('robots rules and crawl delay', () => {
  it('obeys disallow rules and the crawl delay', async () => {
    const site = await serveSite({
      '/robots.txt': text('User-agent: *\nDisallow: /\n\nUser-agent: parleybot\nCrawl-delay: 3\nDisallow: /private\n'),
      '/': page('Start', '/private/1', '/open', '/private/2'),
      '/open': page('Open'),
    })
    const { paths, skipped, clock } = await crawl(site)
    expect(paths).toEqual(['/', '/open'])
    expect(skipped).toEqual({ robots: 2 })
    expect(site.hits).toEqual(['/robots.txt', '/', '/open', '/sitemap.xml'])
    expect(clock.pauses).toEqual([500, 3000, 3000])
  })

  it('caps the crawl delay at ten seconds', async () => {
    const site = await serveSite({
      '/robots.txt': text('User-agent: *\nCrawl-delay: 3600'),
      '/': page('Start', '/a'),
      '/a': page('A'),
    })
    expect((await crawl(site, { maxPages: 2 })).clock.pauses).toEqual([500, 10_000])
  })

  it.each([
    ['a missing file means no rules', { status: 404 }, 'read'],
    ['so does one that is refused', { status: 403 }, 'read'],
    ['so does a page of HTML in its place', page('Soft 404'), 'read'],
    ['one that is broken forbids all', { status: 503 }, 'robots'],
    ['one that asks to slow down, too', { status: 429 }, 'robots'],
    ['the whole site may be forbidden', text('User-agent: *\nDisallow: /'), 'robots'],
    ['one of a megabyte counts to its limit', text(`User-agent: *\nDisallow: /\n${'#'.repeat(1e6)}`), 'robots'],
    ['a redirect is followed', redirect('/rules'), 'robots'],
    ['redirects without end mean no file', redirect('/robots.txt'), 'read'],
  ] as const)('robots.txt: %s', async (_, answer, code) => {
    const site = await serveSite({
      '/robots.txt': answer,
      '/rules': text('User-agent: *\nDisallow: /'),
      '/': page('Start'),
    })
    expect(await codeOf(crawl(site))).toBe(code)
    expect(site.hits.includes('/')).toBe(code === 'read')
  })

  it('obeys noindex and nofollow in the page and in headers', async () => {
    const tagged = (tag: string, body: string) => ({
      headers: { 'content-type': 'text/html', 'x-robots-tag': tag },
      body,
    })
    const site = await serveSite({
      '/': page('Start', '/noindex', '/nofollow', '/none', '/otherbot', '/ours'),
      '/noindex': `<meta name="robots" content="noindex">${page('Noindex', '/by-noindex')}`,
      '/nofollow': `<meta name="robots" content="nofollow">${page('Nofollow', '/by-nofollow')}`,
      '/none': tagged('none', page('None', '/by-none')),
      '/otherbot': tagged('otherbot: noindex, nofollow', page('Otherbot')),
      '/ours': tagged('unavailable_after: 2099-01-01, otherbot: none, ParleyBot: noindex', page('Ours')),
      '/by-noindex': page('By noindex'),
      '/by-nofollow': page('By nofollow'),
      '/by-none': page('By none'),
    })
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/', '/nofollow', '/otherbot', '/by-noindex'])
    expect(skipped).toEqual({ noindex: 3 })
  })
})

describe('redirects', () => {
  it('follows meta refresh redirects, without loops', async () => {
    const to = (target: string) => `<meta http-equiv="refresh" content="0;url=${target}"><p>moving</p>`
    const site = await serveSite({
      '/': to('/en/'),
      '/en/': page('Start', '/a', '/away', '/round'),
      '/a': to('/b'),
      '/b': page('B'),
      '/away': to('http://elsewhere.test/'),
      '/round': to('/circle'),
      '/circle': to('/round'),
    })
    expect((await crawl(site, { crawl: false })).paths).toEqual(['/en/'])
    const { paths, skipped } = await crawl(site)
    expect(paths).toEqual(['/en/', '/b'])
    expect(skipped).toEqual({ off_site: 1, duplicate: 1 })
  })

  it('are followed within the site only', async () => {
    const other = await serveSite({ '*': page('Other') })
    const site = await serveSite({
      '/': page('Start', '/old', '/off', '/slash'),
      '/old': redirect('/new', 308),
      '/new': page('New'),
      '/off': redirect(other.url),
      '/slash': redirect('/slash/'),
      '/slash/': page('Slash'),
    })
    const { paths, skipped } = await crawl(site, { fetch: guardFor([site, other]) })
    expect(paths).toEqual(['/', '/new', '/slash/'])
    expect(skipped).toEqual({ off_site: 1 })
    expect(other.hits).toEqual([])
  })

  it('use the redirect target of the start page as the site, with its robots.txt', async () => {
    const target = await serveSite({
      '/robots.txt': text('User-agent: *\nDisallow: /secret'),
      '/en/': page('Start', '/en/a', '/secret'),
      '/en/a': page('A'),
    })
    const site = await serveSite({ '/': redirect(`${target.url}/en/`) })
    const { paths, skipped } = await crawl(site, { fetch: guardFor([site, target]) })
    expect(paths).toEqual(['/en/', '/en/a'])
    expect(skipped).toEqual({ robots: 1 })
    expect(site.hits).toEqual(['/robots.txt', '/'])
  })
})
