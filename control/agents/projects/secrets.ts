/** Write-only secrets of an owner. Names can be listed; values are decrypted only while a call is prepared. */

import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { Page } from '../../platform/http/paging.ts'
import { notFound } from '../../platform/http/problem.ts'
import { countSecrets, deleteSecret, selectSecretNames, selectSecrets, upsertSecret } from './sql.ts'

const associated = (ownerId: string, name: string) => `secret:${ownerId}:${name}`

export async function setSecret(
  deps: Pick<Deps, 'sql' | 'clock' | 'sealer'>,
  ownerId: string,
  name: string,
  value: string,
): Promise<{ name: string; updated_at: Date }> {
  const at = wallDate(deps)
  await upsertSecret(deps.sql, ownerId, { name, sealed: deps.sealer.seal(value, associated(ownerId, name)), at })
  return { name, updated_at: at }
}

export async function listSecrets(deps: Pick<Deps, 'sql'>, ownerId: string, { limit, offset }: Page) {
  const [items, total] = await Promise.all([
    selectSecretNames(deps.sql, ownerId, { limit, offset }),
    countSecrets(deps.sql, ownerId),
  ])
  return { items, total, limit, offset }
}

export async function removeSecret(deps: Pick<Deps, 'sql'>, ownerId: string, name: string): Promise<void> {
  if (!(await deleteSecret(deps.sql, ownerId, name))) throw notFound()
}

/** Returns the secrets that exist among `names`. */
export async function openSecrets(
  deps: Pick<Deps, 'sealer'>,
  db: Db,
  ownerId: string,
  names: string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map()
  const rows = await selectSecrets(db, ownerId, names)
  return new Map(rows.map(row => [row.name, String(deps.sealer.open(row.sealed, associated(ownerId, row.name)))]))
}
