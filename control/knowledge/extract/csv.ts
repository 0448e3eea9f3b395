/** CSV with any of the usual delimiters; a row becomes a text of its own (only importer of csv-parse). */
import { CsvError, type Options, parse } from 'csv-parse/sync'
import { KnowledgeError } from '../types.ts'
import { Blocks } from './blocks.ts'
import type { Parsed } from './parsed.ts'
import { describeRow, headersOf } from './table.ts'

const DELIMITERS = [',', ';', '\t', '|'] as const
const SAMPLE_CHARACTERS = 64 * 1024
const SAMPLE_ROWS = 100

export function readCsv(text: string): Parsed {
  // Excel writes and reads this line, as it guesses no better than others do.
  const told = /^sep=(.)\r?\n/.exec(text)
  const rows = parseRows(told ? text.slice(told[0].length) : text, told?.[1] ?? findDelimiter(text))
  const blocks = new Blocks()
  const headers = rows.length > 1 ? headersOf(rows[0]!) : null
  for (const row of headers ? rows.slice(1) : rows) blocks.text(describeRow(headers, row))
  return { title: null, blocks: blocks.list, html: null }
}

function parseRows(text: string, delimiter: string): string[][] {
  const options: Options = { delimiter, relax_column_count: true, relax_quotes: true, skip_empty_lines: true }
  try {
    return parse(text, options) as string[][]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // A quote that is never closed is an inch sign or a slip: the rows are still there.
    try {
      return parse(text, { ...options, quote: false }) as string[][]
    } catch (second) {
      if (!(second instanceof CsvError)) throw second
      throw new KnowledgeError('damaged', 'The file could not be read as CSV.')
    }
  }
}

/** The one that cuts the most rows into the same number of cells, and into more of them if that is a tie. */
export function findDelimiter(text: string): string {
  let best = { delimiter: ',' as string, score: 0 }
  for (const delimiter of DELIMITERS) {
    const { cells, share } = shapeBy(text, delimiter)
    const score = cells < 2 ? 0 : share + Math.min(cells, 50) / 1000
    if (score > best.score) best = { delimiter, score }
  }
  return best.delimiter
}

/** Nearly all of several rows have the same number of cells, three or more: prose has not. */
export function looksLikeTable(text: string): boolean {
  const { cells, share, rows } = shapeBy(text, findDelimiter(text))
  return rows >= 3 && cells >= 3 && share >= 0.95
}

/** `share`: of the rows that have as many `cells` as most. */
function shapeBy(text: string, delimiter: string): { cells: number; share: number; rows: number } {
  const counts = cellCounts(text.slice(0, SAMPLE_CHARACTERS), delimiter).slice(0, SAMPLE_ROWS)
  const cells = mostFrequent(counts)
  return {
    cells,
    share: counts.filter(count => count === cells).length / Math.max(1, counts.length),
    rows: counts.length,
  }
}

function cellCounts(sample: string, delimiter: string): number[] {
  const counts: number[] = []
  let quoted = false
  let cells = 1
  let empty = true
  for (const character of sample) {
    if (character === '"') quoted = !quoted
    else if (character === '\n' && !quoted) {
      if (!empty) counts.push(cells)
      cells = 1
      empty = true
      continue
    } else if (character === delimiter && !quoted) cells++
    if (character !== '\r') empty = false
  }
  // The last row may be cut off by the end of the sample.
  if (!empty && counts.length === 0) counts.push(cells)
  return counts
}

function mostFrequent(counts: readonly number[]): number {
  const times = new Map<number, number>()
  for (const count of counts) times.set(count, (times.get(count) ?? 0) + 1)
  return [...times].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0] ?? 0
}
