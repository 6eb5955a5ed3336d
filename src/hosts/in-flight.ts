/**
 * What a host is busy with: the calls and loads that were sent and not yet answered.
 */
import type { HostResult, LoadedModule } from './contract.ts'
import type { HostFailure } from './failure.ts'
import type { References } from './references.ts'

interface Entry {
  readonly id: number
  /** The module's name, or `<module>.<function>` where it is not the entry; for people. */
  readonly title: string
  readonly module: string
  /** Aborts when it is answered or has failed. */
  readonly over: AbortController
  fail(failure: HostFailure): void
  /** Set once it was asked to end, and why. */
  cancelled?: 'timeout' | 'aborted'
  /** The host acknowledged that: it is not stuck. */
  awake?: boolean
  /** Where the handler was at that moment. */
  stack?: string
}

export interface LoadInFlight extends Entry {
  readonly what: 'load'
  settle(result: HostResult<LoadedModule>): void
}

export interface CallInFlight extends Entry {
  readonly what: 'call'
  settle(result: HostResult<unknown>): void
  readonly references: References | undefined
  /** `HostCall.patienceMs`. */
  readonly patienceMs: number
  /** Answers a request in the async context of the call. */
  serve(method: string, args: readonly unknown[]): Promise<unknown>
  /** How many requests are being served. */
  requests: number
}

export type InFlight = LoadInFlight | CallInFlight

export interface Flights {
  add(one: InFlight): void
  get(id: number): InFlight | undefined
  /** It is over; to be said before it is settled or fails. */
  remove(one: InFlight): void
  size(): number
  all(): readonly InFlight[]
  /** Resolves as soon as there is none. */
  none(): Promise<void>
}

/** One for all: making an error for each call would cost more than the call. */
const callIsOver = new DOMException('The call is over.', 'AbortError')

export function createFlights(): Flights {
  const flying = new Map<number, InFlight>()
  let waiting: (() => void)[] = []
  return {
    add: (one) => flying.set(one.id, one),
    get: (id) => flying.get(id),
    remove(one) {
      flying.delete(one.id)
      one.over.abort(callIsOver)
      if (flying.size > 0) return
      for (const tell of waiting) tell()
      waiting = []
    },
    size: () => flying.size,
    all: () => [...flying.values()],
    none: () => (flying.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}
