export const actors = ['key', 'session', 'person', 'operator'] as const
export const doors = ['rest', 'mcp', 'auth', 'admin'] as const
export const outcomes = ['done', 'replayed', 'refused', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

export interface AuditEntry {
  /** `person`: identified by password or by an e-mailed code, before a session exists. */
  actor: (typeof actors)[number]
  /** Id of the key or the session. */
  actor_id: string | null
  door: (typeof doors)[number]
  /** Network address; null for the operator's terminal. */
  address: string | null
  operation: string
  /** Id or name of the target. */
  resource: string | null
  request_id: string | null
}

/** Outcome of an operation, derived from its response. */
export interface Told {
  outcome: Outcome
  code: string | null
  resource: string | null
}
