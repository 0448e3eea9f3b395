/** Converts DOCX through HTML, so that headings, lists and tables are kept. The only importer of mammoth. */
import mammoth from 'mammoth'
import { KnowledgeError } from '../documents/types.ts'
import { Blocks } from './blocks.ts'
import { parseDocument } from './dom.ts'
import { layOut } from './layout.ts'
import type { Parsed } from './parsed.ts'
import { checkZip, type ZipLimits } from './zip.ts'

const MB = 1024 * 1024
const LIMITS: ZipLimits = {
  entries: 10_000,
  // 20 MB of photographs do not unpack to more than that; a zip bomb declares gigabytes.
  total: 500 * MB,
  // mammoth needs about 40 bytes of memory per byte of XML. A thousand pages are 10 MB.
  readTotal: 20 * MB,
  read: /\.(?:xml|rels)$/i,
}

export async function readDocx(bytes: Buffer): Promise<Parsed> {
  await checkZip(bytes, LIMITS, refuseDtd)
  const { value } = await mammoth.convertToHtml(
    { buffer: bytes },
    {
      styleMap: ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"],
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      // Images are not read.
      convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
    },
  )
  const blocks = new Blocks()
  layOut(parseDocument(value), blocks, 'text')
  return { title: blocks.list[0]?.heading === 1 ? blocks.list[0].text : null, blocks: blocks.list, html: null }
}

/** Rejects entity declarations. ECMA-376 part 2, §8.2.5: a part has no DTD, so no valid document is rejected. */
function refuseDtd(name: string, part: Buffer): void {
  if (part.includes('<!DOCTYPE') || part.includes('<!ENTITY'))
    throw new KnowledgeError(
      'damaged',
      `The document declares XML entities (in ${name.slice(0, 60)}), which DOCX does not allow.`,
    )
}
