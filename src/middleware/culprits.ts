/**
 * Whose error it is that a call rejects with. Callers get the very object that was thrown, so who threw it is remembered
 * beside it.
 */
import { type Culprit, nameOf } from './failures.ts'

export interface Culprits {
  /** To be told where an error comes to light, from the inside out; `who` is undefined for the tool or the provider itself. */
  met(error: unknown, who: Culprit | undefined): void
  /** For people: who threw it, or put it in the place of another. Null when it is nobody's, or is no object. */
  nameOf(error: unknown): string | null
}

export function createCulprits(): Culprits {
  /** Whoever meets an error first has thrown it; the others let it through. */
  const first = new WeakMap<object, Culprit | null>()
  return {
    met(error, who) {
      if (typeof error === 'object' && error !== null && !first.has(error)) first.set(error, who ?? null)
    },
    nameOf(error) {
      const who = typeof error === 'object' && error !== null ? first.get(error) : undefined
      return who ? nameOf(who) : null
    },
  }
}
