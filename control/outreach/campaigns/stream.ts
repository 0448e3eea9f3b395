/** Streams the counters of a campaign as they change, and its end, as server-sent events. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { openStream, streamProgress } from '../../platform/http/event-stream.ts'
import { isOver } from './lifecycle.ts'
import { presentProgress } from './present.ts'
import { findCampaign } from './service.ts'
import { selectCampaign } from './sql.ts'

export async function streamCampaign(
  deps: Deps,
  ownerId: string,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  await findCampaign(deps, ownerId, id)
  const response = openStream(deps, { ownerId, of: 'campaigns' }, reply)
  void streamProgress(deps, { request, response, name: 'campaign' }, async () => {
    const row = await selectCampaign(deps.sql, ownerId, id)
    if (!row) return null
    const isDone = isOver(row) && row.dialing === 0 && row.in_progress === 0
    return { data: presentProgress(deps.config, row), isOver: isDone }
  })
  return ''
}
