/** The indexing job: its outcomes, its claims, and that a kill at any point only costs time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Deps } from '../../../control/deps.ts'
import { KnowledgeError, SliceSpent } from '../../../control/knowledge/documents/types.ts'
import { createVectorIndex } from '../../../control/knowledge/index/vectors.ts'
import { createIndexer, LONGEST_MS, MOST_CHUNKS } from '../../../control/knowledge/indexing.ts'
import { removeSource } from '../../../control/knowledge/service.ts'
import { createBoss, installQueues, startWorkers, type Workers } from '../../../control/platform/jobs/jobs.ts'
import { createFolderBlobs } from '../../../infra/adapters/blobs.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { quietLog, until } from '../../support/world.ts'
import type { IndexProcess } from './index-process.ts'
import { type Changed, fakeEmbedder, fakeExtractor, hang, longText, onlyIndexing, pageOf } from './rig.ts'

let control: TestControl
let owner: Tenant
let folder: string
const closers: (() => unknown)[] = []
beforeAll(async () => {
  control = await createControl()
  await installQueues(control.deps.boss)
  owner = await createTenant(control)
  folder = await mkdtemp(join(tmpdir(), 'parley-knowledge-'))
  control.deps.blobs = createFolderBlobs(join(folder, 'blobs'))
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await control.deps.sql`delete from knowledge_sources`
  await control.deps.sql`delete from parley_jobs.job`
})
afterAll(async () => {
  await control?.close()
  await rm(folder, { recursive: true, force: true })
})

const withParts = (changed: Changed): Deps => ({
  ...control.deps,
  knowledge: { ...control.deps.knowledge!, ...changed },
})
async function work(deps: Deps): Promise<Workers> {
  const indexer = createIndexer(deps)
  const workers = await startWorkers(
    deps,
    onlyIndexing(job => indexer.run(job)),
  )
  closers.push(async () => {
    indexer.stop()
    await workers.stop()
  })
  return workers
}

/** The job is that of long work, which indexes a source of any size. */
async function add(tenant: Tenant, body: object) {
  const answer = await tenant.call('POST', `/projects/${tenant.projectId}/knowledge`, body)
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return { owner_id: tenant.ownerId, source_id: answer.body.id as string, long: true }
}
const text = (content = `Some words. ${randomUUID()}`) => ({ type: 'text', content })
const stateOf = async (id: string) => {
  const [row] = await control.deps.sql`select * from knowledge_sources where id = ${id}`
  return row
}
const seen = async (tenant: Tenant, id: string) =>
  (await tenant.call('GET', `/projects/${tenant.projectId}/knowledge`)).body.items.find(
    (one: { id: string }) => one.id === id,
  )
const temp = () => readdir(control.deps.knowledge!.temp).catch(() => [])

describe('a source', () => {
  test('fails at once with code and message, and is retried when added again', async () => {
    const encrypted = fakeExtractor(() =>
      Promise.reject(new KnowledgeError('encrypted', 'The document is protected by a password.')),
    )
    const body = text()
    const job = await add(owner, body)
    await createIndexer(withParts({ extractor: encrypted })).run(job)
    expect(await seen(owner, job.source_id)).toMatchObject({
      status: 'error',
      error: { code: 'encrypted', message: 'The document is protected by a password.' },
    })
    await createIndexer(withParts({})).run(job) // a job that is delivered twice
    expect(await stateOf(job.source_id)).toMatchObject({ status: 'error', attempt: 1 })
    expect(await add(owner, body)).toEqual(job)
    expect(await seen(owner, job.source_id)).toMatchObject({ status: 'pending', error: null, chunks: 0, pages: 0 })
    await createIndexer(withParts({})).run(job)
    expect(await seen(owner, job.source_id)).toMatchObject({ status: 'ready', error: null, chunks: 1 })
  })

  test('is retried after internal errors, and fails in the end', async () => {
    let trouble = 2
    const extractor = fakeExtractor(async () => {
      if (trouble-- > 0) throw new Error('the database is away')
      return pageOf('Words at last.')
    })
    const job = await add(owner, text())
    const indexer = createIndexer(withParts({ extractor }))
    await expect(indexer.run(job)).rejects.toThrow('the database is away')
    await expect(indexer.run(job)).rejects.toThrow('the database is away')
    expect((await seen(owner, job.source_id)).status).toBe('indexing')
    await indexer.run(job)
    expect((await seen(owner, job.source_id)).status).toBe('ready')

    const lost = await add(owner, text())
    await control.deps.sql`update knowledge_sources set tries = 11 where id = ${lost.source_id}`
    trouble = 1
    await indexer.run(lost)
    expect((await seen(owner, lost.source_id)).error).toEqual({ code: 'internal', message: expect.any(String) })
    // Killed each time, it never comes as far as to say what is wrong.
    const deadly = await add(owner, text())
    await control.deps.sql`update knowledge_sources set tries = 12 where id = ${deadly.source_id}`
    await indexer.run(deadly)
    expect((await seen(owner, deadly.source_id)).error.code).toBe('internal')
  })

  test('reports a source without text', async () => {
    const job = await add(owner, text())
    await createIndexer(withParts({ extractor: fakeExtractor(async () => pageOf()) })).run(job)
    expect((await seen(owner, job.source_id)).error.code).toBe('no_text')
  })

  test('keeps chunks when embedding fails, and resumes with the missing vectors', async () => {
    const asked: number[] = []
    let broken = true
    const embedder = fakeEmbedder(texts => {
      asked.push(texts.length)
      if (broken && asked.length === 2) throw new Error('the endpoint is away')
    })
    const job = await add(owner, text(longText(40)))
    const indexer = createIndexer(withParts({ embedder }))
    await expect(indexer.run(job)).rejects.toThrow()
    const { chunks } = await seen(owner, job.source_id)
    expect(chunks).toBeGreaterThan(35)
    broken = false
    await indexer.run(job)
    expect((await seen(owner, job.source_id)).status).toBe('ready')
    expect(asked[0]! + asked.slice(2).reduce((sum, count) => sum + count, 0)).toBe(chunks)
  })

  test('limits reading to 30 minutes, and embedding not at all', async () => {
    let late = () => {}
    const { clock } = control.deps
    const after: typeof clock.after = (ms, run) => {
      if (ms !== LONGEST_MS) return clock.after(ms, run)
      late = run
      return () => {
        late = () => {}
      }
    }
    const during = (changed: Changed): Deps => ({ ...withParts(changed), clock: { ...clock, after } })
    const read = await add(owner, text())
    const slow = fakeExtractor((_, signal) => {
      late()
      return hang(signal)
    })
    await createIndexer(during({ extractor: slow })).run(read)
    expect((await seen(owner, read.source_id)).error.code).toBe('timeout')
    const embedded = await add(owner, text())
    await createIndexer(during({ embedder: fakeEmbedder(() => late()) })).run(embedded)
    expect((await seen(owner, embedded.source_id)).status).toBe('ready')
  })

  test('is rejected above the chunk limit', async () => {
    const blocks = Array.from({ length: MOST_CHUNKS + 1 }, (_, i) => [
      { heading: 1 + (i % 2), text: `Part ${i}` },
      { heading: 0, text: 'x' },
    ])
    const job = await add(owner, text())
    const extractor = fakeExtractor(async () => ({ ...pageOf(), blocks: blocks.flat() }))
    await createIndexer(withParts({ extractor })).run(job)
    expect((await seen(owner, job.source_id)).error.code).toBe('too_complex')
  })

  test('writes chunks in short transactions, so that deletion does not wait', async () => {
    const { sql } = control.deps
    const lock = 20_260_801
    await sql.unsafe(`
      create function hold_chunk() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(${lock}); return new; end $$;
      create trigger hold_chunk before insert on knowledge_chunks
        for each row when (new.ordinal = 450) execute function hold_chunk()`)
    closers.push(() => sql.unsafe('drop function hold_chunk cascade'))
    const job = await add(owner, text())
    const sentence = 'The room has a view of the garden and of the sea beyond it. '
    const extractor = fakeExtractor(async () => pageOf(...Array.from({ length: 600 }, () => sentence.repeat(15))))
    const run = await sql.begin(async tx => {
      await tx`select pg_advisory_xact_lock(${lock})`
      const running = createIndexer(withParts({ extractor })).run(job)
      const written = async () =>
        (await sql`select 1 from knowledge_chunks where source_id = ${job.source_id}`).length === 400
      await until(written, 'what was written before', 30_000)
      expect(await seen(owner, job.source_id)).toMatchObject({ status: 'indexing' })
      return { running }
    })
    await removeSource(control.deps, owner.ownerId, owner.projectId, job.source_id)
    await run.running
    expect(await sql`select 1 from knowledge_chunks where source_id = ${job.source_id}`).toHaveLength(0)
  })

  test('shows progress by page', async () => {
    const pages: Record<string, string> = {
      '/': '<p>We are a small hotel by the sea.</p><a href="/rooms">Rooms</a> <a href="/pets">Pets</a> <a href="/old">Old</a> <a href="http://b.example/">B</a>',
      '/rooms': '<h1>Rooms</h1><p>Every room has a balcony.</p>',
      '/pets': '<h1>Pets</h1><p>Dogs sleep here for ten euros.</p>',
    }
    const server = createServer((incoming, response) => {
      const page = pages[incoming.url!]
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
      response.end(
        page ? `<!doctype html><html><head><title>Hotel</title></head><body><main>${page}</main></body></html>` : 'no',
      )
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const job = await add(owner, { type: 'url', url: `http://127.0.0.1:${port}/`, crawl: true, max_pages: 5 })
    const { name } = await seen(owner, job.source_id)
    expect(name).toBe(`127.0.0.1:${port}`)
    const shown: number[] = []
    const { sql } = control.deps
    const watching = until(
      async () => {
        const row = await stateOf(job.source_id)
        if (shown.at(-1) !== row!['pages']) shown.push(row!['pages'] as number)
        return row!['status'] === 'ready'
      },
      'the site',
      60_000,
    )
    await createIndexer(withParts({})).run(job)
    await watching
    expect(shown).toEqual([0, 1, 2, 3])
    const texts = await sql<{ text: string; url: string }[]>`
      select text, url from knowledge_chunks where source_id = ${job.source_id} order by ordinal`
    expect(texts.map(({ url }) => new URL(url).pathname)).toEqual(['/', '/rooms', '/pets'])
    expect(texts[2]!.text).toContain('ten euros')
    expect((await seen(owner, job.source_id)).skipped).toEqual([
      { reason: 'not_found', count: 1 },
      { reason: 'off_site', count: 1 },
    ])
  }, 180_000)
})

test('preloads the index when something can be found', async () => {
  const done: string[] = []
  const embedder = { ...fakeEmbedder(), warm: async () => void done.push('warm') }
  const vectors = createVectorIndex({ sql: control.deps.sql, log: quietLog })
  closers.push(() => vectors.close())
  const indexer = createIndexer(withParts({ embedder, vectors }))
  const job = await add(owner, text())
  await indexer.refresh()
  expect(done).toEqual([])
  await indexer.run(job)
  await indexer.refresh()
  expect(done).toEqual(['warm'])
})

describe('a run', () => {
  /** Hangs in the extractor; resolves when it is there. */
  function hanging(): { deps: Deps; there: Promise<AbortSignal> } {
    let arrive: (signal: AbortSignal) => void
    const there = new Promise<AbortSignal>(resolve => (arrive = resolve))
    const extractor = fakeExtractor((_, signal) => {
      arrive(signal)
      return hang(signal)
    })
    return { deps: withParts({ extractor }), there }
  }

  test('stops when its source is deleted, here at once, elsewhere soon', async () => {
    for (const elsewhere of [false, true]) {
      const { deps, there } = hanging()
      const job = await add(owner, text())
      const run = createIndexer(deps).run(job)
      const signal = await there
      if (elsewhere) await control.deps.sql`delete from knowledge_sources where id = ${job.source_id}`
      else await removeSource(deps, owner.ownerId, owner.projectId, job.source_id)
      if (!elsewhere) expect(signal.aborted).toBe(true)
      await run
      expect(signal.aborted).toBe(true)
      expect(await stateOf(job.source_id)).toBeUndefined()
      expect(await temp()).toEqual([])
    }
  })

  test('writes nothing after losing its claim', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => (release = resolve))
    let arrive = () => {}
    const there = new Promise<void>(resolve => (arrive = resolve))
    const extractor = fakeExtractor(async () => {
      arrive()
      await gate // without speech-to-text to its signal, as a process is that was stopped and wakes up
      return pageOf('Words of the zombie.')
    })
    const job = await add(owner, text())
    const zombie = createIndexer(withParts({ extractor })).run(job)
    await there
    await createIndexer(withParts({ extractor: fakeExtractor(async () => pageOf('Words of the living.')) })).run(job)
    release()
    await zombie
    expect(await stateOf(job.source_id)).toMatchObject({ status: 'ready', attempt: 2, chunks: 1 })
    const chunks = await control.deps.sql`select text from knowledge_chunks where source_id = ${job.source_id}`
    expect(chunks).toEqual([{ text: 'Words of the living.' }])
  })

  test('returns the job at shutdown without counting the attempt', async () => {
    const { deps, there } = hanging()
    const job = await add(owner, text())
    const indexer = createIndexer(deps)
    const run = indexer.run(job)
    await there
    indexer.stop()
    await expect(run).rejects.toThrow('the process is shutting down')
    await expect(indexer.run(job)).rejects.toThrow('the process is shutting down')
    expect(await stateOf(job.source_id)).toMatchObject({ status: 'indexing', tries: 0 })
    await createIndexer(withParts({})).run(job)
    expect((await stateOf(job.source_id))!['status']).toBe('ready')
  })

  test('runs once per owner, without blocking other owners', async () => {
    const other = await createTenant(control)
    const running = new Map<string, number>()
    let most = 0
    let release = () => {}
    const gate = new Promise<void>(resolve => (release = resolve))
    const extractor = fakeExtractor(async input => {
      const [, id] = /index-([0-9a-f-]{36})/.exec('file' in input ? input.file : '')!
      const { owner_id } = (await stateOf(id!)) as unknown as { owner_id: string }
      running.set(owner_id, (running.get(owner_id) ?? 0) + 1)
      most = Math.max(most, ...running.values())
      if (owner_id === owner.ownerId) await gate
      running.set(owner_id, running.get(owner_id)! - 1)
      return pageOf('Words.')
    })
    const [first, second] = [await add(owner, text()), await add(owner, text())]
    await work(withParts({ extractor }))
    closers.push(release)
    await until(() => running.get(owner.ownerId), 'the first to begin', 30_000)
    const third = await add(other, text())
    await until(async () => (await stateOf(third.source_id))!['status'] === 'ready', 'the other owner', 30_000)
    release()
    for (const { source_id } of [first, second])
      await until(async () => (await stateOf(source_id))!['status'] === 'ready', 'both', 30_000)
    expect(most).toBe(1)
  }, 180_000)
})

describe('the first slice', () => {
  const queuedLong = (id: string) => control.deps.sql`
    select 1 from parley_jobs.job where name = 'knowledge.long' and data->>'source_id' = ${id} and state = 'created'`

  test('leaves a long document to the queue of long work, which reads the rest', async () => {
    const parts: unknown[] = []
    const extractor = fakeExtractor(async (_, __, turn) => {
      parts.push(turn)
      if (turn?.part === 'first') throw new SliceSpent()
      return pageOf('Words at last.')
    })
    const { long: _, ...first } = await add(owner, text())
    const indexer = createIndexer(withParts({ extractor }))
    await indexer.run(first)
    expect(await stateOf(first.source_id)).toMatchObject({ status: 'indexing', tries: 0 })
    expect(await queuedLong(first.source_id)).toHaveLength(1)
    await indexer.run({ ...first, long: true })
    expect(await stateOf(first.source_id)).toMatchObject({ status: 'ready' })
    expect(parts).toEqual([
      { owner: owner.ownerId, part: 'first' },
      { owner: owner.ownerId, part: 'rest' },
    ])
  })

  test('embeds some passages, and leaves many to long work, which does not read again', async () => {
    let read = 0
    const extractor = fakeExtractor(async () => {
      read++
      return pageOf(...longText(60).split('\n\n'))
    })
    const embedder = fakeEmbedder()
    const { long: _, ...first } = await add(owner, text())
    const indexer = createIndexer(withParts({ extractor, embedder }))
    await indexer.run(first)
    expect(await stateOf(first.source_id)).toMatchObject({ status: 'indexing', chunked: true, tries: 0 })
    expect(await queuedLong(first.source_id)).toHaveLength(1)
    await indexer.run({ ...first, long: true })
    expect([(await stateOf(first.source_id))!['status'], read]).toEqual(['ready', 1])
  })

  test('leaves sites and very long texts to long work', async () => {
    const site = await add(owner, { type: 'url', url: 'http://127.0.0.1:9/' })
    expect(await queuedLong(site.source_id)).toHaveLength(1)
    const indexer = createIndexer(withParts({ extractor: fakeExtractor(async () => pageOf('x'.repeat(1_000_001))) }))
    const { long: _, ...huge } = await add(owner, text())
    await indexer.run(huge)
    expect(await queuedLong(huge.source_id)).toHaveLength(1)
  })

  test('of a newcomer comes before what twenty owners have queued', async () => {
    const heavy = await Promise.all(Array.from({ length: 20 }, () => createTenant(control)))
    const theirs = new Set(heavy.map(({ ownerId }) => ownerId))
    const extractor = fakeExtractor(async (_, signal, turn) => {
      if (!theirs.has(turn!.owner)) return pageOf('Words.')
      if (turn!.part !== 'first') return hang(signal)
      await new Promise(resolve => setTimeout(resolve, 200))
      throw new SliceSpent()
    })
    for (const tenant of heavy) for (let i = 0; i < 3; i++) await add(tenant, text())
    await work(withParts({ extractor }))
    await until(
      async () => (await control.deps.sql`select 1 from knowledge_sources where attempt > 1`).length >= 20,
      'long work of all',
      60_000,
    )
    for (let i = 0; i < 3; i++) {
      const newcomer = await createTenant(control)
      const startMs = performance.now()
      const { source_id } = await add(newcomer, text())
      await until(async () => (await stateOf(source_id))!['status'] === 'ready', 'the newcomer', 30_000)
      expect(performance.now() - startMs).toBeLessThan(10_000)
    }
  }, 180_000)

  test('comes first when it is small, and by owners before their own queue', async () => {
    const other = await createTenant(control)
    const job = async (id: string) => {
      const [row] = await control.deps.sql<{ priority: number; group_id: string }[]>`
        select priority, group_id from parley_jobs.job where name = 'knowledge.index' and data->>'source_id' = ${id}`
      return row!
    }
    const big = await job((await add(owner, text('Words of a long text. '.repeat(12_000)))).source_id)
    const second = await job((await add(owner, text())).source_id)
    const small = await job((await add(other, text())).source_id)
    expect(small.priority).toBe(-1)
    expect(big.priority).toBeLessThan(small.priority)
    expect(second.priority).toBeLessThan(small.priority)
    expect(small.group_id).toBe(other.ownerId)
  })
})

describe('kill -9', () => {
  async function killed(hangs: IndexProcess['hangs']): Promise<void> {
    const task: IndexProcess = {
      databaseUrl: control.databaseUrl,
      blobs: join(folder, 'blobs'),
      temp: control.deps.knowledge!.temp,
      hangs,
    }
    const file = join(import.meta.dirname, 'index-process.ts')
    const child: ChildProcess = spawn(process.execPath, [file, JSON.stringify(task)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    closers.push(() => child.kill('SIGKILL'))
    for await (const line of createInterface({ input: child.stdout! })) if (line === hangs) break
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  /** Another process takes over when the dead one has been silent for long enough, which is not waited for here. */
  async function takeOver(parts: Changed): Promise<void> {
    const { sql } = control.deps
    const silent = await sql`
      update parley_jobs.job set heartbeat_on = heartbeat_on - interval '11 seconds'
      where name in ('knowledge.index', 'knowledge.long') and state = 'active' and heartbeat_seconds = 10 returning 1`
    expect(silent).toHaveLength(1)
    const boss = createBoss({ url: control.databaseUrl, max: 3, log: quietLog, supervise: false })
    await boss.start()
    closers.push(() => boss.stop({ graceful: false }))
    await sql`update parley_jobs.queue set monitor_claim_on = null`
    await boss.supervise('knowledge.index')
    await boss.supervise('knowledge.long')
    await work({ ...withParts(parts), boss })
  }

  const ready = (id: string) =>
    until(async () => (await stateOf(id))!['status'] === 'ready' && stateOf(id), 'the job to go on', 30_000)

  test('resumes embedding after kill -9 without duplicates', async () => {
    const job = await add(owner, text(longText(40)))
    await killed('embedding')
    const { sql } = control.deps
    const chunksOf = () => sql`
      select id, ordinal from knowledge_chunks where source_id = ${job.source_id} order by ordinal`
    const vectorsOf = async () =>
      (await sql`select ordinal from knowledge_vectors where source_id = ${job.source_id}`).length
    const before = await chunksOf()
    // The first attempt left so many passages to the queue of long work.
    expect(await stateOf(job.source_id)).toMatchObject({ status: 'indexing', attempt: 2, chunks: before.length })
    expect(await vectorsOf()).toBe(32)
    let embedded = 0
    const count = (texts: readonly string[]) => {
      embedded += texts.length
    }
    await takeOver({ embedder: fakeEmbedder(count) })
    expect(await ready(job.source_id)).toMatchObject({ attempt: 3, chunks: before.length })
    expect(await chunksOf()).toEqual(before)
    expect(await vectorsOf()).toBe(before.length)
    expect(embedded).toBe(before.length - 32)
  }, 180_000)

  test('rereads a document after kill -9, and removes temporary files', async () => {
    const job = await add(owner, text('Words that are read twice.'))
    await killed('extracting')
    expect(await temp()).toHaveLength(1)
    await takeOver({ embedder: fakeEmbedder() })
    expect(await ready(job.source_id)).toMatchObject({ attempt: 2, chunks: 1, pages: 1 })
    await until(async () => (await temp()).length === 0, 'the folder to be empty')
  }, 180_000)
})
