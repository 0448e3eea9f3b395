import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Embedder } from '../../../../control/knowledge/documents/types.ts'
import { embedMissing, embedStale } from '../../../../control/knowledge/index/embed.ts'
import { rankedLists, type SearchDeps, searchKnowledge } from '../../../../control/knowledge/index/search.ts'
import { createVectorIndex, type VectorIndex } from '../../../../control/knowledge/index/vectors.ts'
import { systemClock } from '../../../../infra/adapters/clock.ts'
import { quietLog } from '../../../support/world.ts'
import { createRig, putChunks, type Rig, type Source, vectorOf, wordEmbedder } from './rig.ts'

let rig: Rig
let vectors: VectorIndex
const never = new AbortController().signal
/** Nothing is late in tests unless it is meant to be. */
const deadlineMs = 20_000

beforeAll(async () => {
  rig = await createRig()
  vectors = createVectorIndex({ sql: rig.sql, log: quietLog })
})
afterAll(async () => {
  await vectors.close()
  await rig.close()
})

const depsWith = (embedder: Embedder | null): SearchDeps => ({
  sql: rig.sql,
  clock: systemClock,
  log: quietLog,
  embedder,
  vectors: embedder ? vectors : null,
})
const find = (deps: SearchDeps, of: { ownerId: string; projectId: string }, query: string, limit = 5) =>
  searchKnowledge(deps, { ...of, query, limit, signal: never, deadlineMs })
const textsOf = (found: { text: string }[]) => found.map(({ text }) => text)

describe('full text', () => {
  it('finds inflected words in both languages, whatever the case, ё and punctuation', async () => {
    const project = await rig.addProject()
    const source = await rig.addSource(project, { name: 'Правила' })
    await putChunks(rig.sql, source, [
      'Самолётами багаж не отправляем, только поездами и машинами.',
      'Возврат товара возможен в течение четырнадцати дней после покупки.',
      'Deliveries to other cities are made by courier companies twice a week.',
      { heading: 'Оплата › Рассрочка', text: 'Первый взнос не нужен.', url: 'https://example.com/pay' },
    ])
    const deps = depsWith(null)
    expect((await find(deps, project, 'А отправляете ли САМОЛЕТОМ?'))[0]?.text).toContain('Самолётами')
    expect((await find(deps, project, 'как мне вернуть товары, если купил вчера'))[0]?.text).toContain('Возврат')
    expect((await find(deps, project, 'hello, do you deliver to another city by a courier'))[0]?.text).toContain(
      'courier',
    )
    const [paid] = await find(deps, project, 'есть рассрочка?')
    expect(paid).toEqual({
      chunk_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      source_id: source.id,
      source: 'Правила',
      heading: 'Оплата › Рассрочка',
      text: 'Первый взнос не нужен.',
      url: 'https://example.com/pay',
      score: 1,
    })
  })

  it('returns passages in source order with the following chunk', async () => {
    const project = await rig.addProject()
    const pieces = ['The harbour opened.', 'The harbour has a crane and boats.', 'Boats pay at the harbour.']
    await putChunks(rig.sql, await rig.addSource(project), [
      ...pieces.map(text => ({ heading: 'Harbour', text })),
      { heading: 'Market', text: 'Cheese and bread, and none of the boats of the old town is far.' },
    ])
    const found = await find(depsWith(null), project, 'boats in the harbour')
    expect(found.map(({ heading }) => heading)).toEqual(['Harbour', 'Harbour', 'Harbour', 'Market'])
    const scores = found.map(({ score }) => score)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  it('finds words next to punctuation of other scripts', async () => {
    const project = await rig.addProject()
    await putChunks(rig.sql, await rig.addSource(project), [
      'Гостиница «Прибой» стоит у моря—пляж в двух шагах, дом №7.',
      'We call it the “Lighthouse” suite…breakfast is 12€ and the guest’s dog is welcome.',
    ])
    for (const query of ['прибой', 'пляж', 'дом 7']) {
      expect((await find(depsWith(null), project, query))[0]?.text, query).toContain('Прибой')
    }
    for (const query of ['lighthouse', 'breakfast', '12 euro', 'a guest', "guest's"]) {
      expect((await find(depsWith(null), project, query))[0]?.text, query).toContain('Lighthouse')
    }
  })

  it('returns nothing for unmatched, blank or punctuation-only queries', async () => {
    const project = await rig.addProject()
    await putChunks(rig.sql, await rig.addSource(project), ['Only parrots are sold here.'])
    for (const query of ['elephants', '   ', '?!', "' | & ! ( ) :* <->", '\\']) {
      expect(await find(depsWith(null), project, query), query).toEqual([])
    }
    expect(await find(depsWith(null), await rig.addProject(), 'parrots')).toEqual([])
  })

  it('treats quotes and backslashes literally', async () => {
    const project = await rig.addProject()
    const source = await rig.addSource(project)
    await putChunks(rig.sql, source, ["O'Brien's shop is at C:\\shops\\brien and at http://a.example/it's?q='x'"])
    expect(await find(depsWith(null), project, "where is O'Brien's")).toHaveLength(1)
    expect(await find(depsWith(null), project, "http://a.example/it's?q='x'")).toHaveLength(1)
  })

  it('weighs rare words more than common ones', async () => {
    const project = await rig.addProject()
    const common = Array.from(
      { length: 60 },
      (_, i) => `The delivery price is listed in the table of delivery prices ${i}.`,
    )
    await putChunks(rig.sql, await rig.addSource(project), [...common, 'A piano needs four men.'])
    const [first] = await find(depsWith(null), project, 'what is the delivery price for a piano')
    expect(first?.text).toContain('piano')
  })

  it('uses pairs of common words when no rare one matches', async () => {
    const project = await rig.addProject()
    const source = await rig.addSource(project)
    const fill = Array.from({ length: 2400 }, (_, i) => (i % 2 ? `green apples lot ${i}` : `yellow pears lot ${i}`))
    await putChunks(rig.sql, source, [...fill, 'green pears'])
    const found = await find(depsWith(null), project, 'green pears')
    expect(found[0]?.text).toBe('green pears')
  })

  it('is not displaced by a source that is not ready', async () => {
    const project = await rig.addProject()
    const coming = await rig.addSource(project, { status: 'indexing' })
    await putChunks(
      rig.sql,
      coming,
      Array.from({ length: 1000 }, (_, i) => `The ferry number ${i} leaves at noon.`),
    )
    await putChunks(rig.sql, await rig.addSource(project), ['The ferry goes to the island.'])
    expect(textsOf(await find(depsWith(null), project, 'when does the ferry leave'))).toEqual([
      'The ferry goes to the island.',
    ])
  })

  it('never returns other projects, other owners or unready sources', async () => {
    const [mine, other] = [await rig.addProject(), await rig.addProject()]
    await putChunks(rig.sql, await rig.addSource(mine), ['The zebra lives here.'])
    await putChunks(rig.sql, await rig.addSource(other), ['The zebra lives there.'])
    await putChunks(rig.sql, await rig.addSource(mine, { status: 'indexing' }), ['The zebra is on its way.'])
    expect(textsOf(await find(depsWith(null), mine, 'zebra'))).toEqual(['The zebra lives here.'])
    expect(await find(depsWith(null), { ownerId: other.ownerId, projectId: mine.projectId }, 'zebra')).toEqual([])
  })
})

describe('vectors', () => {
  async function embedded(project: { ownerId: string; projectId: string }, texts: string[], embedder = wordEmbedder()) {
    const source = await rig.addSource(project)
    await putChunks(rig.sql, source, texts)
    await embedMissing({ sql: rig.sql, embedder }, source, never, () => {})
    return source
  }
  const nearest = async (deps: SearchDeps, project: { ownerId: string; projectId: string }, query: string) =>
    (await rankedLists(deps, { ...project, query, limit: 5, signal: never, deadlineMs })).vectors

  it('are ordered by similarity while sources are added and removed', async () => {
    const project = await rig.addProject()
    const deps = depsWith(wordEmbedder())
    const one = await embedded(project, ['red fox', 'blue whale', 'red panda'])
    expect((await nearest(deps, project, 'red panda'))![0]).toMatchObject({ source_id: one.id, ordinal: 2 })
    const two = await embedded(project, ['grey wolf', 'red panda cub'])
    expect((await nearest(deps, project, 'red panda cub'))!.map(({ source_id }) => source_id)[0]).toBe(two.id)
    await rig.sql`delete from knowledge_sources where id = ${two.id}`
    const left = (await nearest(deps, project, 'grey wolf'))!
    expect(left).toHaveLength(3)
    expect(left.every(({ source_id }) => source_id === one.id)).toBe(true)
    await putChunks(rig.sql, one, ['only this'])
    expect(await nearest(deps, project, 'only this')).toEqual([])
  })

  it('of other models are never compared, and are recomputed in the background', async () => {
    const project = await rig.addProject()
    const [old, fresh] = [wordEmbedder(), wordEmbedder({ model: 'words-2', dimensions: 40 })]
    const source = await embedded(project, ['red fox', 'blue whale'], old)
    expect(await nearest(depsWith(fresh), project, 'red fox')).toEqual([])
    await embedStale({ sql: rig.sql, embedder: fresh }, never)
    expect((await nearest(depsWith(fresh), project, 'red fox'))![0]).toMatchObject({ source_id: source.id, ordinal: 0 })
    const [{ models }] = await rig.sql<[{ models: number }]>`
      select count(distinct model_id)::int as models from knowledge_vectors where source_id = ${source.id}`
    expect(models).toBe(1)
  })

  it('are stored in batches, without repeating existing ones', async () => {
    const project = await rig.addProject()
    const source = await rig.addSource(project, { status: 'indexing' })
    const texts = Array.from({ length: 80 }, (_, i) => `animal number ${i}`)
    await putChunks(rig.sql, source, texts)
    const killed = wordEmbedder()
    const stop = new AbortController()
    const seen: number[] = []
    const halfway = embedMissing({ sql: rig.sql, embedder: killed }, source, stop.signal, (done, of) => {
      seen.push(done)
      expect(of).toBe(80)
      if (done >= 32) stop.abort(new Error('killed'))
    })
    await expect(halfway).rejects.toThrow('killed')
    const next = wordEmbedder()
    await embedMissing({ sql: rig.sql, embedder: next }, source, never, () => {})
    expect(seen).toEqual([32])
    expect(next.texts).toEqual(texts.slice(32))
    const [{ count }] = await rig.sql<[{ count: number }]>`
      select count(*)::int as count from knowledge_vectors where source_id = ${source.id}`
    expect(count).toBe(80)
  })

  it('are the same in two processes', async () => {
    const project = await rig.addProject()
    const second = createVectorIndex({ sql: rig.sql, log: quietLog })
    try {
      const deps = depsWith(wordEmbedder())
      const other = { ...deps, vectors: second }
      const source = await embedded(project, ['red fox', 'blue whale'])
      for (const one of [deps, other]) expect(await nearest(one, project, 'red fox')).toHaveLength(2)
      await rig.sql`delete from knowledge_sources where id = ${source.id}`
      await embedded(project, ['green frog'])
      for (const one of [deps, other]) expect(await nearest(one, project, 'red fox')).toHaveLength(1)
    } finally {
      await second.close()
    }
  })

  it('are evicted for another project when memory is full, and reloaded', async () => {
    const small = createVectorIndex({ sql: rig.sql, log: quietLog }, { mostBytes: 1024 * 1024 })
    try {
      const deps = { ...depsWith(wordEmbedder({ model: 'wide', dimensions: 4096 })), vectors: small }
      const projects = [await rig.addProject(), await rig.addProject()]
      const texts = Array.from({ length: 200 }, (_, i) => `thing ${i}`)
      for (const project of projects) await embedded(project, texts, wordEmbedder({ model: 'wide', dimensions: 4096 }))
      for (const project of [...projects, ...projects]) {
        expect((await nearest(deps, project, 'thing 150'))![0]).toMatchObject({ ordinal: 150 })
      }
    } finally {
      await small.close()
    }
  })
})

describe('hybrid search', () => {
  async function filled(): Promise<{ project: { ownerId: string; projectId: string }; source: Source }> {
    const project = await rig.addProject()
    const source = await rig.addSource(project)
    await putChunks(rig.sql, source, ['red fox', 'blue whale', 'grey wolf', 'red fox', 'Red  FOX'])
    await embedMissing({ sql: rig.sql, embedder: wordEmbedder() }, source, never, () => {})
    return { project, source }
  }

  it('removes duplicate passages', async () => {
    const { project } = await filled()
    const found = await find(depsWith(wordEmbedder()), project, 'red fox')
    expect(textsOf(found).filter(text => /fox/i.test(text))).toHaveLength(1)
    expect(found[0]!.score).toBeGreaterThan(found[1]!.score)
  })

  it('ranks an exact code first', async () => {
    const project = await rig.addProject()
    const source = await rig.addSource(project)
    const blind: Embedder = {
      ...wordEmbedder({ model: 'blind' }),
      embed: async texts => texts.map(text => vectorOf(text.replace(/[A-Z]+-\d+/g, ''), 64)),
    }
    await putChunks(
      rig.sql,
      source,
      [1204, 1205, 1206, 1207].map(code => `The spare part KX-${code} fits the pump.`),
    )
    await embedMissing({ sql: rig.sql, embedder: blind }, source, never, () => {})
    for (const query of ['KX-1206', 'do you have the spare part kx-1206']) {
      expect((await find(depsWith(blind), project, query))[0]?.text, query).toContain('KX-1206')
    }
  })

  it('falls back to full text when vectors are late or fail', async () => {
    const { project } = await filled()
    const embed = wordEmbedder()
    const late: Embedder = { ...embed, embed: (_texts, _role, signal) => hang(signal) }
    const broken: Embedder = { ...embed, embed: () => Promise.reject(new Error('no model')) }
    const search = { ...project, query: 'whale', limit: 3, signal: never, deadlineMs: 30 }
    expect(textsOf(await searchKnowledge(depsWith(late), search))).toEqual(['blue whale'])
    expect(textsOf(await searchKnowledge(depsWith(broken), { ...search, deadlineMs }))).toEqual(['blue whale'])
  })

  it('reject when aborted', async () => {
    const { project } = await filled()
    const gone = new AbortController()
    const late: Embedder = { ...wordEmbedder(), embed: (_texts, _role, signal) => hang(signal) }
    const search = searchKnowledge(depsWith(late), {
      ...project,
      query: 'whale',
      limit: 3,
      signal: gone.signal,
      deadlineMs,
    })
    gone.abort(new Error('hung up'))
    await expect(search).rejects.toThrow('hung up')
  })
})

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}
