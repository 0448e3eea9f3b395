import { describe, expect, it } from 'vitest'
import { Conversation } from '../../../media/agent/conversation.ts'
import type { CallEventBody, EndedReason } from '../../../media/contract/messages.ts'
import type { CallPlan } from '../../../media/contract/plan.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import { type Fetch, FetchError } from '../../../media/shared/fetch.ts'
import { FakeLine, fakeClock } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts, LETTER_MS } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

interface Options {
  says?: string[]
  replies?: (request: LlmRequest) => LlmEvent[] | Promise<LlmEvent[]>
  fetch?: Fetch
  plan?: Partial<CallPlan>
}

function open({ says = [], replies = () => [{ type: 'text', delta: 'I see.' }], fetch, plan: changes = {} }: Options) {
  const clock = fakeClock()
  const events: CallEventBody[] = []
  const ended: EndedReason[] = []
  const tts = fakeTts()
  const stt = fakeStt(says)
  const llm = fakeLlm(replies)
  const conversation = new Conversation({
    plan: plan({ greeting: 'Hi there.', ...changes }),
    secrets: { tool_headers: { look_up: { 'x-key': 'k' } }, llm_api_key: null, vendor_keys: {} },
    sampleRate: 8000,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt,
    tts,
    llm,
    fetch: fetch ?? (() => Promise.reject(new FetchError('network', 'no network in this test'))),
    abilities: {},
    emit: event => events.push(event),
    onHangup: reason => ended.push(reason),
  })
  const line = new FakeLine(conversation, clock)
  conversation.start()
  return { clock, conversation, line, events, ended, tts, stt, llm, turns: () => conversation.transcript.turns }
}

const lookUp = {
  name: 'look_up',
  description: 'Look something up',
  method: 'GET' as const,
  url: 'https://api.example/things',
  parameters: { type: 'object', properties: {} },
  filler: [{ after_ms: 500, text: 'One moment.' }],
  timeout_ms: 5000,
}
/** Answers after so many ms of the line's own clock. */
const slowFetch =
  (clock: () => { after(ms: number, run: () => void): () => void }, ms: number, body = '{"found":7}'): Fetch =>
  request =>
    new Promise((resolve, reject) => {
      clock().after(ms, () =>
        resolve({
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: Buffer.from(body),
          url: request.url,
        }),
      )
      request.signal.addEventListener('abort', () => reject(new FetchError('aborted', 'aborted')))
    })

describe('a conversation', () => {
  it('greets, listens, answers, and measures the answer from the end of speech', async () => {
    const { line, turns, conversation, llm } = open({ says: ['What time is it?'] })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    expect(turns().map(turn => [turn.role, turn.heard_text])).toEqual([
      ['agent', 'Hi there.'],
      ['caller', 'What time is it?'],
      ['agent', 'I see.'],
    ])
    expect(llm.requests.at(-1)!.messages).toEqual([
      { role: 'agent', text: 'Hi there.', interrupted: false },
      { role: 'caller', text: 'What time is it?' },
    ])
    const { turns: latencies } = conversation.transcript.latency()
    expect(latencies).toHaveLength(1)
    // The silence required after a complete sentence, plus at most three frames.
    expect(latencies[0]!.total_ms).toBeGreaterThanOrEqual(latencies[0]!.endpointing_ms)
    expect(latencies[0]!.total_ms - latencies[0]!.endpointing_ms).toBeLessThanOrEqual(60)
  })

  it('says the disclosure before the greeting', async () => {
    const { line, turns } = open({ plan: { disclosure: 'I am a machine.' } })
    await line.agentTurn()
    expect(turns()[0]!.heard_text).toBe('I am a machine. Hi there.')
  })

  it('stops at once when talked over, and keeps only what was heard', async () => {
    const long = 'One two three four five six seven eight nine ten eleven twelve.'
    let asked = 0
    const { line, turns, events, llm } = open({
      says: ['Tell me.', 'Stop, please.'],
      replies: () => [{ type: 'text', delta: asked++ === 0 ? long : 'Sorry.' }],
    })
    await line.agentTurn()
    await line.caller(600)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(980)
    const before = line.agent.length
    await line.caller(900)
    const silentFrom = line.agent.slice(before).indexOf(false)
    // 40 ms of onset and 160 ms of voice to be sure, and not one frame more.
    expect(silentFrom * 20).toBeLessThanOrEqual(220)
    await line.agentTurn()
    const cut = turns().find(turn => turn.interrupted)!
    const heardMs = 1000 + silentFrom * 20
    expect(long.startsWith(cut.heard_text)).toBe(true)
    expect(Math.abs(cut.heard_text.length - heardMs / LETTER_MS)).toBeLessThan(8)
    const barge = events.find(event => event.type === 'barge_in')!
    expect(barge.type === 'barge_in' && Math.abs(barge.heard_ms - heardMs)).toBeLessThanOrEqual(20)
    // The model receives what was heard, not what it generated.
    expect(llm.requests.at(-1)!.messages).toContainEqual({ role: 'agent', text: cut.heard_text, interrupted: true })
    expect(turns().map(turn => turn.role)).toEqual(['agent', 'caller', 'agent', 'caller', 'agent'])
  })

  it('resumes after a backchannel', async () => {
    const { line, turns } = open({
      says: ['Go on.', 'Uh-huh.'],
      replies: () => [{ type: 'text', delta: 'A story of many words, told in one breath.' }],
    })
    await line.agentTurn()
    await line.caller(600)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(500)
    await line.caller(300)
    await line.agentTurn()
    expect(turns().at(-1)).toMatchObject({
      role: 'agent',
      interrupted: false,
      heard_text: 'A story of many words, told in one breath.',
    })
    expect(turns().filter(turn => turn.role === 'caller')).toHaveLength(1)
  })

  it('waits during pauses within a number', async () => {
    const { line, turns } = open({ says: ['four one five', 'four one five two two'] })
    await line.agentTurn()
    await line.caller(900)
    await line.silence(900)
    expect(turns()).toHaveLength(1)
    await line.silence(600)
    expect(turns().at(-1)!.text).toBe('four one five')
  })

  it('discards a prepared answer when the caller continues', async () => {
    const { line, tts, llm, turns } = open({
      says: ['I want'],
      replies: request => [{ type: 'text', delta: `Answer ${request.messages.length}.` }],
    })
    await line.agentTurn()
    await line.caller(500)
    await line.silence(300)
    expect(llm.requests).toHaveLength(1)
    await line.caller(500)
    await line.agentTurn()
    expect(turns().filter(turn => turn.role === 'caller')).toHaveLength(1)
    expect(turns().filter(turn => turn.role === 'agent')).toHaveLength(2)
    expect(tts.spoken.filter(text => text.startsWith('Answer')).length).toBeLessThanOrEqual(2)
  })

  it('accepts DTMF input, ended by # or a pause', async () => {
    const { line, turns, events } = open({})
    await line.agentTurn()
    for (const key of '42#') line.press(key)
    await line.agentTurn()
    expect(turns()[1]).toMatchObject({ role: 'caller', text: '42' })
    line.press('7')
    await line.agentTurn()
    expect(turns()[3]).toMatchObject({ role: 'caller', text: '7' })
    expect(events.filter(event => event.type === 'dtmf.received')).toHaveLength(4)
  })

  it('prompts twice during a long silence, then hangs up', async () => {
    const { line, turns, ended } = open({})
    await line.agentTurn()
    for (let i = 0; i < 3; i++) await line.agentTurn(15_000)
    expect(
      turns()
        .map(turn => turn.text)
        .slice(1),
    ).toEqual(['Are you still there?', 'Are you still there?', 'I can not hear you, so I will hang up now. Goodbye.'])
    await line.silence(200)
    expect(ended).toEqual(['silence_timeout'])
  })

  it('hangs up when the model says so, after its last word', async () => {
    const { line, ended } = open({
      says: ['Bye.'],
      replies: () => [
        { type: 'text', delta: 'Goodbye.' },
        { type: 'tool', id: 'e', name: 'end_call', arguments: {} },
      ],
    })
    await line.agentTurn()
    await line.caller(400)
    while (!line.agent.at(-1)) await line.silence(20)
    expect(ended).toEqual([])
    await line.silence(2000)
    expect(ended).toEqual(['agent_hangup'])
  })

  it('survives one model failure, and ends the call at the second', async () => {
    const { line, turns, ended } = open({ says: ['One.', 'Two.'], replies: () => Promise.reject(new Error('down')) })
    await line.agentTurn()
    await line.caller(400)
    await line.agentTurn()
    expect(turns().at(-1)!.text).toMatch(/went wrong/)
    await line.caller(400)
    await line.agentTurn()
    await line.silence(200)
    expect(ended).toEqual(['model_error'])
  })
})

describe('a tool', () => {
  const withTool = (ms: number, extra: Partial<Options> = {}) => {
    let asked = 0
    const box: { clock?: ReturnType<typeof fakeClock> } = {}
    const world = open({
      says: ['Look it up.', 'Hurry.'],
      plan: { tools: [lookUp] },
      fetch: slowFetch(() => box.clock!, ms),
      replies: () =>
        asked++ === 0
          ? [{ type: 'tool', id: 't1', name: 'look_up', arguments: {} }]
          : [{ type: 'text', delta: 'It is seven.' }],
      ...extra,
    })
    box.clock = world.clock
    return world
  }

  it('that is slow is bridged by the filler', async () => {
    const { line, turns, conversation, events } = withTool(2000)
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    await line.agentTurn()
    expect(turns().map(turn => turn.text)).toEqual([
      'Hi there.',
      'Look it up.',
      'One moment.',
      'look_up: ok',
      'It is seven.',
    ])
    expect(conversation.transcript.toolCalls[0]).toMatchObject({
      name: 'look_up',
      status: 'ok',
      result: '{"found":7}',
      filler: ['One moment.'],
    })
    expect(events.map(event => event.type)).toContain('filler.spoken')
    expect(conversation.transcript.latency().turns[0]).toMatchObject({ filler: true })
  })

  it('that answers at once needs no filler', async () => {
    const { line, turns } = withTool(100)
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(turns().map(turn => turn.text)).toEqual(['Hi there.', 'Look it up.', 'look_up: ok', 'It is seven.'])
  })

  it('continues a tool when the caller interrupts the filler, and answers both', async () => {
    const { line, turns, conversation, llm } = withTool(3000)
    await line.agentTurn()
    await line.caller(600)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(100)
    await line.caller(500)
    await line.agentTurn()
    expect(conversation.transcript.toolCalls[0]).toMatchObject({ status: 'ok' })
    expect(turns().at(-1)).toMatchObject({ text: 'It is seven.', interrupted: false })
    expect(llm.requests.at(-1)!.messages.map(message => message.role)).toEqual([
      'agent',
      'caller',
      'agent',
      'caller',
      'tool',
    ])
  })

  it('is aborted when the caller hangs up', async () => {
    const { line, conversation, clock } = withTool(60_000)
    await line.agentTurn()
    await line.caller(600)
    await line.silence(1500)
    conversation.stop()
    await line.silence(100)
    expect(conversation.transcript.toolCalls[0]).toMatchObject({ status: 'aborted' })
    expect(clock.now()).toBeLessThan(60_000)
  })

  it('that fails returns a message to the model', async () => {
    const { line, llm } = withTool(0, { fetch: () => Promise.reject(new FetchError('blocked_address', 'no')) })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(llm.requests.at(-1)!.messages.at(-1)).toMatchObject({
      role: 'tool',
      ok: false,
      result: expect.stringContaining('not allowed'),
    })
  })
})
