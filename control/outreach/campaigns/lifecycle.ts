/** Transitions of a campaign's status. Pure. */
import type { CampaignStatus } from './types.ts'

export const actions = ['start', 'pause', 'resume', 'stop', 'requeue'] as const
export type Action = (typeof actions)[number]

/** `running`: or `scheduled` when its start is in the future. `repeat`: already done, nothing changes. */
type Step = 'running' | 'paused' | 'stopped' | 'repeat'

const steps: Record<Action, Partial<Record<CampaignStatus, Step>>> = {
  start: { draft: 'running', scheduled: 'repeat', running: 'repeat' },
  pause: { scheduled: 'paused', running: 'paused', paused: 'repeat' },
  resume: { paused: 'running', scheduled: 'repeat', running: 'repeat' },
  stop: { scheduled: 'stopped', running: 'stopped', paused: 'stopped', stopped: 'repeat' },
  requeue: { paused: 'running', stopped: 'running', completed: 'running' },
}

/** Null for an illegal transition. */
export function nextStatus(
  action: Action,
  { status, scheduled_start_at }: { status: CampaignStatus; scheduled_start_at: Date | null },
  now: Date,
): CampaignStatus | 'repeat' | null {
  const step = steps[action][status] ?? null
  if (step === 'running' && scheduled_start_at !== null && scheduled_start_at > now) return 'scheduled'
  return step
}

/** Contacts can be uploaded, and the campaign can be deleted. */
export const isDraft = ({ status }: { status: CampaignStatus }) => status === 'draft'

/** Settings can be changed; task and project only in a draft. */
export const isEditable = ({ status }: { status: CampaignStatus }) => status === 'draft' || status === 'paused'

export const isOver = ({ status }: { status: CampaignStatus }) => status === 'completed' || status === 'stopped'
