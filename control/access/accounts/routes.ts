import type { FastifyInstance } from 'fastify'
import { balanceOf } from '../../billing/money.ts'
import { presentMoney } from '../../billing/money-schema.ts'
import type { Deps } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { BalanceView } from './schema.ts'
import { minutePriceOf, subscriptionOf } from './service.ts'

export function accountRoutes(app: FastifyInstance, deps: Deps): void {
  const { currency } = deps.config
  route(app, deps, {
    id: 'get_balance',
    method: 'GET',
    path: '/balance',
    scope: 'read',
    tag: 'Account',
    summary: 'Retrieve the balance, price and subscription',
    description: 'Returns the available balance, the amount held for calls in progress, and the price per minute.',
    answer: BalanceView,
    async handle({ ownerId }) {
      const [balance, price, subscription] = await Promise.all([
        balanceOf(deps.sql, ownerId),
        minutePriceOf(deps, ownerId),
        subscriptionOf(deps, ownerId),
      ])
      return {
        balance: presentMoney(balance.available, currency),
        held: presentMoney(balance.held, currency),
        minute_price: presentMoney(price, currency),
        subscription: { status: subscription.status, ends_at: subscription.ends_at?.toISOString() ?? null },
      }
    },
  })
}
