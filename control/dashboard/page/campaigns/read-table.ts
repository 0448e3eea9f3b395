/** Parses file bytes or pasted text as a table: encoding, delimiter, quotes. Pure. */
import { parse } from 'csv-parse/browser/esm/sync'

export const encodings = ['utf-8', 'windows-1251', 'utf-16le', 'utf-16be'] as const
export type Encoding = (typeof encodings)[number]

export const delimiters = [';', ',', '\t', '|'] as const
export type Delimiter = (typeof delimiters)[number]

export const tableProblems = ['empty', 'spreadsheet', 'binary', 'quotes'] as const
export type TableProblem = (typeof tableProblems)[number]

/** The input is not a table. `line` is the line of the error, counted from 1. */
export class TableError extends Error {
  readonly code: TableProblem
  readonly line: number | null

  constructor(code: TableProblem, line: number | null = null) {
    super(code)
    this.name = 'TableError'
    this.code = code
    this.line = line
  }
}

export interface Row {
  /** Row number as in a spreadsheet, from 1, so that users find the row in their file. */
  number: number
  cells: string[]
}

const begins = (bytes: Uint8Array, ...head: number[]) => head.every((byte, index) => bytes[index] === byte)

/** Russian Excel writes windows-1251, or UTF-16 as "Unicode text"; other programs write UTF-8. */
export function guessEncoding(bytes: Uint8Array): Encoding {
  if (begins(bytes, 0xff, 0xfe)) return 'utf-16le'
  if (begins(bytes, 0xfe, 0xff)) return 'utf-16be'
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return 'utf-8'
  } catch {
    return 'windows-1251'
  }
}

export function decode(bytes: Uint8Array, encoding: Encoding = guessEncoding(bytes)): string {
  // .xlsx and .ods files are ZIP archives; the other signature is that of old .xls files.
  if (begins(bytes, 0x50, 0x4b, 3, 4) || begins(bytes, 0xd0, 0xcf, 0x11, 0xe0)) throw new TableError('spreadsheet')
  const text = new TextDecoder(encoding).decode(bytes)
  if (text.includes('\0')) throw new TableError('binary')
  return text
}

const SAMPLE_CHARS = 32_000
const SAMPLE_ROWS = 50

/** Returns complete lines from the beginning of the text. */
function sampleOf(text: string): string {
  if (text.length <= SAMPLE_CHARS) return text
  const end = text.lastIndexOf('\n', SAMPLE_CHARS)
  return text.slice(0, end > 0 ? end : SAMPLE_CHARS)
}

/** Excel's own delimiter declaration, a line before the table. */
const SEPARATOR_LINE = /^\uFEFF?sep=(.)\r?\n/i

/** Returns the delimiter that splits most rows into the same number of columns, at least two. */
export function guessDelimiter(text: string): Delimiter {
  const said = SEPARATOR_LINE.exec(text)?.[1]
  const known = delimiters.find(delimiter => delimiter === said)
  if (known) return known
  const sample = sampleOf(text)
  const scores = delimiters.map(delimiter => ({ delimiter, score: scoreOf(sample, delimiter) }))
  const best = scores.reduce((best, one) => (one.score > best.score ? one : best))
  return best.score > 0 ? best.delimiter : ','
}

function scoreOf(sample: string, delimiter: Delimiter): number {
  const rows: string[][] = []
  try {
    parse(sample, {
      ...dialect(delimiter),
      to: SAMPLE_ROWS,
      on_record(record: string[]) {
        rows.push(record)
        return record
      },
    })
  } catch {
    // A sample may end inside quotes; use the rows before it.
  }
  const told = rows.filter(cells => cells.length > 1 || cells[0]!.trim() !== '')
  const counts = new Map<number, number>()
  for (const { length } of told) counts.set(length, (counts.get(length) ?? 0) + 1)
  const scores = [...counts].map(([columns, n]) => (columns > 1 ? (n / told.length) ** 2 * columns : 0))
  return Math.max(0, ...scores)
}

const dialect = (delimiter: Delimiter) => ({
  delimiter,
  bom: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  // ООО "Ромашка" is a valid name with inner quotes, not an error.
  relax_quotes: true,
})

/** Returns the rows that are not empty. Throws `TableError`. */
export function readTable(text: string, delimiter: Delimiter = guessDelimiter(text)): Row[] {
  const body = text.replace(SEPARATOR_LINE, '')
  let records: string[][]
  try {
    records = parse(body, dialect(delimiter))
  } catch (error) {
    const { lines } = error as { lines?: number }
    throw new TableError('quotes', lines ?? null)
  }
  const rows = records
    .map((cells, index) => ({ number: index + 1, cells }))
    .filter(({ cells }) => cells.some(cell => cell.trim() !== ''))
  if (rows.length === 0) throw new TableError('empty')
  return rows
}
