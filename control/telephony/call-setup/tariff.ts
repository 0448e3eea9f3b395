import { minutePriceOf } from '../../access/accounts/service.ts'
import { type Tariff, toUnits } from '../../billing/money.ts'
import type { ControlConfig, Deps } from '../../platform/deps.ts'
import type { CallRow } from './sql.ts'

/** Seconds of money held before anything rings, and again each time the engine asks for an extension. */
export const HOLD_SECONDS = 60

/** Price of a call placed now. An existing call has its tariff in its row. */
export async function tariffOf(
  deps: Pick<Deps, 'sql' | 'config'>,
  ownerId: string,
  direction: CallRow['direction'],
): Promise<Tariff> {
  return tariffAt(deps.config, direction, await minutePriceOf(deps, ownerId))
}

/** `price`: units per minute of this account; null: the installation's price. */
export const tariffAt = (config: ControlConfig, direction: CallRow['direction'], price: bigint | null): Tariff => ({
  price: price ?? toUnits(config.minute_price),
  factorPercent: direction === 'web' ? config.web_factor_percent : 100,
})

export const tariffOfCall = (call: Pick<CallRow, 'price' | 'factor_percent'>): Tariff => ({
  price: call.price,
  factorPercent: call.factor_percent,
})
