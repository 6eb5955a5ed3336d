/**
 * Names of events in subscriptions (contract §1.3): families such as `command:*`, aliases of commands, and misspellings.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'

export interface Subscription<Listener> {
  readonly listener: Listener
  /** Canonical names. */
  readonly events: readonly string[]
}

/** Replaces the alias of a command with its canonical name. Returns other names unchanged. */
export type CanonicalEventName = (event: string) => string

/** `command:*` for `command:new`; `undefined` for an event without a colon. */
export function wildcardOf(event: string): string | undefined {
  const colon = event.indexOf(':')
  return colon === -1 ? undefined : `${event.slice(0, colon)}:*`
}

/**
 * The canonical names that a hook subscribes to. An alias beside its canonical name is the same subscription. Any other
 * event that is listed twice is subscribed to twice.
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

/** Returns a function that describes the issue of a subscription; `undefined` for a known event or family. */
export function createEventValidator(emitted: readonly string[]): (event: string) => string | undefined {
  const families = new Set(emitted.map((name) => wildcardOf(name) ?? name))
  const known = new Set([...emitted, ...families])
  return (event) => {
    if (known.has(event)) return undefined
    const familyName = `${event}:*`
    const suggestion = families.has(familyName) ? familyName : findClosestMatch(event, known)
    const advice = suggestion === null ? '' : `; did you mean ${suggestion}?`
    return `unknown event ${JSON.stringify(event)}${advice}`
  }
}
