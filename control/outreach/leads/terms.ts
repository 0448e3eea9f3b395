/** Terms that an owner accepts before the first search. The text is in docs/lead-terms.md and served as it is. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../platform/http/caller.ts'
import type { Acceptance } from './sql.ts'

/** Change it with every change of the text: an owner who accepted the old terms has not accepted the new ones. */
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
