/**
 * Extracts the text of a document of any kind. Runs in a separate worker (worker.ts), because the input may be hostile.
 */
import { type DocumentKind, type Extracted, KnowledgeError } from '../documents/types.ts'
import { hasText } from './blocks.ts'
import { decodeText, isText } from './charset.ts'
import type { Parsed } from './parsed.ts'

/** Number of characters to check. */
const LOOKED_AT = 64 * 1024

const LONGEST_TITLE = 300

export interface ExtractJob {
  /** `site`: HTML as lead search reads it. */
  kind: DocumentKind | 'site'
  /** Address of a web page; null for a file. */
  url: string | null
  /** Charset from the Content-Type header. */
  charset: string | null
}

/** Throws `KnowledgeError`. A web page may have no text, because its links are still useful; a file may not. */
export async function extract(bytes: Buffer, job: ExtractJob): Promise<Extracted> {
  if (bytes.length === 0) throw new KnowledgeError('empty', 'The file is empty.')
  const parsed = await read(bytes, job).catch(error => {
    throw asKnowledgeError(error)
  })
  if (!parsed.html && !parsed.site && !hasText(parsed.blocks)) throw noText(job.kind)
  return { url: job.url, ...parsed, title: parsed.title?.slice(0, LONGEST_TITLE).toWellFormed() || null }
}

/** Loads the package for a kind only when it is needed: loading takes longer than most documents. */
async function read(bytes: Buffer, { kind, url, charset }: ExtractJob): Promise<Parsed> {
  const text = () => {
    const found = decodeText(bytes, { charset, html: kind === 'html' || kind === 'site' })
    // Servers label unknown content as text.
    if (!isText(found.slice(0, LOOKED_AT))) throw new KnowledgeError('damaged', 'The content is not text.')
    return found
  }
  switch (kind) {
    case 'pdf':
      // PDF.js takes ownership of the bytes.
      return (await import('./pdf.ts')).readPdf(new Uint8Array(bytes))
    case 'docx':
      return (await import('./docx.ts')).readDocx(bytes)
    case 'html':
      return (await import('./html.ts')).readHtml(text(), url === null ? null : { url })
    case 'site':
      return { title: null, blocks: [], html: null, site: (await import('./site.ts')).readSite(text(), url ?? '') }
    case 'csv':
      return (await import('./csv.ts')).readCsv(text())
    case 'json':
      return (await import('./json.ts')).readJson(text())
    case 'md':
      return (await import('./md.ts')).readMd(text())
    case 'txt':
      return (await import('./txt.ts')).readTxt(text())
  }
}

function asKnowledgeError(error: unknown): KnowledgeError {
  if (error instanceof KnowledgeError) return error
  // Stack overflow, or a string or array that is too long.
  if (error instanceof RangeError) return new KnowledgeError('too_complex', 'The document is too complex to process.')
  return new KnowledgeError('damaged', 'The document is damaged and could not be read.')
}

const noText = (kind: ExtractJob['kind']) =>
  new KnowledgeError(
    'no_text',
    kind === 'pdf'
      ? 'The PDF has no text; it is probably a scan. Run text recognition (OCR) first.'
      : 'The document has no text.',
  )
