/** Exact output in the text format of Prometheus. */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createMetrics, type Metrics } from '../../../media/shared/metrics.ts'
import { countProcess, type MetricsPage, openMetricsPage } from '../../../media/shared/metrics-page.ts'

/** Samples by name and labels, as a scraper reads them: it gives up at the first line that it can't read. */
function read(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.slice(0, -1).split('\n')) {
    if (line.startsWith('# ')) continue
    const sample = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)$/.exec(line)
    expect(sample, line).not.toBeNull()
    samples.set(`${sample![1]}${sample![2] ?? ''}`, Number(sample![3]!.replace('Inf', 'Infinity')))
  }
  return samples
}

describe('the page', () => {
  it('writes HELP and TYPE before values, and each series from the start', () => {
    const metrics = createMetrics()
    const calls = metrics.counter({ name: 'calls_total', help: 'Calls.\nAll \\ of them.', labels: { why: ['a', 'b'] } })
    metrics.gauge({ name: 'lines', help: 'Lines.' }).set(2.5)
    calls.add({ why: 'b' })
    calls.add({ why: 'b' }, 2)
    expect(metrics.text()).toBe(
      [
        '# HELP calls_total Calls.\\nAll \\\\ of them.',
        '# TYPE calls_total counter',
        'calls_total{why="a"} 0',
        'calls_total{why="b"} 3',
        '# HELP lines Lines.',
        '# TYPE lines gauge',
        'lines 2.5',
        '',
      ].join('\n'),
    )
  })

  it('escapes what would end a label', () => {
    const metrics = createMetrics()
    metrics.counter({ name: 'c', help: '', labels: { l: ['a"b\\c\nd'] } }).add({ l: 'a"b\\c\nd' })
    expect(metrics.text()).toContain('c{l="a\\"b\\\\c\\nd"} 1')
  })

  it('has buckets that add up, with those beyond the last', () => {
    const metrics = createMetrics()
    const seconds = metrics.histogram({ name: 's', help: '', labels: { l: ['x'] }, buckets: [0.1, 1] })
    for (const value of [0.05, 0.1, 0.5, 30]) seconds.observe({ l: 'x' }, value)
    expect([...read(metrics.text())]).toEqual([
      ['s_bucket{l="x",le="0.1"}', 2],
      ['s_bucket{l="x",le="1"}', 3],
      ['s_bucket{l="x",le="+Inf"}', 4],
      ['s_sum{l="x"}', 30.65],
      ['s_count{l="x"}', 4],
    ])
  })

  it('bounds the number of series, with one for other values', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 50 }), words => {
        const metrics = createMetrics()
        const counter = metrics.counter({ name: 'c_total', help: 'h', labels: { a: ['x', 'y'], b: ['z'] } })
        for (const word of words) counter.add({ a: word, b: word })
        const samples = read(metrics.text())
        expect(samples.size).toBeLessThanOrEqual((2 + 1) * (1 + 1))
        expect([...samples.values()].reduce((sum, value) => sum + value, 0)).toBe(words.length)
      }),
    )
  })

  it('reads callback gauges at each scrape', () => {
    const metrics = createMetrics()
    let held = 1
    metrics.gaugeFrom({ name: 'held', help: '' }, () => held)
    held = Number.POSITIVE_INFINITY
    expect(metrics.text()).toContain('\nheld +Inf\n')
  })
})

it('rejects invalid names, duplicates, unsorted buckets and decreasing counters', () => {
  const metrics = createMetrics()
  const counter = metrics.counter({ name: 'once', help: '' })
  expect(() => metrics.counter({ name: 'once', help: '' })).toThrow('already')
  expect(() => metrics.gauge({ name: '1st', help: '' })).toThrow('Invalid metric name')
  expect(() => metrics.gauge({ name: 'g', help: '', labels: { 'a-b': ['x'] } })).toThrow('Invalid label name')
  expect(() => metrics.histogram({ name: 'h', help: '', buckets: [1, 1] })).toThrow('rising order')
  expect(() => counter.add(-1)).toThrow('cannot decrease')
  expect(() => counter.add(Number.NaN)).toThrow('cannot decrease')
})

describe('over HTTP', () => {
  const pages: MetricsPage[] = []
  const open = async (metrics: Metrics) => {
    const page = await openMetricsPage(metrics, { host: '127.0.0.1', port: 0 })
    pages.push(page)
    return `http://127.0.0.1:${page.port}`
  }
  afterEach(() => Promise.all(pages.splice(0).map(page => page.close())))

  it('serves exactly one path', async () => {
    const metrics = createMetrics()
    countProcess(metrics)
    const base = await open(metrics)
    const answer = await fetch(`${base}/metrics`)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const samples = read(await answer.text())
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e7)
    expect((await fetch(`${base}/`)).status).toBe(404)
    const posted = await fetch(`${base}/metrics`, { method: 'POST', body: 'x' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(await (await fetch(`${base}/metrics`, { method: 'HEAD' })).text()).toBe('')
  })

  it('reports a port in use', async () => {
    const port = Number(new URL(await open(createMetrics())).port)
    await expect(openMetricsPage(createMetrics(), { host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE')
  })
})
