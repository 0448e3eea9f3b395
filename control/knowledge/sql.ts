import type { Db, Tx } from '../platform/db/connect.ts'
import type { Page } from '../platform/http/paging.ts'
import type { DocumentKind, KnowledgeErrorCode, Skipped } from './documents/types.ts'

export interface SourceRow {
  id: string
  owner_id: string
  project_id: string
  kind: 'text' | 'url' | 'file'
  name: string
  status: 'pending' | 'indexing' | 'ready' | 'error'
  /** Null for a site. */
  document_kind: DocumentKind | null
  /** Null for texts and files. */
  url: string | null
  crawl: boolean
  max_pages: number
  bytes: number
  content_hash: Buffer
  stored: boolean
  attempt: number
  tries: number
  chunked: boolean
  pages: number
  chunks: number
  skipped: Skipped
  error_code: KnowledgeErrorCode | null
  error_message: string | null
  created_at: Date
}

export type NewSource = Pick<
  SourceRow,
  | 'id'
  | 'project_id'
  | 'kind'
  | 'name'
  | 'document_kind'
  | 'url'
  | 'crawl'
  | 'max_pages'
  | 'bytes'
  | 'content_hash'
  | 'created_at'
>

/** Inserts a source whose content, if any, is not stored yet. */
export async function insertSource(tx: Tx, ownerId: string, source: NewSource): Promise<SourceRow> {
  const [row] = await tx<SourceRow[]>`
    insert into knowledge_sources (id, owner_id, project_id, kind, name, status, document_kind, url, crawl, max_pages,
      bytes, content_hash, stored, created_at)
    values (${source.id}, ${ownerId}, ${source.project_id}, ${source.kind}, ${source.name}, 'pending',
      ${source.document_kind}, ${source.url}, ${source.crawl}, ${source.max_pages}, ${source.bytes},
      ${source.content_hash}, ${source.kind === 'url'}, ${source.created_at})
    returning *`
  return row!
}

export async function selectSources(db: Db, ownerId: string, projectId: string, page: Page): Promise<SourceRow[]> {
  return db<SourceRow[]>`
    select * from knowledge_sources where owner_id = ${ownerId} and project_id = ${projectId} and stored
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** One index scan, because a project has few sources. */
export async function countSources(db: Db, ownerId: string, projectId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from knowledge_sources
    where owner_id = ${ownerId} and project_id = ${projectId} and stored`
  return row!.total
}

/** Sources of the owner that are waiting or being indexed, without this one. */
export async function countUnindexed(tx: Tx, ownerId: string, exceptId: string): Promise<number> {
  const [row] = await tx<{ total: number }[]>`
    select count(*)::int as total from knowledge_sources
    where owner_id = ${ownerId} and id <> ${exceptId} and stored and status in ('pending', 'indexing')`
  return row!.total
}

/** Counts towards the limits, including sources that are being added. */
export async function selectUse(
  tx: Tx,
  ownerId: string,
  projectId: string,
): Promise<{ sources: number; bytes: number }> {
  const [row] = await tx<{ sources: number; bytes: number }[]>`
    select count(*) filter (where project_id = ${projectId})::int as sources, coalesce(sum(bytes), 0)::float8 as bytes
    from knowledge_sources where owner_id = ${ownerId}`
  return row!
}

/** Not locked: the caller holds the project, so nobody else inserts one, and only the end of a run changes a row. */
export async function selectSourceOf(
  db: Db,
  ownerId: string,
  projectId: string,
  hash: Buffer,
): Promise<SourceRow | undefined> {
  const [row] = await db<SourceRow[]>`
    select * from knowledge_sources
    where owner_id = ${ownerId} and project_id = ${projectId} and content_hash = ${hash}`
  return row
}

/** Null when the source is gone or was already stored. */
export async function markStored(tx: Tx, ownerId: string, id: string): Promise<SourceRow | null> {
  const [row] = await tx<SourceRow[]>`
    update knowledge_sources set stored = true where owner_id = ${ownerId} and id = ${id} and not stored returning *`
  return row ?? null
}

/** Resets a failed source to be indexed from the beginning. */
export async function resetSource(tx: Tx, ownerId: string, id: string): Promise<SourceRow> {
  const [row] = await tx<SourceRow[]>`
    update knowledge_sources
    set status = 'pending', tries = 0, chunked = false, pages = 0, chunks = 0, skipped = '{}', error_code = null, error_message = null
    where owner_id = ${ownerId} and id = ${id} returning *`
  return row!
}

export async function deleteSource(tx: Tx, ownerId: string, projectId: string, id: string): Promise<SourceRow | null> {
  const [row] = await tx<SourceRow[]>`
    delete from knowledge_sources where owner_id = ${ownerId} and project_id = ${projectId} and id = ${id} returning *`
  return row ?? null
}

export async function deleteSourcesOf(tx: Tx, ownerId: string, projectId: string): Promise<SourceRow[]> {
  return tx<SourceRow[]>`
    delete from knowledge_sources where owner_id = ${ownerId} and project_id = ${projectId} returning *`
}

/** Deletes uploads whose process died before the content was stored. */
export async function deleteUnstored(tx: Tx, before: Date): Promise<Pick<SourceRow, 'id' | 'owner_id'>[]> {
  return tx<Pick<SourceRow, 'id' | 'owner_id'>[]>`
    delete from knowledge_sources where not stored and created_at < ${before} returning id, owner_id`
}

export async function deleteUnstoredOne(db: Db, ownerId: string, id: string): Promise<void> {
  await db`delete from knowledge_sources where owner_id = ${ownerId} and id = ${id} and not stored`
}

/** True when any owner has a source that can be searched. */
export async function hasSomeReadySource(db: Db): Promise<boolean> {
  return (await db`select 1 from knowledge_sources where status = 'ready' limit 1`).length > 0
}

export async function hasReadySource(db: Db, ownerId: string, projectId: string): Promise<boolean> {
  const rows = await db`
    select 1 from knowledge_sources
    where owner_id = ${ownerId} and project_id = ${projectId} and status = 'ready' limit 1`
  return rows.length > 0
}

// ---- Runs of the indexer; `attempt` is the right to write ----

export type Claim = Pick<SourceRow, 'id' | 'owner_id' | 'project_id' | 'attempt'>

/** Null when the source is gone or finished. */
export async function claimSource(db: Db, ownerId: string, id: string): Promise<SourceRow | null> {
  const [row] = await db<SourceRow[]>`
    update knowledge_sources set status = 'indexing', attempt = attempt + 1, tries = tries + 1
    where owner_id = ${ownerId} and id = ${id} and stored and status in ('pending', 'indexing') returning *`
  return row ?? null
}

/** False when the source is gone, or another run has taken over. */
export async function holdsClaim(db: Db, claim: Claim, lock = false): Promise<boolean> {
  const rows = await db`
    select 1 from knowledge_sources
    where owner_id = ${claim.owner_id} and id = ${claim.id} and attempt = ${claim.attempt} and status = 'indexing'
    ${lock ? db`for update` : db``}`
  return rows.length > 0
}

type Change = Partial<
  Pick<SourceRow, 'status' | 'pages' | 'chunks' | 'chunked' | 'skipped' | 'tries' | 'error_code' | 'error_message'>
>

/** False when nothing was written because the claim is lost. */
export async function updateClaimed(db: Db, claim: Claim, change: Change): Promise<boolean> {
  const rows = await db`
    update knowledge_sources set ${db(change)}
    where owner_id = ${claim.owner_id} and id = ${claim.id} and attempt = ${claim.attempt} and status = 'indexing'
    returning 1`
  return rows.length > 0
}
