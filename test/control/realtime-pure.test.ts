/** Pure decisions: permissions of participants, projects that can hold web calls, and rejected settings. */
import { describe, expect, test } from 'vitest'
import { llmSecrets, notReady } from '../../control/telephony/gates/ready.ts'
import { noticeOf, type RoomState, stepOf } from '../../control/telephony/realtime/decide.ts'
import { agentOf, isTalkRoom, monitoredCall, monitorRoom, newTalkRoom } from '../../control/telephony/realtime/names.ts'
import { readConfig } from '../../infra/config/config.ts'

const SECOND = 1000
/** The caller joined at 100 s and is checked at 200 s; the invitation is valid until 3700 s. */
const look = (
  part: Partial<Omit<RoomState, 'dialogue'>> = {},
  dialogue?: Partial<NonNullable<RoomState['dialogue']>>,
): RoomState => ({
  now: 200 * SECOND,
  callerSince: 100 * SECOND,
  agentIsThere: false,
  expiresAt: 3700 * SECOND,
  agentMissingSince: null,
  ...part,
  dialogue: dialogue
    ? { answered: false, deadline: 110 * SECOND, closedAt: null, callerSince: null, ...dialogue }
    : null,
})

describe('due action for a room', () => {
  test.each<[string, RoomState, ReturnType<typeof stepOf>]>([
    ['nobody is there', look({ callerSince: null }), 'nothing'],
    ['nobody is there any more', look({ callerSince: null }, { answered: true }), 'nothing'],
    ['the first join', look(), 'start'],
    ['a join in the last second', look({ callerSince: 3700 * SECOND }), 'start'],
    ['a join after it', look({ callerSince: 3700 * SECOND + 1 }), 'refuse'],
    ['an agent is there, of whatever call', look({ agentIsThere: true }), 'nothing'],
    ['they talk', look({ agentIsThere: true }, { answered: true }), 'nothing'],
    ['they still talk when the invitation has run out', look({ agentIsThere: true, expiresAt: 1 }, {}), 'nothing'],
    ['no engine has it yet', look({ now: 105 * SECOND }, {}), 'nothing'],
    ['at the deadline, too', look({ now: 110 * SECOND }, {}), 'nothing'],
    ['after it', look({ now: 110 * SECOND + 1 }, {}), 'watch'],
    ['the agent is missing', look({}, { answered: true }), 'watch'],
    ['and missing', look({ agentMissingSince: 197 * SECOND }, { answered: true }), 'watch'],
    ['and missing for too long', look({ agentMissingSince: 196 * SECOND }, { answered: true }), 'give_up'],
    ['an engine took it and died', look({ agentMissingSince: 190 * SECOND }, {}), 'give_up'],
    ['the caller stayed', look({}, { answered: true, closedAt: 150 * SECOND }), 'end'],
    ['and the agent is still leaving', look({ agentIsThere: true }, { answered: true, closedAt: 150 * SECOND }), 'end'],
    ['and LiveKit’s clock is ahead', look({}, { closedAt: 99 * SECOND, callerSince: 100 * SECOND }), 'end'],
    ['and came back, then', look({}, { closedAt: 99 * SECOND, callerSince: 98 * SECOND }), 'start'],
    ['nobody answered, and the caller stayed', look({}, { closedAt: 150 * SECOND, callerSince: 100 * SECOND }), 'end'],
    ['and had come anew meanwhile', look({}, { closedAt: 150 * SECOND, callerSince: 97 * SECOND }), 'start'],
    [
      'anew into one that was answered',
      look({}, { answered: true, closedAt: 150 * SECOND, callerSince: 97 * SECOND }),
      'end',
    ],
    ['the caller came back', look({}, { answered: true, closedAt: 99 * SECOND }), 'start'],
    ['while the agent was still leaving', look({ agentIsThere: true }, { closedAt: 99 * SECOND }), 'nothing'],
    ['too late', look({ expiresAt: 99 * SECOND }, { closedAt: 90 * SECOND }), 'refuse'],
  ])('%s', (_, seen, step) => {
    expect(stepOf(seen, 4 * SECOND)).toBe(step)
  })

  test('records a session that no engine claimed as failed, any other as ended', () => {
    expect(noticeOf('queue_expired')).toEqual({ 'parley.problem': 'no_capacity' })
    expect(noticeOf('balance_exhausted')).toEqual({ 'parley.ended': 'balance_exhausted' })
  })
})

test('parses room names', () => {
  const ours = { prefix: 'parley-' }
  const callId = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'
  const talk = newTalkRoom(ours)
  expect([isTalkRoom(ours, talk), monitoredCall(ours, talk)]).toEqual([true, null])
  expect(newTalkRoom(ours)).not.toBe(talk)
  expect(talk.length).toBeGreaterThan(50)
  const monitor = monitorRoom(ours, callId)
  expect([isTalkRoom(ours, monitor), monitoredCall(ours, monitor)]).toEqual([false, callId])
  expect(monitoredCall({ prefix: 'other-' }, monitor)).toBeNull()
  expect(monitoredCall(ours, 'parley-monitor-everything')).toBeNull()
  expect(agentOf(callId)).toBe(`agent-${callId}`)
})

describe('project readiness', () => {
  const anthropic = { provider: 'anthropic', model: 'm', api_key_secret: 'A' } as const
  const google = { provider: 'google', model: 'm', api_key_secret: 'G' } as const
  const open = {
    provider: 'openai_compatible',
    base_url: 'http://models.example',
    model: 'm',
    api_key_secret: null,
  } as const
  const scripted = { provider: 'scripted' } as const
  const prompt = 'You are.'
  test.each([
    ['without a model of its own', { prompt, llm: scripted, llm_fallback: [] }, [], []],
    ['when its model needs no key', { prompt, llm: open, llm_fallback: [] }, [], []],
    ['when its model has its key', { prompt, llm: anthropic, llm_fallback: [] }, ['A'], []],
    ['when the next one has it', { prompt, llm: anthropic, llm_fallback: [google] }, ['G'], []],
    ['not when none has', { prompt, llm: anthropic, llm_fallback: [google] }, ['X'], ['/llm/api_key_secret']],
    ['not without a prompt', { prompt: ' \n', llm: scripted, llm_fallback: [] }, [], ['/prompt']],
  ])('%s', (_, project, secrets, pointers) => {
    const problem = notReady(project, new Set(secrets))
    expect(problem?.errors.map(error => error.pointer) ?? []).toEqual(pointers)
    if (problem) expect(problem).toMatchObject({ status: 409, code: 'project_not_ready' })
    const { llm } = project
    if (llm.provider === 'anthropic') expect(llmSecrets(project)).toContain('A')
  })
})

describe('settings', () => {
  const keys = { LIVEKIT_API_KEY: 'key', LIVEKIT_API_SECRET: 'secret' }
  test.each([
    [
      'a public address in the clear',
      { ...keys, LIVEKIT_URL: 'ws://rtc.example.com' },
      /LIVEKIT_URL.*must be wss.*LIVEKIT_PUBLIC_URL/,
    ],
    [
      'one that only looks like ours',
      { ...keys, LIVEKIT_URL: 'ws://127.0.0.1.example.com' },
      /LIVEKIT_URL.*must be wss/,
    ],
    [
      'the same under its own name',
      { ...keys, LIVEKIT_URL: 'ws://livekit:7880', LIVEKIT_PUBLIC_URL: 'ws://10.0.0.1:7880' },
      /^LIVEKIT_PUBLIC_URL.*must be wss/,
    ],
    ['no key', { LIVEKIT_URL: 'wss://rtc.example.com', LIVEKIT_API_SECRET: 'secret' }, /needs LIVEKIT_API_KEY/],
    [
      'no secret',
      { LIVEKIT_URL: 'wss://rtc.example.com', LIVEKIT_API_KEY: 'key', LIVEKIT_API_SECRET: '' },
      /needs LIVEKIT_API_KEY/,
    ],
    [
      'a public address of nothing',
      { LIVEKIT_PUBLIC_URL: 'wss://rtc.example.com' },
      /LIVEKIT_PUBLIC_URL needs LIVEKIT_URL/,
    ],
    ['a prefix that is no name', { LIVEKIT_ROOM_PREFIX: 'a b' }, /LIVEKIT_ROOM_PREFIX/],
  ])('rejects %s', (_, env, message) => {
    expect(() => readConfig(env)).toThrow(message)
  })

  test.each([
    ['none at all', {}],
    ['loopback', { ...keys, LIVEKIT_URL: 'ws://127.0.0.1:7880' }],
    ['loopback by name', { ...keys, LIVEKIT_URL: 'ws://localhost:7880' }],
    ['loopback of IPv6', { ...keys, LIVEKIT_URL: 'ws://[::1]:7880' }],
    ['encrypted', { ...keys, LIVEKIT_URL: 'wss://rtc.example.com' }],
    [
      'in the clear among servers',
      { ...keys, LIVEKIT_URL: 'ws://livekit:7880', LIVEKIT_PUBLIC_URL: 'wss://rtc.example.com' },
    ],
  ])('accepts %s', (_, env) => {
    expect(readConfig(env)).toMatchObject({ ...env, LIVEKIT_ROOM_PREFIX: 'parley-' })
  })
})
