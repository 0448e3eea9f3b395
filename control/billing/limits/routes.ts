import type { FastifyInstance } from 'fastify'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { toUnits } from '../money.ts'
import { presentMoney } from '../money-schema.ts'
import { resumeAccount } from '../unusual/service.ts'
import { updateSwitch, type WatchRow } from '../unusual/sql.ts'
import { LimitsPatch, LimitsView } from './schema.ts'
import { type LimitsRow, selectLimits, updateLimits } from './sql.ts'

const presentWatch = ({ stop_unusual_activity, stopped_at, stop_reason, stop_detail }: WatchRow) => ({
  stop_unusual_activity,
  stopped:
    stopped_at === null || stop_reason === null || stop_detail === null
      ? null
      : { at: stopped_at.toISOString(), reason: stop_reason, ...stop_detail },
})

export function limitRoutes(app: FastifyInstance, deps: Deps): void {
  const { sql, config } = deps
  const money = (units: bigint) => presentMoney(units, config.currency)
  const present = ({ destinations, daily_cap, spent, held, ...watch }: LimitsRow) => ({
    destinations,
    max_spend_a_day: daily_cap === null ? null : money(daily_cap),
    spent_today: money(spent),
    held: money(held),
    ...presentWatch(watch),
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
    summary: 'Limit destinations and daily spending, and switch the automatic stop on or off',
    description:
      'The limits protect against a stolen API key, so only a dashboard session can change them. Calls and lead searches in progress continue within the money held for them. A campaign that reached the daily limit resumes at midnight UTC.',
    body: LimitsPatch,
    answer: LimitsView,
    async handle({ ownerId, body: { destinations, max_spend_a_day: cap, stop_unusual_activity: stops } }) {
      await sql.begin(async tx => {
        if (stops !== undefined) await updateSwitch(tx, ownerId, stops)
        await updateLimits(tx, ownerId, {
          ...(destinations === undefined ? {} : { destinations }),
          ...(cap === undefined ? {} : { dailyCap: cap === null ? null : toUnits(cap) }),
        })
      })
      return present(await selectLimits(sql, ownerId, wallDate(deps)))
    },
  })
  route(app, deps, {
    id: 'resume_calls',
    method: 'POST',
    path: '/limits/resume',
    scope: 'session',
    notATool: 'The stop protects against a stolen key, so no key may lift it.',
    tag: 'Account',
    summary: 'Resume outgoing calls after an automatic stop',
    description:
      'The countries and the spending of until now are no reason to stop again. Does nothing when calls are not stopped.',
    answer: LimitsView,
    async handle({ ownerId }) {
      await resumeAccount(deps, ownerId)
      return present(await selectLimits(sql, ownerId, wallDate(deps)))
    },
  })
}
