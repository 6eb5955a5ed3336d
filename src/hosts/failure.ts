/**
 * The failures of calls into a host. Each failure states which handler caused it and whether the call may be repeated.
 */
import { HermesError } from '../lib/errors.ts'
import type { RaisedErrorOrigin } from '../lib/raised-error.ts'

export type HostFailureKind =
  /** The handler threw. */
  | 'threw'
  /** The deadline passed. */
  | 'timeout'
  /** The caller's signal aborted. */
  | 'aborted'
  /** The process exited while the call was in flight. */
  | 'died'
  /** The module cannot be loaded, or lacks the function. */
  | 'unloadable'
  /** The arguments or the result are not JSON, or are too long. */
  | 'unserialisable'
  /** The host cannot be started. */
  | 'unavailable'
  /** The process violated the protocol. */
  | 'garbled'
  /** The host was stopped. */
  | 'stopped'

/** `own`: this call. `other`: another call or no call. `shared`: one of the calls in flight, but it is unknown which. */
export type FailureAttribution = 'own' | 'shared' | 'other'

export interface HostFailure {
  readonly kind: HostFailureKind
  /** An error for users with the code `hosts/<kind>`. */
  readonly error: HermesError
  readonly attribution: FailureAttribution
  /** Whether the handler may have run. If not, the call may be repeated. */
  readonly started: boolean
  /** Whether the host was killed. */
  readonly killed: boolean
  /** The stack of the error, or of the handler when it was cancelled; '' if unknown. */
  readonly stack: string
  /** The original error of a request, if the handler did not catch it (`HostCall.byReference`). */
  readonly thrown?: unknown
  /** The error that the handler threw, if the host reports it: in Python its class and its text. */
  readonly raised?: { readonly name: string; readonly message: string }
  /** Where the object of that error is. */
  readonly origin?: RaisedErrorOrigin
  /** The known files of a module that cannot be loaded, so that they can be watched for a fix. */
  readonly files: readonly string[]
}

export type HostFailureDetails = Partial<Omit<HostFailure, 'kind' | 'error'>> & { readonly cause?: unknown }

/** By default the handler caused the failure and may have run. */
export function createHostFailure(
  kind: HostFailureKind,
  detail: string,
  details: HostFailureDetails = {},
): HostFailure {
  const { cause, ...fields } = details
  return {
    attribution: 'own',
    started: true,
    killed: false,
    stack: '',
    files: [],
    ...fields,
    kind,
    error: new HermesError(`hosts/${kind}`, detail, cause === undefined ? {} : { cause }),
  }
}

export function hostStoppedFailure(host: string): HostFailure {
  return createHostFailure('stopped', `${host}.`, { attribution: 'other', started: false })
}
