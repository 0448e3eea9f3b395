/** What an owner accepts before the first search. The words stand in docs/lead-terms.md and are served as they are. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../platform/http/caller.ts'
import type { Acceptance } from './sql.ts'

/** Another version for other words, whatever changes in them: who accepted the old ones has not accepted the new. */
export const TERMS_VERSION = '2026-11-22'
export const TERMS_FILE = join(import.meta.dirname, '../../../docs/lead-terms.md')
export const TERMS_PATH = '/terms/lead-search'

export const acceptanceOf = ({ keyId, sessionId }: Caller, at: Date): Acceptance => ({
  version: TERMS_VERSION,
  accepted_at: at,
  key_id: keyId,
  session_id: sessionId,
})

export function termsPage(app: FastifyInstance): void {
  app.get(TERMS_PATH, { schema: { hide: true } }, async (_, reply) =>
    reply.type('text/markdown; charset=utf-8').send(await readFile(TERMS_FILE, 'utf8')),
  )
}
