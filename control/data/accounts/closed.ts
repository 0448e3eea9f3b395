/** Erases an account that its owner has closed. */
import { selectAccount } from '../../access/accounts/sql.ts'
import type { Deps } from '../../platform/deps.ts'
import type { AuditEntry } from '../../platform/http/audit-log.ts'
import type { JobData } from '../../platform/jobs/jobs.ts'
import { eraseAccount } from './operator.ts'

const BY_ITSELF: AuditEntry = {
  actor: 'person',
  actor_id: null,
  channel: 'auth',
  address: null,
  operation: 'delete_account',
  resource: null,
  request_id: null,
  person_id: null,
}

/** Throws while calls are in progress; the queue then retries. */
export async function eraseClosed(deps: Deps, { owner_id }: JobData['account.erase']): Promise<void> {
  const account = await selectAccount(deps.sql, owner_id)
  if (account && account.deleted_at === null) await eraseAccount(deps, owner_id, BY_ITSELF)
}
