/** A second leg of a live call, used to transfer its caller; it counts towards the trunk's limit like other calls. */
import type { RequestAnswer, RequestBody } from '../../../media/contract/messages.ts'
import { lockBalance } from '../../billing/money.ts'
import { isStopped } from '../../billing/unusual/sql.ts'
import type { Deps } from '../../platform/deps.ts'
import { lockCall, updateBridge } from '../call-setup/sql.ts'
import { selectTrunkCapacity } from '../gates/sql.ts'

/**
 * The leg is released by `bridge.closed` or by the end of the call, whichever comes first, so that none stays occupied
 * when an engine dies.
 */
export async function bridgeCall(
  deps: Pick<Deps, 'sql'>,
  { call_id, owner_id, trunk_id, attempt }: RequestBody<'call.bridge'>,
): Promise<RequestAnswer<'call.bridge'>> {
  return deps.sql.begin(async tx => {
    const call = await lockCall(tx, call_id)
    // A known attempt is over: its end was reported before this request was read.
    if (!call || call.ended_at || call.owner_id !== owner_id || attempt <= call.bridge_attempt) {
      return { granted: false }
    }
    // New calls of the owner are counted under the same lock, so none can come in between.
    await lockBalance(tx, owner_id)
    const room = await selectTrunkCapacity(tx, owner_id, trunk_id)
    const own = call.bridge_trunk_id === trunk_id ? 1 : 0
    if (room && room.live - own >= room.max_calls) return { granted: false }
    if (await isStopped(tx, owner_id)) return { granted: false }
    await updateBridge(tx, owner_id, { id: call_id, trunkId: trunk_id, attempt })
    return { granted: true }
  })
}
