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
export function failureAtExit(one: PendingOperation, cause: ExitCause, isOnlyCall: boolean): HostFailure {
  // While a module is loading, its handler has not been called.
  const details = { stack: one.stack ?? '', started: one.kind === 'call' }
  switch (cause.kind) {
    case 'stopped':
      return createHostFailure('stopped', `${one.title} was running when its host was stopped.`, {
        ...details,
        attribution: 'other',
      })
    case 'protocolError': {
      const attribution = isOnlyCall ? 'own' : 'shared'
      return createHostFailure('garbled', `${one.title}: ${cause.detail}`, { ...details, attribution, killed: true })
    }
    case 'exit': {
      const attribution = attributeExit(one, cause.call, isOnlyCall)
      return createHostFailure('died', `${one.title}: the process ${cause.how}${attributionText[attribution]}.`, {
        ...details,
        attribution,
      })
    }
    case 'unresponsive':
      return killedFailure(one, cause.by, isOnlyCall, details)
  }
}

const attributionText: Readonly<Record<FailureAttribution, string>> = {
  own: '',
  shared: ' while several handlers were running',
  other: ' because of another handler',
}

function attributeExit(one: PendingOperation, call: number | undefined, isOnlyCall: boolean): FailureAttribution {
  if (call !== undefined) return call === one.id ? 'own' : 'other'
  return isOnlyCall ? 'own' : 'shared'
}

function killedFailure(
  one: PendingOperation,
  by: PendingOperation,
  isOnlyCall: boolean,
  details: { stack: string; started: boolean },
): HostFailure {
  if (one !== by && one.cancelled === undefined) {
    const attribution = by.acknowledged === true ? 'other' : 'shared'
    const detail = `${one.title}: the process was killed because ${by.title} did not end after it was cancelled.`
    return createHostFailure('died', detail, { ...details, attribution, killed: true })
  }
  // A host that does not acknowledge the cancellation may be blocked by any of its operations.
  const attribution = isOnlyCall || one.acknowledged === true ? 'own' : 'shared'
  const cancelledDetails = { ...details, attribution, killed: true } as const
  if (one.kind === 'load')
    return createHostFailure('unloadable', `${one.title} did not finish loading in time.`, cancelledDetails)
  return createHostFailure(
    one.cancelled ?? 'timeout',
    `${one.title} did not end after it was cancelled.`,
    cancelledDetails,
  )
}

/** The failure of a call that ended after it was cancelled, whatever its result. The host keeps running. */
export function endedAfterCancel(one: PendingCall, kind: 'timeout' | 'aborted'): HostFailure {
  return createHostFailure(kind, `${one.title} was cancelled.`, { stack: one.stack ?? '' })
}
