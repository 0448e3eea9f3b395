/** Records spans for tests. */
import { randomBytes } from 'node:crypto'
import {
  readTraceparent,
  type SpanAttributes,
  type SpanKind,
  type Tracing,
  writeTraceparent,
} from '../../media/shared/tracing.ts'

export interface KeptSpan {
  name: string
  kind: SpanKind
  traceId: string
  spanId: string
  /** Null for the root of a trace. */
  parentId: string | null
  traceparent: string
  /** Epoch milliseconds; the end is null while the span is open. */
  startMs: number
  endMs: number | null
  attributes: SpanAttributes
  error: string | null
}

export interface KeptTracing extends Tracing {
  spans: KeptSpan[]
  /** The only span of that name. */
  one(name: string, fits?: (span: KeptSpan) => boolean): KeptSpan
}

export function keptTracing(wall: () => number = Date.now): KeptTracing {
  const spans: KeptSpan[] = []
  return {
    spans,
    one(name, fits = () => true) {
      const found = spans.filter(span => span.name === name && fits(span))
      if (found.length !== 1) throw new Error(`${found.length} spans ${name} of ${spans.map(span => span.name)}`)
      return found[0]!
    },
    start(name, { kind = 'internal', parent, startMs = wall(), attributes = {} } = {}) {
      const from = readTraceparent(parent)
      const traceId = from?.traceId ?? randomBytes(16).toString('hex')
      const spanId = randomBytes(8).toString('hex')
      const traceparent = writeTraceparent({ traceId, spanId, sampled: true })
      const parentId = from?.spanId ?? null
      const span: KeptSpan = {
        name,
        kind,
        traceId,
        spanId,
        parentId,
        traceparent,
        startMs,
        attributes,
        endMs: null,
        error: null,
      }
      spans.push(span)
      return {
        traceparent,
        set(more) {
          span.attributes = { ...span.attributes, ...more }
        },
        end({ endMs = wall(), error } = {}) {
          if (span.endMs !== null) return
          span.endMs = endMs
          span.error = error ?? null
        },
      }
    },
  }
}
