/** Any text model behind OpenAI's chat completions protocol, through the AI SDK (its only importer). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, type ModelMessage, Output, streamText, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import type { ChatMessage, Llm, LlmEvent, LlmRequest, WrapUp, WrapUpRequest } from '../ports.ts'

export interface OpenAiCompatibleOptions {
  baseUrl: string
  model: string
  apiKey: string | null
  /** Guards against SSRF where the address came from a customer. */
  fetch?: typeof globalThis.fetch
}

const END_CALL = 'end_call'
const DO_NOT_CALL = 'do_not_call'
const MAX_TOKENS = 400

export function createOpenAiCompatible(options: OpenAiCompatibleOptions): Llm {
  const provider = createOpenAICompatible({
    name: 'configured',
    baseURL: options.baseUrl,
    ...(options.apiKey ? { apiKey: options.apiKey } : {}),
    ...(options.fetch ? { fetch: options.fetch } : {}),
    supportsStructuredOutputs: true,
  })
  const model = provider(options.model)

  async function* respond(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent> {
    const result = streamText({
      model,
      system: `${request.system}\n\nToday is ${request.today.toISOString().slice(0, 10)}.`,
      messages: toMessages(request.messages),
      tools: toTools(request),
      abortSignal: signal,
      maxOutputTokens: MAX_TOKENS,
      // A caller hears silence meanwhile: one retry at the most.
      maxRetries: 1,
      onError: () => {}, // thrown below; the SDK's default prints it
    })
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') yield { type: 'text', delta: part.text }
      else if (part.type === 'tool-call') yield toEvent(part.toolCallId, part.toolName, part.input)
      else if (part.type === 'error') throw part.error instanceof Error ? part.error : new Error('text model failed')
      else if (part.type === 'abort') return
    }
  }

  async function wrapUp(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp> {
    const { output } = await generateText({
      model,
      system:
        'You write the record of a telephone call. Use only what was said in it. ' +
        `Goal of the call: ${request.goal ?? 'none was set'}.`,
      prompt: transcriptOf(request.messages),
      output: Output.object({ schema: jsonSchema<unknown>(wrapUpSchema(request.extraction)) }),
      abortSignal: signal,
      maxRetries: 1,
    })
    const { summary, goal_reached, extracted } = WrapUpAnswer.parse(output)
    return {
      summary,
      extracted: request.extraction ? extracted : null,
      goalReached: request.goal !== null && goal_reached,
    }
  }
  return { respond, wrapUp }
}

const Arguments = z.record(z.string(), z.unknown())
/** Many servers take a schema as a hint only; what does not fit must not spoil the whole record of the call. */
const WrapUpAnswer = z.object({
  summary: z.string().catch(''),
  goal_reached: z.boolean().catch(false),
  extracted: Arguments.catch({}),
})

function wrapUpSchema(extraction: Record<string, unknown> | null) {
  return {
    type: 'object' as const,
    properties: {
      summary: { type: 'string' as const, description: 'Two or three sentences.' },
      goal_reached: { type: 'boolean' as const },
      ...(extraction ? { extracted: extraction } : {}),
    },
    required: ['summary', 'goal_reached', ...(extraction ? ['extracted'] : [])],
    additionalProperties: false,
  }
}

function toEvent(id: string, name: string, input: unknown): LlmEvent {
  if (name === END_CALL) return { type: 'hangup' }
  if (name === DO_NOT_CALL) return { type: 'do_not_call' }
  const args = Arguments.safeParse(input)
  // Cut off in the middle, or no object: a tool must not run with less than the model meant.
  if (!args.success) throw new Error('the text model called a tool with arguments that cannot be read')
  return { type: 'tool', id, name, arguments: args.data }
}

function toTools(request: LlmRequest): ToolSet {
  const nothing = jsonSchema({ type: 'object', properties: {}, additionalProperties: false })
  const tools: ToolSet = {
    [END_CALL]: tool({ description: 'Hang up, after goodbye was said.', inputSchema: nothing }),
    [DO_NOT_CALL]: tool({ description: 'The caller asked never to be called again.', inputSchema: nothing }),
  }
  for (const { name, description, parameters } of request.tools) {
    tools[name] = tool({ description, inputSchema: jsonSchema(parameters) })
  }
  return tools
}

function toMessages(messages: readonly ChatMessage[]): ModelMessage[] {
  // Some servers refuse a conversation without a user's turn; the agent opened this one.
  const opening: ModelMessage[] =
    messages[0]?.role === 'caller' ? [] : [{ role: 'user', content: '(the call is connected)' }]
  return [
    ...opening,
    ...messages.flatMap((message): ModelMessage[] => {
      if (message.role === 'caller') return [{ role: 'user', content: message.text }]
      if (message.role === 'agent') {
        return [
          {
            role: 'assistant',
            content: message.interrupted ? `${message.text} —(the caller interrupted)` : message.text,
          },
        ]
      }
      const { id, name, arguments: input, result } = message
      return [
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: id, toolName: name, input }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: id, toolName: name, output: { type: 'text', value: result } }],
        },
      ]
    }),
  ]
}

function transcriptOf(messages: readonly ChatMessage[]): string {
  const lines = messages.map(message =>
    message.role === 'tool' ? `[${message.name}: ${message.result}]` : `${message.role}: ${message.text}`,
  )
  return lines.join('\n') || '(nothing was said)'
}
