/**
 * The failures of operations in flight when their process exits, with their attribution.
 */
import { createHostFailure, type FailureAttribution, type HostFailure } from './failure.ts'
import type { PendingCall, PendingOperation } from './pending-calls.ts'

/** Why a process exited or is killed. */
export type ExitCause =
  /** The process was killed because this operation did not end after it was cancelled. */
  | { readonly kind: 'unresponsive'; readonly by: PendingOperation }
  | { readonly kind: 'protocolError'; readonly detail: string }
  | { readonly kind: 'stopped' }
  /** The process exited by itself. `call` is the call that caused it, if known. */
  | { readonly kind: 'exit'; readonly how: string; readonly call: number | undefined }

/** @param isOnlyCall whether no other operation was in flight */
export function failureAtExit(operation: PendingOperation, cause: ExitCause, isOnlyCall: boolean): HostFailure {
  // While a module is loading, its handler has not been called.
  const details = { stack: operation.stack ?? '', started: operation.kind === 'call' }
  switch (cause.kind) {
    case 'stopped':
      return createHostFailure('stopped', `${operation.title} was running when its host was stopped.`, {
        ...details,
        attribution: 'other',
      })
    case 'protocolError': {
      const attribution = isOnlyCall ? 'own' : 'shared'
      return createHostFailure('garbled', `${operation.title}: ${cause.detail}`, {
        ...details,
        attribution,
        killed: true,
      })
    }
    case 'exit': {
      const attribution = attributeExit(operation, cause.call, isOnlyCall)
      return createHostFailure('died', `${operation.title}: the process ${cause.how}${attributionText[attribution]}.`, {
        ...details,
        attribution,
      })
    }
    case 'unresponsive':
      return killedFailure(operation, cause.by, isOnlyCall, details)
  }
}

const attributionText: Readonly<Record<FailureAttribution, string>> = {
  own: '',
  shared: ' while several handlers were running',
  other: ' because of another handler',
}

function attributeExit(operation: PendingOperation, call: number | undefined, isOnlyCall: boolean): FailureAttribution {
  if (call !== undefined) return call === operation.id ? 'own' : 'other'
  return isOnlyCall ? 'own' : 'shared'
}

function killedFailure(
  operation: PendingOperation,
  by: PendingOperation,
  isOnlyCall: boolean,
  details: { stack: string; started: boolean },
): HostFailure {
  if (operation !== by && operation.cancelled === undefined) {
    const attribution = by.acknowledged === true ? 'other' : 'shared'
    const detail = `${operation.title}: the process was killed because ${by.title} did not end after it was cancelled.`
    return createHostFailure('died', detail, { ...details, attribution, killed: true })
  }
  // A host that does not acknowledge the cancellation may be blocked by any of its operations.
  const attribution = isOnlyCall || operation.acknowledged === true ? 'own' : 'shared'
  const cancelledDetails = { ...details, attribution, killed: true } as const
  if (operation.kind === 'load')
    return createHostFailure('unloadable', `${operation.title} did not finish loading in time.`, cancelledDetails)
  return createHostFailure(
    operation.cancelled ?? 'timeout',
    `${operation.title} did not end after it was cancelled.`,
    cancelledDetails,
  )
}

/** The failure of a call that ended after it was cancelled, whatever its result. The host keeps running. */
export function endedAfterCancel(call: PendingCall, kind: 'timeout' | 'aborted'): HostFailure {
  return createHostFailure(kind, `${call.title} was cancelled.`, { stack: call.stack ?? '' })
}
