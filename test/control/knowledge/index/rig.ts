/** A database with projects and sources, and an embedder whose vectors are the words of a text. */
import { createHash, randomUUID } from 'node:crypto'
import type { Chunk, Embedder } from '../../../../control/knowledge/documents/types.ts'
import { replaceChunks } from '../../../../control/knowledge/index/store.ts'
import { connect, type Sql } from '../../../../control/platform/db/connect.ts'
import { createDatabase, type TestDatabase } from '../../../support/database.ts'

export interface Source {
  id: string
  owner_id: string
  project_id: string
}

export interface Rig {
  sql: Sql
  url: string
  addProject(): Promise<{ ownerId: string; projectId: string }>
  addSource(of: { ownerId: string; projectId: string }, options?: { status?: string; name?: string }): Promise<Source>
  close(): Promise<void>
}

/** `given`: on another server than the one of all tests; migrated. */
export async function createRig(given?: TestDatabase): Promise<Rig> {
  const database = given ?? (await createDatabase())
  const sql = connect({ url: database.url, max: 6 })
  return {
    sql,
    url: database.url,
    async addProject() {
      const [ownerId, projectId, now] = [randomUUID(), randomUUID(), new Date()]
      await sql`insert into accounts (id, name, created_at) values (${ownerId}, 'Owner', ${now})`
      await sql`
        insert into projects (id, owner_id, name, language, settings, created_at, updated_at)
        values (${projectId}, ${ownerId}, 'Agent', 'en', '{}', ${now}, ${now})`
      return { ownerId, projectId }
    },
    async addSource({ ownerId, projectId }, { status = 'ready', name = 'Source' } = {}) {
      const id = randomUUID()
      await sql`
        insert into knowledge_sources (id, owner_id, project_id, kind, name, status, content_hash, stored, created_at)
        values (${id}, ${ownerId}, ${projectId}, 'text', ${name}, ${status}, ${Buffer.from(id)}, true, ${new Date()})`
      return { id, owner_id: ownerId, project_id: projectId }
    },
    async close() {
      await sql.end()
      await database.drop()
    },
  }
}

/** As the indexing job does, with the count that ranking reads. */
export async function putChunks(sql: Sql, source: Source, texts: readonly (string | Partial<Chunk>)[]): Promise<void> {
  const chunks = texts.map((one, ordinal) => ({
    ordinal,
    heading: '',
    text: '',
    url: null,
    ...(typeof one === 'string' ? { text: one } : one),
  }))
  await sql.begin(async tx => {
    await replaceChunks(tx, source, chunks)
    await tx`update knowledge_sources set chunks = ${chunks.length} where id = ${source.id}`
  })
}

/** Each word is a direction; texts with the same words are similar. Counts its requests. */
export function wordEmbedder(options: { model?: string; dimensions?: number } = {}): Embedder & { texts: string[] } {
  const { model = 'words-1', dimensions = 64 } = options
  const texts: string[] = []
  return {
    model,
    dimensions,
    texts,
    async embed(list, _role, signal) {
      signal.throwIfAborted()
      texts.push(...list)
      return list.map(text => vectorOf(text, dimensions))
    },
    close: async () => {},
  }
}

export function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const digest = createHash('md5').update(word).digest()
    for (let i = 0; i < dimensions; i++) vector[i]! += ((digest[i % 16]! >> (Math.floor(i / 16) % 8)) & 1) * 2 - 1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map(value => value / length)
}
