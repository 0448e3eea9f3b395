/** Knowledge search over REST, and for an agent in a call. */
import type { RequestAnswer, RequestBody } from '../../media/contract/messages.ts'
import type { KnowledgeFound } from './documents/types.ts'
import { searchKnowledge } from './index/search.ts'
import { type KnowledgeDeps, knowledgeParts } from './parts.ts'

/**
 * Milliseconds after which a search in a call returns what it has found, because the caller waits. The engine gives up
 * a little later.
 */
const CALL_MS = 400
const REST_MS = 2000
/** Milliseconds after which a search is abandoned when the database does not respond. */
const GIVE_UP_MS = 10_000
/** Number of passages in a call. A model does not use more, and each costs time. */
const FOR_A_CALL = 4

interface Wanted {
  ownerId: string
  projectId: string
  query: string
  limit: number
}

export const searchProject = (deps: KnowledgeDeps, wanted: Wanted): Promise<KnowledgeFound[]> =>
  find(deps, wanted, REST_MS)

export async function answerSearch(
  deps: KnowledgeDeps,
  { owner_id, project_id, query }: RequestBody<'knowledge.search'>,
): Promise<RequestAnswer<'knowledge.search'>> {
  const wanted = { ownerId: owner_id, projectId: project_id, query, limit: FOR_A_CALL }
  return { found: await find(deps, wanted, CALL_MS) }
}

function find(deps: KnowledgeDeps, wanted: Wanted, deadlineMs: number): Promise<KnowledgeFound[]> {
  const { sql, clock, log } = deps
  const { embedder, vectors } = knowledgeParts(deps)
  const signal = AbortSignal.timeout(GIVE_UP_MS)
  return searchKnowledge({ sql, clock, log, embedder, vectors }, { ...wanted, deadlineMs, signal })
}
