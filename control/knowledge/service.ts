/** Adds, indexes, and deletes the knowledge sources of a project. */

import { createHash, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import type { ProjectDeletedHandler } from '../agents/projects/service.ts'
import { selectProject } from '../agents/projects/sql.ts'
import type { Db, Tx } from '../platform/db/connect.ts'
import { wallDate } from '../platform/deps.ts'
import { invalidField, notFound, Problem } from '../platform/http/problem.ts'
import { uuidv7 } from '../platform/ids.ts'
import { enqueue, withJobs } from '../platform/jobs/jobs.ts'
import { errorFields } from '../platform/log.ts'
import { SKIP_REASONS } from './documents/types.ts'
import { sniff } from './extract/sniff.ts'
import { stopIndexing } from './indexing.ts'
import { type KnowledgeDeps, knowledgeParts } from './parts.ts'
import type { SourceInput } from './schema.ts'
import {
  countUnindexed,
  deleteSource,
  deleteSourcesOf,
  deleteUnstored,
  deleteUnstoredOne,
  insertSource,
  markStored,
  type NewSource,
  resetSource,
  type SourceRow,
  selectSourceOf,
  selectUse,
} from './sql.ts'
import { contentKey, sweepTemp, tempFile } from './storage.ts'
import type { Upload } from './upload.ts'

const MOST_SOURCES = 200
/** Limit for all projects of an account. */
const MOST_BYTES = 500 * 1024 * 1024
const DEFAULT_PAGES = 15
/** An upload that is older was interrupted. */
const UNSTORED_KEPT_MS = 3600 * 1000
/** Delay of the job that deletes content when the immediate deletion failed. */
const FORGET_AGAIN_SECONDS = 30

const UPLOAD_MS = 60_000

type Save = (db: Db, answer: unknown) => Promise<void>
type Draft = Omit<NewSource, 'id' | 'created_at' | 'project_id'>

export function presentSource(row: SourceRow) {
  const { id, kind, name, status, chunks, pages, error_code: code, error_message: message } = row
  const error = code === null ? null : { code, message: message ?? '' }
  const skipped = SKIP_REASONS.flatMap(reason => {
    const count = row.skipped[reason]
    return count ? [{ reason, count }] : []
  })
  return { id, kind, name, status, chunks, pages, skipped, error, created_at: row.created_at.toISOString() }
}

// ---- Adding ----

export async function addSource(
  deps: KnowledgeDeps,
  ownerId: string,
  projectId: string,
  input: SourceInput,
  save: Save,
) {
  if (input.type === 'url') return add(deps, ownerId, projectId, siteDraft(input), null, save)
  const content = input.content!
  const { temp } = knowledgeParts(deps)
  const file = await tempFile(temp, `text-${randomUUID()}`)
  try {
    await writeFile(file, content, { mode: 0o600 })
    return await add(deps, ownerId, projectId, textDraft(input.title, content), file, save)
  } finally {
    await rm(file, { force: true })
  }
}

export async function addFile(deps: KnowledgeDeps, ownerId: string, projectId: string, upload: Upload, save: Save) {
  const { file, name, bytes, sha256: content_hash } = upload
  const judged = await sniff(upload)
  if (!judged.ok) throw invalidField('/file', judged.code, judged.message)
  const document_kind = judged.kind
  const draft = { kind: 'file' as const, name, document_kind, bytes, content_hash, ...NO_SITE }
  return add(deps, ownerId, projectId, draft, file, save)
}

const NO_SITE = { url: null, crawl: false, max_pages: 1 }

function siteDraft({ title, url: given, crawl = false, max_pages = DEFAULT_PAGES }: SourceInput): Draft {
  const url = new URL(given!)
  url.hash = ''
  const pages = crawl ? max_pages : 1
  const content_hash = createHash('sha256')
    .update(JSON.stringify([url.href, crawl, pages]))
    .digest()
  const name = title ?? (url.host + url.pathname).replace(/\/$/, '').slice(0, 200)
  return {
    kind: 'url',
    name,
    document_kind: null,
    bytes: 0,
    content_hash,
    url: url.href,
    crawl,
    max_pages: pages,
  }
}

const HEADING = /^#{1,6} /m
const TITLE_CHARS = 60

function textDraft(title: string | undefined, content: string): Draft {
  const document_kind = HEADING.test(content) ? ('md' as const) : ('txt' as const)
  const bytes = Buffer.byteLength(content)
  const content_hash = createHash('sha256').update(content).digest()
  const [first = ''] = content.trim().split('\n')
  const name = title ?? first.replace(HEADING, '').slice(0, TITLE_CHARS).toWellFormed()
  return { kind: 'text', name, document_kind, bytes, content_hash, ...NO_SITE }
}

/**
 * Inserts the row first, hidden, and shows it when its content is stored, so that a killed process never leaves a file
 * without a row. Returns existing content as it is, and retries a source with an error.
 */
async function add(
  deps: KnowledgeDeps,
  ownerId: string,
  projectId: string,
  draft: Draft,
  file: string | null,
  save: Save,
): Promise<SourceRow> {
  const made = await withJobs(deps, async tx => {
    const source = await findOrInsert(deps, tx, ownerId, projectId, draft)
    if (source.stored) await save(tx, presentSource(source))
    return source
  })
  if (made.stored || file === null) return made
  await storeContent(deps, made, file)
  const source = await withJobs(deps, async tx => {
    const source = await showStored(deps, tx, made)
    if (source) await save(tx, presentSource(source))
    return source
  })
  if (source?.id !== made.id) await deps.blobs.delete(contentKey(made))
  if (!source) throw notFound()
  return source
}

/**
 * Shows a source whose content is stored. Returns null when the project is gone. Of concurrent requests with the same
 * content, one shows the source and the others find it shown.
 */
async function showStored(deps: KnowledgeDeps, tx: Tx, made: SourceRow): Promise<SourceRow | null> {
  const { owner_id, project_id, content_hash } = made
  const stored = await markStored(tx, owner_id, made.id)
  if (stored) {
    await startIndexing(deps, tx, stored)
    return stored
  }
  if (!(await selectProject(tx, owner_id, project_id, true))) return null
  const there = await selectSourceOf(tx, owner_id, project_id, content_hash)
  if (there) return there
  // Another request with the same content failed to store it and deleted the row that both shared.
  await insertSource(tx, owner_id, made)
  return showStored(deps, tx, made)
}

async function findOrInsert(
  deps: KnowledgeDeps,
  tx: Tx,
  ownerId: string,
  projectId: string,
  draft: Draft,
): Promise<SourceRow> {
  // Locked, so that the project is not deleted meanwhile and two requests do not both add the last allowed source.
  if (!(await selectProject(tx, ownerId, projectId, true))) throw notFound()
  const there = await selectSourceOf(tx, ownerId, projectId, draft.content_hash)
  if (there && there.status !== 'error') return there
  if (there) {
    const again = await resetSource(tx, ownerId, there.id)
    await startIndexing(deps, tx, again)
    return again
  }
  const use = await selectUse(tx, ownerId, projectId)
  if (use.sources >= MOST_SOURCES) throw full(`A project may have at most ${MOST_SOURCES} sources.`)
  if (use.bytes + draft.bytes > MOST_BYTES) {
    throw full(`The texts and files of an account may have at most ${MOST_BYTES / 1024 / 1024} MB in total.`)
  }
  const at = wallDate(deps)
  const made = { ...draft, id: uuidv7(at.getTime()), project_id: projectId, created_at: at }
  const source = await insertSource(tx, ownerId, made)
  if (source.stored) await startIndexing(deps, tx, source)
  return source
}

const full = (detail: string) => new Problem('limit_reached', { detail })

/** Characters that take about as long as starting a parser; a larger document comes after smaller ones. */
const SMALL_BYTES = 64 * 1024
/** Weight of each source of the owner that is not indexed yet, in doublings of the size. */
const BACKLOG_WEIGHT = 4

/** Small sources come first, and those of owners who wait for nothing else. Sites are long work from the start. */
async function startIndexing(deps: KnowledgeDeps, tx: Tx, { id, owner_id, kind, bytes }: SourceRow): Promise<void> {
  const job = { owner_id, source_id: id }
  const group = { id: owner_id }
  if (kind === 'url') return enqueue(deps, tx, 'knowledge.long', { ...job, long: true }, { group })
  const others = await countUnindexed(tx, owner_id, id)
  const priority = -Math.ceil(Math.log2(1 + Number(bytes) / SMALL_BYTES)) - BACKLOG_WEIGHT * others
  await enqueue(deps, tx, 'knowledge.index', job, { group, priority })
}

async function storeContent(deps: KnowledgeDeps, source: SourceRow, file: string): Promise<void> {
  const signal = AbortSignal.timeout(UPLOAD_MS)
  try {
    await deps.blobs.store(contentKey(source), file, { contentType: 'application/octet-stream', signal })
  } catch (error) {
    await deleteUnstoredOne(deps.sql, source.owner_id, source.id)
    throw new Problem('service_unavailable', { cause: error, retryAfterSeconds: 5 })
  }
}

// ---- Deleting ----

export async function removeSource(deps: KnowledgeDeps, ownerId: string, projectId: string, id: string): Promise<void> {
  const gone = await withJobs(deps, async tx => {
    const source = await deleteSource(tx, ownerId, projectId, id)
    if (source) await deleteContentLater(deps, tx, [source])
    return source
  })
  if (!gone) throw notFound()
  await deleteContentNow(deps, [gone])
}

/** Deletes the rows in the transaction, and the content after the commit. */
export const removeSourcesOf: ProjectDeletedHandler = async (deps, tx, ownerId, projectId) => {
  const gone = await deleteSourcesOf(tx, ownerId, projectId)
  if (gone.length > 0) await deleteContentLater(deps, tx, gone)
  return () => deleteContentNow(deps, gone)
}

type Gone = Pick<SourceRow, 'id' | 'owner_id'>

const deleteContentLater = (deps: Pick<KnowledgeDeps, 'boss'>, tx: Tx, gone: readonly Gone[]) =>
  enqueue(deps, tx, 'knowledge.forget', { keys: gone.map(contentKey) }, { startAfter: FORGET_AGAIN_SECONDS })

/** Stops runs of this process at once; other processes notice within a second. The job retries a failed deletion. */
async function deleteContentNow(
  deps: Pick<KnowledgeDeps, 'boss' | 'blobs' | 'log'>,
  gone: readonly Gone[],
): Promise<void> {
  for (const { id } of gone) stopIndexing(deps, id)
  await deleteContent(deps, gone.map(contentKey)).catch(error =>
    deps.log.warn({ error: errorFields(error) }, 'content of a deleted source was not deleted; it will be retried'),
  )
}

export async function deleteContent({ blobs }: Pick<KnowledgeDeps, 'blobs'>, keys: readonly string[]): Promise<void> {
  for (const key of keys) await blobs.delete(key)
}

/** Deletes what killed processes have left: uploads that were never shown, and temporary files. */
export async function sweepKnowledge(deps: KnowledgeDeps): Promise<void> {
  const before = new Date(deps.clock.wall() - UNSTORED_KEPT_MS)
  const gone = await withJobs(deps, async tx => {
    const rows = await deleteUnstored(tx, before)
    if (rows.length > 0) await deleteContentLater(deps, tx, rows)
    return rows
  })
  await deleteContentNow(deps, gone)
  if (deps.knowledge) await sweepTemp(deps.knowledge.temp, Date.now())
}
