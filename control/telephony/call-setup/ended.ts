/** Contract of handlers that run when a call ends; `handlers.ts` lists them. */
import type { CallRecord } from '../../../media/contract/messages.ts'
import type { Tx } from '../../platform/db/connect.ts'
import type { Deps } from '../../platform/deps.ts'
import type { CallRow } from './sql.ts'

/** A call whose end is stored, in the transaction that stores it. */
export interface EndedCall {
  call: CallRow
  record: CallRecord
  /** Money units charged for the call. */
  cost: bigint
  /** The contact that became a lead in this call. */
  newLead: { contact_id: string; phone: string } | null
  /** Trace context for work that follows from the end; null when the call is not traced. */
  traceparent: string | null
}

export interface CallEndedSteps {
  /** Runs after the call and its cost are stored, in the same transaction. */
  settled?(ended: EndedCall): Promise<void>
  /** Runs after the commit. */
  committed?(): void
}

/**
 * Runs at the end of a call, under the call's lock. It takes its own locks when it is called. The lock order is the
 * same everywhere: call, contact of a campaign, contact, balance, counters.
 */
export type CallEndedHandler = (deps: CallDeps, tx: Tx, call: CallRow, record: CallRecord) => Promise<CallEndedSteps>

export interface CallDeps extends Deps {
  /** Run in this order. */
  callEnded: readonly CallEndedHandler[]
}
