/** The span of a call's offer to the engines; the engine's spans follow from it. */
import { noTracing, traced } from '../../../media/shared/tracing.ts'
import type { Deps } from '../../platform/deps.ts'
import { type CallRow, updateTraceparent } from './sql.ts'

/** A call without a trace (of a campaign, or in a room) starts its own and keeps it. */
export async function offered(
  { sql, tracing = noTracing }: Pick<Deps, 'sql' | 'tracing'>,
  call: Pick<CallRow, 'id' | 'owner_id' | 'traceparent'>,
  work: (traceparent: string | null) => Promise<void>,
): Promise<void> {
  if (tracing === noTracing) return work(null)
  const { id, owner_id, traceparent: parent } = call
  const attributes = { 'parley.call.id': id }
  await traced(tracing, 'call.place', { kind: 'producer', parent, attributes }, async ({ traceparent }) => {
    if (parent === null && traceparent !== null) await updateTraceparent(sql, owner_id, id, traceparent)
    await work(traceparent)
  })
}
