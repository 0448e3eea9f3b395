import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Attempted, afterAttempt, type Ended } from '../../../control/outreach/campaigns/attempt.ts'
import { campaignStatuses } from '../../../control/outreach/campaigns/types.ts'
import { EndedReason, FinalStatus } from '../../../media/contract/messages.ts'

const NOW = Date.parse('2026-01-07T12:00:00Z')
const attempted = (attempts: number, part: Partial<Attempted['campaign']> = {}): Attempted => ({
  contact: { attempts },
  campaign: { status: 'running', retries: 2, retry_interval_min: 30, ...part },
})
const ended = (status: Ended['status'], ended_reason: Ended['ended_reason'], part: Partial<Ended> = {}): Ended => ({
  status,
  ended_reason,
  goal_reached: false,
  do_not_call: false,
  ...part,
})
const IN_HALF_AN_HOUR = NOW + 30 * 60_000

describe('a contact after an attempt', () => {
  it.each<[string, Attempted, Ended, object]>([
    ['talked', attempted(1), ended('completed', 'caller_hangup'), { status: 'completed', goal_reached: false }],
    [
      'reached the goal',
      attempted(1),
      ended('completed', 'agent_hangup', { goal_reached: true }),
      { status: 'completed', goal_reached: true },
    ],
    [
      'reached the goal before it broke off',
      attempted(1),
      ended('failed', 'engine_lost', { goal_reached: true }),
      { status: 'completed', goal_reached: true },
    ],
    ['got a message', attempted(1), ended('completed', 'voicemail_left'), { status: 'completed' }],
    [
      'had a voicemail that was hung up on',
      attempted(1),
      ended('no_answer', 'voicemail_hangup'),
      { status: 'pending', nextAttemptAtMs: IN_HALF_AN_HOUR },
    ],
    [
      'did not answer',
      attempted(1),
      ended('no_answer', 'no_answer'),
      { status: 'pending', attempts: 1, nextAttemptAtMs: IN_HALF_AN_HOUR },
    ],
    [
      'did not answer the last time',
      attempted(3),
      ended('no_answer', 'no_answer'),
      { status: 'no_answer', attempts: 3, nextAttemptAtMs: null },
    ],
    ['was busy', attempted(2), ended('busy', 'busy'), { status: 'pending' }],
    ['was busy the last time', attempted(1, { retries: 0 }), ended('busy', 'declined'), { status: 'busy' }],
    ['was kept from us by the carrier', attempted(1), ended('failed', 'carrier_congestion'), { status: 'pending' }],
    [
      'was kept from us by our own crash',
      attempted(1),
      ended('failed', 'engine_lost'),
      { status: 'pending', attempts: 1 },
    ],
    [
      'has no such number',
      attempted(1),
      ended('failed', 'number_unknown'),
      { status: 'failed', nextAttemptAtMs: null },
    ],
    ['is closed to us', attempted(1), ended('failed', 'forbidden_by_carrier'), { status: 'failed' }],
    [
      'asked not to be called, and the call broke',
      attempted(1),
      ended('failed', 'engine_lost', { do_not_call: true }),
      { status: 'failed' },
    ],
    [
      'was put on the do-not-call list',
      attempted(1),
      ended('canceled', 'do_not_call'),
      { status: 'skipped', skip_reason: 'do_not_call' },
    ],
    ['was canceled', attempted(1), ended('canceled', 'canceled_by_api'), { status: 'canceled' }],
    [
      'was taken by no engine',
      attempted(3),
      ended('failed', 'queue_expired'),
      { status: 'pending', attempts: 2, nextAttemptAtMs: NOW + 60_000 },
    ],
    [
      'was taken back by a pause',
      attempted(2, { status: 'paused' }),
      ended('canceled', 'queue_expired'),
      { status: 'pending', attempts: 1, nextAttemptAtMs: NOW + 60_000 },
    ],
    ['found no line', attempted(1), ended('failed', 'no_capacity'), { status: 'pending', attempts: 0 }],
    ['was busy in a pause', attempted(1, { status: 'paused' }), ended('busy', 'busy'), { status: 'pending' }],
    ['was busy after the stop', attempted(1, { status: 'stopped' }), ended('busy', 'busy'), { status: 'busy' }],
    [
      'was taken by no engine before the stop',
      attempted(1, { status: 'stopped' }),
      ended('failed', 'queue_expired'),
      { status: 'canceled', attempts: 0 },
    ],
  ])('that %s', (_, before, end, after) => {
    expect(afterAttempt(before, end, NOW)).toMatchObject(after)
  })

  it('satisfies the retry invariants for every end of a call', () => {
    const any = fc.record({
      attempts: fc.integer({ min: 1, max: 6 }),
      retries: fc.integer({ min: 0, max: 5 }),
      retry_interval_min: fc.integer({ min: 1, max: 1440 }),
      campaign: fc.constantFrom(...campaignStatuses),
      status: fc.constantFrom(...FinalStatus.options),
      reason: fc.constantFrom(...EndedReason.options),
      goal_reached: fc.boolean(),
      do_not_call: fc.boolean(),
    })
    fc.assert(
      fc.property(
        any,
        ({ attempts, retries, retry_interval_min, campaign, status, reason, goal_reached, do_not_call }) => {
          const before: Attempted = {
            contact: { attempts },
            campaign: { status: campaign, retries, retry_interval_min },
          }
          const after = afterAttempt(before, { status, ended_reason: reason, goal_reached, do_not_call }, NOW)
          expect(['dialing', 'in_progress']).not.toContain(after.status)
          expect(after.nextAttemptAtMs !== null).toBe(after.status === 'pending')
          expect(after.skip_reason !== null).toBe(after.status === 'skipped')
          expect(after.goal_reached !== null).toBe(after.status === 'completed')
          expect(goal_reached && after.goal_reached !== true).toBe(false)
          if (after.status !== 'pending') return
          expect(campaign).not.toBe('stopped')
          expect(after.attempts).toBeLessThanOrEqual(Math.max(retries, attempts - 1))
          if (after.attempts === attempts) {
            expect([after.nextAttemptAtMs! - NOW, do_not_call]).toEqual([retry_interval_min * 60_000, false])
          }
        },
      ),
    )
  })
})
