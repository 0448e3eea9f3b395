/** CSV that a spreadsheet opens without running anything in it (only importer of csv-stringify). */
import { stringify } from 'csv-stringify/sync'

export type Cell = string | number | boolean | null | undefined

/** Excel takes a file for UTF-8 only with it. */
export const BOM = '\uFEFF'

/** What spreadsheets take for the beginning of a formula (OWASP, CSV injection), the full-width forms included. */
const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠]/

/** Text of people or of a model. A minus before a number is a number. */
export const guarded = (text: string | null): string | null =>
  text !== null && FORMULA.test(text) && !/^-\d+(?:[.,]\d+)?$/.test(text) ? `'${text}` : text

/** Rows as RFC 4180 has them, each with a CRLF behind it. */
export const toCsv = (rows: readonly Cell[][]): string =>
  stringify(rows as Cell[][], { record_delimiter: '\r\n', cast: { boolean: value => String(value) } })
