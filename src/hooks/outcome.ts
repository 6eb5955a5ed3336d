/**
 * How one call of a handler came out, whatever kind of hook it belongs to.
 */
import type { HostResult } from '../hosts/contract.ts'

export type Outcome = { readonly ok: true; readonly value: unknown } | Failure

export interface Failure {
  readonly ok: false
  /** `unloadable`: trying again changes nothing until its files change. `unavailable`: what runs it is not there. */
  readonly kind: 'failed' | 'unloadable' | 'unavailable'
  /** For people. */
  readonly text: string
  /** Where it happened; '' where nobody knows. */
  readonly stack: string
  /** Whether it was, or may have been, this hook's doing. */
  readonly blamed: boolean
  /** Whether its process went with it. */
  readonly endedHost: boolean
}

/** What a hook is called with. */
export interface HookCall {
  readonly event: string
  readonly context: unknown
  /** Whether anybody looks at what it returns. */
  readonly wanted: boolean
  /** How long it may take, ms. */
  readonly deadlineMs: number
}

/** Runs the handler. Should not reject: that counts as nobody's fault. */
export type RunHook = (call: HookCall) => Promise<Outcome>

export function failed(text: string, more: Partial<Omit<Failure, 'ok' | 'text'>> = {}): Failure {
  return { kind: 'failed', stack: '', blamed: true, endedHost: false, ...more, ok: false, text }
}

export function outcomeOf(result: HostResult<unknown>): Outcome {
  if (result.ok) return result
  const { kind, error, fault, killed, stack } = result.failure
  return failed(`${error.message} (${error.code})`, {
    kind: kind === 'unloadable' || kind === 'unavailable' ? kind : 'failed',
    stack,
    blamed: fault !== 'other' && kind !== 'unavailable',
    endedHost: killed || kind === 'died',
  })
}
