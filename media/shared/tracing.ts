/**
 * Port for tracing spans, independent of who collects them, and `traceparent` of W3C Trace Context (level 1), the one
 * text that crosses processes. Names and attributes contain no phone number, no person's name and nothing that was
 * said.
 */

/** OpenTelemetry's kinds: `client` and `server` are synchronous, `producer` and `consumer` are queued work. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions {
  kind?: SpanKind
  /** A `traceparent`. When null, omitted or malformed, a new trace starts. */
  parent?: string | null | undefined
  /** Epoch milliseconds; now by default. */
  startMs?: number
  attributes?: SpanAttributes
}

export interface Span {
  /** Value to pass on to child spans; null when tracing is off. */
  traceparent: string | null
  set(attributes: SpanAttributes): void
  /** Ends the span; a second call has no effect. `error`: a word for what went wrong, never the error's message. */
  end(how?: { endMs?: number; error?: string | undefined }): void
}

export interface Tracing {
  start(name: string, options?: SpanOptions): Span
}

const noSpan: Span = { traceparent: null, set() {}, end() {} }
export const noTracing: Tracing = { start: () => noSpan }

/** Runs `work` in a span and records the name of the error that it throws. */
export async function traced<T>(
  tracing: Tracing | undefined,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = (tracing ?? noTracing).start(name, options)
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    span.end({ error: error instanceof Error ? error.name : 'unknown' })
    throw error
  }
}

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string
  /** Id of the parent span, 16 hexadecimal digits. */
  spanId: string
  sampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NOTHING = /^0+$/
const SAMPLED = 0x01

/** Returns null for a malformed value. An unknown version is parsed by its first fields, as the standard requires. */
export function readTraceparent(text: unknown): TraceContext | null {
  if (typeof text !== 'string') return null
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text) ?? []
  if (!version || !traceId || !spanId || !flags || version === 'ff') return null
  if (version === '00' && more !== undefined) return null
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

export const writeTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
