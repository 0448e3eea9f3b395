/**
 * Metrics of a process in Prometheus' text format 0.0.4. Every label value is declared in advance, so that no remote
 * input creates a series and no number, address or name leaks. An undeclared value counts as `other`.
 */

export interface MetricOptions<L extends string = string> {
  /** `parley_…` with its unit; ends in `_total` when it only grows. */
  name: string
  help: string
  /** All values of each label. */
  labels?: Readonly<Record<L, readonly string[]>>
}
type LabelsOf<L extends string> = Readonly<Record<L, string>>

export interface Counter<L extends string = never> {
  add(...args: [L] extends [never] ? [by?: number] : [labels: LabelsOf<L>, by?: number]): void
}
export interface Gauge<L extends string = never> {
  set(...args: [L] extends [never] ? [value: number] : [labels: LabelsOf<L>, value: number]): void
}
export interface Histogram<L extends string = never> {
  observe(...args: [L] extends [never] ? [value: number] : [labels: LabelsOf<L>, value: number]): void
}

export interface Metrics {
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>
  /** A counter whose value is maintained elsewhere and read at each scrape. */
  counterFrom(options: MetricOptions<never>, read: () => number): void
  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L>
  gaugeFrom(options: MetricOptions<never>, read: () => number): void
  /** `buckets`: rising upper bounds; `+Inf` is added. */
  histogram<L extends string = never>(options: MetricOptions<L> & { buckets: readonly number[] }): Histogram<L>
  /** Returns the whole exposition. */
  text(): string
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const OTHER = 'other'
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/

type Kind = 'counter' | 'gauge' | 'histogram'
interface Family {
  kind: Kind
  help: string
  lines(): string[]
}

const escapeHelp = (text: string): string => text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replace(/"/g, '\\"')
const pair = (name: string, value: string): string => `${name}="${escapeLabel(value)}"`
/** Formats as Go's parser expects, which does not accept `Infinity`. */
const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
const line = (name: string, labels: string, value: number): string =>
  `${name}${labels === '' ? '' : `{${labels}}`} ${number(value)}`

/** Creates every combination of label values at the start: a counter that first appears at 1 has no rate. */
class Series<T> {
  readonly all = new Map<string, T>()
  readonly #labels: readonly (readonly [string, readonly string[]])[]
  readonly #make: () => T

  constructor(labels: Readonly<Record<string, readonly string[]>>, make: () => T) {
    this.#labels = Object.entries(labels)
    this.#make = make
    for (const [name] of this.#labels) if (!LABEL.test(name)) throw new Error(`Invalid label name: ${name}`)
    for (const key of this.#labels.reduce(
      (keys, [name, values]) => keys.flatMap(key => values.map(value => join(key, pair(name, value)))),
      [''],
    )) {
      this.all.set(key, make())
    }
  }

  key(given: Readonly<Record<string, string>>): string {
    const value = (name: string, known: readonly string[]): string =>
      known.includes(given[name] ?? '') ? given[name]! : OTHER
    return this.#labels.reduce((key, [name, known]) => join(key, pair(name, value(name, known))), '')
  }

  of(given: Readonly<Record<string, string>>): T {
    const key = this.key(given)
    const known = this.all.get(key) ?? this.#make()
    this.all.set(key, known)
    return known
  }
}

const join = (key: string, more: string): string => (key === '' ? more : `${key},${more}`)

/** Parses both `(value)` and `(labels, value)`. */
function split(args: readonly unknown[], fallback?: number): { labels: Record<string, string>; value: number } {
  const labelled = typeof args[0] === 'object' && args[0] !== null
  const value = (labelled ? args[1] : args[0]) ?? fallback
  return { labels: labelled ? (args[0] as Record<string, string>) : {}, value: value as number }
}

interface Buckets {
  counts: number[]
  sum: number
}

function bucketLines(name: string, labels: string, bounds: readonly number[], { counts, sum }: Buckets): string[] {
  let total = 0
  const lines = bounds.map((bound, index) => {
    total += counts[index]!
    return line(`${name}_bucket`, join(labels, pair('le', number(bound))), total)
  })
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)]
}

export function createMetrics(): Metrics {
  const families = new Map<string, Family>()

  function add(kind: Kind, { name, help }: MetricOptions<never>, lines: () => string[]): void {
    if (!NAME.test(name)) throw new Error(`Invalid metric name: ${name}`)
    if (families.has(name)) throw new Error(`Metric ${name} is already registered`)
    families.set(name, { kind, help, lines })
  }

  function numbers(kind: Kind, options: MetricOptions): Series<{ value: number }> {
    const series = new Series(options.labels ?? {}, () => ({ value: 0 }))
    add(kind, options as MetricOptions<never>, () =>
      [...series.all].map(([labels, { value }]) => line(options.name, labels, value)),
    )
    return series
  }

  return {
    counter(options) {
      const series = numbers('counter', options)
      return {
        add(...args) {
          const { labels, value } = split(args, 1)
          if (!(value >= 0)) throw new Error(`A counter cannot decrease: ${options.name}`)
          series.of(labels).value += value
        },
      }
    },
    counterFrom: (options, read) => add('counter', options, () => [line(options.name, '', read())]),
    gauge(options) {
      const series = numbers('gauge', options)
      return {
        set(...args) {
          const { labels, value } = split(args)
          series.of(labels).value = value
        },
      }
    },
    gaugeFrom: (options, read) => add('gauge', options, () => [line(options.name, '', read())]),
    histogram(options) {
      const bounds = [...options.buckets, Number.POSITIVE_INFINITY]
      if (bounds.some((bound, index) => index > 0 && !(bound > bounds[index - 1]!))) {
        throw new Error(`Buckets must be in rising order: ${options.name}`)
      }
      const make = (): Buckets => ({ counts: bounds.map(() => 0), sum: 0 })
      const series = new Series<Buckets>(options.labels ?? {}, make)
      add('histogram', options as MetricOptions<never>, () =>
        [...series.all].flatMap(([labels, buckets]) => bucketLines(options.name, labels, bounds, buckets)),
      )
      return {
        observe(...args) {
          const { labels, value } = split(args)
          if (Number.isNaN(value)) return
          const buckets = series.of(labels)
          buckets.counts[bounds.findIndex(bound => value <= bound)]! += 1
          buckets.sum += value
        },
      }
    },
    text() {
      const pages = [...families].map(([name, { kind, help, lines }]) =>
        [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${kind}`, ...lines()].join('\n'),
      )
      return `${pages.join('\n')}\n`
    },
  }
}
