/**
 * What those in flight are told when their process ends, and whose doing it was.
 */
import { createHostFailure, type FailureAttribution, type HostFailure } from './failure.ts'
import type { PendingCall, PendingOperation } from './pending-calls.ts'

/** Why a process ended, or is made to. */
export type ExitCause =
  /** It was killed because this one did not end when it was asked to. */
  | { readonly kind: 'unresponsive'; readonly by: PendingOperation }
  | { readonly kind: 'protocolError'; readonly detail: string }
  | { readonly kind: 'stopped' }
  /** It ended by itself; `call` is the one that did it, if that is known. */
  | { readonly kind: 'exit'; readonly how: string; readonly call: number | undefined }

/** `alone`: nothing else was in flight. */
export function failureAtExit(one: PendingOperation, cause: ExitCause, isOnlyCall: boolean): HostFailure {
  // A handler that is being loaded was not called yet.
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
      const fault = attributeExit(one, cause.call, isOnlyCall)
      return createHostFailure('died', `${one.title}: the process ${cause.how}${attributionText[fault]}.`, {
        ...details,
        attribution: fault,
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
    const detail = `${one.title}: the process was killed because ${by.title} did not end.`
    return createHostFailure('died', detail, { ...details, attribution, killed: true })
  }
  // A host that does not even acknowledge may be stuck in any of them.
  const attribution = isOnlyCall || one.acknowledged === true ? 'own' : 'shared'
  const cancelledDetails = { ...details, attribution, killed: true } as const
  if (one.kind === 'load')
    return createHostFailure('unloadable', `${one.title} did not finish loading in time.`, cancelledDetails)
  return createHostFailure(
    one.cancelled ?? 'timeout',
    `${one.title} did not end when it was asked to.`,
    cancelledDetails,
  )
}

/** A call that ended after it was asked to, with whatever result: the host lives on. */
export function endedAfterCancel(one: PendingCall, why: 'timeout' | 'aborted'): HostFailure {
  return createHostFailure(why, `${one.title} ended when it was asked to.`, { stack: one.stack ?? '' })
}
