/**
 * Whose error it is that a call rejects with. Callers get the very object that was thrown, so who threw it is remembered
 * beside it.
 */
import { describeOrigin, type ErrorOrigin } from './failure-reporter.ts'

export interface ErrorOrigins {
  /** To be told where an error comes to light, from the inside out; `who` is undefined for the tool or the provider itself. */
  record(error: unknown, who: ErrorOrigin | undefined): void
  /** For people: who threw it, or put it in the place of another. Null when it is nobody's, or is no object. */
  describe(error: unknown): string | null
}

export function createErrorOrigins(): ErrorOrigins {
  /** Whoever meets an error first has thrown it; the others let it through. */
  const originByError = new WeakMap<object, ErrorOrigin | null>()
  return {
    record(error, who) {
      if (typeof error === 'object' && error !== null && !originByError.has(error))
        originByError.set(error, who ?? null)
    },
    describe(error) {
      const who = typeof error === 'object' && error !== null ? originByError.get(error) : undefined
      return who ? describeOrigin(who) : null
    },
  }
}
