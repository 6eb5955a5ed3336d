/**
 * How one call of a handler came out, whatever kind of hook it belongs to.
 */
import type { HostResult } from '../hosts/contract.ts'

export type HandlerResult = { readonly ok: true; readonly value: unknown } | HandlerFailure

export interface HandlerFailure {
  readonly ok: false
  /** `unloadable`: trying again changes nothing until its files change. `unavailable`: what runs it is not there. */
  readonly kind: 'failed' | 'unloadable' | 'unavailable'
  /** For people. */
  readonly message: string
  /** Where it happened; '' where nobody knows. */
  readonly stack: string
  /** Whether it was, or may have been, this hook's doing. */
  readonly countsAgainstHook: boolean
  /** Whether its process went with it. */
  readonly hostExited: boolean
}

/** What a hook is called with. */
export interface HookCall {
  readonly event: string
  readonly context: unknown
  /** Whether anybody looks at what it returns. */
  readonly wantsResult: boolean
  /** How long it may take, ms. */
  readonly deadlineMs: number
}

/** Runs the handler. Should not reject: that counts as nobody's fault. */
export type RunHook = (call: HookCall) => Promise<HandlerResult>

export function handlerFailure(
  text: string,
  more: Partial<Omit<HandlerFailure, 'ok' | 'message'>> = {},
): HandlerFailure {
  return { kind: 'failed', stack: '', countsAgainstHook: true, hostExited: false, ...more, ok: false, message: text }
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
