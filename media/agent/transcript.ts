/**
 * The conversation in the order in which it was spoken. The model's context and the transcript are two views of it, so
 * they cannot disagree. Agent turns contain what was played.
 */
import type { ToolCall, Turn, TurnLatency } from '../contract/messages.ts'
import type { ChatMessage } from '../ports/llm.ts'

/** An agent's turn that is being spoken; its text is known when it ends. */
export interface OpenTurn {
  readonly message: { role: 'agent'; text: string; interrupted: boolean }
}

export interface OpenCaller {
  readonly message: { role: 'caller'; text: string }
}

/**
 * Joins consecutive caller messages: nothing was played between them, so the agent took a pause for the end of the
 * turn. Answered one by one, half an order would be carried out, and then the other half.
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

  /** Messages for the model; turns of which nothing was played are omitted. */
  messages(): ChatMessage[] {
    return joinCallers(this.#messages.filter(message => message.role === 'tool' || message.text !== ''))
  }

  caller(turn: Omit<Turn, 'role' | 'heard_text' | 'interrupted'>, keys: boolean): Turn {
    const whole: Turn = { role: 'caller', ...turn, heard_text: turn.text, interrupted: false }
    this.turns.push(whole)
    this.#messages.push({ role: 'caller', text: turn.text, ...(keys ? { keys } : {}) })
    return whole
  }

  /** Reserves the position of a caller's turn whose text is not known yet. */
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

  /** A person who speaks instead of the agent; to the model it is our side that spoke. */
  operator(turn: Omit<Turn, 'role' | 'heard_text' | 'interrupted'>): Turn {
    const whole: Turn = { role: 'operator', ...turn, heard_text: turn.text, interrupted: false }
    this.turns.push(whole)
    this.#messages.push({ role: 'agent', text: turn.text, interrupted: false })
    return whole
  }

  /** Reserves the position in the model's context at which the turn begins. */
  openAgent(): OpenTurn {
    const message = { role: 'agent' as const, text: '', interrupted: false }
    this.#messages.push(message)
    return { message }
  }

  /** Returns null when nothing was played; the turn is then dropped. */
  closeAgent(open: OpenTurn, turn: Omit<Turn, 'role'>): Turn | null {
    open.message.text = turn.heard_text
    open.message.interrupted = turn.interrupted
    if (turn.heard_text === '' && turn.ended_ms <= turn.started_ms) return null
    const whole: Turn = { role: 'agent', ...turn }
    this.turns.push(whole)
    return whole
  }

  /** `inTranscript`: false for events that readers see anyway, such as a hang-up. */
  tool(called: { id: string; step: string; call: ToolCall; endedMs: number; inTranscript: boolean }): void {
    const { id, step, call, endedMs, inTranscript } = called
    this.toolCalls.push(call)
    const { name, arguments: args, result, status, knowledge } = call
    this.#messages.push({ role: 'tool', id, step, name, arguments: args, result, ok: status === 'ok' })
    if (!inTranscript) return
    const sources = [...new Set(knowledge?.map(({ source }) => source))]
    const turn: Turn = {
      role: 'tool',
      text: `${name}: ${status}${sources.length > 0 ? ` (${sources.join(', ')})` : ''}`,
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

/** Percentile by the nearest-rank method. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
