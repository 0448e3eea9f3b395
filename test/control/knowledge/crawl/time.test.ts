import { describe, expect, it } from 'vitest'
import { crawl, page, serveSite } from './site.ts'

describe('limits', () => {
  it('retries a temporary failure once, after Retry-After', async () => {
    let refusals = 0
    const site = await serveSite({
      '/': (_, response) => {
        if (refusals++ === 0) response.writeHead(503, { 'retry-after': '7' }).end()
        else response.writeHead(200, { 'content-type': 'text/html' }).end(page('Start'))
      },
    })
    const { paths, clock } = await crawl(site, { crawl: false })
    expect(paths).toEqual(['/'])
    expect(clock.pauses).toEqual([500, 7000])
  })

  it('reads the next page after the previous one is consumed', async () => {
    const site = await serveSite({ '/': page('Start', '/a'), '/a': page('A') })
    let taken = (): void => {}
    const given = new Promise<void>(arrived => {
      taken = arrived
    })
    let release = (): void => {}
    const blocked = new Promise<void>(resolve => {
      release = resolve
    })
    const crawled = crawl(site, {
      async onPage() {
        taken()
        await blocked
      },
    })
    await given
    expect(site.hits).toEqual(['/robots.txt', '/'])
    release()
    expect((await crawled).pages).toBe(2)
  })

  it('stops the crawl at an internal error', async () => {
    const site = await serveSite({ '/': page('Start', '/a') })
    const ended = crawl(site, { onPage: () => Promise.reject(new Error('no database')) })
    await expect(ended).rejects.toThrow('no database')
    expect(site.hits).toEqual(['/robots.txt', '/'])
  })

  it.each(['in a request', 'in a pause'])('stops with its reason at an abort %s', async moment => {
    const controller = new AbortController()
    const reason = new Error('the source was deleted')
    const site = await serveSite({
      '/': (_, response) => {
        if (moment === 'in a request') controller.abort(reason)
        else response.writeHead(200, { 'content-type': 'text/html' }).end(page('Start', '/a', '/b'))
      },
      '*': page('Other'),
    })
    const onPage = async () => void setImmediate(() => controller.abort(reason))
    const clock = {
      now: () => 0,
      wall: () => 0,
      after: (ms: number, run: () => void) => {
        const timer = setTimeout(run, site.hits.length > 1 ? 60_000 : ms / 100)
        return () => clearTimeout(timer)
      },
    }
    await expect(crawl(site, { signal: controller.signal, onPage, clock })).rejects.toBe(reason)
    expect(site.hits).toEqual(['/robots.txt', '/'])
  })

  it('returns what was read at the time or byte limit', async () => {
    const site = await serveSite({ '/': page('Start', '/a', '/b'), '/a': page('A'.repeat(500)), '/b': page('B') })
    const late = await crawl(site, { limits: { totalMs: 900 } })
    expect(late.paths).toEqual(['/', '/a'])
    expect(late.skipped).toEqual({ limit: 1 })
    const full = await crawl(site, { limits: { totalBytes: 600 } })
    expect(full.paths).toEqual(['/', '/a'])
  })
})
