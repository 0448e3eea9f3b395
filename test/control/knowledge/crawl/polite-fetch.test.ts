import { describe, expect, it } from 'vitest'
import { createPoliteFetch, type PoliteRequest } from '../../../../control/knowledge/crawl/polite-fetch.ts'
import { type Fetch, FetchError, type FetchErrorCode, type FetchResponse } from '../../../../media/shared/fetch.ts'
import { codeOf, hurriedClock } from './site.ts'

const REQUEST: PoliteRequest = { accept: 'text/html', timeoutMs: 1000, maxBytes: 1000 }
const SIGNAL = new AbortController().signal

/** Answers after a turn of the loop; null: a connection that fails. */
function web(answer: (url: string, times: number) => number | FetchErrorCode) {
  const log: string[] = []
  const times = new Map<string, number>()
  const fetch: Fetch = async ({ url }) => {
    log.push(`> ${url}`)
    await new Promise(setImmediate)
    log.push(`< ${url}`)
    const count = (times.get(url) ?? 0) + 1
    times.set(url, count)
    const given = url.endsWith('/robots.txt') ? 404 : answer(url, count)
    if (typeof given === 'string') throw new FetchError(given, 'failed')
    return { status: given, headers: {}, body: Buffer.from('body'), url } satisfies FetchResponse
  }
  const clock = hurriedClock()
  return { log, clock, times, polite: createPoliteFetch({ fetch, clock }) }
}

describe('polite reading', () => {
  it('requests one page of a host at a time, in order, after its robots.txt and with delays', async () => {
    const { polite, log, clock } = web(() => 200)
    await polite.rules(new URL('http://one.test/'), SIGNAL)
    await Promise.all(['a', 'b', 'c'].map(path => polite.get(new URL(`http://one.test/${path}`), REQUEST, SIGNAL)))
    expect(log).toEqual(
      ['robots.txt', 'a', 'b', 'c'].flatMap(path => [`> http://one.test/${path}`, `< http://one.test/${path}`]),
    )
    expect(clock.pauses).toEqual([500, 500, 500])
  })

  it('does not make hosts wait for each other', async () => {
    const { polite, log } = web(() => 200)
    await Promise.all(['one', 'two'].map(host => polite.get(new URL(`http://${host}.test/`), REQUEST, SIGNAL)))
    expect(log.slice(0, 2)).toEqual(['> http://one.test/robots.txt', '> http://two.test/robots.txt'])
  })

  it.each([
    ['network', 2, 'unreachable'],
    ['timeout', 1, 'timeout'],
    ['blocked_address', 1, 'blocked_address'],
    ['too_large', 1, 'too_large'],
    ['bad_url', 1, 'unreachable'],
  ] as const)('after %s sends %i requests and reports %s', async (failure, asked, code) => {
    const { polite, times } = web(() => failure)
    expect(await codeOf(polite.get(new URL('http://one.test/a'), REQUEST, SIGNAL))).toBe(code)
    expect(times.get('http://one.test/a')).toBe(asked)
  })

  it('accepts the second answer', async () => {
    const { polite } = web((_, times) => (times === 1 ? 'network' : 200))
    expect((await polite.get(new URL('http://one.test/a'), REQUEST, SIGNAL)).status).toBe(200)
  })

  it('requests robots.txt once an hour, also after a failure', async () => {
    const { polite, clock, times } = web(() => 200)
    const read = () => polite.get(new URL('http://one.test/a'), REQUEST, SIGNAL)
    await read()
    await read()
    expect(times.get('http://one.test/robots.txt')).toBe(1)
    await new Promise<void>(resolve => clock.after(3_600_001, resolve))
    await read()
    expect(times.get('http://one.test/robots.txt')).toBe(2)
  })

  it('serves the other waiting requests when one aborts', async () => {
    const { polite, log } = web(() => 200)
    const controller = new AbortController()
    const reason = new Error('enough')
    const url = (path: string) => new URL(`http://one.test/${path}`)
    await polite.rules(url(''), SIGNAL)
    const first = polite.get(url('a'), REQUEST, SIGNAL)
    const second = polite.get(url('b'), REQUEST, controller.signal)
    const third = polite.get(url('c'), REQUEST, SIGNAL)
    controller.abort(reason)
    await expect(second).rejects.toBe(reason)
    expect([(await first).url, (await third).url]).toEqual(['http://one.test/a', 'http://one.test/c'])
    expect(log).not.toContain('> http://one.test/b')
  })
})
