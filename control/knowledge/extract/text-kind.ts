/** Detects the kind of a text. Pure. */
import type { DocumentKind } from '../documents/types.ts'
import { looksLikeTable } from './csv.ts'

export type TextKind = Exclude<DocumentKind, 'pdf' | 'docx'>

export interface TextHints {
  named: TextKind | null
  /** True when the text is the whole document. */
  whole: boolean
}

/** Null when the text is of another kind (RTF, XML, PostScript), or not what its name says. */
export function textKind(text: string, { named, whole }: TextHints): TextKind | null {
  const start = text.slice(0, 4096).trimStart()
  if (isHtml(start)) return 'html'
  if (/^(?:\{\\rtf|<\?xml|<svg[\s>]|%!PS)/i.test(start)) return null
  if (whole && isJson(text)) return 'json'
  if (named === 'json') return /^[{["\d-]|^(?:true|false|null)\b/.test(start) ? 'json' : null
  if (named === 'html') return /<[a-z!/]/i.test(text) ? 'html' : 'txt'
  if (named !== null) return named
  if (/^<[a-z][^<>]{0,200}>/i.test(start)) return 'html'
  if (/^#{1,6} \S/m.test(text)) return 'md'
  return looksLikeTable(text) ? 'csv' : 'txt'
}

const isHtml = (start: string) =>
  /^(?:<\?xml[^>]{0,200}>\s*)?(?:<!--[\s\S]{0,2000}?-->\s*)*<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])/i.test(
    start,
  )

function isJson(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
