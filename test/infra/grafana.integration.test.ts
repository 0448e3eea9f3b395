/** The Grafana dashboard, compared with the metrics of running processes: names, labels and their values. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freePort } from '../../infra/embedded/ports.ts'
import { startSipServer } from '../../infra/embedded/programs.ts'
import { HOST, type Stack, startStack } from '../support/stack.ts'

const root = join(import.meta.dirname, '../..')
const Target = z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })
const Panel = z.object({
  id: z.int(),
  type: z.enum(['row', 'timeseries', 'stat']),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos: z.object({ x: z.int().min(0), y: z.int().min(0), w: z.int().positive(), h: z.int().positive() }),
  targets: z.array(Target).default([]),
})
const dashboard = z
  .object({ title: z.string(), uid: z.string(), panels: z.array(Panel) })
  .parse(JSON.parse(readFileSync(join(root, 'infra/deploy/grafana/parley.json'), 'utf8')))
const expressions = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ refId, expr, legendFormat }) => ({ title, refId, expr, legendFormat })),
)

/** Kind of a metric, and the values of each of its labels. */
interface Family {
  kind: string
  labels: Map<string, Set<string>>
}

function readPage(text: string, into: Map<string, Family>): void {
  const kinds = new Map<string, string>()
  for (const line of text.split('\n')) {
    const kind = /^# TYPE (\S+) (\w+)$/.exec(line)
    if (kind) kinds.set(kind[1]!, kind[2]!)
    const sample = /^([a-z_]+)(?:\{(.*)\})? \S+$/i.exec(line)
    if (!sample || line.startsWith('#')) continue
    const name = sample[1]!
    const family = into.get(name) ?? { kind: kindOf(name, kinds), labels: new Map() }
    for (const [, label, value] of (sample[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      family.labels.set(label!, (family.labels.get(label!) ?? new Set()).add(value!))
    }
    into.set(name, family)
  }
}

/** The series of a histogram are counters, under names of their own. */
const kindOf = (name: string, kinds: Map<string, string>): string =>
  kinds.get(name) ?? (kinds.get(name.replace(/_(?:bucket|sum|count)$/, '')) === 'histogram' ? 'counter' : 'none')

const families = new Map<string, Family>()
let stack: Stack
beforeAll(async () => {
  stack = await startStack({ METRICS_PORT: '0' })
  const admin = await freePort(12_000)
  const metrics = await freePort(admin + 1)
  const server = await startSipServer({
    admin: `${HOST}:${admin}`,
    secret: 'of this test',
    listen: [`udp:${HOST}:0`],
    metrics: `${HOST}:${metrics}`,
    logFile: join(stack.folder, 'another.log'),
    report() {},
  })
  stack.onStop(() => server.child.stop())
  const { control, engine } = stack.children
  const ports = [control, engine].map(child => (JSON.parse(child.readyLine) as { metrics: number }).metrics)
  for (const port of [...ports, metrics]) {
    readPage(await (await fetch(`http://${HOST}:${port}/metrics`)).text(), families)
  }
})
afterAll(() => stack?.stop())

interface Selector {
  name: string
  matchers: { label: string; value: string }[]
  /** The function whose argument it is alone, with a range. */
  rated: string | null
}

const WORDS = new Set(['by', 'sum', 'max', 'min', 'count', 'rate', 'time', 'histogram_quantile', 'le'])
/** Given by Prometheus to everything that it reads. */
const SCRAPED = ['job', 'instance']

function selectorsOf(expr: string): Selector[] {
  const grouping = /\bby \([^)]*\)/g
  const bare = expr.replace(grouping, '')
  const found = bare.matchAll(/([a-zA-Z_:][\w:]*)(\{[^}]*\})?(\[[^\]]*\])?/g)
  const inStrings = (at: number) => (bare.slice(0, at).match(/"/g) ?? []).length % 2 === 1
  return [...found]
    .filter(match => !inStrings(match.index) && !WORDS.has(match[1]!))
    .map(match => ({
      name: match[1]!,
      matchers: [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => ({
        label: label!,
        value: value!,
      })),
      rated: match[3] ? (/(\w+)\($/.exec(bare.slice(0, match.index))?.[1] ?? null) : null,
    }))
}

const groupingOf = (expr: string): string[] =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(match => match[1]!.split(',').map(label => label.trim()))

describe('an expression', () => {
  it('covers most metrics', () => {
    expect(expressions.length).toBeGreaterThan(40)
    const shown = new Set(expressions.flatMap(({ expr }) => selectorsOf(expr).map(({ name }) => name)))
    const ours = [...families.keys()].filter(name => name.startsWith('parley_') && !/_(?:bucket|sum|count)$/.test(name))
    // Those two are part of what is refused, and of no use on a curve.
    const left = ['parley_inbound_redirected_total', 'parley_inbound_announced_total']
    expect(ours.filter(name => !shown.has(name)).sort()).toEqual(left.sort())
  })

  it.each(expressions)('uses existing metrics: $title, $refId', ({ expr, legendFormat }) => {
    const selectors = selectorsOf(expr)
    expect(selectors.length).toBeGreaterThan(0)
    for (const { name, matchers, rated } of selectors) {
      const family = families.get(name)
      expect(family, `${name} is shown by no process`).toBeDefined()
      for (const { label, value } of matchers) expect([...(family!.labels.get(label) ?? [])]).toContain(value)
      // Counters are queried by their rate, and other metrics are not.
      expect([name, rated]).toEqual([name, family!.kind === 'counter' ? 'rate' : null])
      for (const label of groupingOf(expr)) expect([...family!.labels.keys(), ...SCRAPED]).toContain(label)
      if (/histogram_quantile/.test(expr)) expect(name).toMatch(/_bucket$/)
    }
    if (/histogram_quantile/.test(expr)) expect(groupingOf(expr)).toContain('le')
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(groupingOf(expr)).toContain(label)
    const depth = [...expr].reduce((open, sign) => open + (sign === '(' ? 1 : sign === ')' ? -1 : 0), 0)
    expect(depth).toBe(0)
  })
})

describe('a panel', () => {
  it('has a unique ID, a title and a free position', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Map<string, string>()
    for (const { title, type, description, gridPos } of panels) {
      if (type !== 'row') expect(description, title).toMatch(/\w{3}/)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x},${y}`), `${title} lies over it`).toBeUndefined()
          taken.set(`${x},${y}`, title)
        }
      }
    }
  })
})

describe('docs/metrics.md', () => {
  it('lists exactly the existing metrics', () => {
    const text = readFileSync(join(root, 'docs/metrics.md'), 'utf8')
    const rows = text.split('\n').filter(line => line.startsWith('| `'))
    const told = rows.flatMap(row => {
      const names = [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(match => match[1]!)
      // `…_pending` stands beside a name that it shares its beginning with.
      return names.map(name => name.replace(/^…/, 'parley_sip_server'))
    })
    const shown = new Set([...families.keys()].map(name => name.replace(/_(?:bucket|sum|count)$/, '')))
    expect(told.filter(name => !shown.has(name))).toEqual([])
    expect([...shown].filter(name => !told.includes(name))).toEqual([])
  })
})
