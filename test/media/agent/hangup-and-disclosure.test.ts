/** When the agent hangs up, what it says when the model or a tool fails, and that it discloses itself. */
import { describe, expect, it } from 'vitest'
import { Conversation } from '../../../media/agent/conversation.ts'
import { MODEL_SILENT_MS } from '../../../media/agent/reply.ts'
import type { EndedReason } from '../../../media/contract/messages.ts'
import type { CallPlan } from '../../../media/contract/plan.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import type { Stt, Tts } from '../../../media/ports/speech.ts'
import type { Fetch } from '../../../media/shared/fetch.ts'
import { FakeLine, fakeClock } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

interface Options {
  says: string[]
  replies: (request: LlmRequest) => LlmEvent[] | Promise<LlmEvent[]>
  plan?: Partial<CallPlan>
  fetch?: Fetch
  slowVoiceMs?: number
  slowSttMs?: number
}

function open({ says, replies, plan: changes, fetch, slowVoiceMs = 0, slowSttMs = 0 }: Options) {
  const clock = fakeClock()
  const ended: EndedReason[] = []
  const voice = fakeTts()
  const tts: Tts = {
    async *speak(options, signal) {
      if (slowVoiceMs > 0) await new Promise<void>(resolve => clock.after(slowVoiceMs, resolve))
      yield* voice.speak(options, signal)
    },
  }
  const slow = (stt: Stt): Stt => ({
    open(options) {
      const stream = stt.open(options)
      return {
        ...stream,
        async transcribe(...utterance) {
          if (slowSttMs > 0) await new Promise<void>(resolve => clock.after(slowSttMs, resolve))
          return stream.transcribe(...utterance)
        },
      }
    },
  })
  const conversation = new Conversation({
    plan: plan({ greeting: 'Hi there.', ...changes }),
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    sampleRate: 8000,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: slow(fakeStt(says)),
    tts,
    llm: fakeLlm(replies),
    fetch: fetch ?? (() => new Promise(() => {})),
    abilities: {},
    emit: () => {},
    onHangup: reason => ended.push(reason),
  })
  const line = new FakeLine(conversation, clock)
  conversation.start()
  const agent = () => conversation.transcript.turns.filter(turn => turn.role === 'agent').map(turn => turn.heard_text)
  return { line, ended, conversation, agent }
}
const text = (delta: string): LlmEvent => ({ type: 'text', delta })
const lookUp = {
  name: 'look_up',
  description: 'Look something up',
  method: 'GET' as const,
  url: 'https://api.example/things',
  parameters: { type: 'object', properties: {} },
  filler: [],
  timeout_ms: 30_000,
}

describe('an agent that is about to hang up', () => {
  it('stays when the caller speaks before the goodbye plays', async () => {
    let asked = 0
    const { line, ended, agent } = open({
      says: ['Bye.', 'Wait, one more thing.'],
      replies: () =>
        asked++ === 0
          ? [text('Goodbye.'), { type: 'tool', id: 'e', name: 'end_call', arguments: {} }]
          : [text('What is it?')],
      slowVoiceMs: 700,
    })
    await line.agentTurn()
    await line.caller(400)
    await line.silence(800)
    await line.caller(600)
    await line.agentTurn()
    await line.silence(1000)
    expect(agent().at(-1)).toBe('What is it?')
    expect(ended).toEqual([])
  })

  it('stays when its goodbye is interrupted', async () => {
    let asked = 0
    const { line, ended, agent } = open({
      says: ['Bye.', 'No, wait, I have a question.'],
      replies: () =>
        asked++ === 0
          ? [
              text('Thank you for calling us today, goodbye.'),
              { type: 'tool', id: 'e', name: 'end_call', arguments: {} },
            ]
          : [text('Please ask.')],
    })
    await line.agentTurn()
    await line.caller(400)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(400)
    await line.caller(900)
    await line.agentTurn()
    await line.silence(1000)
    expect(agent().at(-1)).toBe('Please ask.')
    expect(ended).toEqual([])
  })
})

describe('a model', () => {
  it('that never answers causes an apology, then the end of the call', async () => {
    const { line, ended, agent } = open({ says: ['One.', 'Two.'], replies: () => new Promise(() => {}) })
    await line.agentTurn()
    await line.caller(400)
    await line.agentTurn()
    expect(agent().at(-1)).toMatch(/One moment/)
    await line.agentTurn(MODEL_SILENT_MS + 8000)
    expect(agent().at(-1)).toMatch(/went wrong/)
    await line.caller(400)
    await line.agentTurn()
    await line.agentTurn(MODEL_SILENT_MS + 8000)
    expect(agent().at(-1)).toMatch(/technical problem/)
    await line.silence(300)
    expect(ended).toEqual(['model_error'])
  })

  it('that returns an empty answer does not leave silence', async () => {
    const { line, agent } = open({ says: ['One.'], replies: () => [] })
    await line.agentTurn()
    await line.caller(400)
    await line.agentTurn(8000)
    expect(agent().at(-1)).toMatch(/went wrong/)
  })

  it('that only records do-not-call still ends the call with a goodbye', async () => {
    const { line, ended, conversation, agent } = open({
      says: ['Never call me again.'],
      replies: () => [{ type: 'tool', id: 'd', name: 'do_not_call', arguments: {} }],
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn(3000)
    await line.silence(300)
    expect(conversation.doNotCall).toBe(true)
    expect(agent().at(-1)).toBe('Goodbye.')
    expect(ended).toEqual(['agent_hangup'])
  })
})

describe('a tool', () => {
  it('that interrupting words start is awaited without a prompt', async () => {
    let asked = 0
    const { line, agent } = open({
      says: ['Tell me.', 'No.'],
      slowSttMs: 400,
      plan: { tools: [lookUp] },
      replies: () =>
        asked++ === 0
          ? [text('A very long story of very many words that nobody wants to hear.')]
          : [{ type: 'tool', id: 't', name: 'look_up', arguments: {} }],
    })
    await line.agentTurn()
    await line.caller(400)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(400)
    await line.caller(500)
    await line.silence(15_000)
    expect(agent().some(words => words.startsWith('Are you'))).toBe(false)
  })

  it('with invalid arguments does not mute the agent', async () => {
    let asked = 0
    const { line, agent } = open({
      says: ['Look it up.'],
      plan: { tools: [{ ...lookUp, url: 'https://api.example/{id}' }] },
      fetch: async ({ url }) => ({ status: 200, headers: {}, body: Buffer.from('{"n":7}'), url }),
      replies: () =>
        asked++ === 0
          ? [{ type: 'tool', id: 't', name: 'look_up', arguments: { id: '\ud83d' } }]
          : [text('It is seven.')],
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn(5000)
    expect(agent().at(-1)).toBe('It is seven.')
  })
})

describe('the disclosure', () => {
  const disclosure = 'I am an automatic assistant.'

  it('is not interrupted by the "hello" of the callee', async () => {
    const { line, agent } = open({ says: ['Hello?'], plan: { disclosure }, replies: () => [text('Yes?')] })
    await line.silence(200)
    await line.caller(600)
    await line.agentTurn()
    expect(agent()).toEqual([`${disclosure} Hi there.`])
  })

  it('is repeated before the next answer when it was interrupted', async () => {
    const { line, agent } = open({
      says: ['Who is calling me?'],
      plan: { disclosure },
      replies: () => [text('It is about your table.')],
    })
    await line.silence(200)
    await line.caller(900)
    await line.agentTurn()
    expect(agent().at(-1)).toBe(`${disclosure} It is about your table.`)
    await line.silence(200)
  })
})

describe('a caller who goes on after a pause', () => {
  it('is answered as one turn when the first answer was not heard', async () => {
    const asked: string[] = []
    const { line } = open({
      says: ['I would like a table.', 'For four people.'],
      replies: request => {
        asked.push(request.messages.map(message => ('text' in message ? message.text : '')).join(' | '))
        return asked.length === 1 ? new Promise(() => {}) : [text('Fine.')]
      },
    })
    await line.agentTurn()
    await line.caller(700)
    await line.silence(700)
    await line.caller(700)
    await line.silence(800)
    expect(asked.at(-1)).toBe('Hi there. | I would like a table. For four people.')
  })
})
