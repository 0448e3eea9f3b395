/** What an entry of the audit log holds. */

export const actors = ['key', 'session', 'person', 'operator'] as const
export const doors = ['rest', 'mcp', 'auth', 'admin'] as const
export const outcomes = ['done', 'replayed', 'refused', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

export interface AuditEntry {
  /** `person`: by password or a code of a mail, before there is a session. */
  actor: (typeof actors)[number]
  /** Of the key or the session. */
  actor_id: string | null
  door: (typeof doors)[number]
  /** Of the network; null at the operator's own terminal. */
  address: string | null
  operation: string
  /** Id or name of what it was done to. */
  resource: string | null
  request_id: string | null
}

/** How it went, of what it answers. */
export interface Told {
  outcome: Outcome
  code: string | null
  resource: string | null
}

/** The group `access` keeps the log; `app.ts` gives it to the server as `auditLog`. */
export interface AuditLog {
  /** Writes the entry before `work` begins, and its outcome when it has ended. */
  audited<T>(ownerId: string, entry: AuditEntry, work: () => Promise<T>, toldOf: (result: T) => Told): Promise<T>
}

declare module 'fastify' {
  interface FastifyInstance {
    auditLog: AuditLog
  }
}
