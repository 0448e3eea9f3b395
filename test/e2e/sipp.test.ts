/** Calls with sipp, both ways, in A-law; and every way in which a call can fail. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { parseLog } from '../../media/replay/log.ts'
import { play as playAgain } from '../../media/replay/player.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { expectCost, expectHeard, expectSettled, expectWebhook, WORD_ERRORS } from '../support/stack-checks.ts'
import {
  answer,
  canceled,
  expectAnswer,
  freeSipPort,
  maybeAnswer,
  pause,
  play,
  receive,
  refusing,
  request,
  ringing,
  sdp,
  startSipp,
  taken,
} from '../support/stack-sipp.ts'
import { silence, wordErrors } from '../support/stack-speech.ts'
import { type Played, pcap, soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('sipp', 'tcpdump')

const CALLEE = '+14155550155'
const edges = mkdtempSync(join(tmpdir(), 'parley-edges-'))
let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack({ EDGE_LOG_DIR: edges })
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
})
afterAll(async () => {
  await stack?.stop()
  rmSync(edges, { recursive: true, force: true })
})

const owner = (port: number, project: object = {}) =>
  stack.owner({ trunk: { port }, webhook: `${stack.world.url}/hook`, project: { ring_timeout_seconds: 5, ...project } })

const pcapOf = (name: string, parts: Played[]) => pcap(join(stack.folder, name), parts)

describe.concurrent('sipp', () => {
  it('dials in with A-law, both directions, and presses keys', { timeout: 180_000 }, async () => {
    const port = await freeSipPort()
    const customer = await owner(port, { greeting: 'Good morning, bicycle repair.' })
    const words = 'I would like to have the front wheel of my bicycle repaired.'
    const keys: Played[] = [...'4711#'].flatMap(digit => [{ digit }, { pcm: silence(120) }])
    const file = pcapOf('in.pcap', [
      { pcm: silence(4000) },
      { pcm: await stack.speech.say(words) },
      { pcm: silence(8500) },
      ...keys,
      { pcm: silence(5000) },
    ])
    const sipp = await startSipp(
      stack,
      [
        request('INVITE', sdp()),
        maybeAnswer(100),
        maybeAnswer(180),
        expectAnswer(200, 'rrs="true"'),
        request('ACK'),
        play(file),
        pause(22_000),
        request('BYE', [], { cseq: 2 }),
        expectAnswer(200),
      ],
      { calls: customer.number, port },
    )
    const { id } = (await until(() => customer.newest('in'), 'the call'))!
    const call = await customer.follow(id)
    await call.ended(40_000)
    await sipp.done

    const detail = await customer.detail(id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup', from: '+12125550111' })
    expect(detail.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent', 'caller', 'tool', 'agent'])
    expect(wordErrors(words, detail.transcript[1]!.text)).toBeLessThanOrEqual(WORD_ERRORS)
    expect(detail.transcript[3]!.text).toBe('4711')
    // Replaying the recorded inputs of the call reproduces the call.
    const log = parseLog(readFileSync(join(edges, `${id}.jsonl`), 'utf8'))
    const played = await playAgain(log)
    expect(played.divergences).toEqual([])
    expect(played.turns).toEqual(detail.transcript)
    expect((await playAgain(log)).hash).toBe(played.hash)
    const agent = tap.packets({ to: sipp.mediaPort })
    expect(new Set(agent.map(packet => packet.payloadType))).toEqual(new Set([8]))
    await expectHeard(stack.speech, soundOf(agent), detail)
    expectCost(detail)
    await expectWebhook(stack, customer, id, 'call.completed')
    await expectSettled(stack, customer)
  })

  it('is dialled with A-law and hung up by the agent', { timeout: 180_000 }, async () => {
    const words = 'No, thank you. That is all.'
    const file = pcapOf('out.pcap', [
      { pcm: silence(5000) },
      { pcm: await stack.speech.say(words) },
      { pcm: silence(10_000) },
    ])
    const sipp = await startSipp(stack, taken([play(file)], [answer('180 Ringing'), pause(500)]))
    const customer = await owner(sipp.port, { greeting: 'Your bicycle is ready. Do you need anything else?' })
    const call = await customer.place(CALLEE)
    await call.wait('call.ringing')
    await call.ended(40_000)
    await sipp.done

    const detail = await customer.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'agent_hangup', to: CALLEE })
    expect(detail.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
    expect(wordErrors(words, detail.transcript[1]!.text)).toBeLessThanOrEqual(WORD_ERRORS)
    const agent = tap.packets({ to: sipp.mediaPort })
    expect(new Set(agent.map(packet => packet.payloadType))).toEqual(new Set([8]))
    await expectHeard(stack.speech, soundOf(agent), detail)
    expectCost(detail)
    await expectSettled(stack, customer)
  })

  it.each([
    ['486 Busy Here', { status: 'busy', ended_reason: 'busy', sip_code: 486 }],
    ['404 Not Found', { status: 'failed', ended_reason: 'number_unknown', sip_code: 404 }],
    ['503 Service Unavailable', { status: 'failed', ended_reason: 'carrier_congestion', sip_code: 503 }],
    ['603 Decline', { status: 'busy', ended_reason: 'declined', sip_code: 603 }],
  ])('rejects with %s', { timeout: 180_000 }, async (line, outcome) => {
    const sipp = await startSipp(stack, refusing(line))
    const customer = await owner(sipp.port)
    const call = await customer.place(CALLEE)
    await call.ended()
    await sipp.done
    await expectOutcome(customer, call.id, outcome)
  })

  it('rings and is never answered', { timeout: 180_000 }, async () => {
    const sipp = await startSipp(stack, [...ringing, ...canceled])
    const customer = await owner(sipp.port)
    const call = await customer.place(CALLEE)
    await call.wait('call.ringing')
    await call.ended()
    await sipp.done
    await expectOutcome(customer, call.id, { status: 'no_answer', ended_reason: 'no_answer', sip_code: 487 })
  })

  it('rings until the hangup operation', { timeout: 180_000 }, async () => {
    const sipp = await startSipp(stack, [...ringing, ...canceled])
    const customer = await owner(sipp.port, { ring_timeout_seconds: 60 })
    const call = await customer.place(CALLEE)
    await call.wait('call.ringing')
    const hangup = await customer.rest('POST', `/calls/${call.id}/hangup`)
    expect(hangup.status).toBe(200)
    await call.ended(10_000)
    await sipp.done
    expect(sipp.messages()).toContain('CANCEL sip:')
    await expectOutcome(customer, call.id, { status: 'canceled', ended_reason: 'canceled_by_api', sip_code: 487 })
  })

  it("is unreachable: nothing listens at the trunk's address", { timeout: 180_000 }, async () => {
    const customer = await owner(await freeSipPort())
    const call = await customer.place(CALLEE)
    await call.ended()
    await expectOutcome(customer, call.id, { status: 'failed', ended_reason: 'trunk_unreachable', sip_code: null })
  })

  it('never answers the INVITE', { timeout: 180_000 }, async () => {
    const sipp = await startSipp(stack, [receive('INVITE'), pause(60_000)])
    const customer = await owner(sipp.port)
    const call = await customer.place(CALLEE)
    await call.ended()
    await expectOutcome(customer, call.id, { status: 'failed', ended_reason: 'trunk_unreachable', sip_code: null })
    await sipp.stop()
  })
})

/** Told by REST and by webhook, and paid nothing. */
async function expectOutcome(customer: Awaited<ReturnType<typeof owner>>, id: string, outcome: object) {
  const detail = await customer.detail(id)
  expect(detail).toMatchObject({ ...outcome, billed_seconds: 0, answered_at: null, transcript: [] })
  const webhook = await expectWebhook(stack, customer, id, 'call.failed')
  expect(JSON.parse(webhook.body).data).toEqual(outcome)
  await expectSettled(stack, customer)
}
