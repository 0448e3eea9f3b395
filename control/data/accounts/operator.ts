/** Account operations that only the operator of an installation may run. */

import { recordingsOf } from '../../../media/contract/recordings.ts'
import {
  type AccountRow,
  anonymise,
  closeAccount,
  countLiveCalls,
  type ListedAccount,
  lockAccount,
  selectAccount,
  selectAccountByEmail,
  selectAccounts,
} from '../../access/accounts/sql.ts'
import { noteDone } from '../../access/audit/service.ts'
import { allowDeletion } from '../../access/audit/sql.ts'
import { balanceOf } from '../../billing/money.ts'
import { knowledgeOf } from '../../knowledge/storage.ts'
import { endSearchesOf } from '../../outreach/leads/end.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { AuditEntry } from '../../platform/http/audit-log.ts'
import { REVOKED_EVERYWHERE_MS } from '../../platform/http/credential-cache.ts'
import { enqueue } from '../../platform/jobs/jobs.ts'
import { withdrawSoftphones } from '../../telephony/softphones/service.ts'
import { raiseVersion } from '../../telephony/trunks/sql.ts'
import { isOwned } from './export.ts'
import { ownedTables } from './owned-tables.ts'

/** An expected error. The operator sees its message as it is. */
export class Refused extends Error {}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Finds an account by id or e-mail. `deletedToo` also finds deleted accounts, by id, for read-only use. */
export async function findAccount(
  deps: Pick<Deps, 'sql'>,
  who: string,
  { deletedToo = false } = {},
): Promise<AccountRow> {
  const account = UUID.test(who) ? await selectAccount(deps.sql, who) : await selectAccountByEmail(deps.sql, who)
  if (!account) throw new Refused(`Account ${who} not found.`)
  if (account.deleted_at && !deletedToo) throw new Refused(`Account ${who} was deleted.`)
  return account
}

export async function listAccounts(deps: Pick<Deps, 'sql' | 'clock'>): Promise<ListedAccount[]> {
  return selectAccounts(deps.sql, wallDate(deps))
}

/** Audit entry of an operation that runs at a terminal of the installation. */
export const byOperator = (operation: string): AuditEntry => ({
  actor: 'operator',
  actor_id: null,
  channel: 'admin',
  address: null,
  operation,
  resource: null,
  request_id: null,
  person_id: null,
})
const OPERATOR = byOperator('delete_account')

/**
 * Erases all personal data of an account and keeps its money records. It closes the account, waits until no process
 * accepts its keys any more, and deletes everything in one transaction, so that nothing created meanwhile can stay.
 * Backups are the operator's responsibility.
 */
export async function eraseAccount(
  deps: Pick<Deps, 'sql' | 'clock' | 'boss' | 'blobs'>,
  ownerId: string,
  by: AuditEntry = OPERATOR,
): Promise<{ balance: bigint }> {
  await deps.sql.begin(async tx => {
    await lockIdle(tx, ownerId)
    await closeAccount(tx, ownerId, wallDate(deps))
    await endSearchesOf(deps, tx, ownerId)
  })
  await new Promise<void>(resolve => deps.clock.after(REVOKED_EVERYWHERE_MS, resolve))
  // Before the rows: when the blob store is unreachable, the operator gets the error and can try again.
  await deleteFiles(deps, ownerId)
  const left = await deps.sql.begin(async tx => {
    await lockIdle(tx, ownerId)
    await endSearchesOf(deps, tx, ownerId)
    await withdrawSoftphones(deps, tx, ownerId)
    await allowDeletion(tx)
    for (const table of ownedTables) {
      if (table.erased) await tx`delete from ${tx(table.name)} where ${isOwned(tx, ownerId, table)}`
    }
    await anonymise(tx, ownerId, wallDate(deps))
    await noteDone(tx, deps, ownerId, by)
    await raiseVersion(tx)
    await enqueue(deps, tx, 'trunks.publish', {}) // engines release its trunks
    return { balance: (await balanceOf(tx, ownerId)).available }
  })
  // Deletes what was stored meanwhile. Anything that arrives later finds neither its call (see calls/recording.ts) nor
  // its source.
  await deleteFiles(deps, ownerId)
  return left
}

async function deleteFiles({ blobs }: Pick<Deps, 'blobs'>, ownerId: string): Promise<void> {
  for (const folder of [recordingsOf(ownerId), knowledgeOf(ownerId)]) await blobs.deleteAll(folder)
}

async function lockIdle(tx: Tx, ownerId: string): Promise<void> {
  const account = await lockAccount(tx, ownerId)
  if (!account || account.deleted_at) throw new Refused('The account was deleted in the meantime.')
  const live = await countLiveCalls(tx, ownerId)
  if (live > 0) throw new Refused(`The account has ${live} calls in progress. Hang up, or wait until they end.`)
}
