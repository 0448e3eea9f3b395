/** Port for text language models. */

export type ChatMessage =
  /** `keys`: the text is DTMF keys, not speech. */
  | { role: 'caller'; text: string; keys?: true }
  /** `text` is what was played to the caller, not everything that the model generated. */
  | { role: 'agent'; text: string; interrupted: boolean }
  /** Tool calls of one model answer share the same `step`. */
  | {
      role: 'tool'
      id: string
      step: string
      name: string
      arguments: Record<string, unknown>
      result: string
      ok: boolean
    }

export interface LlmTool {
  name: string
  description: string
  /** JSON Schema of type object. */
  parameters: Record<string, unknown>
}

export interface LlmRequest {
  /** Prompt, task and rules of the call. */
  system: string
  /** Stands in the marks of untrusted text, and `system` explains it: see `media/shared/untrusted.ts`. */
  boundary: string
  language: string
  messages: readonly ChatMessage[]
  tools: readonly LlmTool[]
  /** Current date in the project's timezone, to resolve expressions such as "tomorrow at ten". */
  today: Date
}

export type LlmEvent =
  | { type: 'text'; delta: string }
  /** A call of one of the request's tools; one answer may contain several. */
  | {
      type: 'tool'
      id: string
      name: string
      arguments: Record<string, unknown>
      /** The reason why the arguments could not be parsed. The tool then does not run, and the model receives this text. */
      problem?: string
    }

export interface WrapUpRequest extends LlmRequest {
  goal: string | null
  /** JSON Schema of type object. */
  extraction: Record<string, unknown> | null
  /** The problem with the previous answer; null on the first attempt. */
  repair: string | null
}

export interface WrapUp {
  summary: string
  extracted: Record<string, unknown> | null
  goalReached: boolean
  /** Words of the conversation that prove it. */
  goalEvidence: string | null
  /** The name as the caller said it. */
  contactName: string | null
}

/** Keeps no state between requests: the caller may send the same request twice and discard one of the answers. */
export interface Llm {
  respond(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent>
  wrapUp(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp>
}
