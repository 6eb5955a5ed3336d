/**
 * Tells subscribers what happens: builds events out of copies and puts them into the queue. Whoever calls it has looked
 * first whether somebody subscribes.
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

/** What an event says beside its scope. */
export interface EventPayload {
  readonly profile: Fields | null
  /** Is copied, without headers that prove who somebody is. */
  readonly data: unknown
  readonly metadata: Fields | null
}

export interface MarkPayload extends EventPayload {
  readonly name: string
  readonly category: ScopeType
  /** µs since 1970; now if left out. */
  readonly us?: number
}

export interface Recipients {
  readonly subscribers: Entries<Subscriber>
  readonly sanitizers: Snapshot['sanitizers']
}

export interface EventPublisher {
  start(
    to: Recipients,
    scope: ScopeNode,
    attributes: readonly string[],
    told: EventPayload,
    clean?: PayloadSanitizers | undefined,
  ): void
  /** At a later time than the start in any case. */
  end(
    to: Recipients,
    scope: ScopeNode,
    attributes: readonly string[],
    told: EventPayload,
    clean?: PayloadSanitizers | undefined,
  ): void
  mark(to: Recipients, within: ScopeNode, told: MarkPayload): void
}

export interface EventPublisherDeps {
  readonly queue: EventQueue
  readonly failures: FailureReporter
  readonly now: MicroClock
  readonly newId: EventIdGenerator
}

export function createEventPublisher({ queue, failures, now, newId }: EventPublisherDeps): EventPublisher {
  const push = (
    to: Recipients,
    event: EventRecord,
    sanitizers: keyof EventSanitizers,
    clean?: PayloadSanitizers | undefined,
  ) =>
    queue.push({
      event,
      sanitize: createSanitizeStep(event, clean, to.sanitizers[sanitizers], failures),
      subscribers: to.subscribers,
    })
  const edge = (
    which: 'start' | 'end',
    us: number,
    scope: ScopeNode,
    attributes: readonly string[],
    told: EventPayload,
  ) =>
    new ScopeEvent(which, attributes, {
      uuid: scope.uuid,
      parent: scope.parent?.publishedUuid ?? null,
      us,
      name: scope.name,
      category: scope.type,
      profile: told.profile,
      data: redactedCopy(told.data),
      metadata: told.metadata,
    })
  return {
    start: (to, scope, attributes, told, clean) =>
      push(to, edge('start', scope.startedUs, scope, attributes, told), 'scope_start', clean),
    end: (to, scope, attributes, told, clean) =>
      push(to, edge('end', Math.max(now(), scope.startedUs + 1), scope, attributes, told), 'scope_end', clean),
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
