import { createProjectIn } from '../../agents/projects/service.ts'
import { fund, openAccount, toUnits } from '../../billing/money.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { uuidv7 } from '../../platform/ids.ts'
import {
  insertAccount,
  type Subscription,
  selectMinutePrice,
  selectSubscription,
  updateMinutePrice,
  upsertSubscription,
} from './sql.ts'

const DAY_MS = 24 * 3600 * 1000

/** Creates an account with a trial subscription, a trial balance and an example project, in one transaction. */
export async function createAccount(
  deps: Pick<Deps, 'sql' | 'clock' | 'config'>,
  input: { name: string; email?: string | null; password_hash?: string | null },
): Promise<{ id: string; project_id: string }> {
  const at = wallDate(deps)
  const id = uuidv7(at.getTime())
  return deps.sql.begin(async tx => {
    const { name, email = null, password_hash = null } = input
    await insertAccount(tx, { id, name, email, password_hash, created_at: at })
    await upsertSubscription(tx, id, 'trial', {
      status: 'active',
      ends_at: new Date(at.getTime() + deps.config.trial_days * DAY_MS),
    })
    await openAccount(tx, id)
    await fund(tx, id, toUnits(deps.config.trial_balance), at)
    const project = await createProjectIn(deps, tx, id, {
      name: 'Example',
      language: 'en',
      greeting: 'Hello! How can I help you today?',
      prompt: 'You are a friendly receptionist. Answer briefly, and take a message when you cannot help.',
    })
    return { id, project_id: project.id }
  })
}

/** Credits the account as a payment would. The owner sees the reference. */
export async function topUp(
  deps: Pick<Deps, 'sql' | 'clock'>,
  ownerId: string,
  amount: string,
  reference: string | null = null,
): Promise<void> {
  await deps.sql.begin(tx => fund(tx, ownerId, toUnits(amount), wallDate(deps), reference))
}

/** Keeps the current plan when `plan` is null. */
export async function setSubscription(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  plan: string | null,
  value: Subscription,
): Promise<void> {
  const named = plan ?? (await selectSubscription(deps.sql, ownerId))?.plan ?? 'standard'
  await upsertSubscription(deps.sql, ownerId, named, value)
}

export async function subscriptionOf(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string): Promise<Subscription> {
  const row = await selectSubscription(deps.sql, ownerId)
  return { status: row && isLive(deps, row) ? 'active' : 'inactive', ends_at: row?.ends_at ?? null }
}

export function isLive(
  deps: Pick<Deps, 'clock'>,
  { status, ends_at }: { status: string | null; ends_at: Date | null },
): boolean {
  return status === 'active' && (ends_at === null || ends_at.getTime() > deps.clock.wall())
}

/** Price in money units per minute: the account's own price, or the installation's. */
export async function minutePriceOf(deps: Pick<Deps, 'sql' | 'config'>, ownerId: string): Promise<bigint> {
  return (await selectMinutePrice(deps.sql, ownerId)) ?? toUnits(deps.config.minute_price)
}

/** Null restores the installation's price. Calls that were placed before keep their price. */
export async function setMinutePrice(deps: Pick<Deps, 'sql'>, ownerId: string, price: string | null): Promise<void> {
  await updateMinutePrice(deps.sql, ownerId, price === null ? null : toUnits(price))
}
