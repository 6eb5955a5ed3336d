/**
 * Builds events from copies of the data and puts them into the queue. Callers check first whether there are subscribers.
 */
import type { Fields, ScopeType } from './contract.ts'
import { redactedCopy } from './copy.ts'
import type { EventQueue } from './event-queue.ts'
import { type EventIdGenerator, type EventRecord, MarkEvent, ScopeEvent } from './events.ts'
import type { FailureReporter } from './failures.ts'
import type { Entries, Subscriber } from './registry.ts'
import { createSanitizeStep, type PayloadSanitizers } from './sanitize.ts'
import type { MicroClock, ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

/** The fields of an event that do not come from its scope. */
export interface EventPayload {
  readonly profile: Fields | null
  /** Copied without credential headers. */
  readonly data: unknown
  readonly metadata: Fields | null
}

export interface MarkPayload extends EventPayload {
  readonly name: string
  readonly category: ScopeType
  /** µs since 1970. Default: now. */
  readonly us?: number
}

export interface Recipients {
  readonly subscribers: Entries<Subscriber>
  readonly sanitizers: Snapshot['sanitizers']
}

type PublishScopeEvent = (
  to: Recipients,
  scope: ScopeNode,
  attributes: readonly string[],
  payload: EventPayload,
  payloadSanitizers?: PayloadSanitizers | undefined,
) => void

export interface EventPublisher {
  /** Whether more than half of the queue is used. */
  isCrowded(): boolean
  /** Resolves in the next turn of the event loop; until then subscribers run. */
  nextTurn(): Promise<void>
  readonly start: PublishScopeEvent
  /** The timestamp is always later than that of the start. */
  readonly end: PublishScopeEvent
  mark(to: Recipients, within: ScopeNode, payload: MarkPayload): void
}

export function createEventPublisher(
  queue: EventQueue,
  failures: FailureReporter,
  now: MicroClock,
  newId: EventIdGenerator,
): EventPublisher {
  const push = (
    to: Recipients,
    event: EventRecord,
    sanitizers: keyof EventSanitizers,
    payloadSanitizers?: PayloadSanitizers | undefined,
  ) =>
    queue.push({
      event,
      sanitize: createSanitizeStep(event, payloadSanitizers, to.sanitizers[sanitizers], failures),
      subscribers: to.subscribers,
    })
  const createScopeEvent = (
    edge: 'start' | 'end',
    us: number,
    scope: ScopeNode,
    attributes: readonly string[],
    payload: EventPayload,
  ) =>
    new ScopeEvent(edge, attributes, {
      uuid: scope.uuid,
      parent: scope.parent?.publishedUuid ?? null,
      us,
      name: scope.name,
      category: scope.type,
      profile: payload.profile,
      data: redactedCopy(payload.data),
      metadata: payload.metadata,
    })
  return {
    isCrowded: queue.isCrowded,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    start: (to, scope, attributes, payload, payloadSanitizers) =>
      push(
        to,
        createScopeEvent('start', scope.startedUs, scope, attributes, payload),
        'scope_start',
        payloadSanitizers,
      ),
    end: (to, scope, attributes, payload, payloadSanitizers) =>
      push(
        to,
        createScopeEvent('end', Math.max(now(), scope.startedUs + 1), scope, attributes, payload),
        'scope_end',
        payloadSanitizers,
      ),
    mark(to, within, { name, category, us = now(), profile, data, metadata }) {
      const parent = within.publishedUuid
      const event = new MarkEvent({
        uuid: newId(us),
        parent,
        us,
        name,
        category,
        profile,
        data: redactedCopy(data),
        metadata,
      })
      push(to, event, 'mark')
    },
  }
}

type EventSanitizers = Pick<Snapshot['sanitizers'], 'mark' | 'scope_start' | 'scope_end'>
