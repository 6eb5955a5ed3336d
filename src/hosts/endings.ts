/**
 * What those in flight are told when their process ends, and whose doing it was.
 */
import { type Fault, failureOf, type HostFailure } from './failure.ts'
import type { CallInFlight, InFlight } from './in-flight.ts'

/** Why a process ended, or is made to. */
export type Cause =
  /** It was killed because this one did not end when it was asked to. */
  | { readonly kind: 'cut-off'; readonly by: InFlight }
  | { readonly kind: 'garbled'; readonly detail: string }
  | { readonly kind: 'stopped' }
  /** It ended by itself; `call` is the one that did it, if that is known. */
  | { readonly kind: 'exit'; readonly how: string; readonly call: number | undefined }

/** `alone`: nothing else was in flight. */
export function failureAtEnd(one: InFlight, cause: Cause, alone: boolean): HostFailure {
  // A handler that is being loaded was not called yet.
  const details = { stack: one.stack ?? '', begun: one.what === 'call' }
  switch (cause.kind) {
    case 'stopped':
      return failureOf('stopped', `${one.title} was running when its host was stopped.`, { ...details, fault: 'other' })
    case 'garbled': {
      const fault = alone ? 'own' : 'shared'
      return failureOf('garbled', `${one.title}: ${cause.detail}`, { ...details, fault, killed: true })
    }
    case 'exit': {
      const fault = faultAtExit(one, cause.call, alone)
      return failureOf('died', `${one.title}: the process ${cause.how}${because[fault]}.`, { ...details, fault })
    }
    case 'cut-off':
      return cutOff(one, cause.by, alone, details)
  }
}

const because: Readonly<Record<Fault, string>> = {
  own: '',
  shared: ' while several handlers were running',
  other: ' because of another handler',
}

function faultAtExit(one: InFlight, call: number | undefined, alone: boolean): Fault {
  if (call !== undefined) return call === one.id ? 'own' : 'other'
  return alone ? 'own' : 'shared'
}

function cutOff(one: InFlight, by: InFlight, alone: boolean, details: { stack: string; begun: boolean }): HostFailure {
  if (one !== by && one.cancelled === undefined) {
    const fault = by.awake === true ? 'other' : 'shared'
    const detail = `${one.title}: the process was killed because ${by.title} did not end.`
    return failureOf('died', detail, { ...details, fault, killed: true })
  }
  // A host that does not even acknowledge may be stuck in any of them.
  const fault = alone || one.awake === true ? 'own' : 'shared'
  const asked = { ...details, fault, killed: true } as const
  if (one.what === 'load') return failureOf('unloadable', `${one.title} did not finish loading in time.`, asked)
  return failureOf(one.cancelled ?? 'timeout', `${one.title} did not end when it was asked to.`, asked)
}

/** A call that ended after it was asked to, with whatever result: the host lives on. */
export function endedLate(one: CallInFlight, why: 'timeout' | 'aborted'): HostFailure {
  return failureOf(why, `${one.title} ended when it was asked to.`, { stack: one.stack ?? '' })
}
