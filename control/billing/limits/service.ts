/** Where an account calls, as the installation and the account itself have it. */

import type { Db } from '../../platform/db/connect.ts'
import type { ControlConfig, Deps } from '../../platform/deps.ts'
import type { DialingLimits } from '../../platform/phone.ts'
import { selectDestinations } from './sql.ts'

export const within = (config: ControlConfig, destinations: readonly string[]): DialingLimits => ({
  blocked_prefixes: config.blocked_prefixes,
  allowed_prefixes: config.allowed_prefixes,
  destinations,
})

/** What an owner's calls are judged by. */
export async function barringOf({ config }: Pick<Deps, 'config'>, db: Db, ownerId: string): Promise<DialingLimits> {
  return within(config, await selectDestinations(db, ownerId))
}
