/**
 * Makes spans of events: a scope's start opens one below that of its parent, its end closes it, a mark is an event of it.
 */
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { type ManagedEvent, str } from '#sdk'
import { endAttributes, spanName, startAttributes } from './attributes.ts'
import type { ContentSettings } from './settings.ts'

export interface Spans {
  hear(event: ManagedEvent): void
  /** Ends what is open, as it is. */
  close(): void
}

/** Work that is begun and has not ended. What is older is ended before its time. */
const maxOpen = 10_000

export function createSpans(tracer: Tracer, content: ContentSettings): Spans {
  const open = new Map<string, Span>()

  function start(event: ManagedEvent): void {
    const parent = event.parent_uuid === null ? undefined : open.get(event.parent_uuid)
    const span = tracer.startSpan(
      spanName(event),
      {
        kind: event.category === 'llm' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        startTime: timeOf(event),
        attributes: startAttributes(event, content),
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent),
    )
    open.set(event.uuid, span)
    const [oldest] = open
    if (open.size > maxOpen && oldest !== undefined) {
      open.delete(oldest[0])
      oldest[1].end(timeOf(event))
    }
  }

  function end(event: ManagedEvent): void {
    const span = open.get(event.uuid)
    if (span === undefined) return
    open.delete(event.uuid)
    span.setAttributes(endAttributes(event, content))
    if (event.metadata?.['otel.status_code'] === 'ERROR') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: str(event.metadata['otel.status_description']) })
    }
    span.end(timeOf(event))
  }

  return {
    hear(event) {
      if (event.scope_category === 'start') start(event)
      else if (event.scope_category === 'end') end(event)
      else if (event.parent_uuid !== null) open.get(event.parent_uuid)?.addEvent(event.name, timeOf(event))
    },
    close() {
      for (const span of open.values()) span.end()
      open.clear()
    },
  }
}

/** Seconds, and what is left in nanoseconds. */
function timeOf({ timestampUs }: ManagedEvent): [number, number] {
  return [Math.floor(timestampUs / 1e6), Math.round(timestampUs % 1e6) * 1_000]
}
