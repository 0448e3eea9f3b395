/**
 * Retrieval quality of agents' knowledge: Debian's history and its FAQ, our own text and the Universal Declaration,
 * from test/corpus/knowledge.
 */
import { randomUUID } from 'node:crypto'
import type { Chunk, Embedder } from '../../control/knowledge/documents/types.ts'
import { rankedLists, type SearchDeps } from '../../control/knowledge/index/search.ts'
import { replaceChunks } from '../../control/knowledge/index/store.ts'
import type { Sql } from '../../control/platform/db/connect.ts'
import { readConfig } from '../../infra/config/config.ts'
import { type Corpus, readCorpus } from '../corpus/knowledge/corpus.ts'
import { findDebianFaq, readDebianFaq } from '../corpus/knowledge/debian-faq.ts'
import { findDebianHistory, readDebianHistory } from '../corpus/knowledge/debian-history.ts'
import { readDeclaration } from '../corpus/knowledge/declaration.ts'
import {
  estimate,
  METHODS,
  type Project,
  rankOf,
  recallAt5,
  reciprocal,
  type Tried,
  report as tellEstimate,
  tryCorpus,
} from '../support/retrieval.ts'
import type { Line } from './report.ts'

export type RetrievalDeps = SearchDeps & { embedder: Embedder }
type Report = (text: string) => void

const WANTED_RECALL = 0.9

export async function makeProject(sql: Sql): Promise<Project> {
  const [ownerId, projectId, now] = [randomUUID(), randomUUID(), new Date()]
  await sql`insert into accounts (id, name, created_at) values (${ownerId}, 'Bench', ${now})`
  await sql`
    insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
    values (${projectId}, ${ownerId}, 'Agent', 'en', '{}', ${now}, ${now})`
  return { ownerId, projectId }
}

export async function addSource(sql: Sql, of: Project, name: string, chunks: Chunk[]) {
  const source = { id: randomUUID(), owner_id: of.ownerId, project_id: of.projectId }
  await sql.begin(async tx => {
    await tx`
      insert into knowledge_sources (id, owner_id, project_id, kind, name, status, content_hash, stored, chunks, created_at)
      values (${source.id}, ${of.ownerId}, ${of.projectId}, 'text', ${name}, 'ready', ${Buffer.from(source.id)}, true,
        ${chunks.length}, ${new Date()})`
    await replaceChunks(tx, source, chunks)
  })
  return source
}

export async function benchRetrieval(deps: RetrievalDeps, report: Report): Promise<Line[]> {
  const prose = await benchProse(deps, report)
  const declaration = await benchDeclaration(deps, report)
  const faq = await benchFaq(deps, report)
  const history = await benchHistory(deps, report)
  return [...history, ...faq, lineOf('our own prose', prose), lineOf('the Universal Declaration', declaration)]
}

async function benchHistory(deps: RetrievalDeps, report: Report): Promise<Line[]> {
  const texts = await findDebianHistory(readConfig().cache)
  if (!texts) {
    report("Debian's packages cannot be had here: its history was not measured")
    return []
  }
  const apart = [
    ...(await tryAlone(deps, readDebianHistory(texts, ['en']))),
    ...(await tryAlone(deps, readDebianHistory(texts, ['ru']))),
  ]
  const together = await tryAlone(deps, readDebianHistory(texts, ['en', 'ru']))
  tellFigures("Debian's history, each language a project of its own", apart, report)
  tellFigures("Debian's history, each language a project of its own", apart, report, 'all')
  tellFigures("Debian's history, both languages in one project", together, report)
  return [lineOf("Debian's history", apart), lineOfGain("Debian's history", apart)]
}

async function benchFaq(deps: RetrievalDeps, report: Report): Promise<Line[]> {
  const texts = await findDebianFaq(readConfig().cache)
  if (!texts) {
    report("Debian's packages cannot be had here: its FAQ was not measured")
    return []
  }
  const apart = [
    ...(await tryAlone(deps, readDebianFaq(texts, ['en']))),
    ...(await tryAlone(deps, readDebianFaq(texts, ['ru']))),
  ]
  const together = await tryAlone(deps, readDebianFaq(texts, ['en', 'ru']))
  tellFigures("Debian's FAQ, each language a project of its own", apart, report)
  tellFigures("Debian's FAQ, both languages in one project", together, report)
  return [lineOf("Debian's FAQ", apart)]
}

async function benchProse(deps: RetrievalDeps, report: Report): Promise<Tried[]> {
  const corpus = readCorpus()
  const started = performance.now()
  const together = await makeProject(deps.sql)
  const asked = ({ document, text }: Corpus['questions'][number]) => `${document}: ${text}`
  const named = await tryCorpus(deps, together, corpus, adderTo(deps, together), asked)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  report(`${corpus.pages.length} documents and ${named.length} questions in ${seconds} s`)
  const own: Tried[] = []
  for (const page of corpus.pages) {
    const questions = corpus.questions.filter(({ document }) => document === page.title)
    own.push(...(await tryAlone(deps, { pages: [page], questions })))
  }
  const signal = new AbortController().signal
  const unnamed: Tried[] = []
  for (const { question, answers } of named) {
    const search = { ...together, query: question.text, limit: 5, signal, deadlineMs: 60_000 }
    unnamed.push({ question, answers, lists: await rankedLists(deps, search) })
  }
  tellFigures('each company a project of its own', own, report)
  tellFigures('all in one project, the company named', named, report)
  tellFigures('all in one project, no company named', unnamed, report)
  return named
}

async function benchDeclaration(deps: RetrievalDeps, report: Report): Promise<Tried[]> {
  const apart = [...(await tryAlone(deps, readDeclaration(['en']))), ...(await tryAlone(deps, readDeclaration(['ru'])))]
  const together = await tryAlone(deps, readDeclaration(['en', 'ru']))
  const across = [
    ...(await tryAlone(deps, readDeclaration(['en'], 'ru'))),
    ...(await tryAlone(deps, readDeclaration(['ru'], 'en'))),
  ]
  tellFigures('the Declaration, each language a project of its own', apart, report)
  tellFigures('the Declaration, both languages in one project', together, report)
  tellFigures('the Declaration in the other language alone', across, report)
  return together
}

const adderTo = (deps: RetrievalDeps, project: Project) => (name: string, chunks: Chunk[]) =>
  addSource(deps.sql, project, name, chunks)

async function tryAlone(deps: RetrievalDeps, corpus: Corpus): Promise<Tried[]> {
  const project = await makeProject(deps.sql)
  return tryCorpus(deps, project, corpus, adderTo(deps, project))
}

function lineOf(of: string, tried: readonly Tried[]): Line {
  const held = tried.filter(({ question }) => question.split === 'test')
  const { value } = estimate(held.map(one => recallAt5(rankOf(one, 'both'))))
  return {
    name: `knowledge: recall@5 in ${of}, full text and vectors`,
    value,
    reference: WANTED_RECALL,
    unit: 'of 1',
    ratio: value / WANTED_RECALL,
    wanted: '≥ 1',
    ok: value >= WANTED_RECALL,
  }
}

/** Hybrid search against the better of both methods alone, in recall or in rank, whichever gains less. */
function lineOfGain(of: string, tried: readonly Tried[]): Line {
  const held = tried.filter(({ question }) => question.split === 'test')
  const gains = [recallAt5, reciprocal].flatMap(judge => {
    const [both, ...alone] = (['both', 'full text', 'vectors'] as const).map(
      method => estimate(held.map(one => judge(rankOf(one, method)))).value,
    )
    return alone.map(one => both! / one)
  })
  const value = Math.min(...gains)
  return {
    name: `knowledge: full text and vectors in ${of} against either alone`,
    value,
    reference: 1,
    unit: 'times',
    ratio: value,
    wanted: '≥ 1',
    ok: value >= 1,
  }
}

/** Figures for the held-out half, or for all questions. */
function tellFigures(setting: string, tried: readonly Tried[], report: Report, of: 'test' | 'all' = 'test'): void {
  for (const language of ['en', 'ru', null] as const) {
    const some = tried.filter(
      ({ question }) =>
        (of === 'all' || question.split === of) && (language === null || question.language === language),
    )
    for (const method of METHODS) {
      const ranks = some.map(one => rankOf(one, method))
      const recall = tellEstimate(estimate(ranks.map(recallAt5)))
      const mrr = tellEstimate(estimate(ranks.map(reciprocal)))
      report(
        `${setting}, ${language ?? 'en and ru'}, ${some.length} questions${of === 'all' ? ' (all)' : ''}, ${method}: recall@5 ${recall}, MRR ${mrr}`,
      )
    }
  }
}
