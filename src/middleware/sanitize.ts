/**
 * Sanitizers run before subscribers receive an event: first those of its payload, then those of its fields.
 */
import type { Awaitable, EventFields, ManagedEvent } from './contract.ts'
import type { EventRecord } from './events.ts'
import type { FailureReporter } from './failures.ts'
import type { Entries } from './registry.ts'

type EventSanitizer = (event: ManagedEvent, fields: EventFields) => Awaitable<EventFields>

export interface PayloadSanitizers {
  /** Resolves with null to omit the payload. Never rejects. */
  run(payload: unknown, failures: FailureReporter): Promise<unknown>
}

/** Binds the sanitizers of one point to a call. */
export function bindPayloadSanitizers<Call>(
  entries: Entries<(payload: unknown, call: Call) => Awaitable<unknown>>,
  point: string,
  call: Call,
): PayloadSanitizers | undefined {
  if (entries.length === 0) return undefined
  return {
    async run(payload, failures) {
      let sanitized = payload
      for (const entry of entries) {
        try {
          sanitized = await entry.callback(sanitized, call)
        } catch (error) {
          failures.report(entry, `${point}_sanitizer`, error, 'the event is sent without its payload')
          return null
        }
        if (sanitized === null || sanitized === undefined) return null
      }
      return sanitized
    },
  }
}

/** `undefined` without sanitizers. The step never rejects. */
export function createSanitizeStep(
  event: EventRecord,
  payload: PayloadSanitizers | undefined,
  fields: Entries<EventSanitizer>,
  failures: FailureReporter,
): (() => Promise<void>) | undefined {
  if (payload === undefined && fields.length === 0) return undefined
  return async () => {
    if (payload !== undefined) event.data = await payload.run(event.data, failures)
    for (const entry of fields) {
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

function parseEventFields(fields: unknown): EventFields {
  if (typeof fields !== 'object' || fields === null) throw new TypeError('the sanitizer did not return an object')
  return {
    data: 'data' in fields ? fields.data : null,
    category_profile: parseFields('category_profile' in fields ? fields.category_profile : null),
    metadata: parseFields('metadata' in fields ? fields.metadata : null),
  }
}

function parseFields(value: unknown): EventFields['metadata'] {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') throw new TypeError('the sanitizer returned a field that is not an object')
  return Object.fromEntries(Object.entries(value))
}
