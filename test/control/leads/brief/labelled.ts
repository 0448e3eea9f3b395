/** A brief, and what a careful reader takes from it. */
export interface Labelled {
  brief: string
  /** Of the taxonomy; empty: the text does not say. */
  niche: string
  geo: string
  /** Null: the text does not say. */
  target: number | null
  /** In the owner's words, inflected as they stand. */
  signals: string[]
  exclusions: string[]
}
