/** The same answers from pgvector as from the thread, on a server that has it; skipped where that cannot be had. */
import { randomInt, randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Embedder } from '../../../../control/knowledge/documents/types.ts'
import { chunkPages } from '../../../../control/knowledge/index/chunk.ts'
import { embedMissing, embedStale } from '../../../../control/knowledge/index/embed.ts'
import { createVectors, type Vectors } from '../../../../control/knowledge/index/pgvector.ts'
import { rankedLists } from '../../../../control/knowledge/index/search.ts'
import { ensureModel } from '../../../../control/knowledge/index/sql.ts'
import { createVectorIndex, type VectorIndex } from '../../../../control/knowledge/index/vectors.ts'
import { connect, type Sql } from '../../../../control/platform/db/connect.ts'
import { migrate } from '../../../../control/platform/db/migrate.ts'
import { systemClock } from '../../../../infra/adapters/clock.ts'
import { readConfig } from '../../../../infra/config/config.ts'
import { type EmbeddedPostgres, startPostgres } from '../../../../infra/embedded/postgres.ts'
import type { Log } from '../../../../media/shared/log.ts'
import { readCorpus } from '../../../corpus/knowledge/corpus.ts'
import { ensurePgvector } from '../../../support/pgvector.ts'
import { quietLog } from '../../../support/world.ts'
import { createRig, putChunks, type Rig, type Source, wordEmbedder } from './rig.ts'

type Owned = { ownerId: string; projectId: string }

const never = new AbortController().signal
const native = await ensurePgvector(readConfig().cache)
if (typeof native !== 'string') console.error(`There is no pgvector here, so its tests are skipped: ${native.missing}`)

async function embedded(rig: Rig, project: Owned, texts: string[], embedder: Embedder = wordEmbedder()) {
  const source = await rig.addSource(project)
  await putChunks(rig.sql, source, texts)
  await rig.sql`update knowledge_sources set chunks = ${texts.length} where id = ${source.id}`
  await embedMissing({ sql: rig.sql, embedder }, source, never, () => {})
  return source
}
async function nearest(rig: Rig, vectors: VectorIndex, project: Owned, query: string, embedder?: Embedder) {
  const deps = { sql: rig.sql, clock: systemClock, log: quietLog, embedder: embedder ?? wordEmbedder(), vectors }
  const { vectors: found } = await rankedLists(deps, { ...project, query, limit: 5, signal: never, deadlineMs: 60_000 })
  return found!
}
async function prepare(rig: Rig, vectors: Vectors, embedder: Embedder = wordEmbedder()) {
  await vectors.prepare(await ensureModel(rig.sql, embedder.model, embedder.dimensions), never)
}

it('leaves all to the thread where the server has no pgvector, and says so once', async () => {
  const rig = await createRig()
  const told: string[] = []
  const vectors = createVectors({ sql: rig.sql, log: keepingLog(told) })
  try {
    const [server] = await rig.sql`select 1 from pg_available_extensions where name = 'vector'`
    const project = await rig.addProject()
    const source = await embedded(rig, project, ['red fox', 'blue whale'])
    for (let i = 0; i < 2; i++) await prepare(rig, vectors)
    expect((await nearest(rig, vectors, project, 'blue whale'))[0]).toMatchObject({ source_id: source.id, ordinal: 1 })
    if (!server) {
      expect(told).toEqual(['pgvector is not installed; knowledge vectors are searched in this process'])
    }
  } finally {
    await vectors.close()
    await rig.close()
  }
})

const keepingLog = (told: string[]): Log => ({
  ...quietLog,
  info: (...args: unknown[]) => void told.push(String(args.at(-1))),
})

describe.skipIf(typeof native !== 'string')('with pgvector', () => {
  let folder: string
  let postgres: EmbeddedPostgres
  let rig: Rig
  let thread: VectorIndex
  let vectors: Vectors

  async function makeDatabase(owner?: string): Promise<{ url: string; drop(): Promise<void> }> {
    const name = `test_${randomUUID().replaceAll('-', '')}`
    const admin = connect({ url: postgres.url, max: 1 })
    await admin.unsafe(`create database ${name}${owner ? ` owner ${owner}` : ''}`)
    await admin.end()
    const url = new URL(postgres.url)
    url.pathname = `/${name}`
    return { url: url.href, drop: async () => {} }
  }
  const rowsIn = async (sql: Sql, source: Source): Promise<number> => {
    const [row] = await sql<[{ rows: number }]>`
      select count(*)::int as rows from knowledge_pgvectors where source_id = ${source.id}`
    return row.rows
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-pgvector-'))
    await chmod(folder, 0o755)
    postgres = await startPostgres({
      ...{ folder: join(folder, 'postgres'), logFile: join(folder, 'postgres.log'), port: randomInt(33_000, 60_000) },
      ...{ throwaway: true, native: native as string, tell: text => console.error(text) },
    })
    const database = await makeDatabase()
    await migrate({ url: database.url })
    rig = await createRig(database)
    thread = createVectorIndex({ sql: rig.sql, log: quietLog })
    vectors = createVectors({ sql: rig.sql, log: quietLog })
    await prepare(rig, vectors)
  })
  afterAll(async () => {
    await Promise.all([thread?.close(), vectors?.close()])
    await rig?.close()
    await postgres?.child.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** As a list of places and scores; both sum the same whole numbers, only the last bits of a float32 differ. */
  async function expectSame(project: Owned, query: string, embedder?: Embedder): Promise<void> {
    const [exact, found] = [
      await nearest(rig, thread, project, query, embedder),
      await nearest(rig, vectors, project, query, embedder),
    ]
    expect(found.map(({ score }) => score.toFixed(4))).toEqual(exact.map(({ score }) => score.toFixed(4)))
    const scores = new Map(exact.map(one => [`${one.source_id}:${one.ordinal}`, one.score]))
    for (const { source_id, ordinal, score } of found) {
      expect(scores.get(`${source_id}:${ordinal}`)).toBeCloseTo(score, 5)
    }
  }

  it('gives the scores of the thread, as sources come, change, and go', async () => {
    const project = await rig.addProject()
    const one = await embedded(rig, project, ['red fox', 'blue whale', 'red panda'])
    await expectSame(project, 'red panda')
    expect(await rowsIn(rig.sql, one)).toBe(3)
    const two = await embedded(rig, project, ['grey wolf', 'red panda cub'])
    await expectSame(project, 'red panda cub')
    expect(await rowsIn(rig.sql, two)).toBe(2)
    await putChunks(rig.sql, one, ['green frog', 'red fox'])
    expect(await rowsIn(rig.sql, one)).toBe(0)
    await embedMissing({ sql: rig.sql, embedder: wordEmbedder() }, one, never, () => {})
    await expectSame(project, 'green frog')
    expect(await rowsIn(rig.sql, one)).toBe(2)
    await rig.sql`update knowledge_sources set status = 'indexing' where id = ${one.id}`
    await expectSame(project, 'red fox')
    await rig.sql`delete from knowledge_sources where id = ${two.id}`
    expect(await rowsIn(rig.sql, two)).toBe(0)
    expect(await nearest(rig, vectors, project, 'grey wolf')).toEqual([])
  })

  it('never gives those of another project, another owner or another model', async () => {
    const [mine, other] = [await rig.addProject(), await rig.addProject()]
    const fresh = wordEmbedder({ model: 'words-2', dimensions: 40 })
    const source = await embedded(rig, mine, ['red fox', 'blue whale'])
    await embedded(rig, other, ['red fox cub'])
    const found = await nearest(rig, vectors, mine, 'red fox cub')
    expect(found.map(({ source_id }) => source_id)).toEqual([source.id, source.id])
    const [modelId, revision] = [await ensureModel(rig.sql, 'words-1', 64), 99n]
    const asked = { ownerId: other.ownerId, projectId: mine.projectId, modelId, dimensions: 64, revision }
    await vectors.refresh(asked)
    expect(await vectors.search(asked, new Float32Array(64).fill(0.125), 5)).toEqual([])
    expect(await nearest(rig, vectors, mine, 'red fox', fresh)).toEqual([])
    await embedStale({ sql: rig.sql, embedder: fresh }, never)
    await expectSame(mine, 'red fox', fresh)
    expect(await rowsIn(rig.sql, source)).toBe(2)
  })

  it('copies all that is not there yet as it is prepared, but projects that are too large', async () => {
    const [small, large] = [await rig.addProject(), await rig.addProject()]
    const texts = (count: number) => Array.from({ length: count }, (_, i) => `thing ${i}`)
    const [few, many] = [await embedded(rig, small, texts(20)), await embedded(rig, large, texts(21))]
    const tight = createVectors({ sql: rig.sql, log: quietLog }, { mostInTable: 20 })
    try {
      await prepare(rig, tight)
      expect([await rowsIn(rig.sql, few), await rowsIn(rig.sql, many)]).toEqual([20, 0])
      for (const project of [small, large]) {
        expect((await nearest(rig, tight, project, 'thing 7'))[0]).toMatchObject({ ordinal: 7 })
      }
      expect(await rowsIn(rig.sql, many)).toBe(0)
    } finally {
      await tight.close()
    }
  })

  it('finds the same first five for the questions of the corpus', async () => {
    const embedder = wordEmbedder({ model: 'words-3', dimensions: 384 })
    const project = await rig.addProject()
    const corpus = readCorpus()
    for (const page of corpus.pages) {
      const source = await rig.addSource(project, { name: page.title! })
      const chunks = chunkPages([page])
      await putChunks(rig.sql, source, chunks)
      await embedMissing({ sql: rig.sql, embedder }, source, never, () => {})
    }
    let same = 0
    for (const { text } of corpus.questions) {
      const lists = []
      for (const index of [thread, vectors]) lists.push(await nearest(rig, index, project, text, embedder))
      const [exact, found] = lists.map(list =>
        list
          .slice(0, 5)
          .map(one => `${one.source_id}:${one.ordinal}`)
          .sort(),
      )
      if (exact!.join() === found!.join()) same++
    }
    const [{ rows }] = await rig.sql<[{ rows: number }]>`
      select count(*)::int as rows from knowledge_pgvectors
      where source_id in (select id from knowledge_sources where project_id = ${project.projectId})`
    expect(rows).toBeGreaterThan(corpus.pages.length)
    expect(same / corpus.questions.length).toBeGreaterThanOrEqual(0.95)
  }, 300_000)

  it('searches a column of whole floats too, as older versions of pgvector have it', async () => {
    const project = await rig.addProject()
    await rig.sql`alter table knowledge_pgvectors alter embedding type vector using embedding::vector`
    const older = createVectors({ sql: rig.sql, log: quietLog })
    try {
      await prepare(rig, older)
      const source = await embedded(rig, project, ['red fox', 'blue whale'])
      expect((await nearest(rig, older, project, 'blue whale'))[0]!.score).toBeCloseTo(1, 2)
      expect(await rowsIn(rig.sql, source)).toBe(2)
    } finally {
      await older.close()
      await rig.sql`alter table knowledge_pgvectors alter embedding type halfvec using embedding::halfvec`
    }
  })

  it('goes on with the thread when the extension is taken away, and comes back with it', async () => {
    const project = await rig.addProject()
    const source = await embedded(rig, project, ['red fox', 'blue whale'])
    expect(await nearest(rig, vectors, project, 'red fox')).toHaveLength(2)
    await rig.sql`drop extension vector cascade`
    expect(await nearest(rig, vectors, project, 'red fox')).toHaveLength(2)
    await prepare(rig, vectors)
    expect(await rowsIn(rig.sql, source)).toBe(2)
    await expectSame(project, 'red fox')
  })

  it('may be without the right to create it, and uses it once somebody has, in whatever schema', async () => {
    const admin = connect({ url: postgres.url, max: 1 })
    await admin.unsafe(`create role modest login password 'modest'`)
    await admin.end()
    const database = await makeDatabase('modest')
    const url = Object.assign(new URL(database.url), { username: 'modest', password: 'modest' }).href
    await migrate({ url })
    const modest = await createRig({ url, drop: async () => {} })
    const told: string[] = []
    const index = createVectors({ sql: modest.sql, log: keepingLog(told) })
    const boss = connect({ url: database.url, max: 1 })
    try {
      const project = await modest.addProject()
      const source = await embedded(modest, project, ['red fox', 'blue whale'])
      for (let i = 0; i < 2; i++) await prepare(modest, index)
      expect(told).toEqual(['pgvector cannot be used; knowledge vectors are searched in this process'])
      expect(await nearest(modest, index, project, 'red fox')).toHaveLength(2)
      await boss`create schema "Of others"`
      await boss`grant usage on schema "Of others" to public`
      await boss`create extension vector schema "Of others"`
      await prepare(modest, index)
      expect(await rowsIn(modest.sql, source)).toBe(2)
      expect((await nearest(modest, index, project, 'blue whale'))[0]).toMatchObject({ ordinal: 1 })
      expect(told.at(-1)).toBe('knowledge vectors are searched in pgvector')
    } finally {
      await boss.end()
      await index.close()
      await modest.close()
    }
  })
})
