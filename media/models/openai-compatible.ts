/** Any text model behind OpenAI's chat completions protocol, through the AI SDK (its only importer). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, type ModelMessage, Output, streamText, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import { FENCE_RULE, fence } from '../fence.ts'
import type { ChatMessage, Llm, LlmEvent, LlmRequest, WrapUp, WrapUpRequest } from '../ports.ts'

export interface OpenAiCompatibleOptions {
  baseUrl: string
  model: string
  apiKey: string | null
  /** Guards against SSRF where the address came from a customer. */
  fetch?: typeof globalThis.fetch
}

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
      system: request.system,
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
        `You write the record of a telephone call. Use only what was said in it; leave out what was not. ${FENCE_RULE} ` +
        `Goal of the call: ${request.goal ?? 'none was set'}. It began in this context: ${request.system}` +
        (request.repair ? `\n\nYour last answer was refused: ${request.repair}. Mend it.` : ''),
      prompt: fence('call', transcriptOf(request.messages)),
      output: Output.object({ schema: jsonSchema<unknown>(wrapUpSchema(request.extraction)) }),
      abortSignal: signal,
      maxRetries: 1,
    })
    const { summary, goal_reached, goal_evidence, caller_name, extracted } = WrapUpAnswer.parse(output)
    return {
      summary,
      extracted: request.extraction ? extracted : null,
      goalReached: request.goal !== null && goal_reached,
      goalEvidence: goal_evidence || null,
      contactName: caller_name || null,
    }
  }
  return { respond, wrapUp }
}

const Arguments = z.record(z.string(), z.unknown())
/** Many servers take a schema as a hint only; what does not fit must not spoil the whole record of the call. */
const WrapUpAnswer = z.object({
  summary: z.string().catch(''),
  goal_reached: z.boolean().catch(false),
  goal_evidence: z.string().nullable().catch(null),
  caller_name: z.string().nullable().catch(null),
  extracted: Arguments.catch({}),
})

function wrapUpSchema(extraction: Record<string, unknown> | null) {
  return {
    type: 'object' as const,
    properties: {
      summary: { type: 'string' as const, description: 'Two or three sentences.' },
      goal_reached: { type: 'boolean' as const },
      goal_evidence: {
        type: 'string' as const,
        description: 'The words of the conversation that show it, quoted; empty when it was not reached.',
      },
      caller_name: { type: 'string' as const, description: 'As the caller gave it; empty when it was not said.' },
      ...(extraction ? { extracted: extraction } : {}),
    },
    required: ['summary', 'goal_reached', 'goal_evidence', 'caller_name', ...(extraction ? ['extracted'] : [])],
    additionalProperties: false,
  }
}

function toEvent(id: string, name: string, input: unknown): LlmEvent {
  const args = Arguments.safeParse(input)
  if (args.success) return { type: 'tool', id, name, arguments: args.data }
  // Cut off in the middle, or no object: a tool must not run with less than the model meant.
  return { type: 'tool', id, name, arguments: {}, problem: 'The arguments were not a whole JSON object.' }
}

function toTools(request: LlmRequest): ToolSet {
  const tools: ToolSet = {}
  for (const { name, description, parameters } of request.tools) {
    tools[name] = tool({ description, inputSchema: jsonSchema(parameters) })
  }
  return tools
}

type ToolMessage = Extract<ChatMessage, { role: 'tool' }>

/** Calls of one step belong into one message, or some servers refuse the conversation. */
function stepMessages(calls: readonly ToolMessage[]): ModelMessage[] {
  return [
    {
      role: 'assistant',
      content: calls.map(({ id, name, arguments: input }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input,
      })),
    },
    {
      role: 'tool',
      content: calls.map(({ id, name, result }) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: name,
        output: { type: 'text', value: fence(name, result) },
      })),
    },
  ]
}

/** Words that were said while tools of a step ran come after the whole step. */
function stepsTogether(messages: readonly ChatMessage[]): (ChatMessage | ToolMessage[])[] {
  const steps = new Map<string, ToolMessage[]>()
  const together: (ChatMessage | ToolMessage[])[] = []
  for (const message of messages) {
    if (message.role !== 'tool') {
      together.push(message)
      continue
    }
    const step = steps.get(message.step)
    if (step) step.push(message)
    else {
      steps.set(message.step, [message])
      together.push(steps.get(message.step)!)
    }
  }
  return together
}

function toMessages(messages: readonly ChatMessage[]): ModelMessage[] {
  // Some servers refuse a conversation without a user's turn; the agent opened this one.
  const opening: ModelMessage[] =
    messages[0]?.role === 'caller' ? [] : [{ role: 'user', content: '(the call is connected)' }]
  return [
    ...opening,
    ...stepsTogether(messages).flatMap((message): ModelMessage[] => {
      if (Array.isArray(message)) return stepMessages(message)
      if (message.role === 'caller') {
        return [{ role: 'user', content: message.keys ? `(pressed keys) ${message.text}` : message.text }]
      }
      if (message.role === 'agent') {
        return [
          {
            role: 'assistant',
            content: message.interrupted ? `${message.text} —(the caller interrupted)` : message.text,
          },
        ]
      }
      return []
    }),
  ]
}

function transcriptOf(messages: readonly ChatMessage[]): string {
  const lines = messages.map(message =>
    message.role === 'tool' ? `[${message.name}: ${message.result}]` : `${message.role}: ${message.text}`,
  )
  return lines.join('\n') || '(nothing was said)'
}
