/**
 * Which subscriptions an event reaches (contract §1.3): those of its exact name, then those of `<base>:*`.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'

/** Turns a subscription to a command's alias into one to its canonical name; other names come back as they are. */
export type CanonicalEventName = (event: string) => string

/** `command:*` of `command:new`; undefined for an event without a colon. */
export function wildcardOf(event: string): string | undefined {
  const colon = event.indexOf(':')
  return colon === -1 ? undefined : `${event.slice(0, colon)}:*`
}

/**
 * What a hook is registered for. An alias beside its canonical name is the same subscription; whatever else is listed
 * twice is registered twice.
 */
export function subscriptionsOf(events: readonly string[], canonical: CanonicalEventName): string[] {
  const plain = new Set(events.filter((event) => canonical(event) === event))
  const aliased = new Set<string>()
  return events.flatMap((event) => {
    const name = canonical(event)
    if (name === event) return [name]
    if (plain.has(name) || aliased.has(name)) return []
    aliased.add(name)
    return [name]
  })
}

export interface Subscription<Listener> {
  readonly listener: Listener
  /** Canonical. */
  readonly events: readonly string[]
}

/** Finds the listeners of an event; what it has found once it finds again without a search. */
export type EventMatcher<Listener> = (event: string) => readonly Listener[]

const noListeners: readonly never[] = []
/** Of names that were asked for; those of commands come from people. */
const maxCachedNames = 1_000

/** `subscriptions` are in the order in which they hear an event. */
export function createEventMatcher<Listener>(subscriptions: readonly Subscription<Listener>[]): EventMatcher<Listener> {
  const byName = new Map<string, Listener[]>()
  for (const { listener, events } of subscriptions) {
    for (const event of events) {
      const known = byName.get(event)
      if (known === undefined) byName.set(event, [listener])
      else known.push(listener)
    }
  }
  if (byName.size === 0) return () => noListeners
  const found = new Map<string, readonly Listener[]>()
  return (event) => {
    const known = found.get(event)
    if (known !== undefined) return known
    const wildcard = wildcardOf(event)
    const all = [...(byName.get(event) ?? []), ...(wildcard === undefined ? [] : (byName.get(wildcard) ?? []))]
    const listeners = all.length === 0 ? noListeners : all
    if (found.size < maxCachedNames) found.set(event, listeners)
    return listeners
  }
}

/** Says what is odd about a subscription; undefined when there is such an event, or a family of them. */
export function createEventValidator(emitted: readonly string[]): (event: string) => string | undefined {
  const families = new Set(emitted.map((name) => wildcardOf(name) ?? name))
  const known = new Set([...emitted, ...families])
  return (event) => {
    if (known.has(event)) return undefined
    const familyName = `${event}:*`
    const suggestion = families.has(familyName) ? familyName : findClosestMatch(event, known)
    const advice = suggestion === null ? '' : `; did you mean ${suggestion}?`
    return `no event is called ${JSON.stringify(event)}${advice}`
  }
}
