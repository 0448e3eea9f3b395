/** The queues of jobs; a file of its own, since what counts them is part of what jobs are given. */
export const JOB_NAMES = [
  'call.place',
  'campaign.place',
  'webhook.deliver',
  'trunks.publish',
  'softphone.publish',
  'knowledge.index',
  'knowledge.forget',
  'leads.search',
  'account.erase',
] as const
export type JobName = (typeof JOB_NAMES)[number]
