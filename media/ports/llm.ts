/** Text language models. */

export type ChatMessage =
  /** `keys`: pressed, not said. */
  | { role: 'caller'; text: string; keys?: true }
  /** What was heard, not what was generated. */
  | { role: 'agent'; text: string; interrupted: boolean }
  /** `step`: calls of one answer of the model have the same. */
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
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>
}

export interface LlmRequest {
  /** Prompt, task and rules of the call. */
  system: string
  language: string
  messages: readonly ChatMessage[]
  tools: readonly LlmTool[]
  /** Today in the project's timezone, for "tomorrow at ten". */
  today: Date
}

export type LlmEvent =
  | { type: 'text'; delta: string }
  /** One of the request's tools; several may be called in one answer. */
  | {
      type: 'tool'
      id: string
      name: string
      arguments: Record<string, unknown>
      /** Why the arguments could not be read at all; the tool is then not run, and the model is told. */
      problem?: string
    }

export interface WrapUpRequest extends LlmRequest {
  goal: string | null
  /** JSON Schema of an object. */
  extraction: Record<string, unknown> | null
  /** What was wrong with the answer before; null the first time. */
  repair: string | null
}

export interface WrapUp {
  summary: string
  extracted: Record<string, unknown> | null
  goalReached: boolean
  /** Words of the conversation that show it. */
  goalEvidence: string | null
  /** As the caller said it. */
  contactName: string | null
}

/** Holds no state of a call: the same request may be asked twice and thrown away once. */
export interface Llm {
  respond(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent>
  wrapUp(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp>
}
