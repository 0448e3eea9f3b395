/** The bench's results as text: for the terminal, and for the generated section of a page. */
import { type Growth, growthOf } from './growth.ts'
import type { Machine } from './machine.ts'
import type { Line, Measured, Series } from './report.ts'

export interface Run {
  /** Start of the run, ISO 8601. */
  at: string
  minutes: number
  full: boolean
  machine: Machine
}

/** Each part contains its references, so it stays valid when another is measured again. */
export interface Part extends Measured {
  name: string
  run: Run
}

export type Report = readonly Part[]

/** Replaces the parts of `report` that were measured since, in the order of `names`. */
export function renewed(report: Report, since: Report, names: readonly string[]): Report {
  const all = [...report.filter(({ name }) => !since.some(part => part.name === name)), ...since]
  return names.flatMap(name => all.filter(part => part.name === name))
}

export const joined = (parts: readonly Measured[]): Measured => ({
  lines: parts.flatMap(({ lines }) => lines),
  series: parts.flatMap(({ series }) => series),
  unmeasured: parts.flatMap(({ unmeasured }) => unmeasured),
})

const BEGIN = '<!-- bench: written by `npm run bench -- --full --report` -->'
const END = '<!-- /bench -->'

const digits = (value: number) => (Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0))

const LINES = ['', 'Parley', 'reference', 'unit', 'ratio', 'target', '']
const rowOf = ({ name, value, reference, unit, ratio, wanted, ok }: Line) => [
  name,
  digits(value),
  digits(reference),
  unit,
  digits(ratio),
  wanted,
  ok ? 'ok' : 'MISSED',
]

const GROWTH = ['figure', 'system', 'from', 'to', 'exponent']
function growthRows(series: readonly Series[]): string[][] {
  return series
    .map(one => [one, growthOf(one)] as const)
    .filter((pair): pair is [Series, Growth] => pair[1] !== null)
    .map(([{ figure, system, load }, { exponent, from, to }]) => [
      figure,
      system,
      `${from.toLocaleString('en')} ${load}`,
      to.toLocaleString('en'),
      exponent.toFixed(2),
    ])
}

export function tableOf(report: Report): string {
  const { lines, series, unmeasured } = joined(report)
  const growth = growthRows(series)
  return [
    columns([LINES, ...lines.map(rowOf)]),
    growth.length > 0 ? `\nGrowth (figure ~ load to the power of the exponent)\n${columns([GROWTH, ...growth])}` : '',
    ...unmeasured.map(({ name, why }) => `Not measured: ${name}: ${why}\n`),
  ].join('')
}

function columns(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows
    .map(
      row =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

/** Replaces the section between the marks of `page` with this report. */
export function pageOf(report: Report, page: string): string {
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error('The page has no marks for the report')
  return [before, BEGIN, '\n', bodyOf(report), END, after].join('')
}

function bodyOf(report: Report): string {
  const { lines, series, unmeasured } = joined(report)
  const growth = growthRows(series)
  return [
    ...runsOf(report).map(line => `\n${line}\n`),
    `\n${markdown([LINES, ...lines.map(rowOf)])}`,
    series.length > 0 ? '\n![Curves](curves.svg)\n' : '',
    growth.length > 0
      ? `\nGrowth: the figure follows the load to the power of the exponent.\n\n${markdown([GROWTH, ...growth])}`
      : '',
    unmeasured.length > 0 ? '\nNot measured:\n\n' : '',
    ...unmeasured.map(({ name, why }) => `- ${name}: ${why}\n`),
    '\n',
  ].join('')
}

/** One line per run, with its parts when there were several runs. */
function runsOf(report: Report): string[] {
  const runs = [...new Map(report.map(({ run }) => [run.at, run])).values()]
  return runs.map(({ at, minutes, full, machine }) => {
    const { processor, cores, memoryGb, kernel, node, commit } = machine
    const names = report.filter(({ run }) => run.at === at).map(({ name }) => name)
    const whose = runs.length === 1 ? '' : ` of ${names.join(', ')}`
    return `Run${whose} of ${at.slice(0, 10)}, ${full ? 'full' : 'quick'}, ${minutes} minutes, commit ${commit}; ${processor}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}.`
  })
}

const markdown = ([head, ...rows]: readonly string[][]) =>
  [head!, head!.map(() => '---'), ...rows]
    .map(row => `| ${row.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
