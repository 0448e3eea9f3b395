/** Writes CSV that a spreadsheet opens without running formulas. The only importer of csv-stringify. */
import { stringify } from 'csv-stringify/sync'

export type Cell = string | number | boolean | null | undefined

/** Excel recognises UTF-8 only by the byte order mark. */
export const BOM = '\uFEFF'

/** Characters that spreadsheets take for the start of a formula (OWASP, CSV injection), including full-width forms. */
const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠]/

/** Escapes text from people or a model. A negative number stays as it is. */
export const guarded = (text: string | null): string | null =>
  text !== null && FORMULA.test(text) && !/^-\d+(?:[.,]\d+)?$/.test(text) ? `'${text}` : text

/** Rows in the form of RFC 4180, each followed by CRLF. */
export const toCsv = (rows: readonly Cell[][]): string =>
  stringify(rows as Cell[][], { record_delimiter: '\r\n', cast: { boolean: value => String(value) } })
