/** What passes between the parts of the knowledge base: fetched, extracted, cut into chunks, embedded, found. */

import type { SitePage } from './site-page.ts'

/** Told by content, never by name. */
export const DOCUMENT_KINDS = ['txt', 'md', 'csv', 'json', 'html', 'pdf', 'docx'] as const
export type DocumentKind = (typeof DOCUMENT_KINDS)[number]

export interface Block {
  /** 1–6: a heading of that level; 0: text below the last heading. */
  heading: number
  text: string
}

/** A document, or a page of a site. */
export interface ExtractedPage {
  /** Canonical, where it came from the web. */
  url: string | null
  title: string | null
  blocks: Block[]
}

/** What the crawler needs besides, of HTML. */
export interface ExtractedLinks {
  /** Absolute, http or https, without fragment, in the order of the page, each once. */
  links: string[]
  canonical: string | null
  /** Where the page sends who opens it, at once. */
  refresh: string | null
  noindex: boolean
  nofollow: boolean
}

/** `site`: of kind `site` alone. */
export type Extracted = ExtractedPage & { html: ExtractedLinks | null; site?: SitePage }

/** A file on disk, or what a page answered. */
export type DocumentInput =
  | { kind: DocumentKind; file: string }
  | { kind: 'html' | 'txt' | 'pdf' | 'site'; body: Uint8Array; url: string; charset: string | null }

export const KNOWLEDGE_ERRORS = [
  'empty',
  'encrypted',
  'damaged',
  'unsupported_type',
  'too_large',
  'too_complex',
  'timeout',
  'blocked_address',
  'not_found',
  'robots',
  'unreachable',
  'no_text',
  'not_html',
  'embedding_failed',
  'internal',
] as const
export type KnowledgeErrorCode = (typeof KNOWLEDGE_ERRORS)[number]

/** Why a page of a site is not indexed; `KNOWLEDGE_ERRORS` where it cannot be read. */
export const SKIP_REASONS = [
  ...KNOWLEDGE_ERRORS,
  /** Its address, its canonical address or its text is indexed already. */
  'duplicate',
  /** It leads to another site. */
  'off_site',
  /** It asks not to be indexed. */
  'noindex',
  /** Found, and not read: there were enough pages, or no time or requests left. */
  'limit',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]
export type Skipped = Partial<Record<SkipReason, number>>

/** The source cannot be read, and the customer is told so; `message` is one sentence for them, without secrets. */
export class KnowledgeError extends Error {
  readonly code: KnowledgeErrorCode
  constructor(code: KnowledgeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'KnowledgeError'
    this.code = code
  }
}

/** Parses in a worker with an end to its memory and its time; rejects with `KnowledgeError`. */
export interface Extractor {
  extract(input: DocumentInput, signal: AbortSignal): Promise<Extracted>
  close(): Promise<void>
}

/** Vectors of unit length. Another `model` means that all must be embedded anew. */
export interface Embedder {
  readonly model: string
  readonly dimensions: number
  embed(texts: readonly string[], role: 'query' | 'passage', signal: AbortSignal): Promise<Float32Array[]>
  /** Loads what the first question would wait for, where there is such a thing. */
  warm?(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A piece of a source as it is indexed and given to the agent. */
export interface Chunk {
  /** From 0, in the order of the source. */
  ordinal: number
  /** The headings above it, outermost first, joined by ` › `; empty when there are none. */
  heading: string
  text: string
  url: string | null
}

export interface KnowledgeFound {
  chunk_id: string
  source_id: string
  source: string
  heading: string
  text: string
  url: string | null
  /** 0–1, comparable within one answer only. */
  score: number
}
