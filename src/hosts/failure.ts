/**
 * How a call into a host can fail. Every failure says whose doing it was and whether the call may be repeated.
 */
import { HermesError } from '../lib/errors.ts'

export type HostFailureKind =
  /** The handler threw. */
  | 'threw'
  /** It was not done at its deadline. */
  | 'timeout'
  /** The caller's signal aborted. */
  | 'aborted'
  /** The process ended while the call was in flight. */
  | 'died'
  /** The module cannot be loaded, or lacks the function. */
  | 'unloadable'
  /** The result is no JSON, or too long. */
  | 'unserialisable'
  /** The host cannot be started. */
  | 'unavailable'
  /** Something else than the protocol came over the pipe of the protocol. */
  | 'garbled'
  /** The host was stopped. */
  | 'stopped'

/** `own`: this call. `other`: another one, or nobody. `shared`: one of those in flight, nobody knows which. */
export type FailureAttribution = 'own' | 'shared' | 'other'

export interface HostFailure {
  readonly kind: HostFailureKind
  /** For people. Its code is `hosts/<kind>`. */
  readonly error: HermesError
  readonly attribution: FailureAttribution
  /** Whether the handler may have been entered. False: nothing has happened, the call may be repeated. */
  readonly started: boolean
  /** Whether the host had to be killed. */
  readonly killed: boolean
  /** Where the handler threw, or where it was when its time was over; empty where nobody knows. */
  readonly stack: string
  /** The very error that a request had failed with, when the handler let it pass (`HostCall.byReference`). */
  readonly thrown?: unknown
  /** What the handler itself threw, where the host tells: in Python the class and its text. */
  readonly raised?: { readonly name: string; readonly message: string }
  /** Of a module that cannot be loaded: the files it consists of as far as they are known, to be watched for a remedy. */
  readonly files: readonly string[]
}

export type HostFailureDetails = Partial<Omit<HostFailure, 'kind' | 'error'>> & { readonly cause?: unknown }

/** Faults are the handler's own and calls have begun unless told otherwise. */
export function createHostFailure(
  kind: HostFailureKind,
  detail: string,
  details: HostFailureDetails = {},
): HostFailure {
  const { cause, ...more } = details
  return {
    attribution: 'own',
    started: true,
    killed: false,
    stack: '',
    files: [],
    ...more,
    kind,
    error: new HermesError(`hosts/${kind}`, detail, cause === undefined ? {} : { cause }),
  }
}

export function hostStoppedFailure(host: string): HostFailure {
  return createHostFailure('stopped', `${host}.`, { attribution: 'other', started: false })
}
