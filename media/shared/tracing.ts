/**
 * Spans, as rooms make them, without knowing who collects them; and the one text that crosses processes, `traceparent` of
 * W3C Trace Context (level 1). Names and attributes hold no number, no name and nothing that was said.
 */

/** As OpenTelemetry has them: who answers and who asks at once, who leaves work behind and who takes it up later. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions {
  kind?: SpanKind
  /** A `traceparent`; null, left out or malformed: a trace begins here. */
  parent?: string | null | undefined
  /** Epoch milliseconds; left out: now. */
  startMs?: number
  attributes?: SpanAttributes
}

export interface Span {
  /** For what follows from it. Null where nothing is traced. */
  readonly traceparent: string | null
  set(attributes: SpanAttributes): void
  /** Once; a second time changes nothing. `error`: a word for what went wrong, never its message. */
  end(how?: { endMs?: number; error?: string | undefined }): void
}

export interface Tracing {
  start(name: string, options?: SpanOptions): Span
}

const noSpan: Span = { traceparent: null, set() {}, end() {} }
export const noTracing: Tracing = { start: () => noSpan }

/** What `work` does is the span; what it throws is its error, by its kind. */
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
  /** Of the span that is the parent, 16 of them. */
  spanId: string
  sampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NOTHING = /^0+$/
const SAMPLED = 0x01

/** Null for what is none. A version that is not known yet is read by its beginning, as the standard has it. */
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
