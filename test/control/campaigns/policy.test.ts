import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { calleeZones, sameTime } from '../../../control/outreach/campaigns/callee-zone.ts'
import {
  blockersOf,
  decideDial,
  type Question,
  type StartConditions,
} from '../../../control/outreach/campaigns/policy.ts'
import { cachedSpan, type DailyHours, isOpen, spanAt } from '../../../control/outreach/campaigns/zone.ts'
import { MOVES, wallOpen, ZONES } from './wall.ts'

/** Cases of a property; each checks every minute of some days. */
const numRuns = inject('full') ? 1000 : 20
const DAY_MS = 24 * 3600 * 1000
const at = (text: string) => Date.parse(text)
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

const time = fc
  .record({ hour: fc.integer({ min: 0, max: 23 }), minute: fc.constantFrom(0, 1, 15, 30, 59) })
  .map(({ hour, minute }) => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
const hours: fc.Arbitrary<DailyHours> = fc.record({
  timezone: fc.constantFrom(...ZONES),
  start: fc.oneof(time, fc.constantFrom('01:30', '02:00', '02:15', '02:30', '03:00')),
  end: fc.oneof(time, fc.constantFrom('01:45', '02:00', '02:45', '03:00')),
  days: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 })),
})
/** Within two days of a move of the clocks, to the minute. */
const instant = fc
  .tuple(fc.constantFrom(...MOVES), fc.integer({ min: -2 * 1440, max: 3 * 1440 }))
  .map(([day, minutes]) => day + minutes * 60_000)

describe('hours of a day', () => {
  it('follow wall-clock time across daylight saving changes', () => {
    fc.assert(
      fc.property(hours, instant, (some, ms) => {
        expect(isOpen(some, ms)).toBe(wallOpen(some, ms))
      }),
      { numRuns: numRuns * 20 },
    )
  })

  it('are contiguous from start to end', () => {
    fc.assert(
      fc.property(hours, instant, (some, ms) => {
        const { open, sinceMs, untilMs } = spanAt(some, ms)
        const last = Math.min(untilMs ?? Infinity, ms + 2 * DAY_MS)
        for (let t = ms; t < last; t += 60_000) expect([iso(t), wallOpen(some, t)]).toEqual([iso(t), open])
        if (untilMs !== null) expect(wallOpen(some, untilMs)).toBe(!open)
        if (sinceMs === null) return
        expect([wallOpen(some, sinceMs), wallOpen(some, sinceMs - 1)]).toEqual([open, !open])
        for (let t = sinceMs; t < ms; t += 60_000) expect([iso(t), wallOpen(some, t)]).toEqual([iso(t), open])
      }),
      { numRuns },
    )
  })

  it('cache correctly', () => {
    fc.assert(
      fc.property(hours, fc.array(instant, { minLength: 2, maxLength: 6 }), (some, instants) => {
        for (const ms of instants) expect(cachedSpan(some, ms).open).toBe(wallOpen(some, ms))
      }),
      { numRuns },
    )
  })

  it.each([
    // An hour left out: the day is shorter.
    ['Europe/Berlin', '02:15', '02:45', null, '2026-03-28T12:00:00Z', false, '2026-03-30T00:15:00.000Z'],
    // An hour twice: both times.
    ['Europe/Berlin', '02:15', '02:45', null, '2026-10-25T00:20:00Z', true, '2026-10-25T00:45:00.000Z'],
    ['Europe/Berlin', '02:15', '02:45', null, '2026-10-25T00:50:00Z', false, '2026-10-25T01:15:00.000Z'],
    ['America/New_York', '09:00', '20:00', null, '2026-03-08T12:59:00Z', false, '2026-03-08T13:00:00.000Z'],
    // Half an hour is moved there.
    ['Australia/Lord_Howe', '02:00', '03:00', null, '2026-10-03T15:29:59Z', false, '2026-10-03T15:30:00.000Z'],
    ['Asia/Tehran', '00:00', '06:00', null, '2026-01-01T20:29:00Z', false, '2026-01-01T20:30:00.000Z'],
    // The window of Friday night is still open on Saturday morning.
    ['UTC', '22:00', '02:00', [5], '2026-01-03T01:00:00Z', true, '2026-01-03T02:00:00.000Z'],
    ['UTC', '22:00', '02:00', [6], '2026-01-03T01:00:00Z', false, '2026-01-03T22:00:00.000Z'],
    ['UTC', '00:00', '00:00', null, '2026-01-03T01:00:00Z', true, null],
  ] as const)('%s %s–%s on %s: at %s', (timezone, start, end, days, when, open, until) => {
    const span = spanAt({ timezone, start, end, days }, at(when))
    expect([span.open, iso(span.untilMs)]).toEqual([open, until])
  })
})

describe('time zone of a number', () => {
  it.each([
    ['+12125550100', ['America/New_York']],
    ['+493012345678', ['Europe/Berlin', 'Europe/Busingen']],
    ['+989121234567', ['Asia/Tehran']],
    ['+441212345678', expect.arrayContaining(['Europe/London'])],
  ])('%s', (phone, zones) => {
    expect(calleeZones(phone).length).toBeGreaterThan(0)
    expect(calleeZones(phone)).toEqual(
      Array.isArray(zones) && zones.length === 2 ? expect.arrayContaining([zones[0]]) : zones,
    )
  })

  it('is known only when all zones of the number agree', () => {
    expect(sameTime(calleeZones('+442071234567'), at('2026-07-01T00:00:00Z'))).toBe(true)
    expect(sameTime(calleeZones('+18005550100'), at('2026-07-01T00:00:00Z'))).toBe(false)
    expect(sameTime([], at('2026-07-01T00:00:00Z'))).toBe(false)
    // Only one of them changes to summer time.
    const two = ['America/Phoenix', 'America/Denver']
    expect([sameTime(two, at('2026-01-01T00:00:00Z')), sameTime(two, at('2026-07-01T00:00:00Z'))]).toEqual([
      true,
      false,
    ])
  })
})

const question = (part: Partial<Question> = {}, campaign: Partial<Question['campaign']> = {}): Question => ({
  contact: { attempts: 0, next_attempt_at: new Date(0) },
  campaign: {
    timezone: 'Europe/Berlin',
    window_start: '09:00',
    window_end: '20:00',
    days: null,
    quiet_start: '21:00',
    quiet_end: '08:00',
    retries: 2,
    ...campaign,
  },
  nowMs: at('2026-01-07T12:00:00Z'),
  doNotCall: false,
  blocked: null,
  zones: ['Europe/Berlin'],
  blockers: [],
  ...part,
})

describe('the decision', () => {
  it('is dial, until the window or quiet hours end', () => {
    expect(decideDial(question())).toEqual({ decision: 'dial', reasons: [], untilMs: at('2026-01-07T19:00:00Z') })
    expect(decideDial(question({ zones: ['Asia/Tokyo'], nowMs: at('2026-01-07T11:30:00Z') }))).toMatchObject({
      decision: 'dial',
      untilMs: at('2026-01-07T12:00:00Z'),
    })
    expect(decideDial(question({ zones: [] }))).toMatchObject({ decision: 'dial' })
  })

  it('is wait until every temporary reason has passed', () => {
    const abroad = question({ zones: ['Asia/Tokyo'] })
    expect(decideDial(abroad)).toEqual({
      decision: 'wait',
      reasons: ['quiet_hours'],
      untilMs: at('2026-01-08T08:00:00Z'),
    })
    const retry = question({ contact: { attempts: 1, next_attempt_at: new Date('2026-01-07T19:30:00Z') } })
    expect(decideDial(retry)).toEqual({
      decision: 'wait',
      reasons: ['retry_interval'],
      untilMs: at('2026-01-08T08:00:00Z'),
    })
    expect(decideDial(question({ nowMs: at('2026-01-07T22:00:00Z'), blockers: ['insufficient_balance'] }))).toEqual({
      decision: 'wait',
      reasons: ['insufficient_balance', 'outside_window', 'quiet_hours'],
      untilMs: at('2026-01-08T08:00:00Z'),
    })
  })

  it('is skip for every permanent reason', () => {
    const never = question({}, { window_start: '21:30', window_end: '23:00' })
    expect(decideDial(never)).toEqual({ decision: 'skip', reasons: ['no_common_hours'] })
    const contact = { attempts: 3, next_attempt_at: new Date(0) }
    expect(decideDial(question({ contact, doNotCall: true, blocked: 'premium_rate' }))).toEqual({
      decision: 'skip',
      reasons: ['do_not_call', 'premium_rate', 'attempts_exhausted'],
    })
  })

  it('never dials in a forbidden hour of either zone, and never waits longer than necessary', () => {
    const zones = fc.constantFrom<string[]>(['America/New_York'], ['Australia/Lord_Howe'], ['Asia/Tehran'], [])
    fc.assert(
      fc.property(hours, zones, time, time, instant, (window, theirs, quiet_start, quiet_end, nowMs) => {
        const { timezone, start: window_start, end: window_end } = window
        const days = window.days && [...window.days]
        const asked = question(
          { nowMs, zones: theirs },
          { timezone, window_start, window_end, days, quiet_start, quiet_end },
        )
        const quiet = { timezone: theirs[0]!, start: quiet_start, end: quiet_end, days: null }
        const may = (ms: number) => wallOpen(window, ms) && (theirs.length === 0 || !wallOpen(quiet, ms))
        const decided = decideDial(asked)
        expect(decided.decision === 'dial').toBe(may(nowMs))
        if (decided.decision === 'skip') return
        const until = Math.min(decided.untilMs ?? Infinity, nowMs + 2 * DAY_MS)
        for (let ms = nowMs; ms < until; ms += 60_000) expect([iso(ms), may(ms)]).toEqual([iso(ms), may(nowMs)])
        if (decided.untilMs !== null) expect(may(decided.untilMs)).toBe(!may(nowMs))
      }),
      { numRuns },
    )
  })
})

describe('blockers of a campaign', () => {
  const fine: StartConditions = {
    campaign: { status: 'running', consent: {} as never, max_spend: null, spend: 0n },
    subscribed: true,
    lines: 1,
    available: 100n,
    spendable: 100n,
    hold: 100n,
    reserved: 0n,
    stopped: false,
  }
  it.each<[string[], Partial<StartConditions>, Partial<StartConditions['campaign']>]>([
    [[], {}, {}],
    [[], {}, { max_spend: 150n, spend: 50n }],
    [['max_spend'], { reserved: 1n }, { max_spend: 150n, spend: 50n }],
    [['insufficient_balance'], { available: 99n, spendable: 99n }, {}],
    [['daily_limit_reached'], { spendable: 99n }, {}],
    [['calls_stopped'], { stopped: true }, {}],
    [['not_running', 'no_consent'], {}, { status: 'draft', consent: null }],
    [['subscription_inactive', 'no_outbound_line'], { subscribed: false, lines: 0 }, {}],
  ])('%j', (found, part, campaign) => {
    expect(blockersOf({ ...fine, ...part, campaign: { ...fine.campaign, ...campaign } })).toEqual(found)
  })
})
