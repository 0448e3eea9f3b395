/** Tables for the terminal, with columns as wide as their content. */

export type Row = Record<string, string | number | boolean | null>

const shown = (value: Row[string]) => (value === null ? '–' : String(value))
/** Counts characters, not bytes; a combining mark counts with its letter. */
const widthOf = (text: string) => [...new Intl.Segmenter().segment(text)].length
const padded = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - widthOf(text)))

export function table(rows: readonly Row[]): string {
  if (rows.length === 0) return 'None.'
  const columns = Object.keys(rows[0]!)
  const lines = [columns, ...rows.map(row => columns.map(column => shown(row[column]!)))]
  const widths = columns.map((_, index) => Math.max(...lines.map(line => widthOf(line[index]!))))
  return lines
    .map(line =>
      line
        .map((text, index) => padded(text, widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Prints one object, one field per line. */
export function card(row: Row): string {
  const width = Math.max(...Object.keys(row).map(widthOf))
  return Object.entries(row)
    .map(([name, value]) => `${padded(name, width)}  ${shown(value)}`)
    .join('\n')
}
