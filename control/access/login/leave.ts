/** Deletes the account at its owner's request: closes it at once, and erases it when its last call has ended. */

import { type Deps, wallDate } from '../../platform/deps.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { closeAccount, lockAccount } from '../accounts/sql.ts'
import { keyCache } from '../keys/service.ts'
import { assertProof } from '../second-factor/service.ts'
import { forgetSessions, type SessionRow } from '../sessions/sessions.ts'
import { assertPassword, personOf } from './login.ts'

export async function leave(
  deps: Deps,
  session: SessionRow,
  { password, code }: { password: string; code?: string | undefined },
  address: string,
): Promise<void> {
  const person = await personOf(deps, session)
  await assertPassword(deps, person, password, address)
  await assertProof(deps, person, session, code)
  const { owner_id } = person
  await withJobs(deps, async tx => {
    await lockAccount(tx, owner_id)
    await closeAccount(tx, owner_id, wallDate(deps))
    await enqueue(deps, tx, 'account.erase', { owner_id })
  })
  forgetSessions(deps, owner_id)
  keyCache(deps).forget(key => key.owner_id === owner_id)
}
