/** A document of any kind to its text. Runs in a worker of its own (worker.ts): what it is given may be hostile. */
import { type DocumentKind, type Extracted, KnowledgeError } from '../documents/types.ts'
import { hasText } from './blocks.ts'
import { decodeText, isText } from './charset.ts'
import type { Parsed } from './parsed.ts'

/** Characters. */
const LOOKED_AT = 64 * 1024

const LONGEST_TITLE = 300

export interface ExtractJob {
  /** `site`: HTML as the search for companies reads it. */
  kind: DocumentKind | 'site'
  /** Of a page of a site. */
  url: string | null
  /** Of its Content-Type. */
  charset: string | null
}

/** Throws `KnowledgeError`. A page of a site may be without text, since its links are still of use; a file may not. */
export async function extract(bytes: Buffer, job: ExtractJob): Promise<Extracted> {
  if (bytes.length === 0) throw new KnowledgeError('empty', 'The file is empty.')
  const parsed = await read(bytes, job).catch(error => {
    throw asKnowledgeError(error)
  })
  if (!parsed.html && !parsed.site && !hasText(parsed.blocks)) throw noText(job.kind)
  return { url: job.url, ...parsed, title: parsed.title?.slice(0, LONGEST_TITLE).toWellFormed() || null }
}

/** A package for each kind is loaded only where it is needed: they take longer than most documents. */
async function read(bytes: Buffer, { kind, url, charset }: ExtractJob): Promise<Parsed> {
  const text = () => {
    const found = decodeText(bytes, { charset, html: kind === 'html' || kind === 'site' })
    // A server calls anything text that it does not know.
    if (!isText(found.slice(0, LOOKED_AT))) throw new KnowledgeError('damaged', 'This is not text.')
    return found
  }
  switch (kind) {
    case 'pdf':
      // PDF.js wants bytes that it may give away.
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
  // The stack, or a string or an array without end.
  if (error instanceof RangeError) return new KnowledgeError('too_complex', 'The document is too complex to be read.')
  return new KnowledgeError('damaged', 'The document could not be read: it is damaged.')
}

const noText = (kind: ExtractJob['kind']) =>
  new KnowledgeError(
    'no_text',
    kind === 'pdf'
      ? 'The PDF holds no text: it is probably a scan. Recognise its text first.'
      : 'There is no text in it.',
  )
