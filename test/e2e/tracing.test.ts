/**
 * Whole calls over all processes, as a receiver of OTLP sees them: one trace each, from request or INVITE to webhook.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { createKey } from '../../control/access/keys/service.ts'
import { needs } from '../support/needs.ts'
import { type OtlpReceiver, type SentSpan, startOtlp } from '../support/otlp.ts'
import { type Stack, startStack } from '../support/stack.ts'
import type { Owner } from '../support/stack-owner.ts'
import {
  answer,
  expectAnswer,
  freeSipPort,
  maybeAnswer,
  pause,
  play,
  refusing,
  request,
  sdp,
  startSipp,
  taken,
} from '../support/stack-sipp.ts'
import { silence } from '../support/stack-speech.ts'
import { pcap } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('sipp')

const CALLEE = '+14155550166'
const CALLER = '2125550111'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
/** Clocks of processes of one machine agree, but for how they round. */
const ROUNDED_MS = 2

let stack: Stack
let receiver: OtlpReceiver
beforeAll(async () => {
  receiver = await startOtlp()
  stack = await startStack({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  stack.onStop(() => receiver.close())
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
})
afterAll(() => stack?.stop())

const newOwner = (port: number, project: object) =>
  stack.owner({ trunk: { port }, webhook: `${stack.world.url}/hook`, project })

/** As a client does that traces itself; `place` of an owner sends no header. */
async function place(owner: Owner, headers: Record<string, string>): Promise<string> {
  const { value } = await createKey(stack.parts, owner.id, { name: 'traced', scopes: ['write'] })
  const response = await fetch(`${stack.baseUrl}/v1/public/calls`, {
    method: 'POST',
    headers: { 'x-api-key': value, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ project_id: owner.projectId, phone: CALLEE }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { id: string }).id
}

/** All of the trace that a call is in, once its webhook is there. */
async function traceOf(callId: string): Promise<SentSpan[]> {
  const [call] = await receiver.wait(
    ({ name, attributes }) => name === 'call' && attributes['parley.call.id'] === callId,
    1,
    'the span of the call',
  )
  const { traceId } = call!
  // With several control processes, two of them may report the last spans.
  for (const last of ['call.finish', 'POST webhook']) {
    await receiver.wait(span => span.traceId === traceId && span.name === last, 1, `the span ${last}`)
  }
  return receiver.spans.filter(span => span.traceId === traceId)
}

const webhookOf = (callId: string) =>
  stack.world.wait(({ body, path }) => path === '/hook' && body.includes(callId), `a webhook of ${callId}`)

/** Name and service of each, and the name of its parent. */
const shapeOf = (spans: SentSpan[]) =>
  spans.map(({ name, service, parentId }) => [
    `${service.replace('parley-', '')}: ${name}`,
    spans.find(({ spanId }) => spanId === parentId)?.name ?? parentId,
  ])

function expectInside(spans: SentSpan[], outer: string, inner: string): void {
  const whole = spans.find(({ name }) => name === outer)!
  for (const { name, startMs, endMs } of spans.filter(one => one.name === inner)) {
    expect([name, startMs >= whole.startMs - ROUNDED_MS, endMs <= whole.endMs + ROUNDED_MS]).toEqual([name, true, true])
  }
}

describe('a call', () => {
  it('outbound is one trace, started by the client', { timeout: 180_000 }, async () => {
    const words = 'No, thank you. That is all.'
    const file = pcap(join(stack.folder, 'traced.pcap'), [
      { pcm: silence(5000) },
      { pcm: await stack.speech.say(words) },
      { pcm: silence(10_000) },
    ])
    const sipp = await startSipp(stack, taken([play(file)], [answer('180 Ringing'), pause(500)]))
    const owner = await newOwner(sipp.port, { greeting: 'Your bicycle is ready. Do you need anything else?' })
    const id = await place(owner, { traceparent: `00-${TRACE}-${SPAN}-01` })
    await (await owner.follow(id)).ended(40_000)
    await sipp.done
    const spans = await traceOf(id)
    const detail = await owner.detail(id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'agent_hangup' })

    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
    const shape = shapeOf(spans)
    for (const part of [
      ['control: POST /v1/public/calls', SPAN],
      ['control: call.place', 'POST /v1/public/calls'],
      ['engine: call', 'call.place'],
      ['engine: INVITE', 'call'],
      ['engine: turn', 'call'],
      ['engine: BYE', 'call'],
      ['engine: wrap_up', 'call'],
      ['control: call.finish', 'call'],
      ['control: POST webhook', 'call.finish'],
    ]) {
      expect(shape).toContainEqual(part)
    }
    const one = (name: string) => spans.find(span => span.name === name)!
    expect(one('INVITE').attributes).toMatchObject({ 'sip.status_code': 200 })
    // It rang for half a second.
    expect(one('INVITE').endMs - one('INVITE').startMs).toBeGreaterThanOrEqual(500 - ROUNDED_MS)
    const turns = spans.filter(({ name }) => name === 'turn')
    expect(turns).toHaveLength(detail.latency.turns.length)
    for (const [index, { startMs, endMs, attributes }] of turns.entries()) {
      const { total_ms, endpointing_ms, stt_ms, filler } = detail.latency.turns[index]!
      expect(Math.abs(endMs - startMs - total_ms)).toBeLessThanOrEqual(ROUNDED_MS)
      expect(attributes).toMatchObject({
        'parley.turn.endpointing_ms': endpointing_ms,
        'parley.turn.stt_ms': stt_ms,
        'parley.turn.filler': filler,
      })
    }
    expectInside(spans, 'call', 'INVITE')
    expectInside(spans, 'call', 'turn')
    expectInside(spans, 'call', 'BYE')
    expect(spans.filter(({ failed }) => failed)).toEqual([])
    const { headers } = await webhookOf(id)
    expect(headers['traceparent']).toBe(`00-${TRACE}-${one('POST webhook').spanId}-01`)
    expectNobody(spans, owner)
  })

  it('inbound is one trace, started by the INVITE', { timeout: 180_000 }, async () => {
    const port = await freeSipPort()
    const owner = await newOwner(port, { greeting: 'Good morning.' })
    const sipp = await startSipp(
      stack,
      [
        ...[request('INVITE', sdp()), maybeAnswer(100), maybeAnswer(180), expectAnswer(200, 'rrs="true"')],
        ...[request('ACK'), pause(3000), request('BYE', [], { cseq: 2 }), expectAnswer(200)],
      ],
      { calls: owner.number, port },
    )
    const { id } = (await until(() => owner.newest('in'), 'the call'))!
    await (await owner.follow(id)).ended(40_000)
    await sipp.done
    const spans = await traceOf(id)
    expect(shapeOf(spans).sort()).toEqual(
      [
        ['control: POST webhook', 'call.finish'],
        ['control: call.admit', 'call'],
        ['control: call.finish', 'call'],
        ['engine: INVITE', 'call'],
        ['engine: call', null],
        ['engine: wrap_up', 'call'],
      ].sort(),
    )
    expectInside(spans, 'call', 'INVITE')
    expectInside(spans, 'INVITE', 'call.admit')
    expectNobody(spans, owner)
  })

  it("rejected is one trace with the carrier's answer", { timeout: 180_000 }, async () => {
    const sipp = await startSipp(stack, refusing('503 Service Unavailable'))
    const owner = await newOwner(sipp.port, {})
    const id = await place(owner, {})
    await (await owner.follow(id)).ended()
    await sipp.done
    const spans = await traceOf(id)
    expect(shapeOf(spans)).toContainEqual(['control: POST /v1/public/calls', null])
    const failed = spans.filter(span => span.failed).map(({ name, attributes }) => [name, attributes['error.type']])
    expect(failed.sort()).toEqual([
      ['INVITE', 'carrier_congestion'],
      ['call', 'carrier_congestion'],
    ])
    expect(spans.find(({ name }) => name === 'INVITE')!.attributes).toMatchObject({ 'sip.status_code': 503 })
  })
})

function expectNobody(spans: SentSpan[], owner: Owner): void {
  const text = JSON.stringify(spans)
  for (const number of [CALLEE, owner.number, CALLER]) expect(text).not.toContain(number.replace(/^\+/, ''))
  expect(text).not.toMatch(/bicycle|thank you|good morning/i)
}
