/** Refused rows as CSV, to be mended and uploaded again. Pure. */
import type { Row } from './read-table.ts'

/** What spreadsheets take for the beginning of a formula; a telephone number with its plus is none. */
const FORMULA = /^\s*[=+\-@\t\r＝＋－＠]/
const HARMLESS = /^[+-]?[\d\s().,-]+$/

function cell(text: string, delimiter: string): string {
  const guarded = FORMULA.test(text) && !HARMLESS.test(text) ? `'${text}` : text
  return guarded.includes(delimiter) || /["\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

export interface RefusedRow {
  row: Row
  /** In words. */
  reason: string
}

/** With a byte order mark, without which Excel does not take it for UTF-8. */
export function refusedCsv(head: readonly string[], refused: readonly RefusedRow[], delimiter: string): string {
  const lines = [head, ...refused.map(({ row, reason }) => [String(row.number), reason, ...row.cells])]
  return `\uFEFF${lines.map(cells => `${cells.map(text => cell(text, delimiter)).join(delimiter)}\r\n`).join('')}`
}
