/** Knowledge-base search during a call. */

/** A passage that was found. */
export interface KnowledgeHit {
  chunk_id: string
  source_id: string
  /** Name of the source, for the transcript. */
  source: string
  /** The headings above it; empty when there are none. */
  heading: string
  text: string
}

/** The best first. Rejects when there is no answer in time. */
export type SearchKnowledge = (query: string, signal: AbortSignal) => Promise<KnowledgeHit[]>
