/**
 * The calls and loads that were sent to a host and have no response yet.
 */
import type { HostResult, LoadedModule } from './contract.ts'
import type { HostFailure } from './failure.ts'
import type { ObjectReferences } from './references.ts'

interface PendingEntry {
  readonly id: number
  /** A text for users: the name of the module, or `<module>.<function>` for a function other than the entry. */
  readonly title: string
  readonly module: string
  /** Aborts when the operation has ended. */
  readonly doneController: AbortController
  fail(failure: HostFailure): void
  /** Why the operation was cancelled; absent if it was not. */
  cancelled?: 'timeout' | 'aborted'
  /** Whether the host acknowledged the cancellation, which shows that it is not blocked. */
  acknowledged?: boolean
  /** The stack of the handler when it was cancelled. */
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
  /** Identifies the process of the host. */
  readonly process: object
  /** `HostCall.cancelGraceMs`. */
  readonly cancelGraceMs: number
  /** Serves a request in the async context of the call. */
  serve(method: string, args: readonly unknown[]): Promise<unknown>
  /** Number of requests that are being served. */
  requests: number
}

export type PendingOperation = PendingLoad | PendingCall

export interface PendingCalls {
  add(operation: PendingOperation): void
  get(id: number): PendingOperation | undefined
  /** Must be called before the operation is settled or fails. */
  remove(operation: PendingOperation): void
  size(): number
  all(): readonly PendingOperation[]
  /** Resolves when no operation is pending. */
  whenEmpty(): Promise<void>
}

/** Shared, because creating an error for each call would cost more than the call. */
const callEndedReason = new DOMException('The call has ended.', 'AbortError')

export function createPendingCalls(): PendingCalls {
  const pending = new Map<number, PendingOperation>()
  let waiters: (() => void)[] = []
  return {
    add: (operation) => pending.set(operation.id, operation),
    get: (id) => pending.get(id),
    remove(operation) {
      pending.delete(operation.id)
      operation.doneController.abort(callEndedReason)
      if (pending.size > 0) return
      for (const notify of waiters) notify()
      waiters = []
    },
    size: () => pending.size,
    all: () => [...pending.values()],
    whenEmpty: () => (pending.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}
