/** Home region of an account, which numbers without a country code belong to. */
import type { Db } from '../../platform/db/connect.ts'
import { regionOf } from '../../platform/phone.ts'
import { selectHome } from './sql.ts'

/** Region of the account's first trunk. */
export async function homeRegionOf(db: Db, ownerId: string): Promise<string | null> {
  const home = await selectHome(db, ownerId)
  return home.region ?? (home.number && regionOf(home.number))
}
