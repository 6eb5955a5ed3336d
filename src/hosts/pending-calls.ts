/**
 * What a host is busy with: the calls and loads that were sent and not yet answered.
 */
import type { HostResult, LoadedModule } from './contract.ts'
import type { HostFailure } from './failure.ts'
import type { ObjectReferences } from './references.ts'

interface PendingEntry {
  readonly id: number
  /** The module's name, or `<module>.<function>` where it is not the entry; for people. */
  readonly title: string
  readonly module: string
  /** Aborts when it is answered or has failed. */
  readonly doneController: AbortController
  fail(failure: HostFailure): void
  /** Set once it was asked to end, and why. */
  cancelled?: 'timeout' | 'aborted'
  /** The host acknowledged that: it is not stuck. */
  acknowledged?: boolean
  /** Where the handler was at that moment. */
  stack?: string
}

export interface PendingLoad extends PendingEntry {
  readonly kind: 'load'
  settle(result: HostResult<LoadedModule>): void
}

export interface PendingCall extends PendingEntry {
  readonly kind: 'call'
  settle(result: HostResult<unknown>): void
  readonly references: ObjectReferences | undefined
  /** `HostCall.patienceMs`. */
  readonly cancelGraceMs: number
  /** Answers a request in the async context of the call. */
  serve(method: string, args: readonly unknown[]): Promise<unknown>
  /** How many requests are being served. */
  requests: number
}

export type PendingOperation = PendingLoad | PendingCall

export interface PendingCalls {
  add(one: PendingOperation): void
  get(id: number): PendingOperation | undefined
  /** It is over; to be said before it is settled or fails. */
  remove(one: PendingOperation): void
  size(): number
  all(): readonly PendingOperation[]
  /** Resolves as soon as there is none. */
  whenEmpty(): Promise<void>
}

/** One for all: making an error for each call would cost more than the call. */
const callEndedReason = new DOMException('The call is over.', 'AbortError')

export function createPendingCalls(): PendingCalls {
  const pending = new Map<number, PendingOperation>()
  let waiters: (() => void)[] = []
  return {
    add: (one) => pending.set(one.id, one),
    get: (id) => pending.get(id),
    remove(one) {
      pending.delete(one.id)
      one.doneController.abort(callEndedReason)
      if (pending.size > 0) return
      for (const wake of waiters) wake()
      waiters = []
    },
    size: () => pending.size,
    all: () => [...pending.values()],
    whenEmpty: () => (pending.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}
