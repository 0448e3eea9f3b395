/** Limits of time and money: no call continues without credit, and a caller who is cut off hears the reason. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { expectCost, expectHeard, expectSettled, expectWebhook, WORD_ERRORS } from '../support/stack-checks.ts'
import {
  acknowledge,
  canceled,
  expectAnswer,
  maybeAnswer,
  play,
  request,
  ringing,
  type Sipp,
  sdp,
  startSipp,
  taken,
} from '../support/stack-sipp.ts'
import { silence, wordErrors } from '../support/stack-speech.ts'
import { type Played, pcap, soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'

const { describe, it } = needs('sipp', 'tcpdump')

const CALLEE = '+14155550177'
let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack()
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
})
afterAll(() => stack?.stop())

/** Answers at once, plays this, and waits for the agent to hang up. */
const talker = (name: string, parts: Played[]): Promise<Sipp> => {
  const file = pcap(join(stack.folder, name), parts)
  return startSipp(stack, taken([play(file)]), { seconds: 90 })
}

describe.concurrent('limits', () => {
  it('places 5 of 20 concurrent calls when the balance covers five minutes', {
    timeout: 180_000,
  }, async () => {
    const sipp = await startSipp(stack, [...ringing, ...canceled], { times: 5 })
    const owner = await stack.owner({
      money: '25.0000',
      trunk: { port: sipp.port },
      project: { ring_timeout_seconds: 60 },
    })
    const body = { project_id: owner.projectId, phone: CALLEE }
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.rest('POST', '/calls', body)))
    const placed = answers.filter(({ status }) => status === 201)
    const poor = answers.filter(({ status }) => status === 402)
    expect([placed.length, poor.length]).toEqual([5, 15])
    expect(new Set(poor.map(({ body }) => body.code))).toEqual(new Set(['insufficient_balance']))
    const { body: during } = await owner.rest('GET', '/balance')
    expect([during.balance.amount, during.held.amount]).toEqual(['0.0000', '25.0000'])

    const calls = await Promise.all(placed.map(({ body }) => owner.follow(body.id)))
    await Promise.all(calls.map(call => call.wait('call.ringing')))
    const hangups = await Promise.all(calls.map(call => owner.rest('POST', `/calls/${call.id}/hangup`)))
    expect(hangups.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    await Promise.all(calls.map(call => call.ended()))
    await sipp.done
    const { body: after } = await owner.rest('GET', '/balance')
    expect([after.balance.amount, after.held.amount]).toEqual(['25.0000', '0.0000'])
    const [lowest] = await stack.parts.sql<{ lowest: bigint }[]>`
      select min(running) as lowest from (
        select sum(amount) over (order by id) as running
        from ledger_entries where owner_id = ${owner.id} and account = 'balance') as steps`
    expect(Number(lowest!.lowest)).toBe(0)
    await expectSettled(stack, owner)
  })

  it('rejects an inbound call without balance, unanswered and unbilled', { timeout: 120_000 }, async () => {
    const words = 'This line is closed at the moment. Please send us a letter.'
    const owner = await stack.owner({ money: '4.9999', trunk: { port: 9, refusal_announcement: words } })
    const steps = [
      request('INVITE', sdp()),
      maybeAnswer(100),
      expectAnswer(183, 'rrs="true"'),
      expectAnswer(403),
      acknowledge(4),
    ]
    const sipp = await startSipp(stack, steps, { seconds: 40, calls: owner.number })
    await sipp.done
    const heard = await stack.speech.read(soundOf(tap.packets({ to: sipp.mediaPort })))
    expect(wordErrors(words, heard.map(({ text }) => text).join(' '))).toBeLessThanOrEqual(WORD_ERRORS)
    const { body } = await owner.rest('GET', '/balance')
    expect([body.balance.amount, body.held.amount]).toEqual(['4.9999', '0.0000'])
  })

  it('says goodbye before max_call_seconds', { timeout: 180_000 }, async () => {
    const sipp = await talker('limit.pcap', [{ pcm: silence(30_000) }])
    const owner = await stack.owner({
      trunk: { port: sipp.port },
      webhook: `${stack.world.url}/hook`,
      project: { greeting: 'Hello, this is a very short call.', max_call_seconds: 10 },
    })
    const call = await owner.place(CALLEE)
    await call.ended()
    await sipp.done
    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'max_duration' })
    expect(detail.transcript.at(-1)).toMatchObject({ role: 'agent', interrupted: false })
    expect(detail.transcript.at(-1)!.heard_text).toMatch(/end of the time for this call. Goodbye.$/)
    expect(detail.transcript.at(-1)!.started_ms).toBeGreaterThanOrEqual(10_000)
    expect(detail.duration_seconds).toBeLessThan(20)
    await expectHeard(stack.speech, soundOf(tap.packets({ to: sipp.mediaPort })), detail)
    expectCost(detail)
    await expectWebhook(stack, owner, call.id, 'call.completed')
    await expectSettled(stack, owner)
  })

  it('says goodbye before the balance of one minute ends', {
    skip: !inject('full'),
    timeout: 300_000,
  }, async () => {
    const sentences = [
      'The garden needs a lot of water in the summer.',
      'The apples are almost ripe in the old orchard.',
      'My neighbour has painted the wooden fence green.',
    ]
    const sounds = await Promise.all(sentences.map(text => stack.speech.say(text)))
    const parts = Array.from({ length: 6 }, (_, i) => [
      { pcm: silence(7000) },
      { pcm: sounds[i % sounds.length]! },
    ]).flat()
    const sipp = await talker('minute.pcap', [...parts, { pcm: silence(20_000) }])
    const owner = await stack.owner({
      money: '5.0000',
      trunk: { port: sipp.port },
      webhook: `${stack.world.url}/hook`,
      project: { greeting: 'Hello, tell me about your garden.' },
    })
    const call = await owner.place(CALLEE)
    expect((await owner.rest('POST', '/calls', { project_id: owner.projectId, phone: CALLEE })).status).toBe(402)
    await call.ended(90_000)
    await sipp.done
    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'balance_exhausted' })
    expect(detail.transcript.at(-1)!.heard_text).toBe('I am sorry, our time is up. Goodbye.')
    expect(detail.transcript.filter(turn => turn.role === 'caller').length).toBeGreaterThanOrEqual(3)
    expect(detail.duration_seconds).toBeGreaterThan(50)
    expect(detail.duration_seconds).toBeLessThanOrEqual(60)
    await expectHeard(stack.speech, soundOf(tap.packets({ to: sipp.mediaPort })), detail)
    expectCost(detail)
    await expectWebhook(stack, owner, call.id, 'call.completed')
    await expectSettled(stack, owner)
  })
})
