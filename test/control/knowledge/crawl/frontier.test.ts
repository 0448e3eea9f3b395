import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanAddress, pageKey, pageOfSite, pageShape } from '../../../../control/knowledge/crawl/address.ts'
import { Frontier } from '../../../../control/knowledge/crawl/frontier.ts'

const START = new URL('https://site.test/')
const at = (path: string) => new URL(path, START)
const LIMITS = { maxPages: 50, maxRequests: 200 }

/** Every page answers with its links and, by its path, a text of its own. */
function walk(frontier: Frontier, linksOf: (url: URL) => URL[], map: URL[] = []): string[] {
  const order: string[] = []
  for (let due = frontier.next(); due.type !== 'done'; due = frontier.next()) {
    frontier.requested()
    if (due.type === 'sitemap') frontier.found(map, 1)
    else {
      order.push(due.url.pathname + due.url.search)
      frontier.found(linksOf(due.url), due.depth + 1)
      frontier.index(due.url, due.url, pageKey(due.url))
    }
  }
  return order
}

describe('the frontier', () => {
  it('contains one page when the site is not crawled', () => {
    expect(walk(new Frontier(START, false, LIMITS), () => [])).toEqual(['/'])
  })

  it('prefers the sitemap to deeper links', () => {
    const links: Record<string, string[]> = { '/': ['/a'], '/a': ['/a/1'], '/m': ['/m/1'] }
    const order = walk(new Frontier(START, true, LIMITS), url => (links[url.pathname] ?? []).map(at), [
      at('/m'),
      at('/a'),
    ])
    expect(order).toEqual(['/', '/a', '/m', '/a/1', '/m/1'])
  })

  it('defers the sixth page of a shape until all others', () => {
    const items = Array.from({ length: 8 }, (_, number) => at(`/item?id=${number}`))
    const linksOf = (url: URL) =>
      url.pathname === '/' ? [...items, at('/about')] : url.pathname === '/about' ? [at('/deep')] : []
    const order = walk(new Frontier(START, true, LIMITS), linksOf)
    expect(order.slice(1, 8)).toEqual([...[0, 1, 2, 3, 4].map(id => `/item?id=${id}`), '/about', '/deep'])
    expect(order.slice(8)).toEqual(['/item?id=5', '/item?id=6', '/item?id=7'])
  })

  it('ends at the page or request limit, and knows what is left', () => {
    const links = Array.from({ length: 9 }, (_, number) => at(`/${'x'.repeat(number + 1)}`))
    const byPages = new Frontier(START, true, { maxPages: 4, maxRequests: 99 })
    expect(walk(byPages, () => links)).toHaveLength(4)
    expect(byPages.left).toBe(6)
    const byRequests = new Frontier(START, true, { maxPages: 99, maxRequests: 3 })
    expect(walk(byRequests, () => links)).toHaveLength(3)
  })

  it('returns each page at most once, deterministically, within the limit', () => {
    const path = fc
      .array(fc.constantFrom('a', 'b', 'index.html', '1', '22', 'ц', 'x%2fy'), { maxLength: 3 })
      .map(parts => `/${parts.join('/')}`)
    const query = fc.constantFrom('', '?', '?p=1', '?p=2&q=3', '?q=3&p=2', '?utm_source=z', '?p=1&PHPSESSID=f')
    const link = fc.tuple(path, query).map(([path, query]) => at(path + query))
    const site = fc.array(fc.array(link, { maxLength: 12 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(site, fc.array(link, { maxLength: 6 }), fc.integer({ min: 1, max: 12 }), (pages, map, maxPages) => {
        const linksOf = (url: URL) => pages[pageKey(url).length % pages.length]!
        const once = () => walk(new Frontier(START, true, { maxPages, maxRequests: 40 }), linksOf, map)
        const order = once()
        expect(once()).toEqual(order)
        expect(order.length).toBeLessThanOrEqual(maxPages)
        expect(new Set(order.map(path => pageKey(at(path)))).size).toBe(order.length)
      }),
    )
  })
})

describe('addresses', () => {
  const segment = fc.constantFrom('a', 'index.php', '%7eb', 'ц', ';jsessionid=1F', 'c;jsessionid=2', '', '.', '..')
  const parameter = fc.constantFrom('a=1', 'b', 'c=%CF%F0', 'utm_source=x', 'sid=0123456789abcdef', 'd=ц', '')

  it('normalise idempotently', () => {
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 4 }),
        fc.array(parameter, { maxLength: 4 }),
        (segments, parameters) => {
          const url = at(`/a${segments.join('/')}?${parameters.join('&')}#top`)
          const clean = cleanAddress(url)
          expect(pageKey(clean)).toBe(pageKey(url))
          expect(cleanAddress(clean).href).toBe(clean.href)
        },
      ),
    )
  })

  it.each([
    ['http://www.site.test/a/', 'https://site.test/a'],
    ['https://site.test/index.php', 'https://site.test'],
    ['https://site.test/a/Default.aspx?x=1', 'https://site.test/a/?x=1'],
    ['https://site.test/%7euser', 'https://site.test/~user'],
    ['https://site.test/%d1%86', 'https://site.test/ц'],
    ['https://site.test/?fbclid=1&b=2&a=1', 'https://site.test/?a=1&b=2'],
  ])('%s is %s', (one, other) => {
    expect(pageKey(new URL(one))).toBe(pageKey(new URL(other)))
  })

  it.each([
    ['https://site.test/a', 'https://site.test/A'],
    ['https://site.test/?s=short', 'https://site.test/'],
    ['https://site.test:8443/', 'https://site.test/'],
    ['https://site.test/a%2fb', 'https://site.test/a/b'],
    ['https://shop.site.test/', 'https://site.test/'],
  ])('%s is not %s', (one, other) => {
    expect(pageKey(new URL(one))).not.toBe(pageKey(new URL(other)))
  })

  it('share a shape when only numbers differ', () => {
    expect(pageShape(at('/news/2026-01-02/?page=3'))).toBe(pageShape(at('/news/2025-12-31/?page=4')))
    expect(pageShape(at('/%D0%B0'))).not.toBe(pageShape(at('/%D0%B1')))
    expect(pageShape(at('/%E0'))).toBe('/%E0?')
  })
})

it('classifies a link without a request', () => {
  const site = new URL('https://example.com/')
  const judged = (link: string) => {
    const found = pageOfSite(site, link)
    return found instanceof URL ? found.href : found
  }
  expect(judged('http://www.example.com/a')).toBe('https://www.example.com/a')
  expect(judged('https://example.com:8443/a')).toBe('off_site')
  expect(judged('http://example.com:8080/a')).toBe('off_site')
  expect(judged('https://sub.example.com/')).toBe('off_site')
  expect(judged('https://example.com.evil.test/')).toBe('off_site')
  expect(judged('https://example.com./a')).toBe('https://example.com/a')
  expect(judged('https://example.com/a.PDF')).toBe('https://example.com/a.PDF')
  expect(judged('https://example.com/a.JPG')).toBe('not_a_page')
  expect(judged('https://example.com/a/b/a/b/a')).toBe('not_a_page')
  expect(judged(`https://example.com/${[...'abcdefghijklmnopq'].join('/')}`)).toBe('not_a_page')
  expect(judged(`https://example.com/?${[...'abcdefghi'].join('=1&')}=1`)).toBe('not_a_page')
  expect(judged('https://example.com/find?q=%CF%F0&utm_source=x')).toBe('https://example.com/find?q=%CF%F0')
  const plain = new URL('http://example.com/')
  expect(pageOfSite(plain, 'https://example.com/a')).toBeInstanceOf(URL)
})
