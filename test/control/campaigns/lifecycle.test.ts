import { describe, expect, test } from 'vitest'
import {
  type Action,
  actions,
  isDraft,
  isEditable,
  isOver,
  nextStatus,
} from '../../../control/outreach/campaigns/lifecycle.ts'
import { type CampaignStatus, campaignStatuses } from '../../../control/outreach/campaigns/types.ts'

const now = new Date('2026-03-02T09:00:00Z')
const later = new Date('2026-03-03T09:00:00Z')

/** As `decisions.md` has it; what is not here is illegal. */
const legal: Record<Action, Partial<Record<CampaignStatus, string>>> = {
  start: { draft: 'running', scheduled: 'repeat', running: 'repeat' },
  pause: { scheduled: 'paused', running: 'paused', paused: 'repeat' },
  resume: { paused: 'running', scheduled: 'repeat', running: 'repeat' },
  stop: { scheduled: 'stopped', running: 'stopped', paused: 'stopped', stopped: 'repeat' },
  requeue: { paused: 'running', stopped: 'running', completed: 'running' },
}

describe.each(actions)('%s', action => {
  test.each(campaignStatuses)('of a campaign that is %s', status => {
    const expected = legal[action][status] ?? null
    expect(nextStatus(action, { status, scheduled_start_at: null }, now)).toBe(expected)
    expect(nextStatus(action, { status, scheduled_start_at: now }, now)).toBe(expected)
    const planned = nextStatus(action, { status, scheduled_start_at: later }, now)
    expect(planned).toBe(expected === 'running' ? 'scheduled' : expected)
  })
})

test('treats a repeated action as a no-op', () => {
  for (const action of actions) {
    for (const status of campaignStatuses) {
      for (const scheduled_start_at of [null, later]) {
        const next = nextStatus(action, { status, scheduled_start_at }, now)
        if (next === null || next === 'repeat' || action === 'requeue') continue
        expect(nextStatus(action, { status: next, scheduled_start_at }, now), `${action} of ${status}`).toBe('repeat')
      }
    }
  }
})

test('allows changes of drafts and pauses, and none after the end', () => {
  const those = (is: (campaign: { status: CampaignStatus }) => boolean) =>
    campaignStatuses.filter(status => is({ status }))
  expect(those(isDraft)).toEqual(['draft'])
  expect(those(isEditable)).toEqual(['draft', 'paused'])
  expect(those(isOver)).toEqual(['completed', 'stopped'])
})
