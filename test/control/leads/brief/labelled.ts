/** A brief with its fields as a careful reader understands it. */
export interface Labelled {
  brief: string
  /** Entry of the taxonomy; empty when the text names none. */
  niche: string
  geo: string
  /** Null: the text does not say. */
  target: number | null
  /** In the owner's words, inflected as they stand. */
  signals: string[]
  exclusions: string[]
}
