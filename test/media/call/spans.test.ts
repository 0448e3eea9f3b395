/** The spans of a call: names, parents, durations, and data that they omit. */
import { describe, expect, it } from 'vitest'
import { CallSpans } from '../../../media/call/spans.ts'
import type { CallEventBody, ToolCall, Turn, TurnLatency } from '../../../media/contract/messages.ts'
import type { Direction } from '../../../media/contract/plan.ts'
import { fakeClock } from '../../fakes/line.ts'
import { keptTracing } from '../../fakes/tracing.ts'
import { record, unanswered } from '../../support/records.ts'

const CALL = '0198f5a0-0000-7000-8000-000000000001'
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const ENGINE = { engine: 'e', boot: 'b' }

const turn = (part: Partial<Turn>): Turn => ({
  role: 'agent',
  text: 'It is Ivan.',
  heard_text: 'It is Ivan.',
  interrupted: false,
  started_ms: 0,
  ended_ms: 500,
  ...part,
})
const latency: TurnLatency = {
  total_ms: 800,
  endpointing_ms: 300,
  stt_ms: 120,
  llm_first_token_ms: 200,
  tts_first_byte_ms: 90,
  filler: false,
}
const tool = (part: Partial<ToolCall>): ToolCall => ({
  name: 'find_order',
  arguments: { who: 'Ivan' },
  started_ms: 3000,
  ms: 450,
  status: 'ok',
  http_status: 200,
  result: 'Ivan has it.',
  filler: [],
  ...part,
})

function spansOf(direction: Direction, parent: string | null = PARENT) {
  const clock = fakeClock()
  const tracing = keptTracing(clock.wall)
  const sent: CallEventBody[] = []
  const spans = new CallSpans({ clock, tracing }, direction, parent)
  const send = spans.watching(CALL, async body => void sent.push(body))
  return { clock, tracing, sent, spans, send }
}

const underCall = ({ tracing }: ReturnType<typeof spansOf>) =>
  tracing.spans.filter(span => span.parentId === tracing.one('call').spanId).map(span => span.name)

describe('a call that is dialled', () => {
  it('continues the trace of the command', async () => {
    const w = spansOf('out')
    const { clock, tracing, sent, spans, send } = w
    const at = clock.wall()
    await send({ type: 'call.dialing', ...ENGINE })
    clock.advance(2000)
    await send({ type: 'call.ringing' })
    clock.advance(1000)
    await send({ type: 'call.started', ...ENGINE })
    await send({ type: 'turn.finished', turn: turn({ role: 'caller' }), latency: null })
    await send({ type: 'turn.finished', turn: turn({ started_ms: 2500 }), latency })
    await send({ type: 'tool.finished', tool: tool({}) })
    clock.advance(9000)
    spans.startHangup()
    clock.advance(30)
    await send({ type: 'call.closing', reason: 'agent_hangup' })
    clock.advance(400)
    await send({ type: 'call.ended', record: record({ ended_at: clock.wall(), ended_reason: 'agent_hangup' }) })

    expect(underCall(w)).toEqual(['INVITE', 'turn', 'execute_tool find_order', 'BYE', 'wrap_up'])
    expect(tracing.spans.every(span => span.endMs !== null && span.error === null)).toBe(true)
    const times = tracing.spans.map(({ name, startMs, endMs }) => [name, startMs - at, endMs! - at])
    expect(times).toEqual([
      ['call', 0, 12_430],
      ['INVITE', 0, 3000],
      // The answer was at 3 s; the agent spoke 2.5 s later, 0.8 s after the caller.
      ['turn', 4700, 5500],
      ['execute_tool find_order', 6000, 6450],
      ['BYE', 12_000, 12_030],
      ['wrap_up', 12_030, 12_430],
    ])
    expect(tracing.one('call')).toMatchObject({
      kind: 'consumer',
      traceId: PARENT.slice(3, 35),
      parentId: PARENT.slice(36, 52),
      attributes: {
        'parley.call.id': CALL,
        'parley.call.direction': 'out',
        'parley.call.status': 'completed',
        'parley.call.ended_reason': 'agent_hangup',
        'parley.call.answered_by': 'human',
      },
    })
    expect(tracing.one('INVITE')).toMatchObject({ kind: 'client', attributes: { 'sip.status_code': 200 } })
    expect(tracing.one('turn').attributes).toEqual({
      'parley.turn.endpointing_ms': 300,
      'parley.turn.stt_ms': 120,
      'parley.turn.llm_first_token_ms': 200,
      'parley.turn.tts_first_byte_ms': 90,
      'parley.turn.filler': false,
    })
    expect(JSON.stringify(tracing.spans)).not.toMatch(/ivan/i)
    // Events are unchanged, and the last one carries traceparent.
    expect(sent).toHaveLength(8)
    expect(sent.at(-1)).toMatchObject({ type: 'call.ended', traceparent: tracing.one('call').traceparent })
  })

  it("has the carrier's response when rejected; only failures are errors", async () => {
    for (const [status, sip_code, reason, error] of [
      ['busy', 486, 'busy', null],
      ['failed', 503, 'carrier_congestion', 'carrier_congestion'],
      ['failed', null, 'trunk_unreachable', 'trunk_unreachable'],
    ] as const) {
      const { tracing, send, clock } = spansOf('out')
      await send({ type: 'call.dialing', ...ENGINE })
      clock.advance(700)
      const end = unanswered({ status, sip_code, ended_reason: reason, ended_at: clock.wall() })
      await send({ type: 'call.ended', record: end })
      expect(tracing.spans.map(span => span.name)).toEqual(['call', 'INVITE'])
      expect(tracing.one('INVITE')).toMatchObject({ error })
      expect(tracing.one('INVITE').attributes['sip.status_code']).toBe(sip_code ?? undefined)
      expect(tracing.one('INVITE').endMs! - tracing.one('INVITE').startMs).toBe(700)
      expect(tracing.one('call')).toMatchObject({ error })
    }
  })

  it('marks failed tools, without names that the model invented', async () => {
    const { tracing, send } = spansOf('out')
    await send({ type: 'call.started', ...ENGINE })
    await send({ type: 'tool.finished', tool: tool({ status: 'http_error', http_status: 500 }) })
    await send({ type: 'tool.finished', tool: tool({ name: 'call_ivan', status: 'unknown_tool', http_status: null }) })
    expect(tracing.one('execute_tool find_order')).toMatchObject({
      error: 'http_error',
      attributes: { 'gen_ai.tool.name': 'find_order', 'http.response.status_code': 500 },
    })
    expect(tracing.one('execute_tool').attributes).toEqual({ 'gen_ai.operation.name': 'execute_tool' })
    expect(JSON.stringify(tracing.spans)).not.toMatch(/ivan/i)
  })
})

describe('a call that comes in', () => {
  it('starts its trace at the INVITE', async () => {
    const w = spansOf('in', null)
    const { tracing, clock, spans, send } = w
    expect(spans.told).toEqual({ traceparent: tracing.one('call').traceparent })
    clock.advance(300)
    await send({ type: 'call.started', ...ENGINE })
    await send({ type: 'call.closing', reason: 'caller_hangup' })
    await send({ type: 'call.ended', record: record({ ended_at: clock.wall() }) })
    expect(tracing.one('call')).toMatchObject({ kind: 'server', parentId: null })
    expect(underCall(w)).toEqual(['INVITE', 'wrap_up'])
    expect(tracing.one('INVITE').endMs! - tracing.one('INVITE').startMs).toBe(300)
  })

  it('ends at the rejection', () => {
    const { tracing, spans } = spansOf('in', null)
    spans.refused('insufficient_balance')
    expect(tracing.spans.every(span => span.endMs !== null)).toBe(true)
    expect(tracing.one('call').attributes).toMatchObject({ 'parley.refusal': 'insufficient_balance' })
  })
})

it('has join and leave spans in a room, and no SIP', async () => {
  const w = spansOf('web')
  await w.send({ type: 'call.dialing', ...ENGINE })
  await w.send({ type: 'call.started', ...ENGINE })
  w.spans.startHangup()
  await w.send({ type: 'call.closing', reason: 'agent_hangup' })
  await w.send({ type: 'call.ended', record: record({ sip_code: null }) })
  expect(underCall(w)).toEqual(['join', 'leave', 'wrap_up'])
  expect(JSON.stringify(w.tracing.spans)).not.toContain('sip.')
})

it('leaves events unchanged without tracing', async () => {
  const sent: CallEventBody[] = []
  const spans = new CallSpans({ clock: fakeClock() }, 'out', PARENT)
  const end: CallEventBody = { type: 'call.ended', record: record() }
  await spans.watching(CALL, async body => void sent.push(body))(end)
  expect(sent).toEqual([end])
  expect(spans.told).toEqual({})
})

describe('tool servers', () => {
  const asked = async (spans: CallSpans, headers: Record<string, string>) => {
    let sent: Record<string, string> = {}
    const fetch = spans.fetching(async request => {
      sent = request.headers
      return { url: request.url, status: 200, headers: {}, body: Buffer.alloc(0) }
    })
    const signal = new AbortController().signal
    const limits = { timeoutMs: 1000, maxBytes: 1000, maxRedirects: 0 }
    await fetch({ url: 'https://tools.example.com/', method: 'GET', headers, body: null, signal, ...limits })
    return sent
  }

  it('receive traceparent unless the customer sets one', async () => {
    const { spans } = spansOf('out')
    expect(spans.traceparent).not.toBe(PARENT)
    expect(await asked(spans, { 'x-key': 'k' })).toEqual({ 'x-key': 'k', traceparent: spans.traceparent })
    expect(await asked(spans, { Traceparent: PARENT })).toEqual({ Traceparent: PARENT })
  })

  it('receive no traceparent without tracing', async () => {
    const spans = new CallSpans({ clock: fakeClock() }, 'out', PARENT)
    expect(await asked(spans, {})).toEqual({})
  })
})
