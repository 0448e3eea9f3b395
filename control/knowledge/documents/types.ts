/** Types that the parts of the knowledge base exchange: fetched, extracted, split into chunks, embedded and found. */

import type { SitePage } from './site-page.ts'

/** Detected by content, never by name. */
export const DOCUMENT_KINDS = ['txt', 'md', 'csv', 'json', 'html', 'pdf', 'docx'] as const
export type DocumentKind = (typeof DOCUMENT_KINDS)[number]

export interface Block {
  /** 1–6: a heading of that level; 0: text below the last heading. */
  heading: number
  text: string
}

/** A document, or a page of a site. */
export interface ExtractedPage {
  /** Canonical address of a page from the web; otherwise null. */
  url: string | null
  title: string | null
  blocks: Block[]
}

/** Links and directives that the crawler reads from HTML. */
export interface ExtractedLinks {
  /** Absolute http or https links without fragment, in page order, without duplicates. */
  links: string[]
  canonical: string | null
  /** Target of an immediate redirect in the page. */
  refresh: string | null
  noindex: boolean
  nofollow: boolean
}

/** `site` is set only for input of kind `site`. */
export type Extracted = ExtractedPage & { html: ExtractedLinks | null; site?: SitePage }

/** A file on disk, or the body of a web page. */
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

/** Reasons why a page of a site is not indexed; `KNOWLEDGE_ERRORS` when it cannot be read. */
export const SKIP_REASONS = [
  ...KNOWLEDGE_ERRORS,
  /** Its address, canonical address or text is already indexed. */
  'duplicate',
  /** It redirects to another site. */
  'off_site',
  /** It asks not to be indexed. */
  'noindex',
  /** Found but not read: the page limit was reached, or no time or requests were left. */
  'limit',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]
export type Skipped = Partial<Record<SkipReason, number>>

/**
 * The source cannot be read, for a reason that the customer sees. `message` is one sentence for the customer, without
 * secrets.
 */
export class KnowledgeError extends Error {
  readonly code: KnowledgeErrorCode
  constructor(code: KnowledgeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'KnowledgeError'
    this.code = code
  }
}

/** The document is longer work than the part of it that was asked for. */
export class SliceSpent extends Error {
  override readonly message = 'the first slice is spent'
}

export interface ExtractTurn {
  /** Id of the account whose turn it is. */
  owner: string
  /**
   * `first`: about a second of CPU time, then rejects with `SliceSpent`. `rest`: without that slice. `all`, the
   * default: both.
   */
  part?: 'first' | 'rest' | 'all'
}

/** Parses in a worker with limits of memory and time. Rejects with `KnowledgeError`. */
export interface Extractor {
  extract(input: DocumentInput, signal: AbortSignal, turn?: ExtractTurn): Promise<Extracted>
  close(): Promise<void>
}

/** Returns unit-length vectors. A change of `model` requires embedding everything again. */
export interface Embedder {
  model: string
  dimensions: number
  /** Passages that one owner embeds before the next has a turn; a whole batch when omitted. */
  textsATurn?: number
  embed(texts: readonly string[], role: 'query' | 'passage', signal: AbortSignal): Promise<Float32Array[]>
  /** Loads in advance what the first query would otherwise wait for. */
  warm?(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A piece of a source as it is indexed and given to the agent. */
export interface Chunk {
  /** Position in the source, from 0. */
  ordinal: number
  /** The headings above the text, outermost first, joined by ` › `; empty when there are none. */
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
  /** 0–1, comparable only within one result. */
  score: number
}
