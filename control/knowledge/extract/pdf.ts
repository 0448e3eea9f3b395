/** Reads the text of a PDF page by page; pdf-lines.ts interprets the lines. The only importer of unpdf. */
import { getDocumentProxy } from 'unpdf'
import { KnowledgeError } from '../documents/types.ts'
import { cleanLine } from './blocks.ts'
import type { Parsed } from './parsed.ts'
import { blocksOfLines, type PdfLine } from './pdf-lines.ts'

interface TextItem {
  str: string
  /** PDF 32000, §8.3.4: [a b c d x y]. */
  transform: number[]
  height: number
  hasEOL: boolean
}

const SILENT = 0

export async function readPdf(bytes: Uint8Array): Promise<Parsed> {
  const document = await open(bytes)
  try {
    const lines: PdfLine[] = []
    for (let page = 1; page <= document.numPages; page++) lines.push(...(await linesOf(document, page)))
    return { title: await titleOf(document), blocks: blocksOfLines(lines, document.numPages), html: null }
  } finally {
    await document.loadingTask.destroy()
  }
}

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>

async function open(bytes: Uint8Array): Promise<PdfDocument> {
  try {
    return await getDocumentProxy(bytes, { verbosity: SILENT, useSystemFonts: false })
  } catch (error) {
    if ((error as Error).name === 'PasswordException')
      throw new KnowledgeError('encrypted', 'The PDF is protected by a password.')
    throw new KnowledgeError('damaged', 'The file is not a valid PDF.')
  }
}

/** An unreadable page is skipped. */
async function linesOf(document: PdfDocument, number: number): Promise<PdfLine[]> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup()
    return assemble(items as TextItem[], number)
  } catch {
    return []
  }
}

/** Joins items of one baseline into a line. PDF.js marks where a line ends, and returns spaces as items. */
function assemble(items: readonly TextItem[], page: number): PdfLine[] {
  const lines: PdfLine[] = []
  let parts: string[] = []
  let size = 0
  let x = 0
  let y = 0
  for (const item of items) {
    if (item.str !== undefined && item.str.trim() !== '') {
      if (size === 0) [x, y] = [item.transform[4] ?? 0, item.transform[5] ?? 0]
      size = Math.max(size, sizeOf(item))
    }
    if (item.str) parts.push(item.str)
    if (!item.hasEOL) continue
    lines.push({ text: cleanLine(parts.join('')), size, x, y, page })
    parts = []
    size = 0
  }
  lines.push({ text: cleanLine(parts.join('')), size, x, y, page })
  return lines.filter(line => line.text !== '')
}

/** Font size in points, rounded to the half, because sizes that the author set equal differ by rounding. */
const sizeOf = ({ transform: [, , c = 0, d = 0], height }: TextItem) => Math.round((Math.hypot(c, d) || height) * 2) / 2

async function titleOf(document: PdfDocument): Promise<string | null> {
  try {
    const info = (await document.getMetadata()).info as { Title?: unknown }
    // Word and scanners put a file name there.
    const title = typeof info.Title === 'string' ? cleanLine(info.Title) : ''
    return title && !/\.(?:docx?|pdf|indd|tiff?)$/i.test(title) ? title : null
  } catch {
    return null
  }
}
