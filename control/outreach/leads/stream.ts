/** Streams the progress of a search, and its end, as server-sent events. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { openStream, streamProgress } from '../../platform/http/event-stream.ts'
import { presentProgress } from './present.ts'
import { findJob } from './service.ts'
import { selectJob } from './sql.ts'

export async function streamSearch(
  deps: Deps,
  ownerId: string,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  await findJob(deps, ownerId, id)
  const response = openStream(deps, { ownerId, of: 'lead searches' }, reply)
  void streamProgress(deps, { request, response, name: 'lead_search' }, async () => {
    const row = await selectJob(deps.sql, ownerId, id)
    return row ? { data: presentProgress(deps.config, row), isOver: row.ended_at !== null } : null
  })
  return ''
}
