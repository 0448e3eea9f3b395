/** Port for knowledge-base search during a call. */

/** A passage found in the knowledge base. */
export interface KnowledgeHit {
  chunk_id: string
  source_id: string
  /** Name of the source, shown in the transcript. */
  source: string
  /** Headings above the passage; empty when there are none. */
  heading: string
  text: string
}

/** Returns the best hit first. Rejects when no answer arrives in time. */
export type SearchKnowledge = (query: string, signal: AbortSignal) => Promise<KnowledgeHit[]>
