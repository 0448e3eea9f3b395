/** Who asks. The credentials are verified by the group `access`, which `app.ts` gives to the server as `authenticator`. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export const scopes = ['read', 'write'] as const
export type Scope = (typeof scopes)[number]

/** Who may use an operation: a key with this scope, or only somebody at the dashboard. */
export type Reach = Scope | 'session'

export interface Caller {
  ownerId: string
  scopes: readonly Scope[]
  /** Null with a session, which has all scopes. */
  keyId: string | null
  /** Null with a key. */
  sessionId: string | null
}

export interface Authenticator {
  /** Throws `Problem`: 401, then 429, then 403. */
  authenticate(reach: Reach, request: FastifyRequest, reply: FastifyReply): Promise<Caller>
  /** Whether the credential of a request that was let in is still good: for answers that go on for long. */
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
