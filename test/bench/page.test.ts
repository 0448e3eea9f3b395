import { describe, expect, it } from 'vitest'
import { growthOf } from './growth.ts'
import { type Part, pageOf, type Report, renewed, tableOf } from './page.ts'
import { plot } from './plot.ts'
import type { Series } from './report.ts'

const series = (points: [load: number, value: number, valid?: boolean][]): Series => ({
  figure: 'media: CPU <of a call>',
  system: 'Parley',
  unit: 'ms',
  load: 'calls',
  points: points.map(([load, value, valid = true]) => ({ load, value, valid })),
})

const machine = { processor: 'A | B', cores: 2, memoryGb: 8, kernel: '6.1', node: 'v24', commit: 'abc' }
const part = (curve: Series): Part => ({
  name: 'media',
  run: { at: '2026-01-02T03:04:05.000Z', minutes: 7, full: true, machine },
  lines: [
    { name: 'one', value: 1.5, reference: 3, unit: 'ms', ratio: 0.5, wanted: '≤ 1', ok: true },
    { name: 'two', value: 1234.5, reference: 1000, unit: 'ms', ratio: 1.2345, wanted: '≤ 1', ok: false },
  ],
  series: [curve],
  unmeasured: [{ name: 'a peer', why: 'it cannot be installed' }],
})
const report = (curve: Series): Report => [part(curve)]

describe('growth', () => {
  it('is the exponent of a power law', () => {
    expect(growthOf(series([10, 100, 1000].map(load => [load, 3 * load ** 1.3])))?.exponent).toBeCloseTo(1.3, 6)
    expect(growthOf(series([10, 40, 160].map(load => [load, 5])))?.exponent).toBeCloseTo(0, 6)
  })

  it('leaves out what was not valid, and says nothing of too little', () => {
    const spoilt = series([
      [10, 1],
      [20, 2],
      [40, 4],
      [80, 800, false],
    ])
    expect(growthOf(spoilt)).toMatchObject({ from: 10, to: 40 })
    expect(growthOf(spoilt)?.exponent).toBeCloseTo(1, 6)
    expect(
      growthOf(
        series([
          [10, 1],
          [40, 2],
        ]),
      ),
    ).toBeNull()
    expect(
      growthOf(
        series([
          [10, 1],
          [15, 2],
          [20, 2],
        ]),
      ),
    ).toBeNull()
  })
})

describe('the plot', () => {
  it('draws each point once, those that are not valid hollow, and no text as markup', () => {
    const svg = plot([
      series([
        [10, 1],
        [100, 2, false],
      ]),
    ])
    expect(svg.match(/<circle/g)).toHaveLength(2)
    expect(svg.match(/fill="#fff" stroke/g)).toHaveLength(1)
    expect(svg).toContain('CPU &lt;of a call&gt;')
    expect(svg).not.toMatch(/NaN|Infinity/)
  })

  it('has a panel a figure and a colour a system', () => {
    const other = {
      ...series([
        [10, 1],
        [100, 2],
      ]),
      system: 'diago',
    }
    const svg = plot([
      series([
        [10, 1],
        [100, 2],
      ]),
      other,
      { ...other, figure: 'memory' },
    ])
    expect(svg.match(/<g /g)).toHaveLength(2)
    expect(new Set(svg.match(/stroke="#[0-9a-f]{6}" stroke-width/g)).size).toBe(2)
  })
})

describe('the page', () => {
  const curve = series([
    [10, 1],
    [40, 2],
    [160, 4],
  ])
  const page = 'before\n<!-- bench: written by `npm run bench -- --full --report` -->\nold\n<!-- /bench -->\nafter\n'

  it('has the run between its marks, and what is around them as it was', () => {
    const written = pageOf(report(curve), page)
    expect(written.startsWith('before\n')).toBe(true)
    expect(written.endsWith('\nafter\n')).toBe(true)
    expect(written).not.toContain('old')
    expect(written).toContain('| two | 1235 | 1000 | ms | 1.23 | ≤ 1 | MISSED |')
    expect(written).toContain('- a peer: it cannot be installed')
    expect(written).toContain('| media: CPU <of a call> | Parley | 10 calls | 160 | 0.50 |')
    expect(pageOf(report(curve), written)).toBe(written)
  })

  it('says which run each part is of, where not all are of one', () => {
    const old = part(curve)
    const run = { at: '2026-02-03T04:05:06.000Z', minutes: 9, full: true, machine: { ...machine, commit: 'def' } }
    const [line] = old.lines
    const sip: Part = { ...old, name: 'sip', lines: [{ ...line!, name: 'signalling' }] }
    const anew: Part = { ...old, run, lines: [{ ...line!, name: 'three' }], unmeasured: [] }
    const both = renewed([old, sip], [anew], ['sip', 'media'])
    expect(both.map(({ name, run }) => [name, run.machine.commit])).toEqual([
      ['sip', 'abc'],
      ['media', 'def'],
    ])
    const written = pageOf(both, page)
    expect(written).toContain('Run of sip of 2026-01-02, full, 7 minutes, commit abc;')
    expect(written).toContain('Run of media of 2026-02-03, full, 9 minutes, commit def;')
    expect(written.indexOf('| signalling |')).toBeLessThan(written.indexOf('| three |'))
    expect(written).not.toContain('| one |')
  })

  it('refuses a page without a place for it', () => {
    expect(() => pageOf(report(curve), 'nothing here')).toThrow('The page has no marks for the report')
  })

  it('names what was missed and what was not measured in the terminal too', () => {
    const table = tableOf(report(curve))
    expect(table).toMatch(/two .*MISSED/)
    expect(table).toContain('Not measured: a peer: it cannot be installed')
  })
})
