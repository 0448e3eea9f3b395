/** How other modules take part in the end of a call; `app.ts` names those that do. */
import type { CallRecord } from '../../../media/contract/messages.ts'
import type { Tx } from '../../platform/db/connect.ts'
import type { Deps } from '../../platform/deps.ts'
import type { CallRow } from './sql.ts'

/** A call whose end is stored, in the transaction that stores it. */
export interface EndedCall {
  call: CallRow
  record: CallRecord
  /** Units that were paid for it. */
  cost: bigint
  /** The contact that became a lead by it. */
  newLead: { contact_id: string; phone: string } | null
  /** For what follows from the end. */
  traceparent: string | null
}

export interface CallEndedSteps {
  /** When the call and its money are stored, in the same transaction. */
  settled?(ended: EndedCall): Promise<void>
  /** After the commit. */
  committed?(): void
}

/**
 * Takes part in the end of a call, under the call's lock. It locks what it needs as it is called: everywhere a call is
 * locked first, then the contact of a campaign, then contact, balance and counters.
 */
export type CallEndedHandler = (deps: CallDeps, tx: Tx, call: CallRow, record: CallRecord) => Promise<CallEndedSteps>

export interface CallDeps extends Deps {
  /** In this order. */
  callEnded: readonly CallEndedHandler[]
}
