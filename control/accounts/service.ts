import { type Deps, wallDate } from '../deps.ts'
import { Problem } from '../http/problem.ts'
import { uuidv7 } from '../ids.ts'
import { balanceOf, fund, openAccount, toUnits } from '../money.ts'
import { createProjectIn } from '../projects/service.ts'
import { insertAccount, type Subscription, selectSubscription, upsertSubscription } from './sql.ts'

const DAY_MS = 24 * 3600 * 1000

/** What sign-up makes at once: account, trial subscription, trial balance, one example project. */
export async function createAccount(
  deps: Pick<Deps, 'sql' | 'clock' | 'config'>,
  input: { name: string; email?: string | null },
): Promise<{ id: string; project_id: string }> {
  const at = wallDate(deps)
  const id = uuidv7(at.getTime())
  return deps.sql.begin(async tx => {
    await insertAccount(tx, { id, name: input.name, email: input.email ?? null, at })
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

/** Adds money, as a payment would. */
export async function topUp(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string, amount: string): Promise<void> {
  await deps.sql.begin(tx => fund(tx, ownerId, toUnits(amount), wallDate(deps)))
}

export async function setSubscription(deps: Pick<Deps, 'sql'>, ownerId: string, plan: string, value: Subscription) {
  await upsertSubscription(deps.sql, ownerId, plan, value)
}

export async function subscriptionOf(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string): Promise<Subscription> {
  const row = await selectSubscription(deps.sql, ownerId)
  const live = row?.status === 'active' && (row.ends_at === null || row.ends_at.getTime() > deps.clock.wall())
  return { status: live ? 'active' : 'inactive', ends_at: row?.ends_at ?? null }
}

/** The two gates of money, in their order. */
export async function assertCanPay(deps: Deps, ownerId: string, atLeast: bigint): Promise<void> {
  const subscription = await subscriptionOf(deps, ownerId)
  if (subscription.status !== 'active') throw new Problem('subscription_inactive')
  const balance = await balanceOf(deps.sql, ownerId)
  if (balance.available < atLeast) throw new Problem('insufficient_balance')
}
