import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createTextModel } from '../../../media/models/text-model.ts'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'

/** A chat completions server with scripted responses and a record of requests. */
type Answer = { chunks: object[] } | { json: object } | { status: number } | { hang: true }
let server: Server
let baseUrl: string
let next: Answer = { chunks: [] }
// biome-ignore lint/suspicious/noExplicitAny: a foreign protocol
const asked: { body: any; authorization: string | undefined }[] = []

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    asked.push({ body: JSON.parse(Buffer.concat(parts).toString()), authorization: request.headers.authorization })
    if ('status' in next)
      response.writeHead(next.status, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
    else if ('json' in next)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(next.json))
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if ('hang' in next) {
        response.write(`data: ${JSON.stringify(chunk({ content: 'Well' }))}\n\n`)
        return
      }
      for (const piece of next.chunks) response.write(`data: ${JSON.stringify(piece)}\n\n`)
      response.end('data: [DONE]\n\n')
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const chunk = (delta: object, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const request: LlmRequest = {
  system: 'Be brief.',
  boundary: 'b0undaryOfTests1',
  language: 'en',
  messages: [
    { role: 'agent', text: 'Hello.', interrupted: false },
    { role: 'caller', text: 'Weather?' },
  ],
  tools: [
    {
      name: 'weather',
      description: 'Weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
  today: new Date('2026-11-21T00:00:00Z'),
}
const llm = () =>
  createTextModel({ provider: 'openai_compatible', clock: systemClock, baseUrl, model: 'm', apiKey: 'sk-test' })
const ask = async (changes: Partial<LlmRequest> = {}, signal = new AbortController().signal) => {
  const events: LlmEvent[] = []
  for await (const event of llm().respond({ ...request, ...changes }, signal)) events.push(event)
  return events
}

describe('an OpenAI-compatible model', () => {
  it('streams text, with the key, the system prompt, the day and the tools', async () => {
    next = {
      chunks: [chunk({ role: 'assistant', content: 'It is ' }), chunk({ content: 'sunny.' }), chunk({}, 'stop')],
    }
    expect(await ask()).toEqual([
      { type: 'text', delta: 'It is ' },
      { type: 'text', delta: 'sunny.' },
    ])
    const { body, authorization } = asked.at(-1)!
    expect(authorization).toBe('Bearer sk-test')
    expect(body.messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(body.messages.slice(1).map((message: { role: string }) => message.role)).toEqual([
      'user',
      'assistant',
      'user',
    ])
    expect(body.tools.map((tool: { function: { name: string } }) => tool.function.name).sort()).toEqual(['weather'])
    expect(body.stream).toBe(true)
  })

  it('assembles tool arguments from chunks', async () => {
    const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] })
    next = {
      chunks: [
        call({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"ci' } }),
        call({ function: { arguments: 'ty":"Perm"}' } }),
        chunk({}, 'tool_calls'),
      ],
    }
    expect(await ask()).toEqual([{ type: 'tool', id: 'call_1', name: 'weather', arguments: { city: 'Perm' } }])
  })

  it('receives tool results and heard text', async () => {
    next = { chunks: [chunk({ content: 'Ok.' }), chunk({}, 'stop')] }
    await ask({
      messages: [
        { role: 'caller', text: 'Weather?' },
        {
          role: 'tool',
          id: 'call_1',
          step: '1',
          name: 'weather',
          arguments: { city: 'Perm' },
          result: '{"t":-5}',
          ok: true,
        },
        { role: 'agent', text: 'It is minus', interrupted: true },
        { role: 'caller', text: 'Thanks.' },
      ],
    })
    const { messages } = asked.at(-1)!.body
    expect(messages[2]).toMatchObject({
      role: 'assistant',
      tool_calls: [{ id: 'call_1', function: { name: 'weather', arguments: '{"city":"Perm"}' } }],
    })
    expect(messages[3]).toMatchObject({
      role: 'tool',
      tool_call_id: 'call_1',
      content: expect.stringMatching(/^<data-b0undaryOfTests1 from="weather">\n\{"t":-5\}\n<\/data-b0undaryOfTests1>$/),
    })
    expect(messages[4].content).toMatch(/^It is minus —\(the caller interrupted\)$/)
  })

  it('calls end_call and do_not_call', async () => {
    const call = (index: number, name: string) => ({
      index,
      id: `c${index}`,
      type: 'function',
      function: { name, arguments: '{}' },
    })
    next = {
      chunks: [
        chunk({ content: 'Bye.' }),
        chunk({ tool_calls: [call(0, 'do_not_call'), call(1, 'end_call')] }),
        chunk({}, 'tool_calls'),
      ],
    }
    expect(await ask()).toEqual([
      { type: 'text', delta: 'Bye.' },
      { type: 'tool', id: 'c0', name: 'do_not_call', arguments: {} },
      { type: 'tool', id: 'c1', name: 'end_call', arguments: {} },
    ])
  })

  it('reports server failures', async () => {
    next = { status: 401 }
    await expect(ask()).rejects.toThrow()
  })

  it('stops on abort', async () => {
    next = { hang: true }
    const controller = new AbortController()
    const events: LlmEvent[] = []
    const reading = (async () => {
      for await (const event of llm().respond(request, controller.signal)) {
        events.push(event)
        controller.abort()
      }
    })().catch(() => {})
    await reading
    expect(events).toEqual([{ type: 'text', delta: 'Well' }])
  })

  it('writes the record by the extraction schema', async () => {
    const content = JSON.stringify({
      summary: 'Asked for the weather.',
      goal_reached: true,
      goal_evidence: 'It is sunny',
      caller_name: '',
      extracted: { city: 'Perm' },
    })
    next = {
      json: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    }
    const extraction = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const wrap = await llm().wrapUp(
      { ...request, goal: 'Weather told', extraction, repair: null },
      new AbortController().signal,
    )
    expect(wrap).toEqual({
      summary: 'Asked for the weather.',
      extracted: { city: 'Perm' },
      goalReached: true,
      goalEvidence: 'It is sunny',
      contactName: null,
    })
    expect(asked.at(-1)!.body.response_format.json_schema.schema.properties.extracted).toMatchObject({
      properties: { city: { type: 'string' } },
    })
  })

  it('writes a valid record whatever the server makes of the schema', async () => {
    const content = JSON.stringify({ summary: 7, goal_reached: 'yes', extracted: ['Perm'] })
    next = {
      json: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      },
    }
    const extraction = { type: 'object', properties: {} }
    const wrap = await llm().wrapUp(
      { ...request, goal: 'Weather told', extraction, repair: null },
      new AbortController().signal,
    )
    expect(wrap).toEqual({ summary: '', extracted: {}, goalReached: false, goalEvidence: null, contactName: null })
  })

  it.each(['{"ci', '["Perm"]', '"Perm"'])('does not call a tool with arguments like %s', async text => {
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'weather', arguments: text } }
    next = { chunks: [chunk({ tool_calls: [call] }), chunk({}, 'tool_calls')] }
    expect(await ask()).toEqual([
      { type: 'tool', id: 'c', name: 'weather', arguments: {}, problem: expect.stringContaining('JSON object') },
    ])
  })
})
