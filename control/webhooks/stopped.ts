/** Tells that an account was stopped: a webhook, and a mail to everybody who may resume it. */
import { selectManagers } from '../billing/unusual/sql.ts'
import { type Deps, wallDate } from '../platform/deps.ts'
import type { JobData } from '../platform/jobs/jobs.ts'
import { withJobs } from '../platform/jobs/jobs.ts'
import { emitWebhook } from './emit.ts'

type Stopped = JobData['account.stopped']

const DAY_MS = 24 * 3600 * 1000

/** A mail that cannot be sent must not repeat the webhook; the mail adapter retries by itself. */
export async function tellStopped(deps: Deps, stopped: Stopped): Promise<void> {
  const { owner_id, at, reason, countries, spent, usual } = stopped
  await withJobs(deps, tx =>
    emitWebhook(deps, tx, owner_id, 'account.stopped', { created_at: at, data: { reason, countries, spent, usual } }),
  )
  // A job that waited for a day tells nothing new.
  if (wallDate(deps).getTime() - Date.parse(at) > DAY_MS) return
  const message = messageOf(deps, stopped)
  const sent = await Promise.allSettled(
    (await selectManagers(deps.sql, owner_id)).map(to => deps.mail.send({ to, ...message })),
  )
  const failed = sent.filter(one => one.status === 'rejected').length
  if (failed > 0) deps.log.warn({ owner_id, failed }, 'notice of a stopped account was not sent')
}

function messageOf({ config }: Deps, { reason, countries, spent, usual }: Stopped) {
  const seen =
    reason === 'new_countries'
      ? `It called countries that it had not called before: ${(countries ?? []).join(', ')}.`
      : `It spent ${spent} ${config.currency} within an hour; its usual hour costs ${usual} ${config.currency}.`
  return {
    subject: 'Calls of your Parley account were stopped',
    text: [
      `Parley stopped the outgoing calls of your account at ${config.base_url}, because its activity is unusual.`,
      seen,
      '',
      'Calls in progress go on, incoming calls are answered. Campaigns wait.',
      `If it was you, resume calls here: ${config.base_url}/dashboard/account`,
      'If it was not, revoke your API keys and change your password first.',
    ].join('\n'),
  }
}
