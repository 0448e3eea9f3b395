/**
 * The short form of `npm run bench -- --only knowledge`: callers' questions find their answers, and hybrid search is no
 * worse than either kind alone.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Chunk, Embedder } from '../../../../control/knowledge/documents/types.ts'
import type { SearchDeps } from '../../../../control/knowledge/index/search.ts'
import { createVectorIndex } from '../../../../control/knowledge/index/vectors.ts'
import { systemClock } from '../../../../infra/adapters/clock.ts'
import { readConfig } from '../../../../infra/config/config.ts'
import { createLocalEmbedder } from '../../../../infra/models/embedding/local.ts'
import { embeddingFiles } from '../../../../infra/models/embedding/model.ts'
import { type Corpus, type Question, readCorpus } from '../../../corpus/knowledge/corpus.ts'
import { findDebianHistory, readDebianHistory } from '../../../corpus/knowledge/debian-history.ts'
import { readDeclaration } from '../../../corpus/knowledge/declaration.ts'
import {
  estimate,
  type Method,
  rankOf,
  recallAt5,
  reciprocal,
  type Tried,
  tryCorpus,
} from '../../../support/retrieval.ts'
import { quietLog } from '../../../support/world.ts'
import { createRig, putChunks, type Rig } from './rig.ts'

let rig: Rig
let deps: SearchDeps & { embedder: Embedder }

beforeAll(async () => {
  rig = await createRig()
  const vectors = createVectorIndex({ sql: rig.sql, log: quietLog })
  const embedder = createLocalEmbedder(embeddingFiles(readConfig().cache))
  deps = { sql: rig.sql, clock: systemClock, log: quietLog, embedder, vectors }
})
afterAll(async () => {
  await deps?.vectors?.close()
  await deps?.embedder.close()
  await rig?.close()
})

const prose = readCorpus()
const declaration = readDeclaration(['en', 'ru'])
const history = await findDebianHistory(readConfig().cache)
/** Each a project of its own. */
const histories = history ? (['en', 'ru'] as const).map(language => readDebianHistory(history, [language])) : []
/** The half that was held back; all passages compete. */
const heldOf = (corpus: Corpus): Corpus => ({
  ...corpus,
  questions: corpus.questions.filter(({ split }) => split === 'test'),
})
const withCompany = ({ document, text }: Question) => `${document}: ${text}`
const asItIs = ({ text }: Question) => text

const joined = (corpora: Corpus[]): Corpus => ({
  pages: corpora.flatMap(({ pages }) => pages),
  questions: corpora.flatMap(({ questions }) => questions),
})

interface QuestionSet {
  name: string
  corpora: Corpus[]
  passages: number
  asked(question: Question): string
  least: number
}

const sets: QuestionSet[] = [
  { name: 'our own prose', corpora: [prose], passages: 200, asked: withCompany, least: 0.9 },
  // Measured: 0.792. Far from the words of the text, and the model is a small one.
  { name: 'the Universal Declaration', corpora: [declaration], passages: 110, asked: asItIs, least: 0.75 },
]
// Measured: 0.934 of 166 questions. Another processor rounds vectors in another way: two may come out otherwise.
if (history) sets.push({ name: "Debian's history", corpora: histories, passages: 250, asked: asItIs, least: 0.9 })
else it.skip("Debian's history: its package cannot be had here", () => {})
// Embedding takes seconds of CPU a set.
const searched = inject('full') ? sets : sets.slice(0, 1)

it.each(sets)('$name has enough of both languages', ({ corpora, passages }) => {
  const corpus = joined(corpora)
  expect(corpus.questions.length).toBeGreaterThanOrEqual(200)
  expect(new Set(corpus.questions.map(({ text }) => text)).size).toBe(corpus.questions.length)
  expect(new Set(corpus.questions.flatMap(({ passages }) => passages)).size).toBeGreaterThanOrEqual(passages)
  for (const language of ['en', 'ru']) {
    const held = heldOf(corpus).questions.filter(question => question.language === language)
    expect(held.length).toBeGreaterThanOrEqual(50)
  }
})

describe.each(searched)('of $name', ({ corpora, asked, least }) => {
  let tried: Tried[]
  beforeAll(async () => {
    tried = []
    for (const corpus of corpora) {
      const project = await rig.addProject()
      const addSource = async (name: string, chunks: Chunk[]) => {
        const source = await rig.addSource(project, { name })
        await putChunks(rig.sql, source, chunks)
        return source
      }
      tried.push(...(await tryCorpus(deps, project, heldOf(corpus), addSource, asked)))
    }
  }, 240_000)

  it(`finds ${least} among the first five`, () => {
    expect(estimate(tried.map(one => recallAt5(rankOf(one, 'both')))).value).toBeGreaterThanOrEqual(least)
  })

  it.each<Method>(['full text', 'vectors'])('hybrid search is no worse than %s alone', alone => {
    for (const judge of [recallAt5, reciprocal]) {
      const gain = tried.reduce((sum, one) => sum + judge(rankOf(one, 'both')) - judge(rankOf(one, alone)), 0)
      // Another processor rounds vectors in another way: one question may come out otherwise.
      expect(gain).toBeGreaterThanOrEqual(-1)
    }
  })
})
