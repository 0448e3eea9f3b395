import type { SipTrace } from '../../../media/contract/sip-trace.ts'
import { type Db, json, type Tx } from '../../platform/db/connect.ts'

export async function insertTrace(tx: Tx, ownerId: string, callId: string, trace: SipTrace, at: Date): Promise<void> {
  const { messages, omitted, diagnosis } = trace
  await tx`
    insert into call_traces (owner_id, call_id, created_at, messages, omitted, diagnosis)
    values (${ownerId}, ${callId}, ${at}, ${json(tx, messages)}, ${omitted}, ${diagnosis && json(tx, diagnosis)})
    on conflict (call_id) do nothing`
}

export async function selectTrace(db: Db, ownerId: string, callId: string): Promise<SipTrace | undefined> {
  const [row] = await db<SipTrace[]>`
    select messages, omitted, diagnosis from call_traces where owner_id = ${ownerId} and call_id = ${callId}`
  return row
}

export async function hasTrace(db: Db, ownerId: string, callId: string): Promise<boolean> {
  return (await db`select 1 from call_traces where owner_id = ${ownerId} and call_id = ${callId}`).length > 0
}

export async function deleteOldTraces(db: Db, before: Date): Promise<void> {
  await db`delete from call_traces where created_at < ${before}`
}
