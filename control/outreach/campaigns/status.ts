import type { ProjectDeletedHandler } from '../../agents/projects/service.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { cancelRest } from './batches.ts'
import { isOver } from './lifecycle.ts'
import { type CountedCampaign, lockCampaign, selectUnfinishedOf, updateStatus } from './sql.ts'
import type { CampaignStatus, ConsentEvidence, PauseReason } from './types.ts'

/** Sets the status under the campaign's lock. A pause set here is the owner's. */
export async function setStatus(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  { id, owner_id, started_at }: CountedCampaign,
  status: CampaignStatus,
  { begins = false, ...more }: { consent?: ConsentEvidence; begins?: boolean } = {},
): Promise<void> {
  const at = wallDate(deps)
  const pause_reason: PauseReason | null = status === 'paused' ? 'owner' : null
  await updateStatus(tx, owner_id, id, {
    status,
    pause_reason,
    ...more,
    updated_at: at,
    ...(status === 'running' && (begins || started_at === null) ? { started_at: at } : {}),
    completed_at: isOver({ status }) ? at : null,
  })
}

/** Drafts are kept: they can be assigned to another project. */
export const stopCampaignsOf: ProjectDeletedHandler = async (deps, tx, ownerId, projectId) => {
  const stopped: string[] = []
  for (const id of await selectUnfinishedOf(tx, ownerId, projectId)) {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign || isOver(campaign)) continue
    await setStatus(deps, tx, campaign, 'stopped')
    stopped.push(id)
  }
  return async () => {
    for (const id of stopped) await cancelRest(deps, ownerId, id)
  }
}
