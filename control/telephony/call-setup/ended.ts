/** Lets other modules handle the end of a call; `app.ts` lists the handlers. */
import type { CallRecord } from '../../../media/contract/messages.ts'
import type { Tx } from '../../platform/db/connect.ts'
import type { Deps } from '../../platform/deps.ts'
import type { CallRow } from './sql.ts'

/** A call whose end is stored, in the transaction that stores it. */
export interface EndedCall {
  call: CallRow
  record: CallRecord
  /** Units charged for the call. */
  cost: bigint
  /** The contact that became a lead in the call. */
  newLead: { contact_id: string; phone: string } | null
  /** For work that follows from the end. */
  traceparent: string | null
}

export interface CallEndedSteps {
  /** Called when the call and its charge are stored, in the same transaction. */
  settled?(ended: EndedCall): Promise<void>
  /** Called after the commit. */
  committed?(): void
}

/**
 * Handles the end of a call, under the call's lock. Handlers acquire their locks in the order in which they are called:
 * first the call, then the contact of a campaign, then contact, balance and counters.
 */
export type CallEndedHandler = (deps: CallDeps, tx: Tx, call: CallRow, record: CallRecord) => Promise<CallEndedSteps>

export interface CallDeps extends Deps {
  /** Called in this order. */
  callEnded: readonly CallEndedHandler[]
}
