/**
 * Detects the kind of an uploaded file by its content; the name decides only between kinds of text. The only importer
 * of file-type.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { fileTypeFromBuffer } from 'file-type'
import type { DocumentKind } from '../documents/types.ts'
import { decodeText, isText } from './charset.ts'
import { textKind } from './text-kind.ts'
import { listZip } from './zip.ts'

const MB = 1024 * 1024
const OFFICE_BYTES = 20 * MB
const TEXT_BYTES = 5 * MB
export const largestBytes = (kind: DocumentKind): number =>
  kind === 'pdf' || kind === 'docx' ? OFFICE_BYTES : TEXT_BYTES

export type Refusal = 'empty' | 'too_large' | 'unsupported_type' | 'content_mismatch' | 'encrypted'
/** `message` is one sentence for the customer. */
export type SniffResult = { ok: true; kind: DocumentKind } | { ok: false; code: Refusal; message: string }

export interface Candidate {
  /** File name that the customer gave. */
  name: string
  /** Media type that the customer's program sent. Used only when the name has no extension. */
  mediaType: string | null
  /** Path of the complete file on disk. */
  file: string
}

const ENDINGS: Record<string, DocumentKind> = {
  txt: 'txt',
  text: 'txt',
  md: 'md',
  markdown: 'md',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  jsonl: 'json',
  ndjson: 'json',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
}
const MEDIA_TYPES: Record<string, DocumentKind> = {
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/json': 'json',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
}
const HEAD_BYTES = 64 * 1024
/** Readers of PDF accept other bytes before the header. */
const PDF_HEADER_WITHIN = 1024
const MOST_ZIP_ENTRIES = 10_000

type Content =
  | { is: 'pdf' | 'docx' | 'encrypted' }
  | { is: 'text'; text: string }
  /** `really`: what the content is, in words for people. */
  | { is: 'other'; really: string }

const refuse = (code: Refusal, message: string): SniffResult => ({ ok: false, code, message })

/** Reads the beginning of the file, and the directory of a zip. Throws only on disk errors. */
export async function sniff({ name, mediaType, file }: Candidate): Promise<SniffResult> {
  const ending = endingOf(name)
  const named = ending === null ? null : ENDINGS[ending]
  if (named === undefined) return unsupported()
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    if (size === 0) return refuse('empty', 'The file is empty.')
    const content = await contentOf(handle, file, named)
    if (content.is === 'encrypted') return refuse('encrypted', 'The document is protected by a password.')
    if (content.is === 'other') return named ? mismatch(ending!, content.really) : unsupported()
    if (content.is === 'text') return judgeText(content.text, size, ending, named ?? byMediaType(mediaType))
    return named && named !== content.is ? mismatch(ending!, content.is.toUpperCase()) : sized(content.is, size)
  } finally {
    await handle.close()
  }
}

const unsupported = () =>
  refuse('unsupported_type', 'This file type is not supported. Upload a txt, md, csv, json, html, pdf or docx file.')
const mismatch = (ending: string, really: string) =>
  refuse('content_mismatch', `The name ends in .${ending}, but the content is ${really}.`)

function sized(kind: DocumentKind, size: number): SniffResult {
  const most = largestBytes(kind)
  return size <= most ? { ok: true, kind } : refuse('too_large', `The limit for a ${kind} file is ${most / MB} MB.`)
}

function judgeText(text: string, size: number, ending: string | null, named: DocumentKind | null): SniffResult {
  if (named === 'pdf' || named === 'docx') return mismatch(ending!, 'text')
  if (size <= HEAD_BYTES && text.trim() === '') return refuse('empty', 'The file has only spaces.')
  const kind = textKind(text, { named, whole: size <= HEAD_BYTES })
  if (kind) return sized(kind, size)
  return ending ? mismatch(ending, 'something else') : unsupported()
}

/** Letters first, so that a date or a version at the end of a name does not count as an extension. */
const endingOf = (name: string): string | null =>
  /\.([a-z][a-z0-9]{0,7})$/i.exec(name.trim())?.[1]?.toLowerCase() ?? null
const byMediaType = (mediaType: string | null) =>
  MEDIA_TYPES[(mediaType ?? '').split(';')[0]!.trim().toLowerCase()] ?? null

async function contentOf(handle: FileHandle, file: string, named: DocumentKind | null): Promise<Content> {
  const head = await readAt(handle, 0, HEAD_BYTES)
  const start = head.subarray(0, PDF_HEADER_WITHIN).toString('latin1')
  if (/^\s*%PDF-\d/.test(start) || (named === 'pdf' && start.includes('%PDF-'))) return { is: 'pdf' }
  if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) return zipContent(file)
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return compoundContent(handle, head)
  const text = decodeText(head, { html: named === 'html' })
  // Before any magic number: those of two letters are words too (`BM` marks a bitmap and starts a price list for BMWs).
  if (isText(text)) return { is: 'text', text }
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  return { is: 'other', really: type ? `of the type ${type.ext}` : 'binary' }
}

async function zipContent(file: string): Promise<Content> {
  const names = await listZip(file, MOST_ZIP_ENTRIES)
  // Microsoft 365 also writes document2.xml.
  if (names?.some(name => /^word\/document\d*\.xml$/.test(name))) return { is: 'docx' }
  return { is: 'other', really: names ? 'a zip archive that is not a DOCX' : 'a damaged zip archive' }
}

/**
 * Old Office files, and new ones with a password, are OLE compound files [MS-CFB]; a directory entry tells them apart.
 */
async function compoundContent(handle: FileHandle, head: Buffer): Promise<Content> {
  const sectorBytes = 1 << Math.min(12, Math.max(7, head.length > 52 ? head.readUInt16LE(30) : 9))
  const first = head.length > 52 ? head.readUInt32LE(48) : 0
  const directory = await readAt(handle, (first + 1) * sectorBytes, 4096)
  const locked = directory.includes(Buffer.from('EncryptedPackage', 'utf16le'))
  return locked ? { is: 'encrypted' } : { is: 'other', really: 'an old Office file' }
}

async function readAt(handle: FileHandle, from: number, most: number): Promise<Buffer> {
  const buffer = Buffer.alloc(most)
  let length = 0
  while (length < most) {
    const { bytesRead } = await handle.read(buffer, length, most - length, from + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}
