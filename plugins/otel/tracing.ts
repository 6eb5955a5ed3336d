/**
 * Sets up OpenTelemetry's SDK: a provider that is not registered globally, a bounded queue and an exporter over HTTP. Only
 * this file and the span recorder import its packages; both are loaded with the plugin.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node'
import { type Logger, messageOf } from '#sdk'
import type { OtelSettings } from './settings.ts'
import { createSpanRecorder } from './span-recorder.ts'

export type Tracing = ReturnType<typeof startTracing>

/** @param version of the plugin */
export function startTracing(settings: OtelSettings, version: string, log: Logger) {
  const { url, headers, serviceName, content, maxQueue, intervalMs, timeoutMs } = settings
  const exporter = new OTLPTraceExporter({
    ...(url === undefined ? {} : { url }),
    headers,
    timeoutMillis: timeoutMs,
  })
  const processor = new BatchSpanProcessor(withFailureLogging(exporter, log), {
    maxQueueSize: maxQueue,
    maxExportBatchSize: Math.min(512, maxQueue),
    scheduledDelayMillis: intervalMs,
    exportTimeoutMillis: timeoutMs,
  })
  const named = serviceName === '' ? {} : { 'service.name': serviceName }
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'hermes-gateway' }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes(named))
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] })
  const spans = createSpanRecorder(provider.getTracer('hermes-gateway', version), content)
  return {
    handleEvent: spans.handleEvent,
    /** Sends the queued spans, within the timeout. Rejects after a failure. */
    async close() {
      spans.close()
      await provider.shutdown()
    },
  }
}

/** Logs the first failed export and the recovery, because the SDK does not report lost spans. */
function withFailureLogging(exporter: OTLPTraceExporter, log: Logger): SpanExporter {
  let lost = 0
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) {
          if (lost === 0)
            log.warn(
              { event: 'otel.export_failed', err: result.error },
              `spans could not be sent: ${messageOf(result.error)}`,
            )
          lost += spans.length
        } else if (lost > 0) {
          log.info({ event: 'otel.export_recovered', lost }, 'spans are sent again')
          lost = 0
        }
        done(result)
      })
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}
