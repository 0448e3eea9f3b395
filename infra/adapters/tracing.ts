/**
 * Exports traces by OTLP over HTTP. The only file that uses OpenTelemetry, and only when an endpoint is configured.
 * Spans wait in a bounded queue; while the receiver is unreachable they are lost, with no other effect.
 */
import type { SpanKind as OtelKind, Tracer } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import {
  noTracing,
  readTraceparent,
  type SpanKind,
  type SpanOptions,
  type Tracing,
  writeTraceparent,
} from '../../media/shared/tracing.ts'
import { type Config, readPairs } from '../config/config.ts'

export interface ProcessTracing {
  tracing: Tracing
  /** Sends pending spans, within two seconds. */
  close(): Promise<void>
}

type Settings = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_SERVICE_NAME'>

/** Most spans in the queue: some seconds of a busy engine. Spans beyond that are dropped. */
const MOST_WAITING = 4096
const MOST_AT_ONCE = 512
const EVERY_MS = 2000
const SEND_MS = 5000
const CLOSE_MS = 2000
/** Values of OpenTelemetry's API. */
const KINDS: Record<SpanKind, OtelKind> = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 }
const SENT = 0

export async function openTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...settings }: Settings,
  { name, instance, clock, log }: { name: string; instance: string; clock: Clock; log: Log },
): Promise<ProcessTracing> {
  if (endpoint === undefined) return { tracing: noTracing, close: async () => {} }
  // Loaded only when tracing is configured.
  const [api, sdk, otlp, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    headers: readPairs(settings.OTEL_EXPORTER_OTLP_HEADERS ?? '') ?? {},
    timeoutMillis: SEND_MS,
  })
  const waiting = new sdk.BatchSpanProcessor({
    exporter: reporting(exporter, log),
    maxQueueSize: MOST_WAITING,
    maxExportBatchSize: MOST_AT_ONCE,
    scheduledDelayMillis: EVERY_MS,
    exportTimeoutMillis: 2 * SEND_MS,
  })
  const resource = resourceFromAttributes({
    'service.name': settings.OTEL_SERVICE_NAME ?? `parley-${name}`,
    'service.instance.id': instance,
  })
  const provider = new sdk.TracerProvider({ resource, spanProcessors: [waiting] })
  return {
    tracing: tracingBy(provider.getTracer('parley'), api, clock),
    async close() {
      const late = new Promise<void>(resolve => setTimeout(resolve, CLOSE_MS).unref())
      await Promise.race([provider.shutdown().catch(() => {}), late])
    },
  }
}

function tracingBy(tracer: Tracer, api: typeof import('@opentelemetry/api'), clock: Clock): Tracing {
  const contextOf = (parent: SpanOptions['parent']) => {
    const from = readTraceparent(parent)
    if (from === null) return api.ROOT_CONTEXT
    const { traceId, spanId, sampled } = from
    const traceFlags = sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
  }
  return {
    start(name, { kind = 'internal', parent, startMs = clock.wall(), attributes = {} } = {}) {
      const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: startMs, attributes }, contextOf(parent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      const sampled = (traceFlags & api.TraceFlags.SAMPLED) !== 0
      let over = false
      return {
        traceparent: writeTraceparent({ traceId, spanId, sampled }),
        set: more => void span.setAttributes(more),
        end({ endMs = clock.wall(), error } = {}) {
          if (over) return
          over = true
          if (error !== undefined) {
            span.setAttribute('error.type', error)
            span.setStatus({ code: api.SpanStatusCode.ERROR })
          }
          // Clocks of two machines may differ, and ours may be set back.
          span.end(Math.max(endMs, startMs))
        },
      }
    },
  }
}

/** Logs once when traces cannot be sent, and once when they can again. */
function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let away = false
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        const failed = result.code !== SENT
        if (failed && !away) log.warn({ code: codeOf(result.error) }, 'exporting traces failed, traces are dropped')
        if (!failed && away) log.info({}, 'exporting traces resumed')
        away = failed
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}

/** Not the message, which may quote the receiver's response. */
function codeOf(error: Error | undefined): string | number {
  const { code } = (error ?? {}) as { code?: string | number }
  return code ?? error?.name ?? 'unknown'
}
