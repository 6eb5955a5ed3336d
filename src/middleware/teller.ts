/**
 * Tells subscribers what happens: builds events out of copies and puts them into the queue. Whoever calls it has looked
 * first whether somebody subscribes.
 */
import type { Fields, ScopeType } from './contract.ts'
import { observedCopy } from './copies.ts'
import type { NewId } from './event-ids.ts'
import type { EventQueue } from './event-queue.ts'
import { type EventRecord, MarkEvent, ScopeEvent } from './events.ts'
import type { Failures } from './failures.ts'
import type { Subscriber } from './level.ts'
import type { Entries } from './registry.ts'
import { type PayloadSanitizers, preparation } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'
import type { MicroClock } from './time.ts'

/** What an event says beside its scope. */
export interface Told {
  readonly profile: Fields | null
  /** Is copied, without headers that prove who somebody is. */
  readonly data: unknown
  readonly metadata: Fields | null
}

export interface MarkTold extends Told {
  readonly name: string
  readonly category: ScopeType
  /** µs since 1970; now if left out. */
  readonly us?: number
}

export interface Audience {
  readonly subscribers: Entries<Subscriber>
  readonly sanitizers: Snapshot['sanitizers']
}

export interface Teller {
  start(
    to: Audience,
    scope: ScopeNode,
    attributes: readonly string[],
    told: Told,
    clean?: PayloadSanitizers | undefined,
  ): void
  /** At a later time than the start in any case. */
  end(
    to: Audience,
    scope: ScopeNode,
    attributes: readonly string[],
    told: Told,
    clean?: PayloadSanitizers | undefined,
  ): void
  mark(to: Audience, within: ScopeNode, told: MarkTold): void
}

export interface TellerDeps {
  readonly queue: EventQueue
  readonly failures: Failures
  readonly now: MicroClock
  readonly newId: NewId
}

export function createTeller({ queue, failures, now, newId }: TellerDeps): Teller {
  const push = (to: Audience, event: EventRecord, sanitizers: keyof Parts, clean?: PayloadSanitizers | undefined) =>
    queue.push({
      event,
      prepare: preparation(event, clean, to.sanitizers[sanitizers], failures),
      subscribers: to.subscribers,
    })
  const edge = (which: 'start' | 'end', us: number, scope: ScopeNode, attributes: readonly string[], told: Told) =>
    new ScopeEvent(which, attributes, {
      uuid: scope.uuid,
      parent: scope.parent?.uuidInEvents ?? null,
      us,
      name: scope.name,
      category: scope.type,
      profile: told.profile,
      data: observedCopy(told.data),
      metadata: told.metadata,
    })
  return {
    start: (to, scope, attributes, told, clean) =>
      push(to, edge('start', scope.startedUs, scope, attributes, told), 'scope_start', clean),
    end: (to, scope, attributes, told, clean) =>
      push(to, edge('end', Math.max(now(), scope.startedUs + 1), scope, attributes, told), 'scope_end', clean),
    mark(to, within, { name, category, us = now(), profile, data, metadata }) {
      const parent = within.uuidInEvents
      const event = new MarkEvent({
        uuid: newId(us),
        parent,
        us,
        name,
        category,
        profile,
        data: observedCopy(data),
        metadata,
      })
      push(to, event, 'mark')
    },
  }
}

type Parts = Pick<Snapshot['sanitizers'], 'mark' | 'scope_start' | 'scope_end'>
