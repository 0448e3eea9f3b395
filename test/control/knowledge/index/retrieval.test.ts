/**
 * The short form of `npm run bench -- --only knowledge`: what callers ask is found, and both ways together are
 * no worse than either.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createVectorIndex } from '../../../../control/knowledge/index/vectors.ts'
import { systemClock } from '../../../../infra/clock.ts'
import { readConfig } from '../../../../infra/config.ts'
import { createLocalEmbedder } from '../../../../infra/embedding/local.ts'
import { embeddingFiles } from '../../../../infra/embedding/model.ts'
import { readCorpus } from '../../../corpus/knowledge/corpus.ts'
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
let tried: Tried[]
const corpus = readCorpus()
/** The half that nothing was chosen on; all passages compete. */
const held = corpus.questions.filter(({ split }) => split === 'test')

beforeAll(async () => {
  rig = await createRig()
  const vectors = createVectorIndex({ sql: rig.sql, log: quietLog })
  const embedder = createLocalEmbedder(embeddingFiles(readConfig().cache))
  const project = await rig.addProject()
  const addSource = async (name: string, chunks: Parameters<typeof putChunks>[2]) => {
    const source = await rig.addSource(project, { name })
    await putChunks(rig.sql, source, chunks)
    return source
  }
  const deps = { sql: rig.sql, clock: systemClock, log: quietLog, embedder, vectors }
  const asked = { ...corpus, questions: held }
  tried = await tryCorpus(deps, project, asked, addSource, ({ document, text }) => `${document}: ${text}`)
  await vectors.close()
  await embedder.close()
}, 240_000)
afterAll(() => rig?.close())

it('has enough of both languages', () => {
  expect(corpus.questions.length).toBeGreaterThanOrEqual(200)
  expect(new Set(corpus.questions.map(({ passage }) => passage)).size).toBeGreaterThanOrEqual(200)
  for (const language of ['en', 'ru']) {
    expect(held.filter(question => question.language === language).length).toBeGreaterThanOrEqual(50)
  }
})

it('finds nine of ten among the first five', () => {
  expect(estimate(tried.map(one => recallAt5(rankOf(one, 'both')))).value).toBeGreaterThanOrEqual(0.9)
})

it.each<Method>(['full text', 'vectors'])('is by both ways no worse than by %s alone', alone => {
  for (const judge of [recallAt5, reciprocal]) {
    const gain = tried.reduce((sum, one) => sum + judge(rankOf(one, 'both')) - judge(rankOf(one, alone)), 0)
    // Another processor rounds vectors in another way: one question may come out otherwise.
    expect(gain).toBeGreaterThan(-1)
  }
})
