/** Reads response headers: whether it is a page, its kind, and whether it may be indexed. Pure functions. */
import { type DocumentInput, KnowledgeError } from '../documents/types.ts'
import { PRODUCT_TOKEN } from './robots.ts'

type PageKind = Extract<DocumentInput, { body: Uint8Array }>['kind']

const KINDS = new Map<string, PageKind>([
  ['text/html', 'html'],
  ['application/xhtml+xml', 'html'],
  ['text/plain', 'txt'],
  ['application/pdf', 'pdf'],
])
export const ACCEPT = 'text/html,application/xhtml+xml,application/pdf;q=0.8,text/plain;q=0.7'

interface Head {
  status: number
  headers: Record<string, string>
}

/** Returns true when the body is worth loading. */
export function isPage({ status, headers }: Head): boolean {
  const type = mediaType(headers)
  return status >= 200 && status < 300 && (type === null || KINDS.has(type))
}

/** Throws `KnowledgeError` when the response is not a readable page. */
export function readPage({ status, headers, body }: Head & { body: Buffer }): {
  kind: PageKind
  charset: string | null
} {
  if (status === 404 || status === 410) throw new KnowledgeError('not_found', 'The page does not exist.')
  if (status < 200 || status >= 300) throw new KnowledgeError('unreachable', `The site returned status ${status}.`)
  const type = mediaType(headers)
  const kind = type === null ? kindOfBytes(body) : KINDS.get(type)
  if (!kind) throw new KnowledgeError('not_html', 'The address is not a web page, a text or a PDF.')
  if (body.length === 0) throw new KnowledgeError('empty', 'The page is empty.')
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(headers['content-type'] ?? '')?.[1] ?? null
  return { kind: body.subarray(0, 5).toString('latin1') === '%PDF-' ? 'pdf' : kind, charset }
}

const mediaType = (headers: Head['headers']): string | null =>
  /^[^;,]+/
    .exec(headers['content-type'] ?? '')?.[0]
    .trim()
    .toLowerCase() || null

/** Detects the kind of a response without a content type. */
function kindOfBytes(body: Buffer): PageKind | undefined {
  const head = body.subarray(0, 512).toString('latin1')
  if (head.startsWith('%PDF-')) return 'pdf'
  return /^(?:\xEF\xBB\xBF)?\s*<(?:!doctype|!--|html|head|body|\?xml)/i.test(head) ? 'html' : undefined
}

/** Parses X-Robots-Tag: directives apply to every robot, or, after `name:`, to that robot until the next name. */
export function readRobotsTag(header: string | undefined): { noindex: boolean; nofollow: boolean } {
  const found = { noindex: false, nofollow: false }
  let forUs = true
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [, robot, directive] = /^\s*(?:([\w-]+)\s*:)?\s*(.*?)\s*$/s.exec(part) ?? []
    // These two have a value after a colon and are not robot names.
    if (robot && robot !== 'unavailable_after' && !robot.startsWith('max-')) {
      forUs = robot === PRODUCT_TOKEN.toLowerCase()
    }
    if (!forUs) continue
    if (directive === 'noindex' || directive === 'none') found.noindex = true
    if (directive === 'nofollow' || directive === 'none') found.nofollow = true
  }
  return found
}
