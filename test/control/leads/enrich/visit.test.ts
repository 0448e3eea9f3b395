/** Hostile and broken sites: each costs at most its limits. And a visit to a good one. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEnricher } from '../../../../control/outreach/leads/enrich/enricher.ts'
import { VISIT_LIMITS } from '../../../../control/outreach/leads/enrich/visit.ts'
import type { Clock } from '../../../../media/shared/clock.ts'
import { type SiteServer, startSiteServer } from '../../../support/site-server.ts'
import { briskClock, candidate, enrichOn, here, question, source } from './rig.ts'

let server: SiteServer
beforeAll(async () => {
  server = await startSiteServer()
})
afterAll(() => server.close())

const HTML = { 'content-type': 'text/html' }
const hitsOf = (host: string) =>
  server.hits.filter(hit => hit.startsWith(`${host} `)).map(hit => hit.slice(host.length + 1))
const visit = (host: string, options: Parameters<typeof enrichOn>[3] = {}, signals: string[] = []) =>
  enrichOn(server, { website: server.url(host), phones: ['8 843 200-09-09'] }, question(signals), options)

const endless = (response: { write(part: Buffer, done: (error?: Error | null) => void): void }) => {
  const part = Buffer.from('<p>текст без конца</p>'.repeat(2000))
  const more = () => response.write(part, error => error || more())
  more()
}

describe('a visit', () => {
  it('reads pages likely to have contacts or signals, of this site only', async () => {
    server.add('good.example', {
      '/': '<a href="/blog/1">Блог</a><a href="/news">Новости</a><a href="/about">О нас</a><a href="/kontakty">Контакты</a><a href="/sauna">Сауна</a><a href="http://other.example/contacts">Контакты</a><p>8 (843) 200-01-01</p>',
      '/kontakty': '<p>Тел. 8 (843) 200-01-02</p>',
      '/about': '<p>О нас</p>',
      '/sauna': '<p>Финская сауна на дровах.</p>',
    })
    const lead = await visit('good.example', {}, ['сауна'])
    expect(hitsOf('good.example')).toEqual(['/robots.txt', '/', '/kontakty', '/about', '/sauna'])
    expect(lead.phones).toEqual(['+78432000102', '+78432000101', '+78432000909'])
    expect(lead.signals).toEqual([
      { signal: 'сауна', present: true, evidence: expect.stringContaining('Сауна'), where: server.url('good.example') },
    ])
    expect(lead.site_problem).toBeNull()
  })

  it('measures the time of the site only', async () => {
    server.add('slow.example', { '/': '<a href="/contacts">Контакты</a>', '/contacts': '<p>8 (843) 200-01-01</p>' })
    const timers = new Map<() => void, number>()
    let nowMs = 0
    const brisk = briskClock()
    const clock: Clock = {
      ...brisk,
      now: () => nowMs,
      after(ms, run) {
        if (ms < VISIT_LIMITS.totalMs / 2) return brisk.after(ms, run)
        timers.set(run, nowMs + ms)
        return () => timers.delete(run)
      },
    }
    const extractor: typeof here = {
      extract(input, signal) {
        nowMs += 2 * VISIT_LIMITS.totalMs
        for (const [run, dueMs] of timers) if (dueMs <= nowMs) run()
        return here.extract(input, signal)
      },
    }
    const of = candidate({ website: server.url('slow.example') })
    const enricher = createEnricher({ fetch: server.fetch, clock, extractor })
    const lead = await enricher.enrich(of, question(), source, new AbortController().signal)
    expect(lead).toMatchObject({ phones: ['+78432000101'], site_problem: null })
  })

  it('robots.txt is obeyed', async () => {
    server.add('robots.example', {
      '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /contacts' },
      '/': '<a href="/contacts">Контакты</a><p>8 (843) 200-01-01</p>',
      '/contacts': '<p>8 (843) 200-01-02</p>',
    })
    expect((await visit('robots.example')).phones).toEqual(['+78432000101', '+78432000909'])
    expect(hitsOf('robots.example')).toEqual(['/robots.txt', '/'])
  })

  it("keeps the source's data when the site fails, with the reason", async () => {
    server.add('broken.example', { '*': { status: 500, headers: HTML } })
    const lead = await visit('broken.example')
    expect(lead).toMatchObject({ phones: ['+78432000909'], rejected: null })
    expect(lead.site_problem).toMatch(/robots\.txt of the site cannot be read/)
    expect(await enrichOn(server, { website: 'javascript:alert(1)', phones: ['8 843 200-09-09'] })).toMatchObject({
      site_problem: 'The address of the site is invalid.',
    })
  })

  it("aborts by the caller's signal only", async () => {
    server.add('mute.example', { '*': () => {} })
    const controller = new AbortController()
    const reason = new Error('canceled')
    const ended = visit('mute.example', { signal: controller.signal })
    controller.abort(reason)
    await expect(ended).rejects.toBe(reason)
    expect(await visit('mute.example', { limits: { totalMs: 11_500 } })).toMatchObject({
      phones: ['+78432000909'],
      site_problem: expect.stringMatching(/too long|in time/),
    })
  })
})

describe('a hostile site', () => {
  it('that redirects to the metadata of a cloud, or to this machine', async () => {
    for (const [host, location] of [
      ['metadata.example', 'http://169.254.169.254/latest/meta-data/'],
      ['local.example', `http://localhost:${server.port}/`],
    ] as const) {
      server.add(host, { '/robots.txt': { status: 404 }, '*': { status: 302, headers: { location } } })
      expect((await visit(host)).site_problem).toMatch(/not on the public internet/)
    }
    server.add('inner.example', {
      '/': '<a href="/contacts">Контакты</a><p>8 (843) 200-01-01</p>',
      '/contacts': { status: 302, headers: { location: 'http://169.254.169.254/' } },
    })
    expect((await visit('inner.example')).phones[0]).toBe('+78432000101')
  })

  it('is limited to 2 MB a page and 6 MB in all', async () => {
    let sent = 0
    server.add('endless.example', {
      '/robots.txt': { status: 404 },
      '*': (_, response) => {
        response
          .writeHead(200, HTML)
          .write(`<p>8 (843) 200-01-01</p>${[1, 2, 3, 4, 5, 6].map(n => `<a href="/contacts${n}">Контакты</a>`)}`)
        sent++
        endless(response)
      },
    })
    const lead = await visit('endless.example')
    expect(lead.phones[0]).toBe('+78432000101')
    expect(sent).toBe(3)
  })

  it('limits gzip expansion', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, '<p>бум</p>'))
    server.add('bomb.example', { '/': { headers: { ...HTML, 'content-encoding': 'gzip' }, body: bomb } })
    const lead = await visit('bomb.example')
    expect(lead.phones).toEqual(['+78432000909'])
    expect(hitsOf('bomb.example')).toEqual(['/robots.txt', '/'])
  })

  it('limits contact pages to six', async () => {
    const links = Array.from({ length: 10_000 }, (_, n) => `<a href="/contacts-${n}x">Контакты</a>`).join('')
    server.add('links.example', { '/robots.txt': { status: 404 }, '*': `${links}<p>8 (843) 200-01-01</p>` })
    expect((await visit('links.example')).phones[0]).toBe('+78432000101')
    expect(hitsOf('links.example')).toHaveLength(1 + 6)
  })

  it('limits requests to broken links', async () => {
    const links = Array.from({ length: 10_000 }, (_, n) => `<a href="/contacts-${n}x">Контакты</a>`).join('')
    server.add('dead.example', { '/': links })
    await visit('dead.example')
    expect(hitsOf('dead.example')).toHaveLength(1 + 16)
  })

  it('that redirects in a circle, or on and on', async () => {
    server.add('loop.example', { '/robots.txt': { status: 404 }, '*': { status: 302, headers: { location: '/' } } })
    expect((await visit('loop.example')).site_problem).toMatch(/redirects in a loop/)
    server.add('on.example', {
      '/robots.txt': { status: 404 },
      '*': (request, response) => response.writeHead(302, { location: `${request.url}x` }).end(),
    })
    expect((await visit('on.example')).site_problem).toMatch(/redirects in a loop/)
    expect(hitsOf('loop.example').length + hitsOf('on.example').length).toBeLessThan(20)
  })

  it('of two hundred numbers has no main number', async () => {
    const list = Array.from({ length: 200 }, (_, n) => `<li>Фирма ${n}: +7 (843) 215-0${n + 100}</li>`).join('')
    server.add('list.example', { '/': `<ul>${list}</ul>` })
    const lead = await visit('list.example')
    expect(lead.phones).toEqual(['+78432000909'])
    expect(lead.reasons).toContainEqual({ points: -10, text: 'The site lists numbers of many other companies.' })
  })

  it('of 100,000 nested levels or binary content', async () => {
    server.add('deep.example', { '/': '<div>'.repeat(100_000) })
    expect((await visit('deep.example')).site_problem).toMatch(/nested/)
    server.add('bytes.example', {
      '/': { headers: HTML, body: Buffer.from(Array.from({ length: 5000 }, (_, n) => (n * 7) % 256)) },
    })
    expect((await visit('bytes.example')).site_problem).toMatch(/not text/)
  })
})

it('completes a number with the region of the search', async () => {
  const numbersOf = async (geo: string, region: string | null) => {
    const asked = question()
    const of = { phones: ['8 (843) 200-09-09'], country: null }
    return (await enrichOn(server, of, { ...asked, region, brief: { ...asked.brief, geo } })).phones
  }
  expect(await numbersOf('Казань', 'US')).toEqual(['+78432000909'])
  expect(await numbersOf('Казань', null)).toEqual(['+78432000909'])
  expect(await numbersOf('Алматы', 'KZ')).toEqual(['+78432000909'])
  expect(await numbersOf('Kazan', 'RU')).toEqual(['+78432000909'])
  expect(await numbersOf('Kazan', null)).toEqual([])
})
