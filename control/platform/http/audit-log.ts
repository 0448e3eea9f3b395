/** Types of the audit log. */

export const actors = ['key', 'session', 'person', 'operator'] as const
export const channels = ['rest', 'mcp', 'auth', 'admin'] as const
export const outcomes = ['done', 'replayed', 'refused', 'failed'] as const
export type AuditOutcome = (typeof outcomes)[number]

export interface AuditEntry {
  /** `person`: identified by password or by an e-mailed code, before a session exists. */
  actor: (typeof actors)[number]
  /** Id of the key or the session. */
  actor_id: string | null
  channel: (typeof channels)[number]
  /** IP address; null for commands in the operator's terminal. */
  address: string | null
  operation: string
  /** Id or name of the target. */
  resource: string | null
  request_id: string | null
  /** The person; null for a key and for the operator. */
  person_id: string | null
}

/** Outcome of an operation, derived from its response. */
export interface AuditResult {
  outcome: AuditOutcome
  code: string | null
  resource: string | null
}

/** `access` implements the log; `app.ts` sets it as `auditLog` of the server. */
export interface AuditLog {
  /** Writes the entry before `work` begins, and its outcome after it has ended. */
  audited<T>(
    ownerId: string,
    entry: AuditEntry,
    work: () => Promise<T>,
    auditResultOf: (result: T) => AuditResult,
  ): Promise<T>
}

declare module 'fastify' {
  interface FastifyInstance {
    auditLog: AuditLog
  }
}
