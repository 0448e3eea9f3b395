/** What only the operator of an installation does to accounts. */

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
import { REVOKED_EVERYWHERE_MS } from '../../platform/http/verdicts.ts'
import { enqueue } from '../../platform/jobs/jobs.ts'
import { withdrawSoftphones } from '../../telephony/softphones/service.ts'
import { raiseVersion } from '../../telephony/trunks/sql.ts'
import { isOwned } from './export.ts'
import { ownedTables } from './owned-tables.ts'

/** Told to the operator as it is. */
export class Refused extends Error {}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** By id or e-mail. A deleted account is found by its id, for who reads only. */
export async function findAccount(
  deps: Pick<Deps, 'sql'>,
  who: string,
  { deletedToo = false } = {},
): Promise<AccountRow> {
  const account = UUID.test(who) ? await selectAccount(deps.sql, who) : await selectAccountByEmail(deps.sql, who)
  if (!account) throw new Refused(`There is no account ${who}.`)
  if (account.deleted_at && !deletedToo) throw new Refused(`The account ${who} was deleted.`)
  return account
}

export async function listAccounts(deps: Pick<Deps, 'sql' | 'clock'>): Promise<ListedAccount[]> {
  return selectAccounts(deps.sql, wallDate(deps))
}

/** At a terminal of the installation. */
export const byOperator = (operation: string): AuditEntry => ({
  ...{ actor: 'operator', actor_id: null, door: 'admin', address: null },
  ...{ operation, resource: null, request_id: null },
})
const OPERATOR = byOperator('delete_account')

/**
 * Erases everything that tells of persons and leaves the money. First the account is closed, then waited until no process
 * believes its keys any more, then all goes in one transaction: nothing can be made meanwhile that would stay. What is in
 * the operator's backups is the operator's to care for.
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
  // Before the rows: when the store is away, the operator hears of it and can try again.
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
    await enqueue(deps, tx, 'trunks.publish', {}) // the engines let go of its trunks
    return { balance: (await balanceOf(tx, ownerId)).available }
  })
  // And what was stored meanwhile; whatever comes later finds no call, see calls/recording.ts, and no source.
  await deleteFiles(deps, ownerId)
  return left
}

async function deleteFiles({ blobs }: Pick<Deps, 'blobs'>, ownerId: string): Promise<void> {
  for (const folder of [recordingsOf(ownerId), knowledgeOf(ownerId)]) await blobs.deleteAll(folder)
}

async function lockIdle(tx: Tx, ownerId: string): Promise<void> {
  const account = await lockAccount(tx, ownerId)
  if (!account || account.deleted_at) throw new Refused('The account was deleted meanwhile.')
  const live = await countLiveCalls(tx, ownerId)
  if (live > 0) throw new Refused(`${live} of its calls are under way. Hang up, or wait for their end.`)
}
