import type { FastifyInstance } from 'fastify'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { toUnits } from '../money.ts'
import { presentMoney } from '../money-schema.ts'
import { LimitsPatch, LimitsView } from './schema.ts'
import { type LimitsRow, selectLimits, updateLimits } from './sql.ts'

export function limitRoutes(app: FastifyInstance, deps: Deps): void {
  const { sql, config } = deps
  const money = (units: bigint) => presentMoney(units, config.currency)
  const present = ({ destinations, daily_cap, spent, held }: LimitsRow) => ({
    destinations,
    max_spend_a_day: daily_cap === null ? null : money(daily_cap),
    spent_today: money(spent),
    held: money(held),
  })
  route(app, deps, {
    id: 'get_limits',
    method: 'GET',
    path: '/limits',
    scope: 'read',
    tag: 'Account',
    summary: 'Retrieve the limits of the account',
    answer: LimitsView,
    handle: async ({ ownerId }) => present(await selectLimits(sql, ownerId, wallDate(deps))),
  })
  route(app, deps, {
    id: 'update_limits',
    method: 'PATCH',
    path: '/limits',
    scope: 'session',
    notATool: 'The limits protect against a stolen key, so no key may change them.',
    tag: 'Account',
    summary: 'Limit destinations and daily spending',
    description:
      'The limits protect against a stolen API key, so only a dashboard session can change them. Calls and lead searches in progress continue within the money held for them. A campaign that reached the daily limit resumes at midnight UTC.',
    body: LimitsPatch,
    answer: LimitsView,
    async handle({ ownerId, body: { destinations, max_spend_a_day: cap } }) {
      await sql.begin(tx =>
        updateLimits(tx, ownerId, {
          ...(destinations === undefined ? {} : { destinations }),
          ...(cap === undefined ? {} : { dailyCap: cap === null ? null : toUnits(cap) }),
        }),
      )
      return present(await selectLimits(sql, ownerId, wallDate(deps)))
    },
  })
}
