/** `{{var}}` in the texts of a project, as control fills them when a call is made. */

export interface Piece {
  text: string
  /** `odd`: looks like a placeholder and is none; the agent would say it as it stands. */
  kind: 'plain' | 'var' | 'odd'
  /** Of a var. */
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

/** Names of the vars, in their order, each once. */
export const varsOf = (...texts: string[]): string[] => unique(of('var', texts).map(({ name }) => name))

export const oddOf = (...texts: string[]): string[] => unique(of('odd', texts).map(({ text }) => text))
