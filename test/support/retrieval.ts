/** Retrieval quality: recall and mean reciprocal rank with confidence intervals, over a corpus in a real database. */

import type { Chunk, Embedder } from '../../control/knowledge/documents/types.ts'
import { chunkPages } from '../../control/knowledge/index/chunk.ts'
import { embedMissing } from '../../control/knowledge/index/embed.ts'
import { FUSION, type FusionWeights, fuse, type Lists } from '../../control/knowledge/index/fuse.ts'
import { rankedLists, type SearchDeps } from '../../control/knowledge/index/search.ts'
import type { ChunkRef } from '../../control/knowledge/index/sql.ts'
import type { Corpus, Question } from '../corpus/knowledge/corpus.ts'

export interface Tried {
  question: Question
  /** The chunks that contain part of the answer. */
  answers: ChunkRef[]
  lists: Lists
}

export interface Project {
  ownerId: string
  projectId: string
}

type AddSource = (name: string, chunks: Chunk[]) => Promise<{ id: string; owner_id: string; project_id: string }>

/** Indexes each page as a source and asks all questions. */
export async function tryCorpus(
  deps: SearchDeps & { embedder: Embedder },
  project: Project,
  corpus: Corpus,
  addSource: AddSource,
  asked: (question: Question) => string = question => question.text,
): Promise<Tried[]> {
  const signal = new AbortController().signal
  const answers = new Map<Question, ChunkRef[]>()
  for (const page of corpus.pages) {
    const chunks = chunkPages([page])
    const source = await addSource(page.title!, chunks)
    await embedMissing({ sql: deps.sql, embedder: deps.embedder }, source, signal, () => {})
    for (const question of corpus.questions) {
      if (question.document !== null && question.document !== page.title) continue
      const found = chunks.filter(({ text }) => question.passages.some(passage => text.includes(passage)))
      const places = found.map(({ ordinal }) => ({ source_id: source.id, ordinal }))
      answers.set(question, [...(answers.get(question) ?? []), ...places])
    }
  }
  const tried: Tried[] = []
  for (const question of corpus.questions) {
    const known = answers.get(question) ?? []
    if (known.length === 0) throw new Error(`no chunk has the whole passage of «${question.text}»`)
    const search = { ...project, query: asked(question), limit: 5, signal, deadlineMs: 600_000 }
    tried.push({ question, answers: known, lists: await rankedLists(deps, search) })
  }
  return tried
}

export const METHODS = ['full text', 'vectors', 'both'] as const
export type Method = (typeof METHODS)[number]

/** Counted from 1; null when not found. */
export function rankOf({ answers, lists }: Tried, method: Method, weights: FusionWeights = FUSION): number | null {
  const lists_ = { text: lists.text ?? [], vectors: lists.vectors ?? [] }
  const order = {
    'full text': () => lists_.text,
    vectors: () => lists_.vectors,
    both: () => fuse(lists, weights),
  }[method]()
  const at = order.findIndex(place =>
    answers.some(one => one.source_id === place.source_id && one.ordinal === place.ordinal),
  )
  return at < 0 ? null : at + 1
}

export const recallAt5 = (rank: number | null) => (rank !== null && rank <= 5 ? 1 : 0)
export const reciprocal = (rank: number | null) => (rank === null ? 0 : 1 / rank)

export interface Estimate {
  value: number
  /** Lower bound of the 95 % interval, from 2000 resamples of the questions. */
  low: number
  high: number
}

const RESAMPLES = 2000

/** Percentile bootstrap (Efron 1979) of a mean. The same values give the same interval. */
export function estimate(values: readonly number[]): Estimate {
  const random = mulberry32(1)
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length
  const means = Array.from({ length: RESAMPLES }, () =>
    mean(values.map(() => values[Math.floor(random() * values.length)]!)),
  ).sort((a, b) => a - b)
  return { value: mean(values), low: means[RESAMPLES * 0.025]!, high: means[RESAMPLES * 0.975 - 1]! }
}

/** Tommy Ettinger's generator. */
export function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const report = ({ value, low, high }: Estimate) => `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
