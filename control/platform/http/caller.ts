/** The authenticated client of a request. `access` verifies credentials; `app.ts` sets it as `authenticator`. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export const scopes = ['read', 'write'] as const
export type Scope = (typeof scopes)[number]

/** Required credential of an operation: a key with this scope, or `session`: only a dashboard session. */
export type RequiredCredential = Scope | 'session'

/** Roles of the people of an account. `control/access/permissions/table.ts` says what each may do. */
export const roles = ['owner', 'admin', 'developer', 'operator', 'billing', 'read_only'] as const
export type Role = (typeof roles)[number]

export interface Caller {
  ownerId: string
  scopes: readonly Scope[]
  /** Null for a session, which has all scopes. */
  keyId: string | null
  /** Null for a key. */
  sessionId: string | null
  /** Role of the person; for a key, that of the person who created it. */
  role: Role
  /** The person; for a key, the one who created it. The person who signed up has the id of the account. */
  personId: string
  /** E-mail of the person, for the audit log; null for a key. */
  person: string | null
  /** The only projects that a limited key sees; null: all, also for a session. */
  projects: readonly string[] | null
  /** Null for a key. */
  secondFactor: SecondFactorState | null
}

export interface SecondFactorState {
  /** Whether the person has a second factor. */
  has: boolean
  /** Whether the account requires one. */
  required: boolean
  /** Wall-clock ms of the last proof in this session; null: none. */
  provedAt: number | null
}

export interface Authenticator {
  /** Throws `Problem`: 401, then 429, then 403. */
  authenticate(
    operation: { id: string; scope: RequiredCredential },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Caller>
  /** Throws `not_found` for a project that the key may not see, and 403 for what concerns the whole account. */
  assertProject(caller: Caller, operation: string, request: { params: unknown; body: unknown }): Promise<void>
  /** Resolves to true while the credential of an accepted request is valid; for long responses such as streams. */
  isStillValid(request: FastifyRequest): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyInstance {
    authenticator: Authenticator
  }
}
