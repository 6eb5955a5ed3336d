/**
 * Converts events into spans: the start of a scope starts a child span, its end ends the span, a mark is a span event.
 */
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { asString, type ManagedEvent } from '#sdk'
import { endAttributes, spanName, startAttributes } from './attributes.ts'
import type { ContentSettings } from './settings.ts'

export interface SpanRecorder {
  handleEvent(event: ManagedEvent): void
  /** Ends all open spans. */
  close(): void
}

/** Beyond this number, the oldest open span is ended early. */
const maxOpenSpans = 10_000

export function createSpanRecorder(tracer: Tracer, content: ContentSettings): SpanRecorder {
  const open = new Map<string, Span>()

  function start(event: ManagedEvent): void {
    const parent = event.parent_uuid === null ? undefined : open.get(event.parent_uuid)
    const span = tracer.startSpan(
      spanName(event),
      {
        kind: event.category === 'llm' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        startTime: toHrTime(event),
        attributes: startAttributes(event, content),
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent),
    )
    open.set(event.uuid, span)
    const [oldest] = open
    if (open.size > maxOpenSpans && oldest !== undefined) {
      open.delete(oldest[0])
      oldest[1].end(toHrTime(event))
    }
  }

  function end(event: ManagedEvent): void {
    const span = open.get(event.uuid)
    if (span === undefined) return
    open.delete(event.uuid)
    span.setAttributes(endAttributes(event, content))
    if (event.metadata?.['otel.status_code'] === 'ERROR') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: asString(event.metadata['otel.status_description']) })
    }
    span.end(toHrTime(event))
  }

  return {
    handleEvent(event) {
      if (event.scope_category === 'start') start(event)
      else if (event.scope_category === 'end') end(event)
      else if (event.parent_uuid !== null) open.get(event.parent_uuid)?.addEvent(event.name, toHrTime(event))
    },
    close() {
      for (const span of open.values()) span.end()
      open.clear()
    },
  }
}

/** Seconds and nanoseconds. */
function toHrTime({ timestampUs }: ManagedEvent): [number, number] {
  return [Math.floor(timestampUs / 1e6), Math.round(timestampUs % 1e6) * 1_000]
}
