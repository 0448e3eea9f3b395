/** Formats an extracted document as a person would outline it. */

import type { DocumentKind } from '../../../../control/knowledge/documents/types.ts'
import { type ExtractJob, extract } from '../../../../control/knowledge/extract/extract.ts'

export const read = (kind: DocumentKind, content: Buffer | string, more: Partial<ExtractJob> = {}) =>
  extract(Buffer.from(content), { kind, url: null, charset: null, ...more })

/** `# heading` and texts. */
export async function outline(kind: DocumentKind, content: Buffer | string, more: Partial<ExtractJob> = {}) {
  const { blocks } = await read(kind, content, more)
  return blocks.map(block => '#'.repeat(block.heading) + (block.heading > 0 ? ' ' : '') + block.text)
}

export const code = (kind: DocumentKind, content: Buffer | string) =>
  read(kind, content).then(
    () => 'read',
    error => error.code,
  )
