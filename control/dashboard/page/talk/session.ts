/** Creates the session of a browser call. */
import type { Api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Seat } from './room.ts'

export interface SessionInput {
  project_id: string
  task?: string
  vars?: Record<string, string>
}

export async function createSession(api: Api, body: SessionInput): Promise<Seat> {
  const { url, token } = await must(api.POST('/v1/public/realtime/session', { body }))
  return { url, token: token! } // only idempotent replays lack a token
}
