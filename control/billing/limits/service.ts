/** Combines the dialling limits of the installation and of the account. */

import type { Db } from '../../platform/db/connect.ts'
import type { ControlConfig, Deps } from '../../platform/deps.ts'
import type { DialingLimits } from '../../platform/phone.ts'
import { selectDestinations } from './sql.ts'

export const toDialingLimits = (config: ControlConfig, destinations: readonly string[]): DialingLimits => ({
  blocked_prefixes: config.blocked_prefixes,
  allowed_prefixes: config.allowed_prefixes,
  destinations,
})

/** Returns the dialling limits that apply to an owner's calls. */
export async function dialingLimitsOf(
  { config }: Pick<Deps, 'config'>,
  db: Db,
  ownerId: string,
): Promise<DialingLimits> {
  return toDialingLimits(config, await selectDestinations(db, ownerId))
}
