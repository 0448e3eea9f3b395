/**
 * Text models of several vendors through the AI SDK (imported only here): OpenAI's chat completions and compatible
 * APIs, Anthropic's messages, Google's Gemini. Every error becomes a `VendorError`, since vendors' messages contain
 * what was said.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamText,
  type ToolSet,
  tool,
} from 'ai'
import { z } from 'zod'
import type { ChatMessage, Llm, LlmEvent, LlmRequest, WrapUp, WrapUpRequest } from '../ports/llm.ts'
import type { Clock } from '../shared/clock.ts'
import { markInline, markUntrusted, untrustedRule } from '../shared/untrusted.ts'
import { errorOfStatus, VendorError, type VendorErrorCode } from './vendor-error.ts'

export interface TextModelOptions {
  provider: 'openai_compatible' | 'anthropic' | 'google'
  model: string
  apiKey: string | null
  clock: Clock
  /** Base URL with its version, such as `/v1`. Required for `openai_compatible`. */
  baseUrl?: string | undefined
  /** Replaces `fetch` to guard against SSRF when a customer chose the address. */
  fetch?: typeof globalThis.fetch
  /** Number of retries while nothing was said yet; 1 by default, 0 when another model can take over. */
  retries?: number
}

const MAX_TOKENS = 400
/** The SDK would print warnings that contain words of the call. */
;(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false

/**
 * Pause in ms before a retry, and its limit. The SDK's own retries wait for seconds, while the caller hears silence.
 */
const RETRY_MS = 300
const LONGEST_RETRY_MS = 1000

/** Throws a `TypeError` when an `openai_compatible` model has no base URL. */
export const createTextModel = (options: TextModelOptions): Llm => new TextModel(options)

class TextModel implements Llm {
  readonly #provider: TextModelOptions['provider']
  readonly #clock: Clock
  readonly #retries: number
  readonly #model: LanguageModel

  constructor(options: TextModelOptions) {
    this.#provider = options.provider
    this.#clock = options.clock
    this.#retries = options.retries ?? 1
    this.#model = modelOf(options)
  }

  async *respond(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent> {
    for (let left = this.#retries; ; left--) {
      let begun = false
      try {
        for await (const event of this.#respondOnce(request, signal)) {
          begun = true
          yield event
        }
        return
      } catch (error) {
        if (signal.aborted) return
        const failure = this.#failureOf(error)
        if (begun || left <= 0 || !(await paused(failure, signal, this.#clock))) throw failure
      }
    }
  }

  async wrapUp(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp> {
    for (let left = this.#retries; ; left--) {
      try {
        return await this.#wrapUpOnce(request, signal)
      } catch (error) {
        const failure = this.#failureOf(error)
        if (signal.aborted || left <= 0 || !(await paused(failure, signal, this.#clock))) throw failure
      }
    }
  }

  async *#respondOnce(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent> {
    const result = streamText({
      model: this.#model,
      system: request.system,
      messages: toMessages(request),
      tools: toTools(request),
      abortSignal: signal,
      maxOutputTokens: MAX_TOKENS,
      maxRetries: 0,
      onError: () => {}, // thrown below; the SDK's default prints it
    })
    let said = false
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') {
        if (part.text === '') continue // not an answer yet: another model may still take over
        said = true
        yield { type: 'text', delta: part.text }
      } else if (part.type === 'tool-call') {
        said = true
        yield toEvent(part.toolCallId, part.toolName, part.input)
      } else if (part.type === 'finish-step') {
        const broken = brokenOff(this.#provider, part.finishReason, part.rawFinishReason, said)
        if (broken) throw broken
      } else if (part.type === 'error') throw part.error
      else if (part.type === 'abort') return
    }
  }

  async #wrapUpOnce(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp> {
    const { output } = await generateText({
      model: this.#model,
      system: wrapUpPrompt(request),
      prompt: markUntrusted(request.boundary, 'call', transcriptOf(request.messages)),
      output: Output.object({ schema: jsonSchema<unknown>(wrapUpSchema(request.extraction)) }),
      abortSignal: signal,
      maxRetries: 0,
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

  #failureOf(error: unknown): VendorError {
    return failureOf(this.#provider, error, this.#clock.wall())
  }
}

/** Waits before a retry; resolves to false when a retry is useless or would be too late. */
async function paused(failure: VendorError, signal: AbortSignal, clock: Clock): Promise<boolean> {
  const ms = Math.max(RETRY_MS, failure.retryAfterMs ?? 0)
  if (!failure.retryable || ms > LONGEST_RETRY_MS) return false
  await new Promise<void>(resolve => {
    const cancel = clock.after(ms, resolve)
    signal.addEventListener('abort', () => {
      cancel()
      resolve()
    })
  })
  return !signal.aborted
}

/** Rejects redirects, which would carry the key and the conversation to another server. */
const straight: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, { ...init, redirect: 'error' })

function modelOf({ provider, model, apiKey, baseUrl, fetch = straight }: TextModelOptions): LanguageModel {
  const shared = { fetch, ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) }
  switch (provider) {
    case 'openai_compatible': {
      if (baseUrl === undefined) throw new TypeError('The base URL is missing. Set it for openai_compatible models.')
      const key = apiKey ? { apiKey } : {}
      return createOpenAICompatible({
        ...shared,
        ...key,
        name: 'configured',
        baseURL: baseUrl,
        supportsStructuredOutputs: true,
      })(model)
    }
    // The SDK would read omitted options from the environment.
    case 'anthropic':
      return createAnthropic({ baseURL: 'https://api.anthropic.com/v1', ...shared, apiKey: apiKey ?? '' })(model)
    case 'google':
      return createGoogle({
        baseURL: 'https://generativelanguage.googleapis.com/v1beta',
        ...shared,
        apiKey: apiKey ?? '',
      })(model)
  }
}

/** Error for a stream that ended without an error, but too early. */
function brokenOff(provider: string, reason: string, raw: string | undefined, said: boolean): VendorError | null {
  if (reason === 'content-filter' && !said) return new VendorError(provider, 'bad_answer', 'refused to answer')
  if (reason === 'error' || reason === 'interrupted' || (reason === 'other' && raw === undefined)) {
    return new VendorError(provider, 'unavailable', 'ended before the answer was complete')
  }
  return null
}

/**
 * Errors without a status: Anthropic's types, Google's statuses and OpenAI's codes in a stream, our SSRF guard's codes.
 */
const IN_STREAM: [RegExp, VendorErrorCode][] = [
  [/overloaded|api_error|unavailable|internal|server_error/i, 'unavailable'],
  [/rate_limit|resource_exhausted/i, 'rate_limited'],
  [/authentication|permission|unauthenticated|api_key|insufficient_quota|billing/i, 'unauthorized'],
  [/invalid_request|invalid_argument|not_found|blocked_address|bad_url/i, 'bad_answer'],
  [/timeout|deadline/i, 'timeout'],
]

/** Accepts the SDK's errors, those of `fetch`, and error bodies in a stream. */
const Thrown = z.looseObject({
  statusCode: z.int().nullish().catch(null),
  responseHeaders: z.record(z.string(), z.string()).nullish().catch(null),
  type: z.string().nullish().catch(null),
  code: z.union([z.string(), z.int()]).nullish().catch(null),
})

function failureOf(provider: string, error: unknown, wallMs: number): VendorError {
  if (error instanceof VendorError) return error
  const thrown = Thrown.safeParse(error instanceof Error ? { ...error } : error).data
  const status = thrown?.statusCode ?? (typeof thrown?.code === 'number' ? thrown.code : null)
  if (status !== null && status >= 400) {
    return errorOfStatus(provider, status, thrown?.responseHeaders?.['retry-after'] ?? null, wallMs)
  }
  const reasons = [thrown?.type, thrown?.code].filter(one => typeof one === 'string').join(' ')
  const code = IN_STREAM.find(([pattern]) => pattern.test(reasons))?.[1] ?? 'unavailable'
  return new VendorError(provider, code, 'failed in the stream')
}

const wrapUpPrompt = ({ goal, system, boundary, repair }: WrapUpRequest) =>
  `You write the record of a telephone call. Use only what was said in it; leave out what was not. ${untrustedRule(boundary)} ` +
  `Goal of the call: ${goal ?? 'none was set'}. It began in this context: ${system}` +
  (repair ? `\n\nYour last answer was rejected: ${markInline(boundary, 'validation', repair)}. Correct it.` : '')

const Arguments = z.record(z.string(), z.unknown())
/** Many servers treat a schema as a hint only; one invalid field must not spoil the whole call record. */
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
  // Truncated or not an object: a tool must not run with less than the model intended.
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

/** Tool calls of one step form one message; some servers reject the conversation otherwise. */
function stepMessages(calls: readonly ToolMessage[], boundary: string): ModelMessage[] {
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
        output: { type: 'text', value: markUntrusted(boundary, name, result) },
      })),
    },
  ]
}

/** Moves words that were said while a step's tools ran behind the whole step. */
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

function toMessages({ messages, boundary }: LlmRequest): ModelMessage[] {
  // Some servers reject a conversation without a user turn, as when the agent speaks first.
  const opening: ModelMessage[] =
    messages[0]?.role === 'caller' ? [] : [{ role: 'user', content: '(the call is connected)' }]
  const all = [
    ...opening,
    ...stepsTogether(messages).flatMap((message): ModelMessage[] => {
      if (Array.isArray(message)) return stepMessages(message, boundary)
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
  // A final agent message would count as the beginning of the answer, which some models reject.
  return all.at(-1)?.role === 'assistant' ? [...all, { role: 'user', content: '(go on)' }] : all
}

function transcriptOf(messages: readonly ChatMessage[]): string {
  const lines = messages.map(message =>
    message.role === 'tool' ? `[${message.name}: ${message.result}]` : `${message.role}: ${message.text}`,
  )
  return lines.join('\n') || '(nothing was said)'
}
