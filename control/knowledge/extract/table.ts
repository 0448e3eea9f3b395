/** Converts rows of a table to lines that can be understood alone, also when read aloud. */
import { cleanLine } from './blocks.ts'

/** Returns `header: value; header: value` without empty cells. */
export function describeRow(headers: readonly string[] | null, cells: readonly string[]): string {
  const parts: string[] = []
  for (let i = 0; i < cells.length; i++) {
    const value = cleanLine(cells[i]!)
    if (value === '') continue
    const header = headers?.[i]
    parts.push(header ? `${header}: ${value}` : value)
  }
  return parts.join('; ')
}

/** Returns the first row if it names the columns: distinct words. */
export function headersOf(first: readonly string[]): string[] | null {
  const cells = first.map(cleanLine)
  // Spreadsheets leave empty columns behind.
  const names = cells.slice(0, cells.findLastIndex(name => name !== '') + 1)
  const words = names.filter(name => /\p{L}/u.test(name) && name.length <= 200)
  // One column may have no name, such as the corner of a table.
  if (words.length === 0 || words.length < names.length - 1) return null
  return new Set(words).size === words.length ? names : null
}
