/**
 * The offline language model as an `Llm`: no network, no weights. It states its limits; a configured model replaces it.
 */
import { createHash } from 'node:crypto'
import { isOwnTool, type OwnTool } from '../../contract/own-tools.ts'
import type { ChatMessage, Llm, LlmEvent, LlmRequest, WrapUp, WrapUpRequest } from '../../ports/llm.ts'
import { contextFor, decide, extract, replay } from './policy.ts'

export interface ScriptedOptions {
  /** True when a tool changes something, so that its arguments are read back first. */
  confirms(toolName: string): boolean
}

export function createScripted(options: ScriptedOptions): Llm {
  const contextOf = (request: LlmRequest) =>
    contextFor(request.tools, request.language, request.today, options.confirms)
  return {
    async *respond(request: LlmRequest): AsyncIterable<LlmEvent> {
      const action = decide(request.messages, contextOf(request))
      if ('call' in action) {
        yield { type: 'tool', id: callId(request.messages), name: action.call, arguments: action.arguments }
        return
      }
      yield { type: 'text', delta: action.say }
      const own = (name: OwnTool, args: Record<string, unknown> = {}): LlmEvent => ({
        type: 'tool',
        id: callId(request.messages, name),
        name,
        arguments: args,
      })
      if (!('next' in action)) return
      if (action.next === 'take_message') yield own('take_message', { message: action.message })
      else {
        if (action.next === 'do_not_call') yield own('do_not_call')
        yield own('end_call')
      }
    },
    async wrapUp(request: WrapUpRequest): Promise<WrapUp> {
      const context = contextOf(request)
      const { message } = replay(request.messages, context)
      const done = request.messages.filter(entry => entry.role === 'tool').filter(entry => !isOwnTool(entry.name))
      const reached = request.goal === null ? undefined : done.findLast(entry => entry.ok)
      return {
        summary: summarize(request.messages, done, message),
        extracted: request.extraction ? extract(request.messages, request.extraction, context) : null,
        goalReached: reached !== undefined,
        goalEvidence: reached ? `${reached.name}: ${reached.result}`.slice(0, MAX_EVIDENCE) : null,
        contactName: nameIn(request, context),
      }
    },
  }
}

const MAX_EVIDENCE = 300

/** Returns the name that the caller gave for one of the tools. */
function nameIn(request: LlmRequest, context: ReturnType<typeof contextFor>): string | null {
  const { known } = replay(request.messages, context)
  const name = Object.entries(known).find(([slot]) =>
    /^(?:(?:full|your|caller|customer|contact)_?)?name$|^имя$/i.test(slot),
  )
  return typeof name?.[1] === 'string' ? name[1] : null
}

/** Deterministic id, because the language model keeps no state: the same conversation gives the same id. */
const callId = (messages: readonly ChatMessage[], name = '') =>
  `call_${createHash('sha256')
    .update(name + JSON.stringify(messages))
    .digest('hex')
    .slice(0, 16)}`

function summarize(
  messages: readonly ChatMessage[],
  tools: readonly Extract<ChatMessage, { role: 'tool' }>[],
  message: string | null,
): string {
  const said = messages.filter(entry => entry.role === 'caller')
  if (said.length === 0) return 'The caller said nothing.'
  const sentences = [`The caller said: "${said[0]!.text}"`]
  for (const tool of tools) {
    const given = Object.entries(tool.arguments)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')
    sentences.push(`${tool.name}${given ? ` (${given})` : ''} ${tool.ok ? 'succeeded' : 'failed'}.`)
  }
  if (tools.length === 0) sentences.push('No tool was used.')
  if (message) sentences.push(`Message: "${message}"`)
  return sentences.join(' ')
}
