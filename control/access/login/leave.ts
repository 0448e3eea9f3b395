/** Deletes the account at its owner's request: closes it at once, and erases it when its last call has ended. */

import { eraseAccount } from '../../data/accounts/operator.ts'
import { type Deps, wallDate } from '../../deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { enqueue, type JobData, withJobs } from '../../platform/jobs/jobs.ts'
import { closeAccount, lockAccount, selectAccount } from '../accounts/sql.ts'
import type { AuditEntry } from '../audit/types.ts'
import { keyVerdicts } from '../keys/service.ts'
import { forgetSessions, type SessionRow } from '../sessions/sessions.ts'
import { accountOf } from './login.ts'
import { matchPassword } from './passwords.ts'
import { countGuess } from './throttle.ts'

export async function leave(deps: Deps, session: SessionRow, password: string, address: string): Promise<void> {
  const account = await accountOf(deps, session)
  const guess = await countGuess(deps, account.email ?? account.id, address)
  const match = await matchPassword(password, account.password_hash)
  if (!match.ok) throw new Problem('invalid_credentials', { detail: 'The password is incorrect.' })
  await guess.right()
  await withJobs(deps, async tx => {
    await lockAccount(tx, account.id)
    await closeAccount(tx, account.id, wallDate(deps))
    await enqueue(deps, tx, 'account.erase', { owner_id: account.id })
  })
  forgetSessions(deps, account.id)
  keyVerdicts(deps).forget(key => key.owner_id === account.id)
}

const BY_ITSELF: AuditEntry = {
  ...{ actor: 'person', actor_id: null, door: 'auth', address: null },
  ...{ operation: 'delete_account', resource: null, request_id: null },
}

/** Throws while calls are in progress; the queue then retries. */
export async function eraseClosed(deps: Deps, { owner_id }: JobData['account.erase']): Promise<void> {
  const account = await selectAccount(deps.sql, owner_id)
  if (account && account.deleted_at === null) await eraseAccount(deps, owner_id, BY_ITSELF)
}
