/** Parses `{{variable}}` placeholders in the texts of a project. Control fills them in when a call starts. */

export interface Piece {
  text: string
  /** `odd` marks text that looks like a placeholder but is not one; the agent speaks it as written. */
  kind: 'plain' | 'var' | 'odd'
  /** Name of the variable; empty for other kinds. */
  name: string
}

const PLACEHOLDER = /\{\{[^{}]*\}\}/g
const VAR = /^\{\{\s*([A-Za-z0-9_]+)\s*\}\}$/

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), kind: 'plain', name: '' })
    const name = VAR.exec(match[0])?.[1]
    pieces.push({ text: match[0], kind: name === undefined ? 'odd' : 'var', name: name ?? '' })
    from = match.index + match[0].length
  }
  if (from < text.length) pieces.push({ text: text.slice(from), kind: 'plain', name: '' })
  return pieces
}

const unique = (names: string[]) => [...new Set(names)]

const of = (kind: Piece['kind'], texts: readonly string[]) =>
  texts.flatMap(piecesOf).filter(piece => piece.kind === kind)

/** Returns the variable names in order of appearance, without duplicates. */
export const varsOf = (...texts: string[]): string[] => unique(of('var', texts).map(({ name }) => name))

export const oddOf = (...texts: string[]): string[] => unique(of('odd', texts).map(({ text }) => text))
