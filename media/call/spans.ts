/**
 * Tracing spans of a call, derived from its events. Below `call` are: `INVITE` (`join` for a room) until the final
 * answer, each `turn` from the caller's last audio to the agent's first, each tool, `BYE` (or `leave`) when we hang up,
 * and `wrap_up`.
 */
import type { CallEventBody, CallRecord, Refusal, ToolCall, Turn, TurnLatency } from '../contract/messages.ts'
import type { Direction } from '../contract/plan.ts'
import type { Clock } from '../shared/clock.ts'
import type { Fetch } from '../shared/fetch.ts'
import { noTracing, type Span, type SpanKind, type Tracing } from '../shared/tracing.ts'

const KIND: Record<Direction, SpanKind> = { in: 'server', out: 'consumer', web: 'consumer' }
const OK = 200

interface Ports {
  tracing?: Tracing
  clock: Clock
}

export class CallSpans {
  readonly #tracing: Tracing
  readonly #clock: Clock
  readonly #direction: Direction
  readonly #call: Span
  /** The current phase: setup, hang-up or wrap-up. */
  #part: Span | null = null
  /** Time of the answer in epoch milliseconds. */
  #answeredMs = 0

  /** An inbound call's span starts with its INVITE, before its owner is known. */
  constructor({ tracing = noTracing, clock }: Ports, direction: Direction, parent: string | null) {
    this.#tracing = tracing
    this.#clock = clock
    this.#direction = direction
    const attributes = { 'parley.call.direction': direction }
    this.#call = tracing.start('call', { kind: KIND[direction], parent, startMs: clock.wall(), attributes })
    if (direction === 'in') this.#begin('INVITE')
  }

  get traceparent(): string | null {
    return this.#call.traceparent
  }

  /** Trace context for requests and events of the call. */
  get told(): { traceparent?: string } {
    const { traceparent } = this
    return traceparent === null ? {} : { traceparent }
  }

  /** Adds `traceparent` to requests of the call's tools, unless the customer sets that header. */
  fetching(fetch: Fetch): Fetch {
    const { traceparent } = this
    if (traceparent === null) return fetch
    return request => {
      const isTold = Object.keys(request.headers).some(name => name.toLowerCase() === 'traceparent')
      return fetch(isTold ? request : { ...request, headers: { ...request.headers, traceparent } })
    }
  }

  /** Ends the span of an inbound call that was refused. */
  refused(refusal: Refusal): void {
    this.#call.set({ 'parley.refusal': refusal })
    this.#endPart()
    this.#call.end({ endMs: this.#clock.wall() })
  }

  /** Wraps `send` to observe the call's events, and adds `traceparent` to `call.ended`. */
  watching(callId: string, send: (body: CallEventBody) => Promise<void>): (body: CallEventBody) => Promise<void> {
    this.#call.set({ 'parley.call.id': callId })
    return body => {
      this.#note(body)
      return send(body.type === 'call.ended' ? { ...body, ...this.told } : body)
    }
  }

  /** Starts the span of our hang-up. */
  startHangup(): void {
    this.#begin(this.#direction === 'web' ? 'leave' : 'BYE', 'client')
  }

  #note(body: CallEventBody): void {
    switch (body.type) {
      case 'call.dialing':
        this.#begin(this.#direction === 'web' ? 'join' : 'INVITE', 'client')
        return
      case 'call.started':
        this.#answeredMs = this.#clock.wall()
        if (this.#direction !== 'web') this.#part?.set({ 'sip.status_code': OK })
        this.#endPart()
        return
      case 'turn.finished':
        if (body.latency) this.#turn(body.turn, body.latency)
        return
      case 'tool.finished':
        this.#tool(body.tool)
        return
      case 'call.closing':
        this.#begin('wrap_up')
        return
      case 'call.ended':
        this.#end(body.record)
    }
  }

  #begin(name: string, kind: SpanKind = 'internal'): void {
    this.#endPart()
    this.#part = this.#tracing.start(name, { kind, parent: this.traceparent, startMs: this.#clock.wall() })
  }

  #endPart(error?: string): void {
    this.#part?.end({ endMs: this.#clock.wall(), error })
    this.#part = null
  }

  /** Latency parts overlap when work started early, so they are attributes and not spans. */
  #turn({ started_ms }: Turn, latency: TurnLatency): void {
    const endMs = this.#answeredMs + started_ms
    const attributes = {
      'parley.turn.endpointing_ms': latency.endpointing_ms,
      'parley.turn.stt_ms': latency.stt_ms,
      'parley.turn.llm_first_token_ms': latency.llm_first_token_ms,
      'parley.turn.tts_first_byte_ms': latency.tts_first_byte_ms,
      'parley.turn.filler': latency.filler,
    }
    const startMs = endMs - latency.total_ms
    this.#tracing.start('turn', { parent: this.traceparent, startMs, attributes }).end({ endMs })
  }

  /** Follows the semantic conventions for generative AI. An unknown tool's name is model output, so it is omitted. */
  #tool({ name, started_ms, ms, status, http_status }: ToolCall): void {
    const startMs = this.#answeredMs + started_ms
    const named = status === 'unknown_tool' ? null : name
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      ...(named === null ? {} : { 'gen_ai.tool.name': named }),
      ...(http_status === null ? {} : { 'http.response.status_code': http_status }),
    }
    const title = named === null ? 'execute_tool' : `execute_tool ${named}`
    const span = this.#tracing.start(title, { parent: this.traceparent, startMs, attributes })
    span.end({ endMs: startMs + ms, error: status === 'ok' ? undefined : status })
  }

  #end({ status, ended_reason, answered_by, answered_at, sip_code, ended_at }: CallRecord): void {
    const error = status === 'failed' ? ended_reason : undefined
    if (answered_at === null && sip_code !== null) this.#part?.set({ 'sip.status_code': sip_code })
    this.#endPart(answered_at === null ? error : undefined)
    this.#call.set({
      'parley.call.status': status,
      'parley.call.ended_reason': ended_reason,
      ...(answered_by === null ? {} : { 'parley.call.answered_by': answered_by }),
    })
    this.#call.end({ endMs: ended_at, error })
  }
}
