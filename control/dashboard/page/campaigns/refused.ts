/** Writes rejected rows as CSV, so that they can be corrected and uploaded again. Pure. */
import type { Row } from './read-table.ts'

/** Cells that spreadsheets treat as formulas. A phone number with a plus is not one. */
const FORMULA = /^\s*[=+\-@\t\r＝＋－＠]/
const HARMLESS = /^[+-]?[\d\s().,-]+$/

function cell(text: string, delimiter: string): string {
  const guarded = FORMULA.test(text) && !HARMLESS.test(text) ? `'${text}` : text
  return guarded.includes(delimiter) || /["\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

export interface RefusedRow {
  row: Row
  /** Translated reason. */
  reason: string
}

/** Starts with a byte order mark: without it Excel does not detect UTF-8. */
export function refusedCsv(head: readonly string[], refused: readonly RefusedRow[], delimiter: string): string {
  const lines = [head, ...refused.map(({ row, reason }) => [String(row.number), reason, ...row.cells])]
  return `\uFEFF${lines.map(cells => `${cells.map(text => cell(text, delimiter)).join(delimiter)}\r\n`).join('')}`
}
