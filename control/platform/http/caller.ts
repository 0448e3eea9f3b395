/**
 * The authenticated client. The `access` modules verify the credentials; `app.ts` passes them to the server as
 * `authenticator`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

export const scopes = ['read', 'write'] as const
export type Scope = (typeof scopes)[number]

/** Who may use an operation: keys with this scope, or only dashboard sessions. */
export type Reach = Scope | 'session'

export interface Caller {
  ownerId: string
  scopes: readonly Scope[]
  /** Null for a session, which has all scopes. */
  keyId: string | null
  /** Null for a key. */
  sessionId: string | null
}

export interface Authenticator {
  /** Throws `Problem`: 401, then 429, then 403. */
  authenticate(reach: Reach, request: FastifyRequest, reply: FastifyReply): Promise<Caller>
  /** Checks that the credential of an accepted request is still valid. Long-lived responses use it. */
  isStillGood(request: FastifyRequest): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyInstance {
    authenticator: Authenticator
  }
}
