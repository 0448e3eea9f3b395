/**
 * One server with the streams of three vendors: OpenAI's chat completions, Anthropic's messages (docs.claude.com,
 * "Streaming messages": named events, `input_json_delta`, errors as events), Gemini's `streamGenerateContent?alt=sse`
 * (ai.google.dev, "GenerateContentResponse": whole parts in `data:` lines, no end mark except a `finishReason`).
 */
import { type HttpAnswer, type HttpVendor, startHttpVendor } from './http-vendor.ts'

/** A model's answer in pieces, and its tool calls; arguments are raw JSON, so that they may be invalid. */
export interface Said {
  text?: string[]
  calls?: { id: string; name: string; json: string }[]
}

const SSE = { 'content-type': 'text/event-stream' }
const data = (body: object) => `data: ${JSON.stringify(body)}\n\n`
const named = (type: string, body: object) => `event: ${type}\n${data({ type, ...body })}`

export function openAiStream({ text = [], calls = [] }: Said): string[] {
  const chunk = (delta: object, finish: string | null = null) =>
    data({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  return [
    ...text.map(content => chunk({ content })),
    ...calls.map(({ id, name, json }, index) =>
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: json } }] }),
    ),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    'data: [DONE]\n\n',
  ]
}

export function anthropicStream({ text = [], calls = [] }: Said): string[] {
  const blocks: string[] = []
  let index = 0
  if (text.length > 0) {
    blocks.push(named('content_block_start', { index, content_block: { type: 'text', text: '' } }))
    for (const piece of text)
      blocks.push(named('content_block_delta', { index, delta: { type: 'text_delta', text: piece } }))
    blocks.push(named('content_block_stop', { index: index++ }))
  }
  for (const { id, name, json } of calls) {
    blocks.push(named('content_block_start', { index, content_block: { type: 'tool_use', id, name, input: {} } }))
    for (const partial_json of ['', json.slice(0, 3), json.slice(3)])
      blocks.push(named('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }))
    blocks.push(named('content_block_stop', { index: index++ }))
  }
  return [
    named('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'claude',
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    }),
    named('ping', {}),
    ...blocks,
    named('message_delta', {
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    named('message_stop', {}),
  ]
}

/** Gemini sends arguments as whole objects, without ids. */
export function googleStream({ text = [], calls = [] }: Said): string[] {
  const candidate = (parts: object[], more: object = {}) =>
    data({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], modelVersion: 'gemini' })
  return [
    ...text.map(piece => candidate([{ text: piece }])),
    ...(calls.length > 0
      ? [candidate(calls.map(({ name, json }) => ({ functionCall: { name, args: JSON.parse(json) } })))]
      : []),
    candidate([{ text: '' }], { finishReason: 'STOP' }),
  ]
}

export const streams = { openai_compatible: openAiStream, anthropic: anthropicStream, google: googleStream }
export type Kind = keyof typeof streams

export const sse = (parts: string[], next: HttpAnswer['next'] = 'end'): HttpAnswer => ({ headers: SSE, parts, next })

/** A refusal by the vendor, with text that must not reach a log. */
export function refusal(kind: Kind, status: number, headers: Record<string, string> = {}): HttpAnswer {
  const types: Record<number, string> = {
    401: 'authentication_error',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  }
  const type = types[status] ?? 'api_error'
  const body = {
    openai_compatible: { error: { message: 'no: hush', type, param: null, code: null } },
    anthropic: { type: 'error', error: { type, message: 'no: hush' }, request_id: 'req_1' },
    google: { error: { code: status, message: 'no: hush', status: 'UNAVAILABLE' } },
  }[kind]
  return { status, headers: { 'content-type': 'application/json', ...headers }, parts: [JSON.stringify(body)] }
}

/** An answer without streaming, as for the call record. */
export function whole(kind: Kind, content: string): HttpAnswer {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const body = {
    openai_compatible: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    },
    anthropic: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [{ type: 'text', text: content }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    },
    google: {
      candidates: [{ content: { role: 'model', parts: [{ text: content }] }, finishReason: 'STOP', index: 0 }],
    },
  }[kind]
  return { headers: { 'content-type': 'application/json' }, parts: [JSON.stringify(body)] }
}

/** The base URL that `createTextModel` expects for this vendor. */
export const baseUrlOf = (kind: Kind, vendor: HttpVendor): string =>
  vendor.baseUrl + { openai_compatible: '/v1', anthropic: '/v1', google: '/v1beta' }[kind]

export const startFakeTextModel = startHttpVendor
