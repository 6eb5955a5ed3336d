/**
 * What is done to an event before subscribers see it: sanitizers of its payload, then those of its parts.
 */
import type { Awaitable, EventFields, ManagedEvent } from './contract.ts'
import type { EventRecord } from './events.ts'
import type { FailureReporter } from './failures.ts'
import type { Entries } from './registry.ts'

type EventSanitizer = (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>

export interface PayloadSanitizers {
  /** Null where there is to be no payload. Never rejects. */
  run(payload: unknown, failures: FailureReporter): Promise<unknown>
}

/** Binds the sanitizers of one kind to the call they are about. */
export function bindPayloadSanitizers<Call>(
  entries: Entries<(payload: unknown, call: Call) => Awaitable<unknown>>,
  point: string,
  call: Call,
): PayloadSanitizers | undefined {
  if (entries.length === 0) return undefined
  return {
    async run(payload, failures) {
      let left = payload
      for (const entry of entries) {
        try {
          left = await entry.callback(left, call)
        } catch (error) {
          failures.report(entry, `${point}_sanitizer`, error, 'the event is sent without its payload')
          return null
        }
        if (left === null || left === undefined) return null
      }
      return left
    },
  }
}

/** Undefined when there is nothing to do. The work never rejects. */
export function createSanitizeStep(
  event: EventRecord,
  payload: PayloadSanitizers | undefined,
  parts: Entries<EventSanitizer>,
  failures: FailureReporter,
): (() => Promise<void>) | undefined {
  if (payload === undefined && parts.length === 0) return undefined
  return async () => {
    if (payload !== undefined) event.data = await payload.run(event.data, failures)
    for (const entry of parts) {
      const { data, category_profile, metadata } = event
      try {
        event.replaceFields(parseEventFields(await entry.callback(event, { data, category_profile, metadata })))
      } catch (error) {
        failures.report(entry, 'event_sanitizer', error, 'the event is sent without data, profile and metadata')
        event.replaceFields({ data: null, category_profile: null, metadata: null })
      }
    }
  }
}

function parseEventFields(parts: unknown): EventFields {
  if (typeof parts !== 'object' || parts === null) throw new TypeError('it returned no parts of an event')
  return {
    data: 'data' in parts ? parts.data : null,
    category_profile: parseFields('category_profile' in parts ? parts.category_profile : null),
    metadata: parseFields('metadata' in parts ? parts.metadata : null),
  }
}

function parseFields(value: unknown): EventFields['metadata'] {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') throw new TypeError('it returned parts that are no objects')
  return Object.fromEntries(Object.entries(value))
}
