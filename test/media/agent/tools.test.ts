/** Tools in conversation: concurrent tools, fillers during waits, and the built-in tools of every agent. */
import { describe, expect, it } from 'vitest'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import { answering, call, hit, openTalk, text, toolPlan } from '../../fakes/conversation.ts'

const url = (name: string) => `https://api.example/${name}`
const weather = toolPlan({ name: 'weather', url: url('weather') })
const news = toolPlan({ name: 'news', url: url('news') })
const lastIs = (request: LlmRequest, role: string) => request.messages.at(-1)?.role === role
/** Calls a tool at the caller's request, and speaks when the results arrive. */
const callThenTell =
  (...calls: LlmEvent[]) =>
  (request: LlmRequest): LlmEvent[] =>
    lastIs(request, 'caller') ? calls : [text('Here it is.')]

describe('several tools in one answer', () => {
  it('run in parallel with one common answer', async () => {
    const { line, llm, tools, agentTexts } = openTalk({
      says: ['Weather and news, please.'],
      replies: callThenTell(call('weather'), call('news')),
      fetch: answering({ weather: { ms: 2000 }, news: { ms: 2000 } }),
      plan: { tools: [weather, news] },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn(5000)
    expect(tools().map(({ name, status }) => [name, status])).toEqual([
      ['weather', 'ok'],
      ['news', 'ok'],
    ])
    expect(tools().every(({ ms }) => ms < 2200)).toBe(true)
    const results = llm.requests.at(-1)!.messages.filter(message => message.role === 'tool')
    expect(results.map(({ name, result }) => [name, result])).toEqual([
      ['weather', '{"from":"weather"}'],
      ['news', '{"from":"news"}'],
    ])
    expect(new Set(results.map(result => result.step)).size).toBe(1)
    expect(agentTexts()).toEqual(['Hi there.', 'Here it is.'])
  })

  it('that are equal run once', async () => {
    const asked: string[] = []
    const { line, tools } = openTalk({
      says: ['Weather, please.'],
      replies: callThenTell(call('weather', {}, 'a'), call('weather', {}, 'b')),
      fetch: answering({ weather: { ms: 100 } }, asked),
      plan: { tools: [weather] },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn(5000)
    expect(asked).toEqual(['weather'])
    expect(tools().map(({ status }) => status)).toEqual(['ok', 'ok'])
  })

  it('above the limit return an error', async () => {
    const asked: string[] = []
    const many = Array.from({ length: 30 }, (_, i) => call('weather', { day: i }, `c${i}`))
    const { line, tools } = openTalk({
      says: ['Weather, please.'],
      replies: callThenTell(...many),
      fetch: answering({ weather: { ms: 100 } }, asked),
      plan: { tools: [weather] },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn(5000)
    expect(asked.length).toBeLessThan(10)
    expect(tools().filter(({ status }) => status === 'failed').length).toBe(30 - asked.length)
  })

  it('play one common filler', async () => {
    const filler = [{ after_ms: 400, text: 'One moment.' }]
    const { line, agentTexts } = openTalk({
      says: ['Weather and news, please.'],
      replies: callThenTell(call('weather'), call('news')),
      fetch: answering({ weather: { ms: 3000 }, news: { ms: 2500 } }),
      plan: { tools: [toolPlan({ ...weather, filler }), toolPlan({ ...news, filler })] },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn(5000)
    await line.agentTurn(5000)
    expect(agentTexts()).toEqual(['Hi there.', 'One moment.', 'Here it is.'])
  })
})

describe('a slow tool', () => {
  const talk = (filler: { after_ms: number; text: string }[] | null, ms: number) =>
    openTalk({
      says: ['Weather, please.'],
      replies: callThenTell(call('weather')),
      fetch: answering({ weather: { ms } }),
      plan: { tools: [toolPlan({ ...weather, filler })] },
    })
  it('is bridged by its stages, then by a repeated phrase', async () => {
    const stages = [
      { after_ms: 500, text: 'One moment.' },
      { after_ms: 5000, text: 'Nearly there.' },
    ]
    const { line, agentTexts } = talk(stages, 26_000)
    await line.agentTurn()
    await line.caller(800)
    await line.silence(30_000)
    expect(agentTexts()).toEqual([
      'Hi there.',
      'One moment.',
      'Nearly there.',
      'I am still working on it, one moment.',
      'I am still working on it, one moment.',
      'Here it is.',
    ])
  })
  it('without filler setting uses the default', async () => {
    const { line, agentTexts } = talk(null, 3000)
    await line.agentTurn()
    await line.caller(800)
    await line.silence(6000)
    expect(agentTexts()).toEqual(['Hi there.', 'One moment, please.', 'Here it is.'])
  })
  it('with fillers disabled is silent', async () => {
    const { line, agentTexts } = talk([], 3000)
    await line.agentTurn()
    await line.caller(800)
    await line.silence(6000)
    expect(agentTexts()).toEqual(['Hi there.', 'Here it is.'])
  })
  it('starts its filler within 40 ms of its time', async () => {
    const { line, conversation } = talk([{ after_ms: 500, text: 'One moment.' }], 3000)
    await line.agentTurn()
    await line.caller(800)
    await line.silence(4000)
    const [tool] = conversation.transcript.toolCalls
    const filler = conversation.transcript.turns.find(turn => turn.text === 'One moment.')!
    const late = filler.started_ms - (tool!.started_ms + 500)
    expect(late).toBeGreaterThanOrEqual(0)
    expect(late).toBeLessThanOrEqual(40)
  })
})

describe('a slow model', () => {
  it('is bridged once, then answered', async () => {
    const { line, agentTexts, clock } = openTalk({
      says: ['Think about it.'],
      replies: () => new Promise(resolve => clock.after(6000, () => resolve([text('I thought.')]))),
    })
    await line.agentTurn()
    await line.caller(800)
    await line.silence(10_000)
    expect(agentTexts()).toEqual(['Hi there.', 'One moment, please.', 'I thought.'])
  })
})

describe('built-in tools', () => {
  const names = (talk: ReturnType<typeof openTalk>) => talk.conversation.request().tools.map(tool => tool.name)

  it('are offered where the call supports them', () => {
    expect(names(openTalk({}))).toEqual(['end_call', 'do_not_call', 'take_message'])
    const able = openTalk({
      abilities: {
        sendDtmf: async () => {},
        transfer: async () => ({ ok: true }),
        searchKnowledge: async () => [],
      },
      plan: {
        knowledge: true,
        transfers: [{ name: 'sales', to: '+12025550170', description: 'Sells', announce: null }],
      },
    })
    expect(names(able)).toEqual([
      'end_call',
      'do_not_call',
      'transfer_call',
      'send_digits',
      'search_knowledge',
      'take_message',
    ])
  })

  it('take a message and continue', async () => {
    const { line, tools, agentTexts, llm } = openTalk({
      says: ['Tell Mary I called.', 'Thanks.'],
      replies: request =>
        lastIs(request, 'caller') && request.messages.length < 3
          ? [text('I will tell her.'), call('take_message', { message: 'Tell Mary I called.' })]
          : [text('You are welcome.')],
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    await line.silence(500)
    expect(agentTexts()).toEqual(['Hi there.', 'I will tell her.'])
    await line.caller(600)
    await line.agentTurn()
    expect(tools()).toMatchObject([
      { name: 'take_message', status: 'ok', arguments: { message: 'Tell Mary I called.' } },
    ])
    expect(llm.requests.at(-1)!.messages.some(message => message.role === 'tool')).toBe(true)
  })

  it('send DTMF through the leg', async () => {
    const pressed: string[] = []
    const { line, tools, agentTexts } = openTalk({
      says: ['For sales press two.'],
      replies: callThenTell(call('send_digits', { digits: '2,,7' })),
      abilities: { sendDtmf: async keys => void pressed.push(keys) },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    expect(pressed).toEqual(['2,,7'])
    expect(tools()).toMatchObject([{ name: 'send_digits', status: 'ok' }])
    expect(agentTexts().at(-1)).toBe('Here it is.')
  })

  it.each([
    ['send_digits', { digits: 'call mum' }, 'bad_arguments'],
    ['send_digits', {}, 'bad_arguments'],
    ['transfer_call', { to: 'the president' }, 'bad_arguments'],
    ['transfer_call', { to: 'sales' }, 'failed'],
    ['search_knowledge', { query: 'hours' }, 'failed'],
    ['make_coffee', {}, 'unknown_tool'],
  ])('returns an error to the model for %s with %o: %s', async (name, args, status) => {
    const { line, tools, agentTexts } = openTalk({
      says: ['Do it.'],
      replies: callThenTell(call(name, args)),
      abilities: {
        sendDtmf: async () => {},
        transfer: async () => ({ ok: false, reason: 'They do not answer.' }),
        searchKnowledge: () => Promise.reject(new Error('no answer in time')),
      },
      plan: { knowledge: true, transfers: [{ name: 'sales', to: '+12025550170', description: '', announce: null }] },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    expect(tools()).toMatchObject([{ name, status }])
    expect(agentTexts().at(-1)).toBe('Here it is.')
  })

  it('search the knowledge base with sources', async () => {
    const { line, llm } = openTalk({
      says: ['When are you open?'],
      replies: callThenTell(call('search_knowledge', { query: 'opening hours' })),
      abilities: { searchKnowledge: async query => [hit({ text: `Nine to five (${query})`, source: 'hours.md' })] },
      plan: { knowledge: true },
    })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    const result = llm.requests.at(-1)!.messages.at(-1)!
    expect(result).toMatchObject({ role: 'tool', ok: true, result: expect.stringContaining('hours.md') })
  })

  it('hang up after the goodbye, and are recorded', async () => {
    const { line, tools, ended } = openTalk({
      says: ['Bye.'],
      replies: () => [text('Goodbye.'), call('end_call')],
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    await line.silence(300)
    expect(ended).toEqual(['agent_hangup'])
    expect(tools()).toMatchObject([{ name: 'end_call', status: 'ok' }])
  })

  it('do not hang up before a result was spoken', async () => {
    let round = 0
    const { line, tools, ended, agentTexts } = openTalk({
      says: ['Book it and goodbye.'],
      replies: () => (round++ === 0 ? [call('weather'), call('end_call')] : [text('Done. Bye.'), call('end_call')]),
      fetch: answering({ weather: { ms: 500 } }),
      plan: { tools: [weather] },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    await line.silence(400)
    expect(agentTexts().at(-1)).toBe('Done. Bye.')
    expect(ended).toEqual(['agent_hangup'])
    expect(tools().map(({ name, status }) => `${name} ${status}`)).toEqual([
      'weather ok',
      'end_call aborted',
      'end_call ok',
    ])
  })

  it('pass DTMF to the model', async () => {
    const { line, llm } = openTalk({})
    await line.agentTurn()
    for (const key of '42#') line.press(key)
    await line.agentTurn()
    expect(llm.requests.at(-1)!.messages.at(-1)).toEqual({ role: 'caller', text: '42', keys: true })
  })
})
