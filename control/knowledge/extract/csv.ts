/** CSV with any of the usual delimiters; each row becomes a text of its own. The only importer of csv-parse. */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { parse as createParser } from 'csv-parse'
import { CsvError, type Options, parse } from 'csv-parse/sync'
import { KnowledgeError } from '../documents/types.ts'
import { Blocks, cleanLine } from './blocks.ts'
import type { Parsed } from './parsed.ts'
import { describeRow, headersOf } from './table.ts'

const DELIMITERS = [',', ';', '\t', '|'] as const
const SAMPLE_CHARACTERS = 64 * 1024
const SAMPLE_ROWS = 100
const MOST_ABOVE = 5

export function readCsv(text: string): Parsed {
  const { body, delimiter } = delimited(text)
  const rows = parseRows(body, delimiter).filter(row => filledIn(row) > 0)
  const above = rowsAbove(rows)
  const table = rows.slice(above)
  const blocks = new Blocks()
  const [title, ...notes] = rows.slice(0, above).map(row => describeRow(null, row))
  for (const note of notes) blocks.text(note)
  const headers = table.length > 1 ? headersOf(table[0]!) : null
  for (const row of headers ? table.slice(1) : table) blocks.text(describeRow(headers, row))
  return { title: title ? cleanLine(title) : null, blocks: blocks.list, html: null }
}

const filledIn = (row: readonly string[]) => row.filter(cell => cell.trim() !== '').length

/** Counts rows of one cell above the column names, such as a title, a date or a contact: 0 to MOST_ABOVE. */
function rowsAbove(rows: readonly string[][]): number {
  const above = rows.findIndex(row => filledIn(row) !== 1)
  if (above < 1 || above > MOST_ABOVE || above === rows.length - 1) return 0
  const names = rows[above]!.filter(cell => cell.trim() !== '')
  // Numbers make it a row of the table, so the single cell above names its column.
  if (!names.every(name => /\p{L}/u.test(name))) return 0
  return headersOf(rows[above]!) && mostFrequent(rows.slice(above).map(filledIn)) > 1 ? above : 0
}

function delimited(text: string): { body: string; delimiter: string } {
  // Excel writes and reads this line, because delimiters cannot be guessed reliably.
  const declared = /^sep=(.)\r?\n/.exec(text)
  return { body: declared ? text.slice(declared[0].length) : text, delimiter: declared?.[1] ?? findDelimiter(text) }
}

const LENIENT: Options = { relax_column_count: true, relax_quotes: true, skip_empty_lines: true }

function parseRows(text: string, delimiter: string): string[][] {
  const options: Options = { ...LENIENT, delimiter }
  try {
    return parse(text, options) as string[][]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // A quote that is never closed is an inch sign or a mistake; the rows are still usable.
    try {
      return parse(text, { ...options, quote: false }) as string[][]
    } catch (second) {
      throw damaged(second)
    }
  }
}

const DAMAGED = ['damaged', 'The file is not valid CSV.'] as const
const damaged = (error: unknown): unknown => (error instanceof CsvError ? new KnowledgeError(...DAMAGED) : error)

/** A few milliseconds of work; then other work may run. */
const PIECE_CHARACTERS = 64 * 1024
/** Limit of a row in bytes. After a quote that is never closed, the rest of the file would be one row. */
const LARGEST_ROW = 256 * 1024

/**
 * Returns the first `most` rows that are not empty, of a text of megabytes, without blocking the event loop. Rejects
 * with `KnowledgeError`.
 */
export async function firstRows(text: string, most: number): Promise<string[][]> {
  const { body, delimiter } = delimited(text)
  // The parser limits the content of cells, and a row of millions of delimiters has no content.
  if (longestLine(body) > LARGEST_ROW) throw new KnowledgeError(...DAMAGED)
  const limits: Options = { max_record_size: LARGEST_ROW, to: most, skip_records_with_empty_values: true }
  const options: Options = { ...LENIENT, ...limits, delimiter }
  const read = async (more: Options): Promise<string[][]> => {
    return Readable.from(pieces(body))
      .pipe(createParser({ ...options, ...more }))
      .toArray() as Promise<string[][]>
  }
  try {
    return await read({})
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return read({ quote: false }).catch(second => {
      throw damaged(second)
    })
  }
}

function longestLine(text: string): number {
  const end = text.includes('\n') ? '\n' : '\r'
  let longest = 0
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf(end, from)
    const next = found < 0 ? text.length : found
    longest = Math.max(longest, next - from)
    from = next + 1
  }
  return longest
}

async function* pieces(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
    yield text.slice(from, from + PIECE_CHARACTERS)
    await setImmediate()
  }
}

/** Returns the delimiter that splits the most rows into the same number of cells, and into more cells on a tie. */
export function findDelimiter(text: string): string {
  let best = { delimiter: ',' as string, score: 0 }
  for (const delimiter of DELIMITERS) {
    const { cells, share } = shapeBy(text, delimiter)
    const score = cells < 2 ? 0 : share + Math.min(cells, 50) / 1000
    if (score > best.score) best = { delimiter, score }
  }
  return best.delimiter
}

/** True when nearly all of several rows have the same number of cells, three or more. Prose does not. */
export function looksLikeTable(text: string): boolean {
  const { cells, share, rows } = shapeBy(text, findDelimiter(text))
  return rows >= 3 && cells >= 3 && share >= 0.95
}

/** `share`: fraction of rows that have the most frequent number of `cells`. */
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
  // The end of the sample may cut off the last row.
  if (!empty && counts.length === 0) counts.push(cells)
  return counts
}

function mostFrequent(counts: readonly number[]): number {
  const times = new Map<number, number>()
  for (const count of counts) times.set(count, (times.get(count) ?? 0) + 1)
  return [...times].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0] ?? 0
}
