/**
 * What happened in a conversation, in the order it was said: the model's context and the transcript are two views of
 * it, so they cannot disagree. Agent turns hold what was heard.
 */
import type { ToolCall, Turn, TurnLatency } from '../contract/messages.ts'
import type { ChatMessage } from '../ports/llm.ts'

/** An agent's turn that is being spoken; its words are known when it ends. */
export interface OpenTurn {
  readonly message: { role: 'agent'; text: string; interrupted: boolean }
}

export interface OpenCaller {
  readonly message: { role: 'caller'; text: string }
}

/**
 * Words of the caller with nothing heard in between are one thing said: the agent took a pause in it for its end. Answered
 * one by one, half an order would be carried out, and then the other half.
 */
export function joinCallers(messages: readonly ChatMessage[]): ChatMessage[] {
  const joined: ChatMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const goesOn = message.role === 'caller' && last?.role === 'caller' && !message.keys && !last.keys
    if (goesOn) joined[joined.length - 1] = { ...last, text: `${last.text} ${message.text}` }
    else joined.push({ ...message })
  }
  return joined
}

export class CallTranscript {
  readonly turns: Turn[] = []
  readonly toolCalls: ToolCall[] = []
  readonly latencies: TurnLatency[] = []
  readonly #messages: ChatMessage[] = []

  /** For the model: turns nobody heard are left out. */
  messages(): ChatMessage[] {
    return joinCallers(this.#messages.filter(message => message.role === 'tool' || message.text !== ''))
  }

  caller(turn: Omit<Turn, 'role' | 'heard_text' | 'interrupted'>, keys: boolean): Turn {
    const whole: Turn = { role: 'caller', ...turn, heard_text: turn.text, interrupted: false }
    this.turns.push(whole)
    this.#messages.push({ role: 'caller', text: turn.text, ...(keys ? { keys } : {}) })
    return whole
  }

  /** The caller has said something whose words are not known yet: it keeps its place among what is said meanwhile. */
  openCaller(): OpenCaller {
    const message = { role: 'caller' as const, text: '' }
    this.#messages.push(message)
    return { message }
  }

  closeCaller(open: OpenCaller, turn: Omit<Turn, 'role' | 'heard_text' | 'interrupted'>): Turn {
    const whole: Turn = { role: 'caller', ...turn, heard_text: turn.text, interrupted: false }
    open.message.text = turn.text
    const before = this.turns.findLastIndex(earlier => earlier.started_ms <= turn.started_ms)
    this.turns.splice(before + 1, 0, whole)
    return whole
  }

  /** A person in the agent's place: for the model it is our side that spoke. */
  operator(turn: Omit<Turn, 'role' | 'heard_text' | 'interrupted'>): Turn {
    const whole: Turn = { role: 'operator', ...turn, heard_text: turn.text, interrupted: false }
    this.turns.push(whole)
    this.#messages.push({ role: 'agent', text: turn.text, interrupted: false })
    return whole
  }

  /** Takes the place in the model's context where the turn begins. */
  openAgent(): OpenTurn {
    const message = { role: 'agent' as const, text: '', interrupted: false }
    this.#messages.push(message)
    return { message }
  }

  /** Null when nothing was heard: then it never happened. */
  closeAgent(open: OpenTurn, turn: Omit<Turn, 'role'>): Turn | null {
    open.message.text = turn.heard_text
    open.message.interrupted = turn.interrupted
    if (turn.heard_text === '' && turn.ended_ms <= turn.started_ms) return null
    const whole: Turn = { role: 'agent', ...turn }
    this.turns.push(whole)
    return whole
  }

  /** `inTranscript`: false for what readers see anyway, such as a hang-up. */
  tool(called: { id: string; step: string; call: ToolCall; endedMs: number; inTranscript: boolean }): void {
    const { id, step, call, endedMs, inTranscript } = called
    this.toolCalls.push(call)
    const { name, arguments: args, result, verdict, knowledge } = call
    this.#messages.push({ role: 'tool', id, step, name, arguments: args, result, ok: verdict === 'ok' })
    if (!inTranscript) return
    const sources = [...new Set(knowledge?.map(({ source }) => source))]
    const turn: Turn = {
      role: 'tool',
      text: `${name}: ${verdict}${sources.length > 0 ? ` (${sources.join(', ')})` : ''}`,
      heard_text: '',
      started_ms: call.started_ms,
      ended_ms: endedMs,
      interrupted: false,
      ...(knowledge ? { knowledge } : {}),
    }
    this.turns.push(turn)
  }

  latency(): { p50_ms: number | null; p95_ms: number | null; turns: TurnLatency[] } {
    const totals = this.latencies.map(latency => latency.total_ms).sort((a, b) => a - b)
    return { p50_ms: percentile(totals, 0.5), p95_ms: percentile(totals, 0.95), turns: this.latencies }
  }
}

/** Nearest rank. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
