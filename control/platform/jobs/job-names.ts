/** Names of the job queues. In a file of its own, because the metrics that use them are passed to the jobs. */
export const JOB_NAMES = [
  'call.place',
  'campaign.place',
  'webhook.deliver',
  'trunks.publish',
  'softphone.publish',
  'knowledge.index',
  'knowledge.long',
  'knowledge.forget',
  'leads.search',
  'account.erase',
  'account.stopped',
] as const
export type JobName = (typeof JOB_NAMES)[number]
