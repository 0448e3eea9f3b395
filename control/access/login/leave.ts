/** Deletes the account at its owner's request: closes it at once, and erases it when its last call has ended. */

import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { closeAccount, lockAccount } from '../accounts/sql.ts'
import { keyCache } from '../keys/service.ts'
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
  keyCache(deps).forget(key => key.owner_id === account.id)
}
