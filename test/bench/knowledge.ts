/**
 * Agents' knowledge: retrieval quality (knowledge-retrieval.ts), and speed in a project of 100,000 chunks, including
 * the question's embedding. The large project's words follow Zipf's law; its vectors are those of real passages with
 * noise, since the search reads all of them whatever they contain.
 */

import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quantise } from '../../control/knowledge/index/quantise.ts'
import { rankedLists, searchKnowledge } from '../../control/knowledge/index/search.ts'
import { ensureModel, finishVectors, insertVectors } from '../../control/knowledge/index/sql.ts'
import { createVectorIndex } from '../../control/knowledge/index/vectors.ts'
import { connect, type Sql } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import { readConfig } from '../../infra/config/config.ts'
import { startPostgres } from '../../infra/embedded/postgres.ts'
import { createLocalEmbedder } from '../../infra/models/embedding/local.ts'
import { embeddingFiles, ensureEmbeddingModel } from '../../infra/models/embedding/model.ts'
import { readCorpus } from '../corpus/knowledge/corpus.ts'
import { mulberry32, type Project } from '../support/retrieval.ts'
import { quietLog } from '../support/world.ts'
import { addSource, benchRetrieval, makeProject, type RetrievalDeps } from './knowledge-retrieval.ts'
import type { Measured, Series } from './report.ts'

export interface KnowledgeBench {
  chunks: number
  questions: number
  report(text: string): void
}

const BOUND_MS = 50
const CHUNKS_OF_A_SOURCE = 1000
const SOURCES_AT_ONCE = 4

export async function benchKnowledge(options: KnowledgeBench): Promise<Measured> {
  const { cache } = readConfig()
  const problem = await ensureEmbeddingModel(cache)
  if (problem) throw new Error(problem)
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  await chmod(folder, 0o755)
  const logFile = join(folder, 'postgres.log')
  const port = randomInt(33_000, 60_000)
  const postgres = await startPostgres({
    folder: join(folder, 'postgres'),
    logFile,
    port,
    throwaway: true,
    report: options.report,
  })
  await migrate({ url: postgres.url })
  const sql = connect({ url: postgres.url, max: 10 })
  const embedder = createLocalEmbedder(embeddingFiles(cache))
  const vectors = createVectorIndex({ sql, log: quietLog })
  const deps = { sql, clock: systemClock, log: quietLog, embedder, vectors }
  try {
    const found = await benchRetrieval(deps, options.report)
    const { lines, series } = await benchSpeed(deps, options)
    return { lines: [...found, ...lines], series, unmeasured: [] }
  } finally {
    await vectors.close()
    await embedder.close()
    await sql.end()
    await postgres.child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

// Speed.

/** Measured at a sixteenth, a quarter and the full size. */
async function benchSpeed(deps: RetrievalDeps, options: KnowledgeBench): Promise<Pick<Measured, 'lines' | 'series'>> {
  const random = mulberry32(42)
  const words = createWords(random)
  const project = await makeProject(deps.sql)
  const fill = await createFiller(deps, project, options, words, random)
  const questions = Array.from({ length: options.questions }, () => words.question())
  const points: Series['points'] = []
  for (const share of [1 / 16, 1 / 4, 1]) {
    const load = Math.ceil((options.chunks * share) / CHUNKS_OF_A_SOURCE) * CHUNKS_OF_A_SOURCE
    await fill(load)
    options.report(`among ${load.toLocaleString('en')} chunks`)
    points.push({ load, value: await searchP95(deps, project, questions, options.report), valid: true })
  }
  const p95 = points.at(-1)!.value
  return {
    lines: [
      {
        name: `knowledge: search among ${options.chunks.toLocaleString('en')} chunks, p95`,
        value: p95,
        reference: BOUND_MS,
        unit: 'ms',
        ratio: p95 / BOUND_MS,
        wanted: '≤ 1',
        ok: p95 <= BOUND_MS,
      },
    ],
    series: [{ figure: 'knowledge: search, p95', system: 'Parley', unit: 'ms', load: 'chunks', points }],
  }
}

async function searchP95(
  deps: RetrievalDeps,
  project: Project,
  questions: readonly string[],
  report: (text: string) => void,
): Promise<number> {
  const signal = new AbortController().signal
  const whole = async (query: string) => {
    const found = await searchKnowledge(deps, { ...project, query, limit: 4, signal, deadlineMs: 60_000 })
    if (found.length === 0) throw new Error(`nothing was found for «${query}»`)
  }
  const started = performance.now()
  await whole(questions[0]!)
  report(`first question, including loading all vectors: ${seconds(started)} s`)
  for (const query of questions.slice(0, 20)) await whole(query) // warm-up
  const arms = { ...deps, embedder: null, vectors: null }
  const text = await timed(questions, query =>
    rankedLists(arms, { ...project, query, limit: 4, signal, deadlineMs: 60_000 }),
  )
  const embedding = await timed(questions, query => deps.embedder.embed([query], 'query', signal))
  const all = await timed(questions, whole)
  const say = (name: string, times: number[]) => report(`${name}: p50 ${at(times, 0.5)} ms, p95 ${at(times, 0.95)} ms`)
  say('the vector of a question', embedding)
  say('full text alone', text)
  say('the whole search', all)
  return Number(at(all, 0.95))
}

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1)
const at = (times: readonly number[], share: number) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!.toFixed(1)

async function timed(questions: readonly string[], ask: (query: string) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (const query of questions) {
    const started = performance.now()
    await ask(query)
    times.push(performance.now() - started)
  }
  return times
}

/** Each call continues until the project has `count` chunks. */
async function createFiller(
  deps: RetrievalDeps,
  project: Project,
  { report }: KnowledgeBench,
  words: Words,
  random: () => number,
): Promise<(chunks: number) => Promise<void>> {
  const signal = new AbortController().signal
  const passages = readCorpus().pages.flatMap(({ blocks }) => blocks.filter(({ heading }) => heading === 0))
  const started = performance.now()
  const seeds = await deps.embedder.embed(
    passages.slice(0, 100).map(({ text }) => text),
    'passage',
    signal,
  )
  report(`vectors of real passages: ${(100 / Number(seconds(started))).toFixed(1)} a second`)
  const modelId = await ensureModel(deps.sql, deps.embedder.model, deps.embedder.dimensions)
  const fill = async (first: number) => {
    const list = Array.from({ length: CHUNKS_OF_A_SOURCE }, (_, ordinal) => ({
      ordinal,
      heading: words.heading(),
      text: words.passage(),
      url: null,
    }))
    const vectors = list.map(({ ordinal }) => {
      const noisy = seeds[Math.floor(random() * seeds.length)]!.map(value => value + (random() - 0.5) * 0.05)
      const length = Math.hypot(...noisy)
      return { ordinal, vector: quantise(noisy.map(value => value / length)) }
    })
    const source = await addSource(deps.sql, project, `Source ${first / CHUNKS_OF_A_SOURCE}`, list)
    await insertVectors(deps.sql, source, modelId, vectors)
    await deps.sql.begin(tx => finishVectors(tx, source, modelId))
  }
  let filled = 0
  return async chunks => {
    const filling = performance.now()
    const firsts: number[] = []
    for (; filled < chunks; filled += CHUNKS_OF_A_SOURCE) firsts.push(filled)
    const lane = async () => {
      for (let first = firsts.shift(); first !== undefined; first = firsts.shift()) await fill(first)
    }
    await Promise.all(Array.from({ length: SOURCES_AT_ONCE }, lane))
    await deps.sql`analyze`
    report(`${chunks.toLocaleString('en')} chunks after ${seconds(filling)} s; MB: ${await sizes(deps.sql)}`)
  }
}

async function sizes(sql: Sql): Promise<string> {
  const [size] = await sql<{ text: number; terms: number; words: number; vectors: number }[]>`
    select pg_total_relation_size('knowledge_chunks') / 1e6 as text, pg_total_relation_size('knowledge_terms') / 1e6 as terms,
      pg_total_relation_size('knowledge_lexemes') / 1e6 as words, pg_total_relation_size('knowledge_vectors') / 1e6 as vectors`
  return Object.entries(size!)
    .map(([name, value]) => `${name} ${Number(value).toFixed(0)}`)
    .join(', ')
}

interface Words {
  heading(): string
  passage(): string
  question(): string
}

const KINDS = 40_000
/** Mandelbrot's form of Zipf's law, as it fits running text: rank + 2.7, exponent 1. */
const SHIFT = 2.7
const SYLLABLES = {
  en: 'ba ce di fo gu ha ji ka le mi no pu ra se ti vo wa xe yo zu tra ble ster ing ment'.split(' '),
  ru: 'ба ве ги до жу за ки ле мо ну па ре си то фу ха це чи ша щу про ста пре ние ство'.split(' '),
}
const SPOKEN = {
  en: ['how much does it cost to', 'could you tell me about', 'do you have', 'what about'],
  ru: ['сколько стоит', 'подскажите пожалуйста', 'а есть ли у вас', 'хотел узнать про'],
}

/** Two languages of invented words. A question's words follow the same law, but exclude the 100 most frequent ones. */
function createWords(random: () => number): Words {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const vocabulary = (language: 'en' | 'ru') =>
    Array.from({ length: KINDS }, () =>
      Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(SYLLABLES[language])).join(''),
    )
  const kinds = { en: vocabulary('en'), ru: vocabulary('ru') }
  const sums: number[] = []
  for (let rank = 0; rank < KINDS; rank++) sums.push((sums.at(-1) ?? 0) + 1 / (rank + 1 + SHIFT))
  const draw = (language: 'en' | 'ru', from = 0): string => {
    const least = from === 0 ? 0 : sums[from - 1]!
    const aim = least + random() * (sums.at(-1)! - least)
    let [low, high] = [from, KINDS - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! < aim) low = middle + 1
      else high = middle
    }
    return kinds[language][low]!
  }
  const language = () => (random() < 0.5 ? 'en' : 'ru')
  const several = (count: number, language: 'en' | 'ru', from = 0) =>
    Array.from({ length: count }, () => draw(language, from)).join(' ')
  return {
    heading: () => several(3, language(), 100),
    passage() {
      const of = language()
      const sentences = Array.from({ length: 5 + Math.floor(random() * 6) }, () =>
        several(8 + Math.floor(random() * 12), of),
      )
      return sentences.map(sentence => `${sentence}.`).join(' ')
    },
    question() {
      const of = language()
      return `${pick(SPOKEN[of])} ${several(2 + Math.floor(random() * 5), of, 100)}`
    },
  }
}
