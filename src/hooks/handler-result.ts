/**
 * The result of one call of a handler, for every kind of hook.
 */
import type { HostResult } from '../hosts/contract.ts'

export type HandlerResult = { readonly ok: true; readonly value: unknown } | HandlerFailure

export interface HandlerFailure {
  readonly ok: false
  /** `unloadable`: a retry fails until the files change. `unavailable`: the runtime or program is missing. */
  readonly kind: 'failed' | 'unloadable' | 'unavailable'
  /** A text for users. */
  readonly message: string
  /** Where the error occurred; '' if unknown. */
  readonly stack: string
  /** Whether this hook caused the failure or may have caused it. */
  readonly countsAgainstHook: boolean
  /** Whether the host process exited. */
  readonly hostExited: boolean
  /** The result for a caller that waits, instead of the fallback of the hook. */
  readonly decision?: unknown
}

export interface HookCall {
  readonly event: string
  readonly context: unknown
  /** Whether the caller uses the result. */
  readonly wantsResult: boolean
  /** Time limit in ms. */
  readonly deadlineMs: number
}

/** Runs the handler. A rejection is reported as a failure that does not count against the hook. */
export type RunHook = (call: HookCall) => Promise<HandlerResult>

export function handlerFailure(
  message: string,
  details: Partial<Omit<HandlerFailure, 'ok' | 'message'>> = {},
): HandlerFailure {
  return { kind: 'failed', stack: '', countsAgainstHook: true, hostExited: false, ...details, ok: false, message }
}

export function toHandlerResult(result: HostResult<unknown>): HandlerResult {
  if (result.ok) return result
  const { kind, error, attribution, killed, stack } = result.failure
  return handlerFailure(`${error.message} (${error.code})`, {
    kind: kind === 'unloadable' || kind === 'unavailable' ? kind : 'failed',
    stack,
    countsAgainstHook: attribution !== 'other' && kind !== 'unavailable',
    hostExited: killed || kind === 'died',
  })
}
