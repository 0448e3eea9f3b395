/** Converts table rows to upload entries in batches that the API accepts, and validates them. Pure. */
import { type Column, SCIENTIFIC } from './columns.ts'
import type { Row } from './read-table.ts'

export interface Entry {
  phone: string
  name?: string
  vars?: Record<string, string>
}

export function entryOf({ cells }: Row, columns: readonly Column[]): Entry {
  const text = (column: Column) => cells[column.index]?.trim() ?? ''
  const entry: Entry = { phone: '' }
  const vars: Record<string, string> = {}
  for (const column of columns) {
    const value = text(column)
    if (column.role === 'phone') entry.phone = value
    else if (value === '') continue
    else if (column.role === 'name') entry.name = value
    else if (column.role === 'var') vars[column.variable] = value
  }
  return Object.keys(vars).length > 0 ? { ...entry, vars } : entry
}

/** Limits of one request: rows, and characters of JSON (at most 3 bytes each, within 8 MB). */
const MOST = 10_000
const MOST_CHARS = 2_600_000

export interface Portion {
  from: number
  entries: Entry[]
}

export function* portionsOf(
  rows: readonly Row[],
  columns: readonly Column[],
  { most = MOST, chars = MOST_CHARS } = {},
): Generator<Portion> {
  let portion: Portion = { from: 0, entries: [] }
  let size = 0
  for (const [index, row] of rows.entries()) {
    const entry = entryOf(row, columns)
    const length = JSON.stringify(entry).length + 1
    if (portion.entries.length > 0 && (portion.entries.length === most || size + length > chars)) {
      yield portion
      portion = { from: index, entries: [] }
      size = 0
    }
    portion.entries.push(entry)
    size += length
  }
  if (portion.entries.length > 0) yield portion
}

export const rowProblems = ['no_phone', 'scientific', 'phone', 'no_country', 'name', 'vars', 'duplicate'] as const
export type RowProblem = (typeof rowProblems)[number]

export interface Judged {
  row: Row
  entry: Entry
  /** E.164. */
  phone: string | null
  problem: RowProblem | null
}

const [NAME_MAX, VAR_MAX, VARS_MAX] = [200, 4000, 100]

/**
 * Predicts the server's validation of a row, except for moderation and blocked prefixes. `seen` holds the numbers of
 * the previous rows; this row's number is added to it.
 */
export function judgeRow(
  row: Row,
  columns: readonly Column[],
  { read, seen }: { read: (text: string) => string | null; seen: Set<string> },
): Judged {
  const entry = entryOf(row, columns)
  const phone = read(entry.phone)
  const problem = problemOf(entry, phone) ?? (seen.has(phone!) ? 'duplicate' : null)
  if (phone !== null) seen.add(phone)
  return { row, entry, phone, problem }
}

function problemOf({ phone: written, name, vars = {} }: Entry, phone: string | null): RowProblem | null {
  if (written === '') return 'no_phone'
  if (phone === null) {
    if (SCIENTIFIC.test(written)) return 'scientific'
    return /^\d{7,11}$/.test(written.replace(/\D/g, '')) && !written.startsWith('+') ? 'no_country' : 'phone'
  }
  if ((name?.length ?? 0) > NAME_MAX) return 'name'
  const texts = Object.values(vars)
  return texts.length > VARS_MAX || texts.some(text => text.length > VAR_MAX) ? 'vars' : null
}
