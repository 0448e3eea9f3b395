/** A second line for a live call, over which its caller is given to somebody: it counts as the trunk's other calls do. */
import type { AskAnswer, AskRequest } from '../../../media/contract/messages.ts'
import { lockBalance } from '../../billing/money.ts'
import type { Deps } from '../../platform/deps.ts'
import { lockCall, updateBridge } from '../call-setup/sql.ts'
import { selectTrunkRoom } from '../gates/sql.ts'

/**
 * Given back by `bridge.closed`, or by the end of the call, whoever tells of it: so no line stays taken when an engine dies.
 */
export async function bridgeCall(
  deps: Pick<Deps, 'sql'>,
  { call_id, owner_id, trunk_id, attempt }: AskRequest<'call.bridge'>,
): Promise<AskAnswer<'call.bridge'>> {
  return deps.sql.begin(async tx => {
    const call = await lockCall(tx, call_id)
    // An attempt that is known already is over: its end was told sooner than this question was read.
    if (!call || call.ended_at || call.owner_id !== owner_id || attempt <= call.bridge_attempt) {
      return { granted: false }
    }
    // Where new calls of an owner are counted too, so that none is between our look and our line.
    await lockBalance(tx, owner_id)
    const room = await selectTrunkRoom(tx, owner_id, trunk_id)
    const own = call.bridge_trunk_id === trunk_id ? 1 : 0
    if (room && room.live - own >= room.max_calls) return { granted: false }
    await updateBridge(tx, owner_id, { id: call_id, trunkId: trunk_id, attempt })
    return { granted: true }
  })
}
