/** Text models against servers that speak each vendor's protocol: common behaviour, then that of each vendor. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createTextModel } from '../../../media/models/text-model.ts'
import { VendorError } from '../../../media/models/vendor-error.ts'
import type { ChatMessage, LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import type { HttpVendor } from '../../fakes/vendors/http-vendor.ts'
import {
  baseUrlOf,
  type Kind,
  refusal,
  sse,
  startFakeTextModel,
  streams,
  whole,
} from '../../fakes/vendors/text-models.ts'

let vendor: HttpVendor
beforeAll(async () => {
  vendor = await startFakeTextModel()
})
afterAll(() => vendor.close())
beforeEach(() => {
  vendor.asked.length = 0
  vendor.left = 0
})

const never = new AbortController().signal
const request: LlmRequest = {
  system: 'Be brief.',
  boundary: 'b0undaryOfTests1',
  language: 'en',
  messages: [{ role: 'caller', text: 'Weather?' }],
  tools: [
    {
      name: 'weather',
      description: 'Weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
  today: new Date('2026-11-21T00:00:00Z'),
}
const models: Record<Kind, string> = {
  openai_compatible: 'm',
  anthropic: 'claude-haiku-4-5',
  google: 'gemini-3-flash-preview',
}
const llm = (provider: Kind, retries = 0) =>
  createTextModel({
    provider,
    retries,
    model: models[provider],
    apiKey: 'key-1',
    clock: systemClock,
    baseUrl: baseUrlOf(provider, vendor),
  })

async function ask(kind: Kind, changes: Partial<LlmRequest> = {}, retries = 0) {
  const events: LlmEvent[] = []
  try {
    for await (const event of llm(kind, retries).respond({ ...request, ...changes }, never)) events.push(event)
    return { events, error: null }
  } catch (error) {
    return { events, error: error as VendorError }
  }
}
// biome-ignore lint/suspicious/noExplicitAny: a foreign protocol
const body = (at = -1): any => JSON.parse(vendor.asked.at(at)!.body.toString())
const texts = (events: LlmEvent[]) => events.map(event => (event.type === 'text' ? event.delta : event.name)).join('')
const kinds = Object.keys(streams) as Kind[]

describe.each(kinds)('%s', kind => {
  it('streams text', async () => {
    vendor.answer = sse(streams[kind]({ text: ['It is ', 'sunny.'] }))
    expect(await ask(kind)).toEqual({
      events: [
        { type: 'text', delta: 'It is ' },
        { type: 'text', delta: 'sunny.' },
      ],
      error: null,
    })
    expect(vendor.asked).toHaveLength(1)
  })

  it('returns text and several tool calls in one step', async () => {
    const calls = [
      { id: 'call_1', name: 'weather', json: '{"city":"Perm"}' },
      { id: 'call_2', name: 'weather', json: '{"city":"Omsk"}' },
    ]
    vendor.answer = sse(streams[kind]({ text: ['Let me see.'], calls }))
    const { events, error } = await ask(kind)
    expect(error).toBeNull()
    expect(events.map(event => (event.type === 'tool' ? event.arguments : event.delta))).toEqual([
      'Let me see.',
      { city: 'Perm' },
      { city: 'Omsk' },
    ])
    const ids = events.flatMap(event => (event.type === 'tool' ? [event.id] : []))
    expect(new Set(ids).size).toBe(2)
  })

  it('receives tool calls with their results, and a caller message last', async () => {
    vendor.answer = sse(streams[kind]({ text: ['Ok.'] }))
    const tool = (id: string, city: string): ChatMessage => ({
      role: 'tool',
      id,
      step: '1',
      name: 'weather',
      arguments: { city },
      result: `cold in ${city}`,
      ok: true,
    })
    const messages: ChatMessage[] = [
      { role: 'caller', text: 'Weather?' },
      tool('call_1', 'Perm'),
      { role: 'agent', text: 'One moment.', interrupted: false },
      tool('call_2', 'Omsk'),
    ]
    expect((await ask(kind, { messages })).error).toBeNull()
    const list = (body().messages ?? body().contents) as { role: string }[]
    const said = list.filter(({ role }) => role !== 'system')
    expect(said.at(-1)!.role).toBe('user')
    const text = JSON.stringify(said)
    const order = ['call_1', 'call_2'].map(id => text.indexOf(id))
    if (kind !== 'google') expect(order[0]).toBeGreaterThan(0)
    expect(text.indexOf('cold in Perm')).toBeLessThan(text.indexOf('cold in Omsk'))
    expect(text.indexOf('cold in Omsk')).toBeLessThan(text.indexOf('One moment.'))
    expect(text).toContain('<data-b0undaryOfTests1 from=\\"weather\\">')
  })

  it.each([
    [401, 'unauthorized', false],
    [429, 'rate_limited', true],
    [500, 'unavailable', true],
    [529, 'unavailable', true],
  ])("maps HTTP %i to %s without the vendor's text", async (status, code, retryable) => {
    vendor.answer = refusal(kind, status, { 'retry-after': '7' })
    const { events, error } = await ask(kind)
    expect(events).toEqual([])
    expect(error).toBeInstanceOf(VendorError)
    expect(error).toMatchObject({ vendor: kind, code, retryable, status, retryAfterMs: 7000 })
    expect(`${error!.message} ${error!.stack} ${JSON.stringify(error)}`).not.toMatch(/hush|key-1/)
    expect(vendor.asked).toHaveLength(1)
  })

  it('is retried once, unless Retry-After is long', async () => {
    let times = 0
    vendor.answer = () => (times++ === 0 ? refusal(kind, 503) : sse(streams[kind]({ text: ['Hi.'] })))
    expect(await ask(kind, {}, 1)).toMatchObject({ events: [{ delta: 'Hi.' }], error: null })
    expect(vendor.asked).toHaveLength(2)
    vendor.answer = refusal(kind, 503)
    expect((await ask(kind, {}, 1)).error).toMatchObject({ code: 'unavailable', status: 503 })
    expect(vendor.asked).toHaveLength(4)
    for (const answer of [refusal(kind, 429, { 'retry-after': '20' }), refusal(kind, 401)]) {
      vendor.asked.length = 0
      vendor.answer = answer
      expect((await ask(kind, {}, 1)).error).toBeInstanceOf(VendorError)
      expect(vendor.asked).toHaveLength(1)
    }
  })

  it('sends no key to a redirect target', async () => {
    vendor.answer = { status: 307, headers: { location: `${vendor.baseUrl}/elsewhere` } }
    expect((await ask(kind)).error).toMatchObject({ name: 'VendorError', code: 'unavailable' })
    expect(vendor.asked).toHaveLength(1)
  })

  it.each(['drop', 'end'] as const)('that ends in mid-word (%s) has failed, keeping its text', async next => {
    const [first, second, ...rest] = streams[kind]({ text: ['It is ', 'sun'] })
    const given = kind === 'anthropic' ? [first!, second!, ...rest.slice(0, 3)] : [first!, second!]
    vendor.answer = sse(given, next)
    const { events, error } = await ask(kind)
    expect('It is sun').toContain(texts(events))
    expect(texts(events)).not.toBe('')
    expect(error).toMatchObject({ name: 'VendorError', code: 'unavailable' })
  })

  it('that sends invalid JSON has failed', async () => {
    vendor.answer = sse(['data: {"choices": [{"del\n\n', 'data: nonsense\n\n'])
    expect((await ask(kind)).error).toBeInstanceOf(VendorError)
  })

  it('is stopped on abort', async () => {
    vendor.answer = sse(streams[kind]({ text: ['Well'] }).slice(0, kind === 'anthropic' ? 4 : 1), 'hang')
    const controller = new AbortController()
    const events: LlmEvent[] = []
    for await (const event of llm(kind).respond(request, controller.signal)) {
      events.push(event)
      controller.abort()
    }
    expect(texts(events)).toBe('Well')
    await expect.poll(() => vendor.left).toBe(1)
  })

  it('writes the record by the schema, and corrects it with errors', async () => {
    const record = {
      summary: 'Asked for the weather.',
      goal_reached: true,
      goal_evidence: 'It is sunny',
      caller_name: '',
      extracted: { city: 'Perm' },
    }
    vendor.answer = whole(kind, JSON.stringify(record))
    const extraction = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const asked = { ...request, goal: 'Weather told', extraction, repair: 'extracted: city is missing' }
    expect(await llm(kind).wrapUp(asked, never)).toEqual({
      summary: 'Asked for the weather.',
      extracted: { city: 'Perm' },
      goalReached: true,
      goalEvidence: 'It is sunny',
      contactName: null,
    })
    expect(JSON.stringify(body())).toContain(
      'Your last answer was rejected: <data-b0undaryOfTests1 from=\\"validation\\">extracted: city is missing</data-b0undaryOfTests1>.',
    )
    expect(JSON.stringify(body())).toContain('"city"')
    vendor.answer = refusal(kind, 500)
    await expect(llm(kind).wrapUp(asked, never)).rejects.toMatchObject({ name: 'VendorError', code: 'unavailable' })
  })
})

describe('Anthropic', () => {
  it('gets the key, its version, the system prompt apart, and the tools', async () => {
    vendor.answer = sse(streams.anthropic({ text: ['Ok.'] }))
    await ask('anthropic', { messages: [{ role: 'agent', text: 'Hello.', interrupted: false }, ...request.messages] })
    const { url, headers } = vendor.asked.at(-1)!.request
    expect(url).toBe('/v1/messages')
    expect(headers).toMatchObject({ 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' })
    expect(body()).toMatchObject({ model: 'claude-haiku-4-5', stream: true, max_tokens: 400 })
    expect(body().system).toEqual([{ type: 'text', text: 'Be brief.' }])
    expect(body().messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(body().tools).toMatchObject([{ name: 'weather', input_schema: { required: ['city'] } }])
  })

  it.each([
    ['overloaded_error', 'unavailable'],
    ['rate_limit_error', 'rate_limited'],
    ['authentication_error', 'unauthorized'],
  ])('%s in the stream, first or after some words, is %s', async (type, code) => {
    const error = `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, message: 'hush' } })}\n\n`
    vendor.answer = sse([error])
    expect(await ask('anthropic')).toMatchObject({ events: [], error: { name: 'VendorError', code } })
    vendor.answer = sse([...streams.anthropic({ text: ['Well'] }).slice(0, 4), error])
    const late = await ask('anthropic')
    expect(texts(late.events)).toBe('Well')
    expect(late.error).toMatchObject({ name: 'VendorError', code })
    expect(late.error!.message).not.toContain('hush')
  })

  it.each(['{"ci', '["Perm"]', '"Perm"'])('does not call a tool with arguments like %s', async json => {
    vendor.answer = sse(streams.anthropic({ calls: [{ id: 'c', name: 'weather', json }] }))
    const { events } = await ask('anthropic')
    expect(events).toEqual([
      { type: 'tool', id: 'c', name: 'weather', arguments: {}, problem: expect.stringContaining('JSON object') },
    ])
  })
})

describe('Google', () => {
  it('gets the key in a header, the system prompt apart, and the tools', async () => {
    vendor.answer = sse(streams.google({ text: ['Ok.'] }))
    await ask('google')
    const { url, headers } = vendor.asked.at(-1)!.request
    expect(url).toBe('/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse')
    expect(headers['x-goog-api-key']).toBe('key-1')
    expect(body()).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Weather?' }] }],
      generationConfig: { maxOutputTokens: 400 },
      tools: [{ functionDeclarations: [{ name: 'weather' }] }],
    })
  })

  it.each([
    ['of the prompt', { promptFeedback: { blockReason: 'SAFETY' } }],
    ['of the answer', { candidates: [{ finishReason: 'SAFETY', index: 0 }] }],
  ])('a safety block %s is a failure, since the caller would hear nothing', async (_, answer) => {
    vendor.answer = sse([`data: ${JSON.stringify(answer)}\n\n`])
    expect(await ask('google')).toMatchObject({ events: [], error: { name: 'VendorError', code: 'bad_answer' } })
  })

  it('reports errors within the stream', async () => {
    const error = { error: { code: 503, message: 'hush', status: 'UNAVAILABLE' } }
    vendor.answer = sse([`data: ${JSON.stringify(error)}\n\n`])
    expect((await ask('google')).error).toMatchObject({
      code: 'unavailable',
      message: expect.not.stringContaining('hush'),
    })
  })
})
